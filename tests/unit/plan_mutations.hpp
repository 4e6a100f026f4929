// Spoilt plans: what tests of the checker share.
#pragma once

#include <string>
#include <vector>

#include "tests/unit/plan_cases.hpp"

namespace espalier::plan_check {

// What Plan::finish() does, without its assertions, which would refuse many of these plans.
inline void recompute_feeds(Plan& plan) {
  for (Vertex& v : plan.vertices) v.feeds.clear();
  for (std::size_t id = 0; id < plan.vertices.size(); ++id) {
    for (const Dependency& need : plan.vertices[id].needs) {
      plan.vertices[need.vertex].feeds.push_back(static_cast<std::uint16_t>(id));
    }
  }
}

// The first error under any of the schedules.
inline std::string first_error(const std::vector<Plan>& plans, const PlanRequest& request,
                               std::uint64_t seeds = 20) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    for (const Schedule& schedule : schedules(seed, request.size)) {
      const Report report = check(plans, request, schedule);
      if (!report.ok()) return report.error;
    }
  }
  return "no error found";
}

}  // namespace espalier::plan_check
