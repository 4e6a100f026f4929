// Faults: what goes wrong in a simulated run, drawn from the run's seed.
//
// A plan of faults is made before the run from (description, seed): times and places are fixed, so
// the same seed meets the same faults whatever the protocols do. Before `heal_ns` faults happen
// (safety: nothing wrong may come out); after it they stop (liveness: everything ends within a
// bound). Values. path: setup
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.hpp"

namespace espalier::sim {

struct FaultSpec {
  // Datagrams, per packet (net/sim/datagram_net.hpp); messages of reliable wires never suffer them.
  double loss = 0, duplicate = 0, reorder = 0, corrupt = 0;
  // Packets to groups meet these, too, per member; and this at every link on their way down
  // (net/sim/group_net.hpp), for all members behind it.
  double branch_loss = 0;
  // Connections (net/sim/connection_net.hpp).
  double rnr = 0;   // share of arrivals that find no packet at first
  double echo = 0;  // share of arrivals after which the last few are told again
  // Every message or datagram.
  double delay = 0;            // share of messages with a heavy-tailed extra delay
  std::uint64_t delay_ns = 0;  // its scale (Pareto, alpha 1.5, cut at 1000 x)
  double retry = 0;            // share of posts that answer kRetry without a reason
  double no_memory = 0;        // share of requests for memory that are refused at first
  // Events over the run.
  std::uint32_t clogs = 0;               // paths on which nothing moves for a while
  std::uint32_t one_way_partitions = 0;  // paths on which datagrams are lost, messages wait
  std::uint32_t breaks = 0;              // connections of one rank to another break at its end
  std::uint32_t overruns = 0;            // ranks whose adapter fails
  std::uint32_t crashes = 0;             // ranks that end without a word
  std::uint32_t slow_ranks = 0;          // ranks whose processor is 100 x slower
  std::uint64_t heal_ns = 0;  // from then on none of the above; 0: the run has no heal phase

  bool any() const noexcept;
  friend bool operator==(const FaultSpec&, const FaultSpec&) = default;
};

// "loss=0.01,delay=0.1:5us,crash=1,heal=2ms"; "" and "none": nothing. Names: loss, duplicate,
// reorder, corrupt, branch-loss, rnr, echo, retry, no-memory (shares), delay (share:time), clog,
// partition, crash, slow, break, overrun (how many), heal (time). Unknown names are errors that
// list the known ones.
Result<FaultSpec> parse_faults(std::string_view text);
std::string to_text(const FaultSpec& spec);

// A thing that happens to one rank or one path for a while.
struct FaultEvent {
  enum class Kind : std::uint8_t { kClog, kPartition, kCrash, kSlow, kBreak, kOverrun };
  Kind kind = Kind::kClog;
  std::uint64_t begin_ns = 0, end_ns = 0;  // of a crash: kNever
  std::int32_t from = -1, to = -1;         // ranks; `to` -1 where one rank is meant
  friend bool operator==(const FaultEvent&, const FaultEvent&) = default;
};
// The horizon of runs that never heal.
inline constexpr std::uint64_t kHorizonNs = 10'000'000;

// The events in order of their begin, all within the horizon, or before `heal_ns` if that is
// earlier. Crashed ranks are different ones and leave at least one alive, so do overruns; slow
// ranks are different ones. Each kind has a generator of its own: adding a crash does not move the
// clogs. Paths need two ranks; on one rank there are none.
std::vector<FaultEvent> draw_faults(const FaultSpec& spec, std::uint32_t ranks,
                                    std::uint64_t horizon_ns, std::uint64_t seed);

}  // namespace espalier::sim
