// LookPace: how soon the next look at the sockets is worth its price.
//
// A look that finds something costs the sender, too, where both ends share a kernel: it waits for
// the socket's lock, and for the processing of an acknowledgement. So looks at a *stream* keep a
// distance, like the interrupts of a network adapter, and find several frames: small ones of peers
// that are sent nothing meanwhile. Who waits for an answer, or wants to sleep, looks at any time.
//
// Values only. Threads: owner. path: data
#pragma once

#include <cstdint>

namespace espalier::net {

class LookPace {
 public:
  // So many finds in a row make a stream; one that is so many distances late begins anew.
  static constexpr std::uint32_t kStreamFrom = 8;
  static constexpr std::uint64_t kLateDistances = 16;

  // 0: none.
  explicit LookPace(std::uint64_t distance_ns) noexcept : distance_ns_(distance_ns) {}

  // A look found small frames of a peer that was sent nothing since it was heard before. `whole`:
  // no rest of them is under way.
  void stream(bool whole, std::uint64_t now_ns) noexcept {
    const bool late = now_ns - found_ns_ > kLateDistances * distance_ns_;
    finds_ = late ? 0 : finds_ + 1;
    found_ns_ = now_ns;
    next_ns_ = whole && finds_ >= kStreamFrom ? now_ns + distance_ns_ : 0;
  }
  // A look found anything else: whoever else is heard does not wait for a stream.
  void other() noexcept {
    finds_ = 0;
    next_ns_ = 0;
  }
  void hurry() noexcept { next_ns_ = 0; }

  bool in_stream() const noexcept { return finds_ > 0; }
  // No look before; 0: at any time.
  std::uint64_t next_ns() const noexcept { return next_ns_; }

 private:
  const std::uint64_t distance_ns_;
  std::uint64_t found_ns_ = 0;
  std::uint64_t next_ns_ = 0;
  std::uint32_t finds_ = 0;
};

}  // namespace espalier::net
