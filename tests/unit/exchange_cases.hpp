// Plans of exchanges of blocks and of scans for tests: which to try, and those of irregular calls.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>

#include "coll/plan/binding.hpp"
#include "tests/unit/plan_cases.hpp"

namespace espalier::plan_check {

using Counts = std::vector<std::size_t>;

// Zeros among them, and one that is much longer.
inline Counts random_counts(std::int32_t size, std::mt19937& random) {
  Counts counts(static_cast<std::size_t>(size));
  for (std::size_t& count : counts) count = random() % 3 == 0 ? 0 : random() % 4;
  counts[random() % counts.size()] = 9;
  return counts;
}

// In another order than that of ranks, a gap before each.
inline Counts scattered(const Counts& counts, std::mt19937& random) {
  std::vector<std::size_t> order(counts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), random);
  Counts displs(counts.size());
  std::size_t at = 0;
  for (const std::size_t block : order) {
    at += random() % 2;
    displs[block] = at;
    at += counts[block];
  }
  return displs;
}

// Plans of an irregular call, bound.
class IrregularPlans {
 public:
  // sent[s][r]: elements from s to r; of those with one list of blocks a row for all.
  IrregularPlans(const PlanRequest& request, const std::vector<Counts>& sent, bool gaps,
                 std::mt19937& random) {
    const CollectiveTraits& traits = traits_of(request.collective);
    for (const Plan& plan : make_plans(request)) {
      const auto me = static_cast<std::size_t>(plan.rank);
      Call& call = *calls_.emplace_back(std::make_unique<Call>());
      const bool both = traits.input == Extent::kCounts && traits.output == Extent::kCounts;
      if (traits.input == Extent::kCounts) call.in = both ? sent[me] : sent[0];
      if (traits.output == Extent::kCounts) call.out = sent[0];
      for (std::size_t s = 0; both && s < sent.size(); ++s) call.out[s] = sent[s][me];
      const bool displaced = request.collective != Collective::kReduceScatter;
      if (gaps && !call.in.empty() && displaced) call.in_displs = scattered(call.in, random);
      if (gaps && !call.out.empty()) call.out_displs = scattered(call.out, random);
      if (request.in_place && both) {
        call.in = call.out;
        call.in_displs = call.out_displs;
      }
      bind(plan, call, sent[0][me]);
    }
  }
  // Of neighbours: what comes in and goes out is as long as the edges are.
  IrregularPlans(const std::vector<Plan>& plans, const std::vector<Counts>& in,
                 const std::vector<Counts>& out, const Counts& own) {
    for (std::size_t r = 0; r < plans.size(); ++r) {
      Call& call = *calls_.emplace_back(std::make_unique<Call>());
      call.in = in[r];
      call.out = out[r];
      bind(plans[r], call, own[r]);
    }
  }
  const std::vector<Plan>& plans() const { return plans_; }

 private:
  struct Call {
    Counts in, out, in_displs, out_displs;
    Binding binding;
  };
  void bind(const Plan& plan, Call& call, std::size_t own) {
    const auto array = [](const Counts& of) { return of.empty() ? nullptr : of.data(); };
    const Result<Plan> made = bound(plan, {array(call.in), array(call.in_displs), own},
                                    {array(call.out), array(call.out_displs), own}, call.binding);
    if (!made) {
      ADD_FAILURE() << made.error().text;
      return;
    }
    plans_.push_back(made.value());
  }
  std::vector<std::unique_ptr<Call>> calls_;
  std::vector<Plan> plans_;
};

inline PlanRequest exchange(Collective collective, esp_algorithm algorithm, std::int32_t size) {
  PlanRequest request;
  request.collective = collective;
  request.algorithm = algorithm;
  request.size = size;
  request.element_bytes = 8;
  request.segment_bytes = 16;
  request.window_send = 2;
  request.window_recv = 3;
  return request;
}

// Lengths between all pairs; the same both ways if `symmetric`.
inline std::vector<Counts> random_lengths(std::int32_t size, bool symmetric, std::mt19937& random) {
  std::vector<Counts> sent;
  for (std::int32_t s = 0; s < size; ++s) sent.push_back(random_counts(size, random));
  for (std::size_t s = 0; symmetric && s < sent.size(); ++s) {
    for (std::size_t r = 0; r < s; ++r) sent[r][s] = sent[s][r];
  }
  return sent;
}

inline bool is_power_of_two(std::int32_t size) {
  return (size & (size - 1)) == 0;
}

struct Case {
  Collective collective;
  esp_algorithm algorithm;
  std::int32_t radix = 2;
  bool in_place = false;
};

