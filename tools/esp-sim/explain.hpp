// The critical path of a run, from its transfers: the chain of transfers that ends with the last
// one to be handled, in which each could not be posted before the one before it was handled.
//
// Time on the path is of four kinds, and sums up to the makespan:
//   sender   from the arrival that the post followed to the post: earlier work of the sender, its
//            windows, its noise
//   queue    from the post to the start: lanes or processor were taken
//   network  from the start to the arrival
//   receiver from the arrival to its handling: the receiver was busy, or away (noise)
// What a processor worked of it (combining, copying, overheads) is told apart from waiting.
//
// Values. path: setup
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "net/sim/machine.hpp"
#include "net/sim/world.hpp"

namespace esp_sim {

struct Step {
  espalier::sim::TransferRecord transfer;
  std::uint64_t sender_ns = 0, queue_ns = 0, network_ns = 0, receiver_ns = 0;

  std::uint64_t total_ns() const { return sender_ns + queue_ns + network_ns + receiver_ns; }
};

// Whether the receiver has handled it: crashes leave others behind.
bool has_ended(const espalier::sim::TransferRecord& transfer);

// In order of time. Empty without transfers.
std::vector<Step> critical_path(const std::vector<espalier::sim::TransferRecord>& transfers);

// For people: the path, and what it spent by kind and by level. `work`: of all processors, that of
// each in order of time. `done_ns`: when the last rank was done.
std::string explain(const std::vector<Step>& path,
                    const std::vector<espalier::sim::WorkRecord>& work,
                    const espalier::sim::Machine& machine, std::uint64_t done_ns);

}  // namespace esp_sim
