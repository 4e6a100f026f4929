// Prediction: how long a collective would take, from its plans and a few costs of the machine.
//
// All members' plans are played once: an index begins when what it needs is complete, what it
// receives has come and its rank's core is free; indices of a vertex begin in order. That is the
// longest path through the plans with each core, and each node's port, doing one thing at a time.
// No windows, grants, caches or noise: it ranks choices, to be shown and to be measured, where the
// simulator (net/sim) tells what the library would do on a machine.
//
// Pure; any thread. path: slow
#pragma once

#include <cstdint>
#include <optional>

#include "coll/choice/profile.hpp"
#include "coll/plan/plan.hpp"

namespace espalier {

// Nanoseconds.
struct LinkCosts {
  double latency = 0;        // from the end of a send to the beginning of its receive
  double message = 0;        // of the processor, on either side
  double copy_per_byte = 0;  // of the processor, on either side
  double port_per_byte = 0;  // of the node's port
};
struct Costs {
  LinkCosts inside, between;
  std::uint64_t pull_bytes = 0;  // inside nodes, segments from here on are copied once
  double combine_per_byte = 0;   // and operand
  double index = 0;              // what the engine does for each
  std::int32_t cores = 0;        // of a node, which its ranks share in turn; 0: one each
  double turn = 0;               // added to the latency where ranks share cores

  // As measured with this library on processors of 2020 to 2025, rounded; `cores` and `turn` are
  // zero where ranks have cores of their own.
  static Costs typical(NetworkClass network, CoreClass cores);
};

// Of all members from their common beginning to the last end, in nanoseconds. Nothing where it
// would take long to tell, and of what differs from member to member: irregular and neighbourhood
// collectives. `request` as for make_plan(), of any member.
std::optional<double> predict(const PlanRequest& request, const Costs& costs);

}  // namespace espalier
