// Plan::finish (the structural rules) and make_plan (checks of a request, choice of the maker).
#include "coll/plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "coll/algorithms/builder.hpp"

namespace espalier {
namespace {

constexpr std::int32_t kMaxWindow = 64;  // completions beyond the prefix fit one word
constexpr std::uint32_t kMaxIndices = std::numeric_limits<std::int32_t>::max();  // shifts reach all
constexpr std::int64_t kMaxWaitallDegree = 64;  // its edges grow with the square

// ---- structural rules ----

bool has_edge(const Vertex& vertex, VertexId other, std::int32_t lowest, std::int32_t highest) {
  return std::any_of(vertex.needs.begin(), vertex.needs.end(), [&](const Dependency& need) {
    return need.vertex == other && lowest <= need.shift && need.shift <= highest;
  });
}

bool is_segment_source(Place place) {
  return place == Place::kInput || place == Place::kOutput || place == Place::kScratch;
}

void assert_places(const Vertex& v) {
  switch (v.action) {
    case Action::kRecv:
      ESP_ASSERT(v.src == Place::kNone && v.dst == Place::kOutput);
      break;
    case Action::kRecvView:
      ESP_ASSERT(v.src == Place::kNone && v.dst == Place::kNone);
      break;
    case Action::kSend:
    case Action::kPublish:
      ESP_ASSERT(is_segment_source(v.src) && v.dst == Place::kNone);
      break;
    case Action::kCombine:
      ESP_ASSERT(v.dst == Place::kOutput || v.dst == Place::kScratch);
      ESP_ASSERT(v.src == Place::kNone && !v.operands.empty());
      break;
  }
  ESP_ASSERT(v.action == Action::kCombine || v.operands.empty());
  ESP_ASSERT((v.action == Action::kPublish) == !v.peers.empty());
}

void assert_peers(const Plan& plan, const Vertex& v) {
  if (v.action == Action::kCombine) return;
  for (const std::int32_t peer : v.peers) {
    ESP_ASSERT(0 <= peer && peer < plan.size && peer != plan.rank);
  }
  if (v.action == Action::kPublish) return;
  for (std::uint32_t i = 0; i < v.count; i += v.inner) {
    const std::int32_t peer = plan.peer(v, i);
    ESP_ASSERT(0 <= peer && peer < plan.size && peer != plan.rank);
  }
}

void assert_edges(const Plan& plan, VertexId id) {
  for (const Dependency& need : plan.vertices[id].needs) {
    ESP_ASSERT(need.vertex < plan.vertices.size());
    ESP_ASSERT(need.shift > 0 || need.vertex < id);
  }
}

void assert_views(const Plan& plan, VertexId id) {
  const Vertex& combine = plan.vertices[id];
  if (combine.action != Action::kCombine) return;
  std::vector<bool> needed(plan.vertices.size(), false);
  for (const Dependency& need : combine.needs) {
    if (need.shift == 0) needed[need.vertex] = true;
  }
  for (const Operand& operand : combine.operands) {
    if (operand.place != Place::kView) continue;
    ESP_ASSERT(operand.vertex < plan.vertices.size());
    const Vertex& view = plan.vertices[operand.vertex];
    ESP_ASSERT(view.action == Action::kRecvView && view.count == combine.count);
    ESP_ASSERT(needed[operand.vertex]);
    ESP_ASSERT(has_edge(view, id, 1, kMaxWindow));
  }
}

void assert_scratch(const Plan& plan) {
  std::size_t writers = 0;
  for (std::size_t w = 0; w < plan.vertices.size(); ++w) {
    const Vertex& writer = plan.vertices[w];
    if (writer.dst != Place::kScratch) continue;
    ++writers;
    for (std::size_t r = 0; r < plan.vertices.size(); ++r) {
      const Vertex& reader = plan.vertices[r];
      if (reader.src != Place::kScratch) continue;
      ESP_ASSERT(has_edge(reader, static_cast<VertexId>(w), 0, 0));
      ESP_ASSERT(has_edge(writer, static_cast<VertexId>(r), 1,
                          static_cast<std::int32_t>(plan.scratch_slots)));
    }
  }
  ESP_ASSERT(writers == (plan.scratch_slots > 0 ? 1 : 0));
}

void assert_read_once(const Plan& plan) {
  std::vector<std::uint8_t> readers(plan.vertices.size(), 0);
  for (const Vertex& v : plan.vertices) {
    for (const Operand& operand : v.operands) {
      if (operand.place == Place::kView) ++readers[operand.vertex];
    }
  }
  for (std::size_t id = 0; id < plan.vertices.size(); ++id) {
    ESP_ASSERT(readers[id] == (plan.vertices[id].action == Action::kRecvView ? 1 : 0));
  }
}

}  // namespace

void Plan::finish() {
  ESP_ASSERT(vertices.size() < kNoVertex);
  ESP_ASSERT(partition.blocks >= 1 && partition.pieces >= 1 && partition.piece_elements >= 1);
  for (Vertex& v : vertices) v.feeds.clear();
  for (std::size_t at = 0; at < vertices.size(); ++at) {
    const Vertex& v = vertices[at];
    const auto id = static_cast<VertexId>(at);
    ESP_ASSERT(1 <= v.window && v.window <= kMaxWindow);
    ESP_ASSERT(1 <= v.inner && v.inner <= v.count && v.count % v.inner == 0);
    ESP_ASSERT(v.count <= kMaxIndices);
    assert_places(v);
    assert_peers(*this, v);
    assert_edges(*this, id);
    assert_views(*this, id);
    for (const Dependency& need : v.needs) {
      std::vector<VertexId>& feeds = vertices[need.vertex].feeds;
      if (feeds.empty() || feeds.back() != id) feeds.push_back(id);
    }
  }
  assert_read_once(*this);
  assert_scratch(*this);
}

// ---- requests ----

namespace {

Outcome refuse(esp_status code, std::string text) {
  return error(code, std::move(text));
}

bool uses_tree(const PlanRequest& request) {
  return request.algorithm == ESP_ALGORITHM_TREE;
}

bool reduces(Collective collective) {
  return collective == Collective::kReduce || collective == Collective::kAllreduce;
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
  if (r.variant >= ESP_VARIANT_COUNT) {
    return refuse(ESP_ERR_ARGUMENT, fmt::format("unknown variant {}", static_cast<int>(r.variant)));
  }
  if (std::numeric_limits<std::uint64_t>::max() / 2 / r.element_bytes < r.elements) {
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

Outcome check_levels(const PlanRequest& r) {
  std::int32_t inside = 1;
  for (const TreeLevel& level : r.levels) {
    if (level.ranks == 0) break;
    if (level.ranks <= inside || level.ranks % inside != 0) {
      return refuse(ESP_ERR_ARGUMENT,
                    fmt::format("a tree level of {} ranks does not hold several whole groups of {}",
                                level.ranks, inside));
    }
    const std::int32_t least = level.shape == ESP_SHAPE_KNOMIAL ? 2 : 1;
    if (level.shape == ESP_SHAPE_AUTO || level.shape >= ESP_SHAPE_COUNT || level.radix < least) {
      return refuse(ESP_ERR_ARGUMENT,
                    fmt::format("a tree level of {} ranks has shape {} and radix {}", level.ranks,
                                shape_name(level.shape), level.radix));
    }
    if (level.shape == ESP_SHAPE_TWO_TREE || r.shape == ESP_SHAPE_TWO_TREE) {
      return refuse(ESP_ERR_UNSUPPORTED, "a two-tree is no part of a tree of several levels");
    }
    inside = level.ranks;
  }
  return Unit{};
}

Outcome check_shape(const PlanRequest& r) {
  const auto two_tree = [](const LevelShape& level) { return level.shape == ESP_SHAPE_TWO_TREE; };
  if (r.nodes.follow && (r.shape == ESP_SHAPE_TWO_TREE || r.nodes.inside == ESP_SHAPE_TWO_TREE ||
                         std::any_of(r.nodes.between.begin(), r.nodes.between.end(), two_tree))) {
    return refuse(ESP_ERR_UNSUPPORTED, "a two-tree is no part of a tree over nodes");
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
  return check_levels(r);
}

Outcome check_combination(const PlanRequest& r) {
  const bool broadcast_only = r.collective == Collective::kReduce;
  switch (r.algorithm) {
    case ESP_ALGORITHM_TREE:
      return check_shape(r);
    case ESP_ALGORITHM_PUBLISH:
      if (broadcast_only) return refuse(ESP_ERR_UNSUPPORTED, "reduce has no publish algorithm");
      break;
    case ESP_ALGORITHM_SPREAD:
      if (r.collective != Collective::kAllreduce) {
        return refuse(ESP_ERR_UNSUPPORTED,
                      fmt::format("{} has no spread algorithm", collective_name(r.collective)));
      }
      if (!r.commutative) {
        return refuse(ESP_ERR_UNSUPPORTED,
                      "the spread algorithm combines each block in another order of ranks, which "
                      "an operator that does not commute forbids");
      }
      break;
    case ESP_ALGORITHM_SHORT:
      return refuse(ESP_ERR_UNSUPPORTED, "the short path has no plan");
    default:
      return refuse(ESP_ERR_ARGUMENT,
                    fmt::format("unknown algorithm {}", static_cast<int>(r.algorithm)));
  }
  if (r.variant == ESP_VARIANT_EVENT) return Unit{};
  return refuse(ESP_ERR_UNSUPPORTED, "the waitall and blocking variants exist for trees only");
}

// Vertices and indices must fit their types on every rank alike, whatever the own place in the
// tree.
Outcome check_extent(const PlanRequest& r) {
  const std::int64_t blocks = r.algorithm == ESP_ALGORITHM_SPREAD ? r.size : 1;
  const std::uint64_t block_elements =
      r.elements / static_cast<std::uint64_t>(blocks) + (blocks > 1 ? 1 : 0);
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
  if (uses_tree(r)) {
    spec.levels = r.levels;
    spec.nodes = r.nodes;
  }
  // Across nodes a publication is a send to each member of another node.
  const bool publishes = r.algorithm == ESP_ALGORITHM_SPREAD && r.nodes.nodes == nullptr;
  const std::int64_t degree = publishes ? 1 : tree_degree_bound(spec);
  // Up to four phases (up and down, two trees), each with a vertex per child and a few more.
  const std::int64_t per_child = r.shape == ESP_SHAPE_TWO_TREE ? 4 : 2;
  std::int64_t vertices = per_child * degree + 8;
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
  for (const auto rule : {check_numbers, check_combination, check_extent}) {
    Outcome outcome = rule(request);
    if (!outcome) return outcome;
  }
  return Unit{};
}

}  // namespace

Result<Plan> make_plan(const PlanRequest& request) {
  if (request.collective > Collective::kAllreduce) {
    return error(ESP_ERR_UNSUPPORTED, "point-to-point transfers are not planned here");
  }
  PlanRequest checked = request;
  if (request.collective == Collective::kBarrier) {
    checked.elements = 0;
    checked.element_bytes = 1;
  }
  if (!reduces(request.collective)) checked.commutative = true;
  if (const Outcome outcome = check(checked); !outcome) return outcome.error();
  if (checked.size == 1) return make_alone(checked);
  switch (checked.collective) {
    case Collective::kBcast:
      return make_bcast(checked);
    case Collective::kReduce:
      return make_reduce(checked);
    default:
      return make_allreduce(checked);
  }
}

}  // namespace espalier
