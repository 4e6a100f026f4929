// What the parts of the checker of plans share, and which of them checks what:
//
//   plan_checker.cpp         executes: starts what may start, moves what both ends have posted,
//                            combines in order
//   plan_checker_flows.cpp   the two ends of each flow speak of the same segments
//   plan_checker_memory.cpp  nothing is read before it is there, or overwritten while it is in use
//   plan_checker_end.cpp     everything completes, results are right and gaps untouched
//
// Private to these.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/plan_checker.hpp"
#include "tests/unit/plan_checker_state.hpp"
#include "tests/unit/plan_results.hpp"

namespace espalier::plan_check {

struct Run {
  Run(const std::vector<Plan>& of, const PlanRequest& call, const Schedule& order);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // The first error counts.
  template <typename... Arguments>
  void fail(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    if (report.ok()) report.error = fmt::format(format, std::forward<Arguments>(arguments)...);
  }
  std::string name(const State& s, std::uint32_t i) const {
    return fmt::format("rank {} v{}[{}]", s.plan->rank, s.vertex - s.plan->vertices.data(), i);
  }
  std::int32_t size() const { return static_cast<std::int32_t>(plans.size()); }
  std::uint64_t bytes(const State& s, std::uint32_t i) const {
    if (request.collective == Collective::kBarrier) return 0;
    return s.plan->length_elements(*s.vertex, i) * s.plan->element_bytes;
  }

  // Pairs the ends of every flow (sender, receiver, channel) and compares their segments.
  void pair_flows();

  void make_memory();
  Range cells(const State& s, Place place, std::uint32_t i, bool reads);
  Range readable(const State& s, Place place, std::uint32_t i);
  Values read(const State& s, Place place, std::uint32_t i);
  Range writable(const State& s, std::uint32_t i);
  // What stands in its place already is not written.
  bool copies_to_itself(const State& s, std::uint32_t i);

  void check_completion();
  void check_result();

  const std::vector<Plan> own_plans;  // or none
  const std::vector<Plan>& plans;
  const PlanRequest& request;
  const Schedule& schedule;
  const Results results;
  Report report;
  std::vector<State> states;
  std::vector<Memory> memories;  // by rank
};

}  // namespace espalier::plan_check
