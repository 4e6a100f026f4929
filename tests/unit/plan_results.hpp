// What a collective is to give: for the checker of plans.
#pragma once

#include <vector>

#include "tests/unit/plan_checker_state.hpp"

namespace espalier::plan_check {

class Results {
 public:
  Results(const std::vector<Plan>& plans, const PlanRequest& request,
          const std::vector<Neighbors>* graph)
      : plans_(plans), request_(request), graph_(graph) {}

  // Where a rank's contribution stands at the beginning, and where its result does at the end.
  Place input(std::size_t rank) const;
  Place output(std::size_t rank) const;
  bool has_input(std::size_t rank) const;
  bool has_output(std::size_t rank) const;
  // Is the input part of the output, where the call is in place on this rank? From element `at` on.
  bool shares_memory(std::size_t rank, std::uint64_t& at) const;
  // A rank's number among the contributions: its own, or its position where nodes go by that.
  std::int32_t name(std::size_t rank) const;
  // Element e of block b of a rank's output. In place: what stood there before, where it stays.
  Value expected(std::size_t rank, std::uint32_t b, std::uint64_t e, bool in_place) const;
  // Does each element of the result come to a rank in one segment, if it comes from elsewhere?
  bool arrives_once() const;
  // Makes this rank that element of the result itself?
  bool makes(std::int32_t rank, std::uint64_t e) const;

 private:
  std::int32_t size() const { return static_cast<std::int32_t>(plans_.size()); }
  const Layout& layout(std::size_t rank, Place place) const { return plans_[rank].layout(place); }
  std::int32_t maker(std::uint64_t e) const;
  Value from_neighbor(std::size_t rank, std::uint32_t b, std::uint64_t e) const;

  const std::vector<Plan>& plans_;
  const PlanRequest& request_;
  const std::vector<Neighbors>* graph_;
};

}  // namespace espalier::plan_check