inline void PrintTo(const Case& c, std::ostream* out) {
  *out << collective_name(c.collective) << " " << algorithm_name(c.algorithm) << " " << c.radix
       << (c.in_place ? " in place" : "");
}

inline constexpr Case kCases[] = {
    {Collective::kAllgather, ESP_ALGORITHM_PUBLISH},
    {Collective::kAllgather, ESP_ALGORITHM_RING},
    {Collective::kAllgather, ESP_ALGORITHM_DOUBLING},
    {Collective::kAllgather, ESP_ALGORITHM_BRUCK, 2},
    {Collective::kAllgather, ESP_ALGORITHM_BRUCK, 3},
    {Collective::kAllgather, ESP_ALGORITHM_BRUCK, 64},
    {Collective::kAllgather, ESP_ALGORITHM_TREE},
    {Collective::kAllgatherv, ESP_ALGORITHM_PUBLISH},
    {Collective::kAllgatherv, ESP_ALGORITHM_RING},
    {Collective::kAllgatherv, ESP_ALGORITHM_DOUBLING},
    {Collective::kAllgatherv, ESP_ALGORITHM_BRUCK, 2},
    {Collective::kAllgatherv, ESP_ALGORITHM_BRUCK, 5},
    {Collective::kAllgatherv, ESP_ALGORITHM_TREE},
    {Collective::kAlltoall, ESP_ALGORITHM_RING},
    {Collective::kAlltoall, ESP_ALGORITHM_RING, 2, true},
    {Collective::kAlltoall, ESP_ALGORITHM_ONE_FACTOR},
    {Collective::kAlltoall, ESP_ALGORITHM_ONE_FACTOR, 2, true},
    {Collective::kAlltoall, ESP_ALGORITHM_XOR},
    {Collective::kAlltoall, ESP_ALGORITHM_XOR, 2, true},
    {Collective::kAlltoall, ESP_ALGORITHM_BRUCK, 2},
    {Collective::kAlltoall, ESP_ALGORITHM_BRUCK, 3, true},
    {Collective::kAlltoall, ESP_ALGORITHM_BRUCK, 7},
    {Collective::kAlltoall, ESP_ALGORITHM_TREE},
    {Collective::kAlltoall, ESP_ALGORITHM_TREE, 2, true},
    {Collective::kAlltoallv, ESP_ALGORITHM_RING},
    {Collective::kAlltoallv, ESP_ALGORITHM_RING, 2, true},
    {Collective::kAlltoallv, ESP_ALGORITHM_ONE_FACTOR},
    {Collective::kAlltoallv, ESP_ALGORITHM_ONE_FACTOR, 2, true},
    {Collective::kAlltoallv, ESP_ALGORITHM_XOR},
    {Collective::kScan, ESP_ALGORITHM_RING},
    {Collective::kScan, ESP_ALGORITHM_DOUBLING},
    {Collective::kExscan, ESP_ALGORITHM_RING},
    {Collective::kExscan, ESP_ALGORITHM_DOUBLING},
    {Collective::kAllreduce, ESP_ALGORITHM_RING},
    {Collective::kAllreduce, ESP_ALGORITHM_DOUBLING},
    {Collective::kAllreduce, ESP_ALGORITHM_HALVING},
    {Collective::kGather, ESP_ALGORITHM_LINEAR},
    {Collective::kGather, ESP_ALGORITHM_TREE},
    {Collective::kGatherv, ESP_ALGORITHM_LINEAR},
    {Collective::kScatter, ESP_ALGORITHM_LINEAR},
    {Collective::kScatter, ESP_ALGORITHM_LINEAR, 2, true},
    {Collective::kScatter, ESP_ALGORITHM_TREE},
    {Collective::kScatter, ESP_ALGORITHM_TREE, 2, true},
    {Collective::kScatterv, ESP_ALGORITHM_LINEAR},
    {Collective::kScatterv, ESP_ALGORITHM_LINEAR, 2, true},
    {Collective::kReduceScatterBlock, ESP_ALGORITHM_SPREAD},
    {Collective::kReduceScatterBlock, ESP_ALGORITHM_SPREAD, 2, true},
    {Collective::kReduceScatterBlock, ESP_ALGORITHM_TREE},
    {Collective::kReduceScatterBlock, ESP_ALGORITHM_TREE, 2, true},
    {Collective::kReduceScatter, ESP_ALGORITHM_SPREAD},
    {Collective::kReduceScatter, ESP_ALGORITHM_SPREAD, 2, true},
    {Collective::kAlltoallw, ESP_ALGORITHM_RING},
    {Collective::kAlltoallw, ESP_ALGORITHM_ONE_FACTOR, 2, true},
};

}  // namespace espalier::plan_check
