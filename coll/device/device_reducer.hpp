// DeviceReducer: carries out the combinations of calls with memory of a device, by kernels: many
// operands at once, from left to right, the same bits as the host's.
//
// Operands and destination are memory of the device, or registered memory of the host, which the
// kernel reads and writes over the bus; nothing is copied for its sake. Each home has a stream.
// What must come before a combination is complete when it is launched, so streams need not wait for
// each other. Nothing waits for a device: progress() asks the events of the oldest launches.
//
// While kAhead launches are under way, what comes waits: combinations of segments that follow each
// other, in the destination and in all operands, are then launched as one.
//
// A launch takes longer than a segment: while kAhead are under way, what comes waits, and segments
// that follow each other in memory, in all operands, are launched as one.
//
// Ownership: borrows driver, counters and memory. Threads: the owner of the worker. path: data
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "coll/device/device_reductions.hpp"
#include "coll/device/staging_memory.hpp"
#include "core/counters.hpp"
#include "core/device/kernels/parameters.hpp"

namespace espalier {

class DeviceReducer {
 public:
  DeviceReducer(device::Driver& driver, StagingMemory& memory, Counters& counters) noexcept
      : driver_(driver), memory_(memory), counters_(counters) {}

  // kPending, kRetry, or why nothing was launched and `op` is not kept.
  Result<Posted> post(const Move& move, Completion& op);
  // How one has ended, to whom it matters.
  struct Ended {
    Completion* op = nullptr;  // nullptr: none has, or nobody asks any more
    Outcome outcome = Unit{};
  };
  // Takes the oldest that has ended. False: none has.
  bool take(Ended& ended);
  // Of one that is under way: nobody asks any more. True: it has not ended yet.
  bool is_under_way(const Completion& op);
  void forget(const Completion& op) noexcept;
  bool idle() const noexcept { return under_way_ == 0; }

 private:
  // Of one stream.
  static constexpr std::uint32_t kDepth = 128;
  static constexpr std::uint32_t kAhead = 2;
  // Launching costs some microseconds, in which the fastest memory combines so much.
  static constexpr std::uint64_t kJoinedBytes = std::uint64_t{2} << 20;
  // More bring nothing, from the fastest memory either.
  static constexpr std::uint32_t kMostBlocks = 1024;

  // What waits to be launched with others; of kMostSources operands at most.
  struct Waiting {
    Completion* op = nullptr;  // nullptr: forgotten, and not launched
    Move move;                 // its operands are these
    std::array<const void*, device::kMostSources> operands;
  };
  struct Launch {
    std::vector<Completion*> ops;  // nullptr: forgotten
    std::size_t told = 0;          // of them
    device::Event event;
    Outcome outcome = Unit{};  // what is known before the event
    std::byte* sums = nullptr;
    std::uint64_t bytes = 0;
  };
  template <typename Entry>
  struct Ring {
    std::vector<Entry> entries;  // kDepth
    std::uint32_t begin = 0, end = 0;

    std::uint32_t size() const noexcept { return end - begin; }
    Entry& at(std::uint32_t number) noexcept { return entries[number % kDepth]; }
  };
  struct Lane {
    device::Home home;
    device::Stream stream;
    Ring<Launch> launches;
    Ring<Waiting> waiting;
  };

  Result<Lane*> lane_of(device::Home home);
  static Posted wait(Lane& lane, const Move& move, Completion& op);
  void launch_waiting(Lane& lane);
  void launch(Lane& lane, Launch& launch, const Move& move);
  Outcome launch_all(Lane& lane, Launch& launch, const Move& move);
  bool has_ended(Launch& launch, Outcome& outcome);
  // Where it stands: launched or not.
  Completion** find(const Completion& op, Launch*& launched) noexcept;

  device::Driver& driver_;
  StagingMemory& memory_;
  Counters& counters_;
  std::vector<std::unique_ptr<Lane>> lanes_;  // in the order in which homes were met
  std::uint32_t under_way_ = 0;
};

}  // namespace espalier
