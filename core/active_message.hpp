// Active messages: short messages that call a function of the target.
//
// A carrier (shm/mailbox.hpp inside a node, net/remote_access.hpp between nodes) brings them, once
// and in the order of their sending; a taker has the functions. Threads: owner. path: data
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/completion.hpp"
#include "core/status.hpp"

namespace espalier {

inline constexpr unsigned kMessageIds = 64;  // of functions of the user
// The library's own, for messages that are matched by tag (tags/tag_messages.hpp). Taken always.
enum OwnMessage : unsigned {
  kTagEager = kMessageIds,
  kTagAnnounced,
  kTagReady,
  kTagTaken,
  // Met by receives of the library's own alone, which makes teams with them.
  kAsideEager,
  kAsideAnnounced,
  kOwnMessagesEnd
};
inline constexpr std::uint64_t kMessageBytes = 32 << 10;  // of a payload, at most
inline constexpr std::uint32_t kContextMax = (1U << 24) - 1;

struct ActiveMessage {
  unsigned id = 0;  // of the function
  std::uint64_t argument = 0;
  const void* payload = nullptr;
  std::uint64_t bytes = 0;
  std::uint32_t context = 0;  // up to kContextMax; of the library's own
};

// Who sends them, in order to each rank.
class MessageSender {
 public:
  // True: it is on its way, and `finish` is not called; else the payload may be used again when
  // that is. One of up to kCopiedBytes may at once.
  static constexpr std::uint64_t kCopiedBytes = 16;
  virtual Result<bool> send_own(Rank to, const ActiveMessage& message, const Finish& finish) = 0;
  // False: nothing happened.
  virtual bool send_own_now(Rank to, const ActiveMessage& message) noexcept = 0;

 protected:
  ~MessageSender() = default;
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
