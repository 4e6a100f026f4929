// SparePackets: what replaces packets that a destroyed queue pair may have taken along.
//
// A queue pair on a shared receive queue takes a request out of it before the message is complete,
// and one that is destroyed meanwhile takes the request along, unless the device has told that it
// has given back its last. Where it has not, nobody can know; so one spare packet goes to the
// shared queue instead, while there are any. A request that was not lost after all, or not even
// taken, makes the spare simply one packet more. At most one message arrives at a connection at a
// time, so one spare for each is enough. When there is none the port counts the packet as lost, and
// promises less.
//
// Threads: owner. path: slow
#pragma once

#include <cstdint>
#include <optional>

namespace espalier::verbs {

class SparePackets {
 public:
  SparePackets() = default;
  // Numbers of packets.
  SparePackets(std::uint32_t first, std::uint32_t count) noexcept
      : next_(first), end_(first + count) {}

  // The packet that takes the place of the one that may be lost. None: nothing is lost, or no
  // spare is left.
  std::optional<std::uint32_t> queue_pair_destroyed(bool gave_all_back) noexcept {
    if (gave_all_back || next_ == end_) return std::nullopt;
    return next_++;
  }
  std::uint32_t left() const noexcept { return end_ - next_; }

 private:
  std::uint32_t next_ = 0, end_ = 0;
};

}  // namespace espalier::verbs
