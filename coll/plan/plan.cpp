// Plan: accessors that are not inline, and finish(), the structural rules.
#include "coll/plan/plan.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/assert.hpp"
#include "core/plant.hpp"

namespace espalier {
namespace {

using VertexId = std::uint16_t;

constexpr std::size_t kMaxVertices = 0xffff;

bool is_buffer(Place place) {
  return place != Place::kNone && place != Place::kAccumulator && place != Place::kView;
}

// Does every index of `vertex` come after an index of `other` that is 1 to `most` indices before
// it, or after all?
bool follows(const Vertex& vertex, VertexId other, std::int64_t least, std::int64_t most) {
  return std::any_of(vertex.needs.begin(), vertex.needs.end(), [&](const Dependency& need) {
    const std::int64_t distance = need.distance(vertex.indices.inner);
    const bool all = need.whole && need.batch == 0;
    return need.vertex == other && (all || (least <= distance && distance <= most));
  });
}

void assert_places(const Plan& plan, const Vertex& v) {
  switch (v.action) {
    case Action::kRecv:
      ESP_ASSERT(v.src == Place::kNone && is_buffer(v.dst));
      break;
    case Action::kRecvView:
      ESP_ASSERT(v.src == Place::kNone && v.dst == Place::kNone);
      break;
    case Action::kSend:
    case Action::kPublish:
      ESP_ASSERT(is_buffer(v.src) || v.src == Place::kAccumulator);
      ESP_ASSERT(v.dst == Place::kNone);
      break;
    case Action::kAwait:
    case Action::kDeliver:
      ESP_ASSERT(is_buffer(v.src) && v.dst == Place::kNone);
      break;
    case Action::kCombine:
      ESP_ASSERT(is_buffer(v.dst) && v.dst != Place::kUserInput);
      ESP_ASSERT(v.dst != Place::kInput || plan.packs_input);
      ESP_ASSERT(v.src == Place::kNone && !v.operands.empty());
      break;
  }
  ESP_ASSERT(is_buffer(v.shape));
  ESP_ASSERT(v.action == Action::kCombine || v.operands.empty());
  ESP_ASSERT((v.action == Action::kPublish) == !v.peers.empty());
  ESP_ASSERT(v.since == 0 || (v.since < v.steps && is_local(v.action)));
  ESP_ASSERT(!v.places || (plan.places && v.action == Action::kCombine && v.run == 1));
  ESP_ASSERT(!v.stays || (v.action == Action::kRecv && v.dst == Place::kOutput) ||
             (v.action == Action::kRecvView && plan.combines));
  ESP_ASSERT(!v.elsewhere || (v.action != Action::kRecv && v.action != Action::kRecvView));
}

// Of long walks, the two ends are enough: peers that are functions of the step come in order.
void assert_peers(const Plan& plan, const Vertex& v) {
  if (is_local(v.action)) return;
  for (const std::int32_t peer : v.peers) {
    ESP_ASSERT(0 <= peer && peer < plan.size && peer != plan.rank);
  }
  if (v.action == Action::kPublish) return;
  const auto assert_peer = [&](std::uint32_t step) {
    const std::int32_t peer = v.peer.at(step);
    ESP_ASSERT(0 <= peer && peer < plan.size && (peer != plan.rank || v.skips_empty));
  };
  constexpr std::uint32_t kLooked = 4096;
  for (std::uint32_t step = 0; step < std::min(v.steps, kLooked); ++step) assert_peer(step);
  assert_peer(v.steps - 1);
}

void assert_edges(const Plan& plan, VertexId id) {
  const Vertex& v = plan.vertices[id];
  for (const Dependency& need : v.needs) {
    ESP_ASSERT(need.vertex < plan.vertices.size());
    ESP_ASSERT(need.batch == 0 || (need.whole && need.distance(1) == 0));
    const bool back = need.batch > 0 || (!need.whole && need.distance(v.indices.inner) > 0);
    ESP_ASSERT(back || need.vertex < id);
  }
}

void assert_views(const Plan& plan, VertexId id) {
  const Vertex& combine = plan.vertices[id];
  if (combine.action != Action::kCombine) return;
  for (const Operand& operand : combine.operands) {
    if (operand.place != Place::kView && !operand.stays) continue;
    ESP_ASSERT(operand.vertex < plan.vertices.size());
    const Vertex& view = plan.vertices[operand.vertex];
    const bool is_kept =
        operand.stays ? view.stays && view.dst == operand.place : view.action == Action::kRecvView;
    ESP_ASSERT(is_kept && view.indices == combine.indices);
    ESP_ASSERT(follows(combine, operand.vertex, 0, 0));
    ESP_ASSERT(operand.keeps || follows(view, id, 1, kMaxWindow));
  }
}

void assert_released_once(const Plan& plan) {
  std::vector<std::uint8_t> releases(plan.vertices.size(), 0);
  for (const Vertex& v : plan.vertices) {
    for (const Operand& operand : v.operands) {
      const bool reads = operand.place == Place::kView || operand.stays;
      if (reads && !operand.keeps) ++releases[operand.vertex];
    }
  }
  for (std::size_t id = 0; id < plan.vertices.size(); ++id) {
    const Vertex& v = plan.vertices[id];
    ESP_ASSERT(releases[id] == (v.action == Action::kRecvView || v.stays ? 1 : 0));
  }
}

bool reads(const Vertex& v, Place place) {
  return v.src == place || std::any_of(v.operands.begin(), v.operands.end(),
                                       [&](const Operand& o) { return o.place == place; });
}

// The first vertex that writes a ring brings what its readers read; those that update a slot later
// (an operand is the slot itself) are ordered by their own edges.
void assert_ring(const Plan& plan, Place ring) {
  const Layout& layout = plan.layout(ring);
  if (layout.kind != Layout::Kind::kRing) return;
  ESP_ASSERT(layout.blocks >= 1);
  std::size_t first = plan.vertices.size();
  for (std::size_t at = 0; at < plan.vertices.size(); ++at) {
    const Vertex& v = plan.vertices[at];
    if (v.dst == ring && !reads(v, ring)) {
      ESP_ASSERT(first == plan.vertices.size());
      first = at;
    }
  }
  ESP_ASSERT(first < plan.vertices.size());
  const Vertex& writer = plan.vertices[first];
  for (std::size_t at = 0; at < plan.vertices.size(); ++at) {
    if (plan.vertices[at].src != ring) continue;
    ESP_ASSERT(follows(writer, static_cast<VertexId>(at), 1, layout.blocks) ||
               writer.indices.count <= layout.blocks);
  }
}

}  // namespace

Steps Plan::add_table(std::vector<std::int32_t> entries) {
  const auto count = static_cast<std::int32_t>(entries.size());
  tables.push_back({std::make_shared<const std::vector<std::int32_t>>(std::move(entries))});
  return {Steps::Kind::kTable, 0, 1, count, tables.back().entries->data()};
}

std::uint64_t Plan::pieces(const Layout* bound, const Vertex& v) const noexcept {
  const Layout& of = bound[buffer_of(v.shape)];
  std::uint64_t most = 0;
  if (v.run == 0) {  // counted alike on all members, whatever part of the table is theirs
    for (std::int32_t k = 0; k < v.block.modulus; ++k) {
      most = std::max(most, of.length(static_cast<std::uint64_t>(v.block.table[k]),
                                      static_cast<std::uint32_t>(v.runs.table[k])));
    }
  } else if (of.kind == Layout::Kind::kCounts) {
    // Those who pass blocks on count all of them alike.
    const bool walks = v.peer.is_constant() && v.steps > 1;
    for (std::uint32_t k = 0; k < (walks ? of.blocks : v.steps); ++k) {
      if (v.peer.at(k) == rank) continue;  // idle
      const auto block = walks ? k : static_cast<std::uint64_t>(v.block.at(k));
      most = std::max(most, of.length(block, v.run));
    }
  } else {
    most = of.length(0, v.run);  // of kEven, none is longer
  }
  return std::max<std::uint64_t>(1, (most + piece_elements - 1) / piece_elements);
}

// The walk goes up or down, block by block, or entry by entry of its table, and around the end.
FlowPosition Plan::dense_position(const Layout& of, const Vertex& v, Indices n,
                                  std::uint32_t i) const noexcept {
  const std::uint32_t* before = of.pieces_before;
  const auto blocks = static_cast<std::uint32_t>(v.block.modulus);
  const auto first = static_cast<std::uint32_t>(v.block.first);
  // Pieces of the first `steps` blocks of the walk.
  const auto walked = [&](std::uint32_t steps) {
    if (steps == 0) return std::uint32_t{0};
    std::uint32_t low = first;
    if (ESP_PLANT(32, v.block.stride < 0, false))
      low = first + 1 >= steps ? first + 1 - steps : first + 1 + blocks - steps;
    const std::uint32_t end = low + steps;
    if (end <= blocks) return before[end] - before[low];
    return before[blocks] - before[low] + before[end - blocks];
  };
  return {walked(n.step(i)) + n.piece(i), walked(v.steps)};
}

std::uint64_t Plan::flow_elements(const Layout* bound, const Vertex& v, Indices n,
                                  std::uint32_t i) const noexcept {
  const Layout& of = bound[buffer_of(v.shape)];
  if (of.kind == Layout::Kind::kEven) return of.elements;
  const std::uint64_t step =
      of.length(static_cast<std::uint64_t>(v.block.at(n.step(i))), v.run_at(n.step(i)));
  if (!v.peer.is_constant() || v.steps == 1) return step;
  return of.kind == Layout::Kind::kUniform ? step * v.steps : of.elements;
}

std::uint64_t Plan::scratch_bytes(const Layout* bound) const noexcept {
  std::uint64_t bytes = 0;
  for (std::size_t k = 0; k < layouts.size(); ++k) {
    if (is_own(k)) bytes += buffer_bytes(bound[k]);
  }
  return bytes;
}

void Plan::finish() {
  ESP_ASSERT(vertices.size() < kMaxVertices);
  ESP_ASSERT(piece_elements >= 1 && layouts.size() >= 2 && layouts.size() <= kMaxBuffers);
  for (Vertex& v : vertices) {
    v.feeds.clear();
    ESP_ASSERT(1 <= v.window && v.window <= kMaxWindow);
    ESP_ASSERT(v.steps >= 1 && v.lane < v.lanes);
    ESP_ASSERT(v.run >= 1 || (v.runs.kind == Steps::Kind::kTable && v.block.kind == v.runs.kind &&
                              v.block.modulus == v.runs.modulus));
    if (irregular) continue;
    ESP_ASSERT(v.lane < pieces(layouts.data(), v));
    v.indices = indices(layouts.data(), v);
    ESP_ASSERT(v.indices.inner <= kMaxIndices / v.steps);
  }
  for (std::size_t at = 0; at < vertices.size(); ++at) {
    const Vertex& v = vertices[at];
    const auto id = static_cast<VertexId>(at);
    assert_places(*this, v);
    assert_peers(*this, v);
    assert_edges(*this, id);
    if (!irregular) assert_views(*this, id);
    for (const Dependency& need : v.needs) {
      std::vector<VertexId>& feeds = vertices[need.vertex].feeds;
      if (feeds.empty() || feeds.back() != id) feeds.push_back(id);
    }
  }
  assert_released_once(*this);
  for (const Place ring : {Place::kScratch, Place::kScratch2, Place::kScratch3}) {
    if (buffer_of(ring) < layouts.size() && !irregular) assert_ring(*this, ring);
  }
}

}  // namespace espalier
