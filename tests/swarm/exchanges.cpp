// Exchanges of the swarm: allgathers, alltoalls and scans, regular or not.
#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "core/datatype.hpp"
#include "tests/swarm/drawing.hpp"

namespace espalier::swarm {
namespace {

esp_algorithm draw_algorithm(Prng& prng, Collective collective) {
  if (prng.chance(0.2)) return ESP_ALGORITHM_AUTO;
  std::vector<esp_algorithm> all;
  for (int a = 0; a < ESP_ALGORITHM_COUNT; ++a) {
    const auto algorithm = static_cast<esp_algorithm>(a);
    if (algorithm == ESP_ALGORITHM_TREE && !has_shapes(collective)) continue;
    if (has_algorithm(collective, algorithm)) all.push_back(algorithm);
  }
  return all[prng.below(all.size())];
}

// A member's count is empty, short or up to `most`. In place each sends what it gets.
void draw_counts(Prng& prng, std::uint64_t most, OpSpec& op) {
  if (!is_irregular(op.collective)) {
    op.count = most;
    return;
  }
  const double empty = pick(prng, {0.0, 0.2, 0.8}), is_long = pick(prng, {1.0, 1.0, 0.1});
  const auto members = static_cast<std::size_t>(op.members);
  const bool all = op.collective == Collective::kAlltoallv;
  op.counts.resize(all ? members * members : members);
  for (std::size_t& count : op.counts) {
    const std::uint64_t limit = prng.chance(is_long) ? most : std::min<std::uint64_t>(most, 3);
    count = most == 0 || prng.chance(empty) ? 0 : 1 + prng.below(limit);
  }
  op.gaps = pick(prng, {Gaps::kNone, Gaps::kBetween, Gaps::kScattered});
}

// What all members know of the counts: see Call::count.
void settle_counts(OpSpec& op) {
  const auto members = static_cast<std::size_t>(op.members);
  if (op.collective == Collective::kAllgatherv) {
    op.count = std::accumulate(op.counts.begin(), op.counts.end(), std::uint64_t{0});
  }
  if (op.collective != Collective::kAlltoallv || !op.in_place) return;
  for (std::size_t from = 0; from < members; ++from) {
    for (std::size_t to = 0; to < from; ++to) {
      op.counts[from * members + to] = op.counts[to * members + from];
    }
  }
}

void draw_exchange_extent(Prng& prng, OpSpec& op) {
  constexpr std::uint64_t kPieces[] = {1, 1, 3, 8, 20, 40, 90};
  std::uint64_t pieces = 1 + prng.below(pick(prng, kPieces));
  const auto n = static_cast<std::uint64_t>(op.members);
  pieces = std::min(pieces, std::max<std::uint64_t>(1, 1200 / (op.moves_blocks() ? n * n : 4 * n)));
  const std::uint64_t bytes = type_size(op.type);
  const std::uint64_t elements = 1 + prng.below(prng.chance(0.1) && n <= 16 ? 300 : 12);
  if (prng.chance(0.9)) op.options.segment_bytes = elements * bytes + prng.below(bytes);
  const std::uint64_t most = elements * pieces - prng.below(elements);
  draw_counts(prng, prng.chance(0.03) ? 0 : most, op);
}

void change_counts(Prng& prng, OpSpec& op) {
  if (is_irregular(op.collective)) {
    draw_counts(prng, *std::max_element(op.counts.begin(), op.counts.end()) + 1, op);
  } else {
    op.count += 1;
  }
}

// Of an alltoallv: for one other member, to which it sends or from which it gets something else.
void mistake_a_block(Prng& prng, OpSpec& op, std::int32_t member) {
  const auto members = static_cast<std::size_t>(op.members), me = static_cast<std::size_t>(member);
  const std::size_t other = members > 1 ? (me + 1 + prng.below(members - 1)) % members : me;
  std::size_t& count = op.counts[prng.chance(0.5) ? me * members + other : other * members + me];
  const std::uint64_t surplus = draw_surplus(prng, op);
  count = count >= surplus && prng.chance(0.5) ? count - surplus : count + surplus;
  op.in_place = false;
}

Collective sibling(Collective collective) {
  switch (collective) {
    case Collective::kAllgather:
      return Collective::kAlltoall;
    case Collective::kScan:
      return Collective::kExscan;
    case Collective::kExscan:
      return Collective::kScan;
    default:
      return Collective::kAllgather;
  }
}

}  // namespace

void draw_exchange_options(Prng& prng, OpSpec& op) {
  if (prng.chance(0.1)) return;
  op.options.algorithm = draw_algorithm(prng, op.collective);
  if (prng.chance(0.6)) {  // radix, of Bruck's algorithm
    const auto most = static_cast<std::uint64_t>(std::clamp(op.members, 2, 62));
    op.options.radix = static_cast<int>(2 + prng.below(prng.chance(0.3) ? most : 3));
  }
  draw_windows(prng, op.options);
}

void draw_newer_options(Prng& prng, OpSpec& op) {
  const bool has_leaders =
      has_algorithm(op.collective, ESP_ALGORITHM_TREE) && !has_shapes(op.collective);
  if (has_leaders && prng.chance(0.25)) op.options.algorithm = ESP_ALGORITHM_TREE;
  const bool all = op.collective == Collective::kAlltoall ||
                   op.collective == Collective::kAlltoallv ||
                   op.collective == Collective::kAlltoallw;
  if (all && prng.chance(0.3)) {
    op.options.variant = static_cast<esp_variant>(prng.below(ESP_VARIANT_COUNT));
  }
}

// As many elements as make no difference to the last segment, or another number.
std::uint64_t draw_surplus(Prng& prng, const OpSpec& op) {
  const std::uint64_t piece = op.options.segment_bytes / type_size(op.type);
  return piece > 0 && prng.chance(0.5) ? piece * (1 + prng.below(3)) : 1 + prng.below(40);
}

void draw_exchange_tuning(Scenario& scenario) {
  Prng prng(scenario.seed ^ 0x65786368616e6765ULL);
  Tuning& tuning = scenario.tuning;
  tuning.gather_publish_ranks = static_cast<std::int32_t>(2 + prng.below(16));
  tuning.gather_rounds_bytes = std::uint64_t{64} << prng.below(8);
  tuning.bruck_ranks = static_cast<std::int32_t>(2 + prng.below(16));
  tuning.bruck_bytes = std::uint64_t{1} << prng.below(8);
  tuning.scan_rounds_bytes = std::uint64_t{16} << prng.below(8);
}

OpSpec draw_exchange(Prng& prng, const std::vector<std::vector<Rank>>& teams) {
  constexpr Collective kExchanges[] = {Collective::kAllgather,  Collective::kAllgatherv,
                                       Collective::kAllgatherv, Collective::kAlltoall,
                                       Collective::kAlltoallv,  Collective::kAlltoallv,
                                       Collective::kScan,       Collective::kExscan};
  OpSpec op;
  op.team = prng.below(teams.size());
  op.members = static_cast<std::int32_t>(teams[op.team].size());
  op.collective = pick(prng, kExchanges);
  draw_operator(prng, op);
  op.in_place = prng.chance(0.4);
  op.out_of_place_too = prng.chance(0.3);
  op.blocking = prng.chance(0.5);
  draw_exchange_options(prng, op);
  draw_exchange_extent(prng, op);
  settle_counts(op);
  return op;
}

OpSpec vary_exchange(Prng& prng, OpSpec op) {
  switch (prng.below(5)) {
    case 0:
      op.in_place = !op.in_place;
      break;
    case 1:
      op.ordered = op.reduces() && op.type == ESP_UINT64 && !op.ordered;
      break;
    case 2:
      op.options.window_send = static_cast<int>(1 + prng.below(8));
      break;
    case 3:
      change_counts(prng, op);
      break;
    default:
      break;
  }
  settle_counts(op);
  return op;
}

OpSpec mistake_exchange(Prng& prng, OpSpec op, std::int32_t member) {
  if (prng.chance(0.3)) {
    op.collective = sibling(op.collective);
    if (!op.counts.empty()) op.count = 1 + prng.below(40);
    op.counts.clear();
    op.gaps = Gaps::kNone;
    return op;
  }
  switch (op.collective) {
    case Collective::kAllgatherv:
      op.counts[prng.below(op.counts.size())] += draw_surplus(prng, op);
      settle_counts(op);
      break;
    case Collective::kAlltoallv:
      mistake_a_block(prng, op, member);
      break;
    default:
      op.count += draw_surplus(prng, op);
  }
  return op;
}

}  // namespace espalier::swarm
