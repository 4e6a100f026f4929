// Transfer: how a plan would have segments travel, as far as that is a choice.
//
// A wire obeys what it can (WireCaps says what that is) and has its own way for the rest: nothing
// fails because of a Transfer. Small segments, which a wire copies anyhow, do not count. Values.
#pragma once

#include <cstdint>

namespace espalier {

enum class Path : std::uint8_t {
  kAny,   // the wire's choice
  kCopy,  // through memory between the two
  kPull,  // the receiver reads in the sender's memory
  kPush,  // the sender writes into the memory of a receive that is posted when it sends
  // Of publications to all other members of the network's group (Wire::join_group), and of their
  // receives: one send for all. No choice: both sides have it, or neither.
  kMulticast,
};

struct Transfer {
  Path path = Path::kAny;
  std::uint16_t readers_at_once = 0;  // of one publication that is pulled, at most; 0: all
  std::uint32_t quantum_bytes = 0;    // pulled by one progress(), at most; 0: the wire's
  friend bool operator==(const Transfer&, const Transfer&) = default;
};

}  // namespace espalier
