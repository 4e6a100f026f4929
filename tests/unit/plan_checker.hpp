// A symbolic interpreter of plans: runs the plans of all ranks of one collective together, without
// buffers, bytes or a network, and says what is wrong with them.
//
// A segment's content is a Value: which ranks' contributions it holds, in which order. Since every
// reduction is documented to combine in (rotated) rank order, a correct partial result is a run of
// consecutive ranks; anything else cannot be expressed and is an error at once.
//
// The interpreter keeps the engine's rules (coll/plan/plan.hpp, "When an index may start") and
// moves a segment only between a posted send and the posted receive that meets it (zero buffering).
// A send locks its source until the segment has arrived, an arriving segment locks its destination;
// a write to a locked place is an error, which finds missing dependencies and in-place hazards. In
// place, input and output are the same memory. An input that is awaited opens as transfers end, in
// any order; what was delivered may not be written again, and everything is delivered once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coll/plan/plan.hpp"

namespace espalier::plan_check {

enum class Order : std::uint8_t {
  kFifo,    // transfers complete in the order in which they became possible
  kLifo,    // the youngest first: segments overtake each other as far as windows allow
  kRandom,  // seeded
  kStarve,  // transfers of one rank only when no others are possible, else random
  kRounds,  // all at once, one per vertex and round: counts steps
};

struct Schedule {
  Order order = Order::kFifo;
  std::uint64_t seed = 1;    // kRandom, kStarve
  std::int32_t starved = 0;  // kStarve
  // A vertex whose next index cannot start does not try later ones.
  bool in_order_posts = false;
  bool in_place = false;
  // Combinations take time, as a mover's do: they complete when it is their turn among the
  // transfers.
  bool late_moves = false;
  // A publication goes to all of its readers or to none, as the wires have it: no transfer of it
  // begins before all have posted their receives.
  bool all_or_none = false;
  // What is received as a view is read in its sender's memory: the send is complete when the view
  // is released.
  bool holds_views = false;
  const std::vector<Neighbors>* graph = nullptr;  // of exchanges of neighbours, by rank
};

struct Report {
  std::string error;  // empty: correct
  std::uint64_t rounds = 0;
  std::vector<std::uint64_t> bytes_sent;  // by rank; a publication counts once
  std::vector<std::uint64_t> bytes_received;

  bool ok() const { return error.empty(); }
};

// `plans` are those of ranks 0..size-1; `request` describes the call (its rank is ignored).
Report check(const std::vector<Plan>& plans, const PlanRequest& request, const Schedule& schedule);

}  // namespace espalier::plan_check
