// Parts: blocks of a root, of owners and of neighbours, and elements that lie apart.
#include <algorithm>
#include <numeric>
#include <utility>

#include "core/datatype.hpp"
#include "tests/swarm/drawing.hpp"

namespace espalier::swarm {
namespace {

// Several edges between two members, some to oneself, and places without a neighbour.
void draw_graph(Prng& prng, std::uint32_t id, OpSpec& op) {
  const auto members = static_cast<std::uint64_t>(op.members);
  op.graph.assign(members, {});
  struct Edge {
    std::size_t from, to;
  };
  std::vector<Edge> edges;
  const std::uint64_t count = prng.below(3 * members + 1);
  const std::uint64_t reach = 1 + prng.below(members);
  std::vector<std::size_t> sent(members), received(members);
  for (std::uint64_t e = 0; e < count; ++e) {
    const std::size_t from = prng.below(members), to = (from + prng.below(reach)) % members;
    if (sent[from] + 1 >= OpSpec::kEdgesMax || received[to] + 1 >= OpSpec::kEdgesMax) continue;
    ++sent[from];
    ++received[to];
    edges.push_back({from, to});
  }
  for (const Edge& e : edges) {
    op.graph[e.from].destinations.push_back(static_cast<std::int32_t>(e.to));
  }
  for (std::size_t k = edges.size(); k > 1; --k) std::swap(edges[k - 1], edges[prng.below(k)]);
  for (const Edge& e : edges) op.graph[e.to].sources.push_back(static_cast<std::int32_t>(e.from));
  for (Neighbors& near : op.graph) {
    near.id = id;
    if (prng.chance(0.2)) near.sources.push_back(Neighbors::kNone);
    if (prng.chance(0.2)) near.destinations.insert(near.destinations.begin(), Neighbors::kNone);
    const bool numbered = Neighbors::number(near.sources, near.source_edges) &&
                          Neighbors::number(near.destinations, near.destination_edges);
    ESP_ASSERT(numbered);
  }
}

void draw_part_counts(Prng& prng, std::uint64_t most, OpSpec& op) {
  if (!is_irregular(op.collective)) {
    op.count = most;
    return;
  }
  const double empty = pick(prng, {0.0, 0.2, 0.8}), is_long = pick(prng, {1.0, 1.0, 0.1});
  const auto members = static_cast<std::size_t>(op.members);
  const bool both = op.traits().input == op.traits().output;
  const std::size_t rows = !both ? 1 : op.graph.empty() ? members : OpSpec::kEdgesMax;
  op.counts.resize(members * rows);
  for (std::size_t& count : op.counts) {
    const std::uint64_t limit = prng.chance(is_long) ? most : std::min<std::uint64_t>(most, 3);
    count = most == 0 || prng.chance(empty) ? 0 : 1 + prng.below(limit);
  }
  op.gaps = pick(prng, {Gaps::kNone, Gaps::kBetween, Gaps::kScattered});
}

// What all know of the counts; in place both directions have the same.
void settle_part(OpSpec& op) {
  const auto members = static_cast<std::size_t>(op.members);
  if (op.collective == Collective::kReduceScatter) {
    op.count = std::accumulate(op.counts.begin(), op.counts.end(), std::uint64_t{0});
  }
  if (op.collective != Collective::kAlltoallw || !op.in_place) return;
  for (std::size_t from = 0; from < members; ++from) {
    for (std::size_t to = 0; to < from; ++to) {
      op.counts[from * members + to] = op.counts[to * members + from];
    }
  }
}

void draw_part_extent(Prng& prng, OpSpec& op) {
  constexpr std::uint64_t kPieces[] = {1, 1, 3, 8, 20, 40};
  const auto n = static_cast<std::uint64_t>(op.members);
  const std::uint64_t most_pieces = std::max<std::uint64_t>(1, 1200 / (n * n));
  const std::uint64_t pieces = std::min(1 + prng.below(pick(prng, kPieces)), most_pieces);
  const std::uint64_t bytes = type_size(op.type);
  const std::uint64_t elements = 1 + prng.below(prng.chance(0.1) && n <= 16 ? 300 : 12);
  if (prng.chance(0.9)) op.options.segment_bytes = elements * bytes + prng.below(bytes);
  const std::uint64_t most = elements * pieces - prng.below(elements);
  draw_part_counts(prng, prng.chance(0.03) ? 0 : most, op);
}

void draw_part_options(Prng& prng, OpSpec& op) {
  draw_exchange_options(prng, op);
  draw_newer_options(prng, op);
  if (op.options.algorithm != ESP_ALGORITHM_TREE) return;
  op.options.shape = static_cast<esp_shape>(1 + prng.below(ESP_SHAPE_COUNT - 1));
  op.options.radix = static_cast<int>(2 + prng.below(4));
}

}  // namespace

OpSpec draw_part(Prng& prng, const Scenario& scenario) {
  OpSpec op;
  op.team = prng.below(scenario.teams.size());
  op.members = static_cast<std::int32_t>(scenario.teams[op.team].size());
  constexpr auto kFirst = static_cast<std::uint64_t>(Collective::kGather);
  op.collective = static_cast<Collective>(kFirst + prng.below(kCollectives - kFirst));
  draw_operator(prng, op);
  if (op.traits().types) op.type = ESP_UINT8;
  op.root = static_cast<std::int32_t>(prng.below(static_cast<std::uint64_t>(op.members)));
  op.in_place = !op.traits().neighbors && prng.chance(0.4);
  op.out_of_place_too = prng.chance(0.3);
  op.blocking = prng.chance(0.5);
  if (op.traits().neighbors) {
    draw_graph(prng, static_cast<std::uint32_t>(scenario.ops.size() + 1), op);
  }
  draw_part_options(prng, op);
  draw_part_extent(prng, op);
  settle_part(op);
  return op;
}

OpSpec vary_part(Prng& prng, OpSpec op) {
  switch (prng.below(4)) {
    case 0:
      op.root = static_cast<std::int32_t>(prng.below(static_cast<std::uint64_t>(op.members)));
      break;
    case 1:
      op.options.window_send = static_cast<int>(1 + prng.below(8));
      break;
    case 2:
      draw_part_counts(prng, 1 + prng.below(8), op);
      break;
    default:
      break;
  }
  settle_part(op);
  return op;
}

// Another count than the others', or root, or collective.
OpSpec mistake_part(Prng& prng, OpSpec op, std::int32_t member) {
  if (op.traits().rooted && prng.chance(0.3)) {
    op.root = (op.root + 1) % op.members;
    return op;
  }
  if (!is_irregular(op.collective)) {
    op.count += draw_surplus(prng, op);
    return op;
  }
  if (!op.graph.empty() || op.traits().rooted) {
    const auto me = static_cast<std::size_t>(member);
    const bool edges = op.traits().input == op.traits().output;
    const std::size_t row = edges ? me * OpSpec::kEdgesMax + prng.below(OpSpec::kEdgesMax) : me;
    op.counts[row] += draw_surplus(prng, op);
    return op;
  }
  op.collective = Collective::kAllgather;
  op.count = 1 + prng.below(40);
  op.counts.clear();
  op.gaps = Gaps::kNone;
  return op;
}

// Of any collective with data.
void draw_pattern(Prng& prng, OpSpec& op) {
  op.pattern.reset();
  if (op.flow() || op.collective == Collective::kBarrier || prng.chance(0.5)) return;
  const std::uint64_t length = 1 + prng.below(2), blocks = 1 + prng.below(3);
  const std::uint64_t stride = length + prng.below(3);
  const std::uint64_t span = (blocks - 1) * stride + length;
  Result<Pattern> made = Pattern::strided(op.type, blocks, length, stride, span + prng.below(3));
  if (prng.chance(0.3)) {  // the second part first
    const std::size_t lengths[] = {length, 1}, displs[] = {2, 0};
    made = Pattern::listed(op.type, lengths, displs, 2 + length + prng.below(3));
  }
  ESP_ASSERT(made.ok());
  op.pattern = std::make_shared<const Pattern>(std::move(made.value()));
}

}  // namespace espalier::swarm
