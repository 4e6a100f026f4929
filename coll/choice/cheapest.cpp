#include "coll/choice/cheapest.hpp"

#include <algorithm>
#include <utility>

#include "coll/algorithms/exchange_steps.hpp"
#include "coll/choice/choose_nodes.hpp"
#include "coll/choice/estimate.hpp"

namespace espalier {
namespace {

constexpr std::uint64_t kSegments[] = {4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288};
constexpr LevelShape kShapes[] = {{ESP_SHAPE_BINOMIAL, 2},
                                  {ESP_SHAPE_CHAIN, 2},
                                  {ESP_SHAPE_BINARY, 2},
                                  {ESP_SHAPE_KNOMIAL, 4},
                                  {ESP_SHAPE_FLAT, 2}};
constexpr std::int32_t kRadixes[] = {2, 4, 8};
constexpr std::int32_t kMessagesMax = 62;  // of an exchange: each is a vertex of the plan
constexpr std::uint64_t kPiecesMax = 4096;

class Cheapest {
 public:
  Cheapest(const PlanRequest& ruled, const Freedom& freedom, const Costs& costs)
      : costs_(costs), freedom_(freedom), best_(ruled) {
    const auto ns = estimate(ruled, costs);
    known_ = ns.has_value();
    best_ns_ = ns.value_or(0) * kClearly;
  }

  // With the levels inside nodes as they are, and with trees of pairs there: fewer read at once.
  void try_trees(PlanRequest tree) {
    try_shapes(tree);
    if (!freedom_.inside || tree.nodes.nodes->largest <= 2) return;
    tree.nodes.between.fill({ESP_SHAPE_BINOMIAL, 2});
    tree.nodes.inside = ESP_SHAPE_BINOMIAL;
    tree.nodes.inside_radix = 2;
    try_shapes(tree);
  }

  void try_algorithm(const PlanRequest& ruled, esp_algorithm algorithm) {
    if (algorithm == ruled.algorithm || !exists(algorithm, ruled)) return;
    PlanRequest other = without_exchange(ruled);
    other.algorithm = algorithm;
    other.nodes.follow = false;
    if (algorithm == ESP_ALGORITHM_BRUCK) other.radix = 2;
    try_one(other, "messages and bytes that cost least");
  }

  // By multicast: of a sum the way up has a shape.
  void try_group(const PlanRequest& group) {
    constexpr const char* kWhy = "multicast, which costs least";
    if (!has_shapes(group.collective)) return try_one(group, kWhy);
    for (const LevelShape& shape : kShapes) {
      PlanRequest other = group;
      if (group.collective != Collective::kBcast) {
        other.shape = shape.shape;
        other.radix = shape.radix;
        choose_switch_level({ESP_SHAPE_AUTO, 2}, other);
      }
      try_segments(other, kWhy);
      if (group.collective == Collective::kBcast) return;
    }
  }

  PlanRequest best() { return std::move(best_); }

 private:
  void try_shapes(const PlanRequest& tree) {
    for (const LevelShape& shape : kShapes) {
      PlanRequest other = without_exchange(tree);
      other.shape = shape.shape;
      other.radix = shape.radix;
      const std::int32_t most = stripes_at_most(other);
      for (other.nodes.stripes = 1; other.nodes.stripes <= most; ++other.nodes.stripes) {
        other.nodes.switches = {ESP_SHAPE_AUTO, 2};
        choose_switch_level({ESP_SHAPE_AUTO, 2}, other);
        try_segments(other, "a tree over nodes that costs least");
      }
    }
    if (tree.collective != Collective::kAllreduce && tree.collective != Collective::kBarrier)
      return;
    for (const std::int32_t radix : kRadixes) {
      if (exchange_steps(tree.nodes.nodes->count(), radix).messages() > kMessagesMax) continue;
      PlanRequest other = without_exchange(tree);
      other.nodes.exchange_radix = radix;
      try_segments(other, "an exchange of heads that costs least");
    }
  }

  static PlanRequest without_exchange(PlanRequest request) {
    request.nodes.exchange_radix = 0;
    request.nodes.spread = false;
    request.nodes.multicast = false;
    return request;
  }

  void try_segments(PlanRequest& other, const char* why) {
    if (!freedom_.segments) return try_one(other, why);
    const std::uint64_t bytes = message_bytes(other);
    for (const std::uint64_t segment : kSegments) {
      if (bytes / segment > kPiecesMax) continue;
      other.segment_bytes = segment;
      try_one(other, why);
      if (segment >= bytes) return;
    }
  }

  void try_one(const PlanRequest& other, const char* why) {
    const auto ns = estimate(other, costs_);
    if (!known_ || !ns || *ns >= best_ns_) return;
    best_ns_ = *ns;
    best_ = other;
    best_.reason.rule = why;
  }

  const Costs& costs_;
  const Freedom& freedom_;
  PlanRequest best_;
  double best_ns_ = 0;
  bool known_ = false;  // what the rules' choice takes
};

}  // namespace

PlanRequest cheapest(const PlanRequest& ruled, const PlanRequest& tree, const Freedom& freedom,
                     const Costs& costs, const PlanRequest* group) {
  Cheapest choice(ruled, freedom, costs);
  if (group != nullptr) choice.try_group(*group);
  if (has_shapes(ruled.collective) && tree.nodes.follow) choice.try_trees(tree);
  switch (ruled.collective) {
    case Collective::kAllreduce:
      choice.try_algorithm(ruled, ESP_ALGORITHM_RING);
      choice.try_algorithm(ruled, ESP_ALGORITHM_HALVING);
      if (ruled.nodes.nodes->largest == 1) choice.try_algorithm(ruled, ESP_ALGORITHM_SPREAD);
      break;
    case Collective::kReduceScatterBlock:
      if (ruled.nodes.nodes->largest > 1) choice.try_algorithm(ruled, ESP_ALGORITHM_TREE);
      break;
    case Collective::kAllgather:
    case Collective::kAlltoall:
      for (const esp_algorithm algorithm : {ESP_ALGORITHM_RING, ESP_ALGORITHM_BRUCK,
                                            ESP_ALGORITHM_DOUBLING, ESP_ALGORITHM_ONE_FACTOR}) {
        choice.try_algorithm(ruled, algorithm);
      }
      if (ruled.nodes.nodes->largest > 1) choice.try_algorithm(ruled, ESP_ALGORITHM_TREE);
      break;
    default:
      break;
  }
  return choice.best();
}

}  // namespace espalier
