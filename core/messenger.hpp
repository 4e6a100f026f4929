// Messenger: short messages to other ranks beside the flows of the wires, for what must arrive when
// no operation is posted: questions of the watchdog, failures, good-byes.
//
// Messages to one rank arrive in order or not at all (then the rank is lost). The first byte says
// for whom a message is. Threads: owner. path: slow
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/status.hpp"

namespace espalier {

enum class MessageKind : std::uint8_t { kNews = 1, kLeaving = 2 };

class Messenger {
 public:
  // The bytes are copied; they go as soon as there is room.
  virtual void tell(Rank to, std::span<const std::byte> message) noexcept = 0;
  // Not too many messages wait for this rank: one that may be left out need not be.
  virtual bool has_room(Rank to) noexcept = 0;
  // Makes sure that the rank's death is noticed.
  virtual void reach(Rank rank) noexcept = 0;

 protected:
  ~Messenger() = default;
};

// Bytes of a message are not trusted.
class MessageHandler {
 public:
  virtual void heard(Rank from, std::span<const std::byte> message) noexcept = 0;

 protected:
  ~MessageHandler() = default;
};

}  // namespace espalier
