// make_plan: checks of a request, choice of the maker. path: setup
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "coll/algorithms/builder.hpp"
#include "coll/plan/plan.hpp"

namespace espalier {
namespace {

constexpr std::int32_t kMaxBruckRadix = 64;
constexpr std::int64_t kMaxLeaderBlocks = 1 << 28;  // some buffers hold them three times
constexpr std::int64_t kMaxWaitallDegree = 64;      // its edges grow with the square

Outcome refuse(esp_status code, std::string text) {
  return error(code, std::move(text));
}

// Of a shape.
bool uses_tree(const PlanRequest& request) {
  return request.algorithm == ESP_ALGORITHM_TREE && has_shapes(request.collective);
}

// Direct exchanges: steps that may be bound to each other.
bool exchanges_directly(const PlanRequest& request) {
  switch (request.collective) {
    case Collective::kAlltoall:
    case Collective::kAlltoallv:
    case Collective::kAlltoallw:
      return request.algorithm != ESP_ALGORITHM_BRUCK && request.algorithm != ESP_ALGORITHM_TREE;
    default:
      return false;
  }
}

bool is_per_member(const PlanRequest& request) {
  const CollectiveTraits& traits = traits_of(request.collective);
  if (traits.neighbors) return false;
  return traits.input == Extent::kPerMember || traits.output == Extent::kPerMember;
}

Outcome check_numbers(const PlanRequest& r) {
  if (r.size < 1)
    return refuse(ESP_ERR_ARGUMENT, fmt::format("team size {} is not positive", r.size));
  if (r.rank < 0 || r.rank >= r.size) {
    return refuse(ESP_ERR_ARGUMENT, fmt::format("rank {} is not in a team of {}", r.rank, r.size));
  }
  if (r.root < 0 || r.root >= r.size) {
    return refuse(ESP_ERR_ARGUMENT, fmt::format("root {} is not in a team of {}", r.root, r.size));
  }
  if (r.element_bytes < 1) return refuse(ESP_ERR_ARGUMENT, "elements of 0 bytes");
  if (r.segment_bytes < 1) return refuse(ESP_ERR_ARGUMENT, "segments of 0 bytes");
  if (traits_of(r.collective).neighbors && r.neighbors == nullptr) {
    return refuse(ESP_ERR_ARGUMENT,
                  fmt::format("{} without a graph", collective_name(r.collective)));
  }
  if (r.variant >= ESP_VARIANT_COUNT) {
    return refuse(ESP_ERR_ARGUMENT, fmt::format("unknown variant {}", static_cast<int>(r.variant)));
  }
  const auto blocks = static_cast<std::uint64_t>(is_per_member(r) ? r.size : 1);
  if (std::numeric_limits<std::uint64_t>::max() / 2 / r.element_bytes / blocks < r.elements) {
    return refuse(ESP_ERR_ARGUMENT,
                  fmt::format("{} elements of {} bytes do not fit an address space", r.elements,
                              r.element_bytes));
  }
  for (const std::int32_t window : {r.window_send, r.window_recv}) {
    if (window < 1 || window > kMaxWindow) {
      return refuse(ESP_ERR_ARGUMENT, fmt::format("window {} is not in 1..{}", window, kMaxWindow));
    }
  }
  return Unit{};
}

Outcome check_shape(const PlanRequest& r) {
  const auto two_tree = [](const LevelShape& level) { return level.shape == ESP_SHAPE_TWO_TREE; };
  if (r.nodes.follow && (r.shape == ESP_SHAPE_TWO_TREE || r.nodes.inside == ESP_SHAPE_TWO_TREE ||
                         std::any_of(r.nodes.between.begin(), r.nodes.between.end(), two_tree))) {
    return refuse(ESP_ERR_UNSUPPORTED, "a two-tree is no part of a tree over nodes");
  }
  if (r.nodes.stripes < 1 || r.nodes.stripes > kStripesMax) {
    return refuse(ESP_ERR_ARGUMENT,
                  fmt::format("{} stripes are not in 1..{}", r.nodes.stripes, kStripesMax));
  }
  const bool blocks = is_per_member(r) || is_irregular(r.collective);
  if (r.nodes.stripes > 1 &&
      (blocks || !r.nodes.follow || !r.nodes.nodes->inner.empty() || !r.commutative)) {
    return refuse(ESP_ERR_UNSUPPORTED,
                  "stripes are for trees over nodes without levels inside, and in any order");
  }
  if (r.shape == ESP_SHAPE_AUTO || r.shape >= ESP_SHAPE_COUNT) {
    return refuse(ESP_ERR_ARGUMENT,
                  fmt::format("unknown tree shape {}", static_cast<int>(r.shape)));
  }
  const std::int32_t least = r.shape == ESP_SHAPE_KNOMIAL ? 2 : 1;
  if ((r.shape == ESP_SHAPE_KARY || r.shape == ESP_SHAPE_KNOMIAL) && r.radix < least) {
    return refuse(ESP_ERR_ARGUMENT, fmt::format("radix {} of a {} tree is below {}", r.radix,
                                                shape_name(r.shape), least));
  }
  return Unit{};
}

// Of collectives whose blocks differ from member to member.
Outcome check_exchange(const PlanRequest& r) {
  if (!fits_team(r.collective, r.algorithm, r.size)) {
    return refuse(ESP_ERR_UNSUPPORTED,
                  fmt::format("{} with partners at powers of two is for teams of 2^n members, not "
                              "of {}",
                              collective_name(r.collective), r.size));
  }
  if (r.algorithm != ESP_ALGORITHM_BRUCK) return Unit{};
  if (r.radix < 2 || r.radix > kMaxBruckRadix) {  // vertices grow with it, edges with its square
    return refuse(ESP_ERR_ARGUMENT, fmt::format("radix {} of Bruck's algorithm is not in 2..{}",
                                                r.radix, kMaxBruckRadix));
  }
  return Unit{};
}

Outcome check_combination(const PlanRequest& r) {
  if (r.algorithm == ESP_ALGORITHM_SHORT) {
    return refuse(ESP_ERR_UNSUPPORTED, "the short path has no plan");
  }
  if (r.algorithm == ESP_ALGORITHM_AUTO || r.algorithm >= ESP_ALGORITHM_COUNT) {
    return refuse(ESP_ERR_ARGUMENT,
                  fmt::format("unknown algorithm {}", static_cast<int>(r.algorithm)));
  }
  const bool turns = r.algorithm == ESP_ALGORITHM_SPREAD || r.algorithm == ESP_ALGORITHM_RING;
  if (turns && r.collective == Collective::kAllreduce && !r.commutative) {
    return refuse(ESP_ERR_UNSUPPORTED,
                  std::string("the ") + algorithm_name(r.algorithm) +
                      " algorithm combines each block in another order of ranks, which an "
                      "operator that does not commute forbids");
  }
  const bool leads = r.algorithm == ESP_ALGORITHM_TREE && !has_shapes(r.collective);
  if (leads && traits_of(r.collective).reduces && !r.commutative) {
    return refuse(ESP_ERR_UNSUPPORTED,
                  fmt::format("{} by leaders combines nodes in another order than that of ranks, "
                              "which an operator that does not commute forbids",
                              collective_name(r.collective)));
  }
  if (!has_algorithm(r.collective, r.algorithm)) {
    return refuse(ESP_ERR_UNSUPPORTED,
                  fmt::format("{} has no {} algorithm", collective_name(r.collective),
                              algorithm_name(r.algorithm)));
  }
  const bool moves_blocks = is_per_member(r) && uses_tree(r);
  if (moves_blocks && r.shape == ESP_SHAPE_TWO_TREE) {
    return refuse(ESP_ERR_UNSUPPORTED, fmt::format("{} has no two-tree: each block goes one way",
                                                   collective_name(r.collective)));
  }
  if (moves_blocks && r.variant != ESP_VARIANT_EVENT) {
    return refuse(ESP_ERR_UNSUPPORTED,
                  fmt::format("{} has the event variant alone", collective_name(r.collective)));
  }
  if (uses_tree(r)) return check_shape(r);
  if (r.variant != ESP_VARIANT_EVENT && !exchanges_directly(r)) {
    return refuse(ESP_ERR_UNSUPPORTED,
                  fmt::format("{} by {} has the event variant alone", collective_name(r.collective),
                              algorithm_name(r.algorithm)));
  }
  return check_exchange(r);
}

Outcome check_multicast(const PlanRequest& r) {
  if (!r.nodes.multicast) return Unit{};
  const char* why = why_no_multicast(r);
  return why == nullptr ? Outcome(Unit{}) : refuse(ESP_ERR_UNSUPPORTED, why);
}

// Vertices and indices must fit their types on every rank alike, whatever the own place in the
// tree.
Outcome check_extent(const PlanRequest& r) {
  if (is_irregular(r.collective)) return Unit{};  // Each call's counts are checked (Binding::bind).
  const bool per_member = is_per_member(r);
  const bool halves = r.algorithm == ESP_ALGORITHM_HALVING || r.algorithm == ESP_ALGORITHM_RING;
  const bool cut = (r.algorithm == ESP_ALGORITHM_SPREAD || halves) && !per_member;
  const bool leads = r.algorithm == ESP_ALGORITHM_TREE && !uses_tree(r);
  std::int64_t blocks = cut || per_member ? r.size : 1;
  if (leads) {
    const TeamNodes* by = r.nodes.nodes;
    if (by != nullptr && r.nodes.multicast) by = &by->of_group();
    const std::int64_t largest = by != nullptr ? by->largest : r.size;
    const std::int64_t nodes = by != nullptr ? by->count() : 1;
    // All runs have as many pieces as the longest one, and so have all bundles.
    blocks = largest * nodes;
    if (r.collective == Collective::kAlltoall) blocks *= largest;
    if (blocks > kMaxLeaderBlocks) {
      return refuse(ESP_ERR_UNSUPPORTED,
                    fmt::format("{} by leaders of nodes of up to {} members: a leader would hold "
                                "more blocks than a plan counts",
                                collective_name(r.collective), largest));
    }
  }
  const std::uint64_t block_elements =
      cut ? r.elements / static_cast<std::uint64_t>(blocks) + 1 : r.elements;
  const std::uint64_t piece_elements =
      std::max<std::uint64_t>(r.segment_bytes / r.element_bytes, 1);
  const std::uint64_t pieces = block_elements / piece_elements + 1;
  if (pieces > kMaxIndices / static_cast<std::uint64_t>(blocks)) {
    return refuse(ESP_ERR_ARGUMENT, fmt::format("segments of {} bytes cut the message into more "
                                                "than {} pieces: use longer ones",
                                                r.segment_bytes, kMaxIndices));
  }
  TreeSpec spec{.shape = uses_tree(r) ? r.shape : ESP_SHAPE_FLAT,
                .radix = r.radix,
                .size = r.size,
                .rank_order = !r.commutative};
  if (uses_tree(r)) spec.nodes = r.nodes;
  // A reduction by publication begins as one up a flat tree.
  const bool grows = uses_tree(r) || (r.algorithm == ESP_ALGORITHM_PUBLISH && !per_member);
  const std::int64_t degree = grows ? tree_degree_bound(spec) : 1;
  // Up to four phases (up and down, two trees), each with a vertex per child and a few more.
  const std::int64_t trees = r.shape == ESP_SHAPE_TWO_TREE ? 2 : r.nodes.stripes;
  const std::int64_t per_child = 2 * trees;
  std::int64_t vertices = per_child * degree + 8 * trees;
  if (r.nodes.spread) {  // so much for each lane, and twice the other heads
    vertices = (vertices + 2) * r.nodes.nodes->count();
  }
  if (vertices >= kNoVertex) {
    return refuse(ESP_ERR_UNSUPPORTED,
                  fmt::format("a rank of this tree may have {} children, which is more than a plan "
                              "has room for: use another shape",
                              degree));
  }
  if (r.variant == ESP_VARIANT_WAITALL && degree > kMaxWaitallDegree) {
    return refuse(ESP_ERR_UNSUPPORTED,
                  fmt::format("the waitall variant is limited to {} children per rank, this tree "
                              "may have {}",
                              kMaxWaitallDegree, degree));
  }
  return Unit{};
}

Outcome check(const PlanRequest& request) {
  for (const auto rule : {check_numbers, check_combination, check_multicast, check_extent}) {
    Outcome outcome = rule(request);
    if (!outcome) return outcome;
  }
  return Unit{};
}

Result<Plan> make(const PlanRequest& request) {
  if (traits_of(request.collective).neighbors) return make_neighbors(request);
  if (request.size == 1) return make_alone(request);
  switch (request.collective) {
    case Collective::kBcast:
      return make_bcast(request);
    case Collective::kReduce:
      return make_reduce(request);
    case Collective::kAllgather:
    case Collective::kAllgatherv:
      return make_allgather(request);
    case Collective::kAlltoall:
    case Collective::kAlltoallv:
    case Collective::kAlltoallw:
      return make_alltoall(request);
    case Collective::kGather:
    case Collective::kGatherv:
      return make_gather(request);
    case Collective::kScatter:
    case Collective::kScatterv:
      return make_scatter(request);
    case Collective::kReduceScatterBlock:
    case Collective::kReduceScatter:
      return make_reduce_scatter(request);
    case Collective::kScan:
    case Collective::kExscan:
      return make_scan(request);
    default:
      return make_allreduce(request);
  }
}

}  // namespace

const char* why_no_multicast(const PlanRequest& request) {
  const NodePlan& plan = request.nodes;
  if (plan.nodes == nullptr || plan.nodes->count() < kMulticastNodesMin)
    return "multicast is for three nodes or more";
  switch (request.collective) {
    case Collective::kBarrier:
    case Collective::kBcast:
    case Collective::kAllreduce:
    case Collective::kAllgather:
    case Collective::kAllgatherv:
      break;
    default:
      return "nothing of it is for all nodes, which multicast takes";
  }
  if (request.variant != ESP_VARIANT_EVENT) return "multicast has the event variant alone";
  const bool follows = plan.follow || !has_shapes(request.collective);
  if (request.algorithm != ESP_ALGORITHM_TREE || !follows)
    return "multicast is for trees over nodes, and leaders of nodes";
  const bool across = plan.stripes > 1 || plan.exchange_radix > 0 || plan.spread;
  return across ? "multicast is for one leader of each node, and no exchange of them" : nullptr;
}

Result<Plan> make_plan(const PlanRequest& request) {
  if (request.collective >= Collective::kPointToPoint) {
    return error(ESP_ERR_UNSUPPORTED, "point-to-point transfers are not planned here");
  }
  PlanRequest checked = request;
  if (request.collective == Collective::kBarrier) {
    checked.elements = 0;
    checked.element_bytes = 1;
  }
  if (!traits_of(request.collective).reduces) checked.commutative = true;
  if (const Outcome outcome = check(checked); !outcome) return outcome.error();
  auto plan = make(checked);
  if (!plan) return plan;
  for (Vertex& vertex : plan->vertices) {
    const bool by_group = vertex.transfer.path == Path::kMulticast;
    if (!is_local(vertex.action) && !by_group) vertex.transfer = checked.transfer;
  }
  return plan;
}

}  // namespace espalier
