// Application: what simulated ranks do beside an operation. They compute while it is under way, and
// a consumer works on what the operation's deliver vertices hand out.
//
// Who has which core:
//   kNone    the library's core computes: the library goes on inside the start, and from the end of
//            the computation on. What is on the wire by then goes on by itself.
//   kShared  the library's core computes, whenever the library does nothing.
//   kThread  another core computes, from the start on.
// A consumer has a core that is not the library's: with kThread the one that computed, when that is
// done; without computation its own. What it does costs time per byte, once; of a merge log2(n)
// times for n sorted blocks, as the comparisons of a merge are.
//   kAfter    works on all blocks together when the operation is complete on this rank.
//   kPartial  works on groups of blocks as they land, on the last ones when the operation is
//             complete; if it merges, on these and all groups together. Groups of k and then p / k
//             of them are as many comparisons as p blocks at once.
//
// Values, and a consumer of each rank. Threads: one. path: setup
#pragma once

#include <cstdint>
#include <map>

#include "coll/engine/gate.hpp"

namespace espalier::sim {

enum class Overlap : std::uint8_t { kOff, kNone, kThread, kShared };
enum class Consuming : std::uint8_t { kOff, kAfter, kPartial };

struct Application {
  Overlap overlap = Overlap::kOff;
  std::uint64_t work_ns = 0;  // what each rank computes, unless kOff

  Consuming consuming = Consuming::kOff;
  std::uint32_t group = 1;  // kPartial: blocks
  double ns_per_byte = 0;
  bool merges = false;

  bool any() const noexcept { return overlap != Overlap::kOff || consuming != Consuming::kOff; }
};

// The consumer of one rank. Times are of the world.
class Consumption {
 public:
  // `block_bytes`: of each block of what is delivered; 0: a portion is a block. The core is the
  // consumer's from `free_ns` on.
  Consumption(const Application& application, std::uint64_t block_bytes,
              std::uint64_t free_ns) noexcept
      : application_(application), block_bytes_(block_bytes), free_ns_(free_ns) {}

  // Portions come in the order of their times.
  void land(const Portion& portion, std::uint64_t now_ns);
  // The operation is complete. Answers when all that was delivered is worked on.
  std::uint64_t finish(std::uint64_t now_ns);
  // What has been worked so far, without waiting.
  std::uint64_t worked_ns() const noexcept { return worked_ns_; }

 private:
  struct Group {
    std::uint64_t blocks = 0, bytes = 0;
  };

  void land_block(std::uint64_t bytes, std::uint64_t now_ns);
  void work(const Group& group, std::uint64_t from_ns);

  Application application_;
  std::uint64_t block_bytes_;
  std::uint64_t free_ns_;  // when the core is done with what it was given
  std::uint64_t worked_ns_ = 0;
  std::map<std::uint64_t, std::uint64_t> pieces_;  // blocks of which a part is there: how much
  Group open_;                                     // that waits for more blocks
  Group groups_;                                   // that are worked on, as blocks of the last one
};

}  // namespace espalier::sim
