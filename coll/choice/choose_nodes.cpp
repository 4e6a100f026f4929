#include "coll/choice/choose_nodes.hpp"

#include <algorithm>

#include "coll/algorithms/exchange_steps.hpp"

namespace espalier {
namespace {

// A tree whose parts nobody has chosen follows the nodes of its team. An order of ranks that goes
// to and fro between nodes cannot be kept that way.
bool follows_nodes(const esp_coll_options& options, const PlanRequest& request,
                   const Tuning& tuning) {
  const TeamNodes* nodes = request.nodes.nodes;
  return nodes != nullptr && request.algorithm == ESP_ALGORITHM_TREE &&
         has_shapes(request.collective) && is_free(options, tuning) &&
         (request.commutative || nodes->in_order());
}

// Reductions of many groups, or members, in one pass would make their head the slowest rank.
LevelShape choose_level(const LevelShape& wished, std::int32_t many, bool up,
                        const Tuning& tuning) {
  if (wished.shape != ESP_SHAPE_AUTO) return wished;
  return {up && many > tuning.flat_ranks ? ESP_SHAPE_KNOMIAL : ESP_SHAPE_FLAT,
          tuning.knomial_radix};
}

void choose_exchange(const Tuning& tuning, PlanRequest& request) {
  NodePlan& plan = request.nodes;
  const std::int32_t nodes = plan.nodes->count();
  if (nodes == 1 || nodes > 1 << tuning.exchange_messages) return;  // it would be more than those
  if (tuning.level_shapes.nodes.shape != ESP_SHAPE_AUTO) return;
  const std::int32_t messages = exchange_steps(nodes, tuning.exchange_radix).messages();
  const std::uint64_t bytes = message_bytes(request) * static_cast<std::uint64_t>(messages);
  const bool fits = messages <= tuning.exchange_messages && bytes <= tuning.exchange_bytes;
  if (fits) plan.exchange_radix = tuning.exchange_radix;
}

// An allreduce that is no exchange: spread over the heads where each gets a segment, and where
// nodes have one level inside (who is no head has no children there, whose sums it would have to
// keep).
void choose_spread(const esp_coll_options& options, const Tuning& tuning, PlanRequest& request) {
  NodePlan& plan = request.nodes;
  const std::int32_t nodes = plan.nodes->count();
  const bool fits = plan.exchange_radix == 0 && 1 < nodes && nodes <= kSpreadNodesMax &&
                    plan.nodes->inner.empty() && plan.inside == ESP_SHAPE_FLAT &&
                    plan.nodes->largest <= tuning.flat_ranks &&
                    tuning.level_shapes.nodes.shape == ESP_SHAPE_AUTO;
  if (!fits) return;
  const std::uint64_t share = message_bytes(request) / static_cast<std::uint64_t>(nodes);
  std::uint64_t segment = request.segment_bytes;
  while (options.segment_bytes == 0 && segment > share && segment > tuning.network_bytes_min) {
    segment /= 2;
  }
  if (segment > share) return;
  request.segment_bytes = segment;
  plan.spread = true;
}

// If the settings ask for them.
void choose_stripes(const Tuning& tuning, PlanRequest& request) {
  const std::int32_t most = stripes_at_most(request);
  request.nodes.stripes = std::min(tuning.level_shapes.stripes, most);
}

}  // namespace

bool is_free(const esp_coll_options& options, const Tuning& tuning) {
  if (tuning.inner_levels == FollowLevels::kAlways) return true;
  return options.algorithm == ESP_ALGORITHM_AUTO && options.shape == ESP_SHAPE_AUTO &&
         options.variant == ESP_VARIANT_EVENT;
}

const TeamNodes* choose_nodes(const esp_coll_options& options, const PlanRequest& request,
                              const Tuning& tuning) {
  const TeamNodes* nodes = request.nodes.nodes;
  if (nodes == nullptr || nodes->inner.empty()) return nodes;
  if (!is_free(options, tuning) || exists(tuning.preferred_algorithm, request)) return nodes->plain;
  if (!request.commutative && !nodes->in_order()) return nodes->plain;
  const bool wanted = tuning.inner_levels == FollowLevels::kOn;
  if (wanted || tuning.inner_levels == FollowLevels::kAlways) return nodes;
  // On one node all ranks reduce their shares at once.
  const bool spread = nodes->plain == nullptr && request.collective == Collective::kAllreduce &&
                      request.commutative && message_bytes(request) > tuning.allreduce_gather_bytes;
  const bool pays = nodes->largest > tuning.flat_ranks && !spread;
  if (tuning.inner_levels != FollowLevels::kAuto || !pays) return nodes->plain;
  const bool collapse =
      nodes->in_one_memory > 0 && message_bytes(request) > tuning.one_memory_bytes;
  return collapse ? nodes->by_memory : nodes;
}

std::int32_t stripes_at_most(const PlanRequest& request) noexcept {
  const NodePlan& plan = request.nodes;
  const bool one_way = plan.exchange_radix > 0 || plan.spread || moves_blocks(request);
  const bool fit = !one_way && plan.nodes->count() > 1 && plan.nodes->inner.empty() &&
                   request.commutative && request.variant == ESP_VARIANT_EVENT;
  return fit ? std::min(kStripesMax, plan.nodes->largest) : 1;
}

void choose_switch_level(const LevelShape& wished, PlanRequest& request) {
  if (request.nodes.nodes->outer.empty() || request.nodes.stripes > 1) return;
  request.nodes.switches = wished;
  if (wished.shape == ESP_SHAPE_AUTO && request.shape != ESP_SHAPE_CHAIN) {
    request.nodes.switches = {request.shape, request.radix};
  }
}

void choose_node_trees(const esp_coll_options& options, const esp_coll_options& all,
                       const Tuning& tuning, PlanRequest& request) {
  if (!follows_nodes(options, request, tuning)) return;
  NodePlan& plan = request.nodes;
  const LevelShapes& wished = tuning.level_shapes;
  const bool up = request.collective != Collective::kBcast;
  plan.follow = true;
  const LevelShape inside = choose_level(wished.inside, plan.nodes->largest_group, up, tuning);
  plan.inside = inside.shape;
  plan.inside_radix = inside.radix;
  for (std::size_t k = 0; k < kLocalityLevels; ++k) {
    plan.between[k] = choose_level(wished.between[k], 0, up, tuning);  // few everywhere
  }
  const std::uint64_t bytes = message_bytes(request);
  const auto nodes = static_cast<std::uint64_t>(plan.nodes->count());
  const bool returns =
      request.collective == Collective::kAllreduce || request.collective == Collective::kBarrier;
  const bool given = all.shape != ESP_SHAPE_AUTO;
  if (returns && !given && options.variant == ESP_VARIANT_EVENT) {
    choose_exchange(tuning, request);
    choose_spread(all, tuning, request);
  }
  choose_stripes(tuning, request);
  if (!given) {
    const std::uint64_t segments = bytes / request.segment_bytes;
    request.shape = !moves_blocks(request) && segments >= tuning.chain_segments_per_node * nodes
                        ? ESP_SHAPE_CHAIN
                        : ESP_SHAPE_BINOMIAL;
    if (wished.nodes.shape != ESP_SHAPE_AUTO) {
      request.shape = wished.nodes.shape;
      request.radix = wished.nodes.radix;
    }
  }
  choose_switch_level(wished.switches, request);
}

}  // namespace espalier
