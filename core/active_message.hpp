// Active messages: short messages that call a function of the target.
//
// A carrier (shm/mailbox.hpp inside a node, net/remote_access.hpp between nodes) brings them, once
// and in the order of their sending; a taker has the functions. Threads: owner. path: data
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/status.hpp"

namespace espalier {

inline constexpr unsigned kMessageIds = 64;
inline constexpr std::uint64_t kMessageBytes = 16 << 10;  // of a payload, at most

struct ActiveMessage {
  unsigned id = 0;  // of the function
  std::uint64_t argument = 0;
  const void* payload = nullptr;
  std::uint64_t bytes = 0;
};

class MessageTaker {
 public:
  // Called from progress(); may send, but not call progress(). The payload ends with the call.
  // False: nobody takes messages of this id.
  virtual bool take(Rank from, const ActiveMessage& message) noexcept = 0;

 protected:
  ~MessageTaker() = default;
};

}  // namespace espalier
