// Operations of the swarm: barriers, broadcasts, reductions and messages, and what members call by
// mistake.
#include <algorithm>
#include <utility>

#include "core/datatype.hpp"
#include "tests/swarm/drawing.hpp"

namespace espalier::swarm {
namespace {

esp_coll_options draw_options(Prng& prng) {
  esp_coll_options options = ESP_COLL_OPTIONS_INIT;
  if (prng.chance(0.15)) return options;
  constexpr esp_algorithm kAlgorithms[] = {ESP_ALGORITHM_AUTO, ESP_ALGORITHM_TREE,
                                           ESP_ALGORITHM_TREE, ESP_ALGORITHM_PUBLISH,
                                           ESP_ALGORITHM_SPREAD};
  options.algorithm = pick(prng, kAlgorithms);
  if (options.algorithm == ESP_ALGORITHM_TREE) {
    options.shape = static_cast<esp_shape>(1 + prng.below(ESP_SHAPE_COUNT - 1));
    options.radix = static_cast<int>(2 + prng.below(4));
    if (prng.chance(0.3)) {
      options.variant = static_cast<esp_variant>(prng.below(ESP_VARIANT_COUNT));
    }
  }
  draw_windows(prng, options);
  return options;
}

// So many segments that the windows and the grants have work, so few that a seed is quick.
void draw_extent(Prng& prng, std::size_t members, OpSpec& op) {
  constexpr std::uint64_t kPieces[] = {1, 1, 3, 8, 20, 40, 90};
  std::uint64_t pieces = 1 + prng.below(pick(prng, kPieces));
  const bool spread = op.options.algorithm == ESP_ALGORITHM_SPREAD;
  const std::uint64_t n = members;
  pieces = std::min(pieces, std::max<std::uint64_t>(1, 1200 / (spread ? 2 * n * n : n)));
  const std::uint64_t bytes = type_size(op.type);
  const std::uint64_t elements = 1 + prng.below(prng.chance(0.1) ? 300 : 12);
  if (prng.chance(0.9)) op.options.segment_bytes = elements * bytes;
  op.count = elements * pieces * (spread ? n : 1);
  op.count -= prng.below(elements);
  if (prng.chance(0.03)) op.count = 0;
  if (op.collective == Collective::kBarrier) op.count = 0;
}

OpSpec draw_op(Prng& prng, const std::vector<std::vector<Rank>>& teams) {
  constexpr Collective kCollectives[] = {
      Collective::kBarrier,   Collective::kBcast,       Collective::kBcast,
      Collective::kBcast,     Collective::kReduce,      Collective::kReduce,
      Collective::kReduce,    Collective::kAllreduce,   Collective::kAllreduce,
      Collective::kAllreduce, Collective::kPointToPoint};
  OpSpec op;
  op.team = prng.below(teams.size());
  const std::size_t members = teams[op.team].size();
  op.members = static_cast<std::int32_t>(members);
  op.collective = pick(prng, kCollectives);
  if (op.flow() && members == 1) op.collective = Collective::kBcast;
  draw_operator(prng, op);
  op.root = static_cast<std::int32_t>(prng.below(members));
  op.in_place = op.reduces() && prng.chance(0.3);
  op.blocking = prng.chance(0.5);
  op.options = draw_options(prng);
  draw_extent(prng, members, op);
  if (op.flow()) {
    op.type = ESP_UINT8;
    op.count =
        prng.below(pick(prng, {std::uint64_t{100}, std::uint64_t{1000}, std::uint64_t{4000}}));
    op.peer = static_cast<std::int32_t>(
        (static_cast<std::size_t>(op.root) + 1 + prng.below(members - 1)) % members);
    op.channel = static_cast<unsigned>(prng.below(3));
  }
  return op;
}

// An earlier call with one thing changed, or nothing: what is cached must notice.
OpSpec vary(Prng& prng, OpSpec op) {
  if (op.is_exchange()) return vary_exchange(prng, std::move(op));
  if (op.moves_parts()) return vary_part(prng, std::move(op));
  if (op.flow()) return op;
  switch (prng.below(5)) {
    case 0:
      op.root = static_cast<std::int32_t>(prng.below(static_cast<std::uint64_t>(op.members)));
      break;
    case 1:
      op.ordered = op.reduces() && op.type == ESP_UINT64 && !op.ordered;
      break;
    case 2:
      op.options.window_send = static_cast<int>(1 + prng.below(8));
      break;
    case 3:
      if (op.collective != Collective::kBarrier) op.count += 1;
      break;
    default:
      break;
  }
  return op;
}

OpSpec draw_any(Prng& prng, const Scenario& scenario) {
  if (draws_parts(scenario) && prng.chance(0.7)) return draw_part(prng, scenario);
  const bool exchange = draws_exchanges(scenario) && prng.chance(0.75);
  if (!exchange) return draw_op(prng, scenario.teams);
  OpSpec op = draw_exchange(prng, scenario.teams);
  if (draws_parts(scenario)) draw_newer_options(prng, op);
  return op;
}

}  // namespace

void draw_windows(Prng& prng, esp_coll_options& options) {
  if (!prng.chance(0.8)) return;
  options.window_send = static_cast<int>(1 + prng.below(prng.chance(0.2) ? 64 : 6));
  options.window_recv = static_cast<int>(1 + prng.below(prng.chance(0.2) ? 64 : 8));
}

void draw_operator(Prng& prng, OpSpec& op) {
  constexpr esp_type kTypes[] = {ESP_UINT8, ESP_INT32, ESP_UINT64, ESP_UINT64};
  constexpr esp_op kOps[] = {ESP_SUM, ESP_MAX, ESP_BXOR};
  op.type = pick(prng, kTypes);
  op.op = pick(prng, kOps);
  op.ordered = op.type == ESP_UINT64 && op.reduces() && prng.chance(0.7);
}

void make_possible(const Scenario& scenario, OpSpec& op) {
  if (op.flow() || plan_request(scenario, op, 0)) return;
  const std::uint64_t segment_bytes = op.options.segment_bytes;
  op.options = ESP_COLL_OPTIONS_INIT;
  if (!op.moves_parts()) {
    op.options.algorithm = op.is_exchange() ? ESP_ALGORITHM_RING : ESP_ALGORITHM_TREE;
  }
  op.options.segment_bytes = segment_bytes;
}

void draw_ops(Prng& prng, Scenario& scenario) {
  const std::uint64_t count = 1 + prng.below(scenario.ranks > 24 ? 4 : 8);
  for (std::uint64_t i = 0; i < count; ++i) {
    const bool again = i > 0 && prng.chance(0.35);
    OpSpec op = again ? vary(prng, scenario.ops[prng.below(i)]) : draw_any(prng, scenario);
    op.values = prng.next();
    if (draws_parts(scenario) && !draws_devices(scenario)) draw_pattern(prng, op);
    make_possible(scenario, op);
    scenario.ops.push_back(op);
  }
}

Deviation draw_deviation(Prng& prng, const Scenario& scenario) {
  Deviation deviation;
  deviation.op = prng.below(scenario.ops.size());
  const OpSpec& op = scenario.ops[deviation.op];
  deviation.member = static_cast<std::int32_t>(prng.below(static_cast<std::uint64_t>(op.members)));
  if (op.flow()) deviation.member = prng.chance(0.5) ? op.root : op.peer;
  deviation.call = op;
  OpSpec& call = deviation.call;
  if (op.moves_parts()) {
    call = mistake_part(prng, op, deviation.member);
    make_possible(scenario, call);
    return deviation;
  }
  if (op.is_exchange()) {
    call = mistake_exchange(prng, op, deviation.member);
    make_possible(scenario, call);
    return deviation;
  }
  switch (op.flow() ? 0 : prng.below(3)) {
    case 0:
      call.count = op.collective == Collective::kBarrier ? 0 : op.count + 1 + prng.below(40);
      if (call.count > 0) break;
      [[fallthrough]];
    case 1:
      call.collective =
          op.collective == Collective::kBcast ? Collective::kReduce : Collective::kBcast;
      if (!call.reduces()) call.in_place = call.ordered = false;
      break;
    default:
      call.root = (op.root + 1) % op.members;
  }
  make_possible(scenario, call);
  return deviation;
}

Result<PlanRequest> plan_request(const Scenario& scenario, const OpSpec& op, std::int32_t member) {
  PlanRequest base;
  base.collective = op.collective;
  base.rank = member;
  base.size = op.members;
  base.root = op.root;
  base.elements = op.count * op.scale();
  base.element_bytes = static_cast<std::uint32_t>(type_size(op.type));
  base.commutative = !op.ordered;
  base.packs_input = op.packs_input_at(member);
  base.packs_output = op.packs_output_at(member);
  base.shares = op.shares_at(member);
  base.combines = op.combines_at(member);
  base.moves = base.shares || base.combines;
  base.in_place = op.in_place_at(member) && (!base.packs_output || base.combines) &&
                  replaces_blocks(op.collective);
  if (!op.graph.empty()) base.neighbors = &op.graph[static_cast<std::size_t>(member)];
  base.nodes.nodes = scenario.layout(op.team);
  auto request = resolve(op.options, base, scenario.tuning);
  if (!request) return request.error();
  auto plan = make_plan(*request);
  if (!plan) return plan.error();
  return request;
}

}  // namespace espalier::swarm
