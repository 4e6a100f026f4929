#include "tests/swarm/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/datatype.hpp"

namespace espalier::swarm {
namespace {

template <typename T, std::size_t n>
T pick(Prng& prng, const T (&values)[n]) {
  return values[prng.below(n)];
}

std::uint32_t draw_ranks(Prng& prng) {
  const double size = prng.unit();
  if (size < 0.6) return static_cast<std::uint32_t>(2 + prng.below(7));
  if (size < 0.9) return static_cast<std::uint32_t>(2 + prng.below(15));
  return static_cast<std::uint32_t>(2 + prng.below(63));
}

// Some ranks lose the right to read the others' memory, some early. What is copied then may find
// little room.
void draw_refusals(Scenario& scenario) {
  Prng prng(scenario.seed ^ 0x726967687473);
  if (prng.chance(0.3)) return;
  if (prng.chance(0.6)) scenario.arena_bytes = 8192;
  const std::uint64_t most = pick(prng, {std::uint64_t{1}, std::uint64_t{5}, std::uint64_t{40}});
  for (std::uint32_t r = 0; r < scenario.ranks; ++r) {
    scenario.pulls_allowed.push_back(prng.chance(0.5) ? prng.below(most) : ~std::uint64_t{0});
  }
}

void draw_stage(Prng& prng, Scenario& scenario) {
  scenario.ranks = draw_ranks(prng);
  if (!prng.chance(0.1)) {
    draw_links(scenario);
    if (scenario.stage != StageKind::kSim) scenario.ranks = 2 + (scenario.ranks - 2) % 9;
    return;
  }
  scenario.stage = StageKind::kShm;
  scenario.ranks = 2 + (scenario.ranks - 2) % 9;
  scenario.arena_bytes = std::uint64_t{8192} << prng.below(5);
  scenario.ring_bytes = std::uint64_t{1024} << Prng(scenario.seed ^ 0x72696e67).below(5);
  scenario.pulls = prng.chance(0.4);
  if (scenario.pulls) draw_refusals(scenario);
}

// The world, perhaps a copy of it, and random subsets in random order.
std::vector<std::vector<Rank>> draw_teams(Prng& prng, std::uint32_t ranks) {
  std::vector<Rank> all(ranks);
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::vector<Rank>> teams = {all};
  const std::uint64_t more = prng.below(3);
  for (std::uint64_t i = 0; i < more; ++i) {
    std::vector<Rank> members = all;
    if (prng.chance(0.7)) {
      for (std::size_t k = members.size() - 1; k > 0; --k) {
        std::swap(members[k], members[prng.below(k + 1)]);
      }
      members.resize(1 + prng.below(members.size()));
    }
    teams.push_back(std::move(members));
  }
  return teams;
}

// Nodes, and sockets and more inside them, which trees and exchanges follow. For all of them the
// wire is the same.
void draw_layouts(Scenario& scenario) {
  Prng prng(scenario.seed ^ 0x6c61796f757473ULL);
  if (!prng.chance(0.4)) return;
  scenario.tuning.inner_levels = FollowLevels::kOn;
  const std::uint64_t nodes = 1 + prng.below(5), sockets = 2 + prng.below(3);
  const double scattered = pick(prng, {0.0, 0.2, 1.0}), unbound = pick(prng, {0.0, 0.0, 0.1});
  std::vector<std::int32_t> node_of;
  std::vector<InnerPlace> place_of;
  for (std::uint64_t r = 0; r < scenario.ranks; ++r) {
    const std::uint64_t in_block = r * nodes / scenario.ranks;
    const auto node = prng.chance(scattered) ? prng.below(nodes) : in_block;
    node_of.push_back(static_cast<std::int32_t>(node));
    InnerPlace place;
    for (std::int32_t& level : place) {
      level = prng.chance(unbound) ? -1 : static_cast<std::int32_t>(prng.below(sockets));
    }
    place_of.push_back(place);
  }
  for (const std::vector<Rank>& members : scenario.teams) {
    std::vector<std::int32_t> nodes_of_team;
    std::vector<InnerPlace> places_of_team;
    for (const Rank r : members) {
      nodes_of_team.push_back(node_of[static_cast<std::size_t>(r)]);
      places_of_team.push_back(place_of[static_cast<std::size_t>(r)]);
    }
    scenario.layouts.push_back(TeamNodes::of(nodes_of_team, places_of_team));
  }
}

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
  if (prng.chance(0.8)) {
    options.window_send = static_cast<int>(1 + prng.below(prng.chance(0.2) ? 64 : 6));
    options.window_recv = static_cast<int>(1 + prng.below(prng.chance(0.2) ? 64 : 8));
  }
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

void draw_operator(Prng& prng, OpSpec& op) {
  constexpr esp_type kTypes[] = {ESP_UINT8, ESP_INT32, ESP_UINT64, ESP_UINT64};
  constexpr esp_op kOps[] = {ESP_SUM, ESP_MAX, ESP_BXOR};
  op.type = pick(prng, kTypes);
  op.op = pick(prng, kOps);
  op.ordered = op.type == ESP_UINT64 && op.reduces() && prng.chance(0.7);
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
OpSpec vary(Prng& prng, const Scenario& scenario, OpSpec op) {
  const auto members = scenario.teams[op.team].size();
  if (op.flow()) return op;
  switch (prng.below(5)) {
    case 0:
      op.root = static_cast<std::int32_t>(prng.below(members));
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

// What does not exist becomes a plain tree; then all members can make a plan.
void make_possible(const Scenario& scenario, OpSpec& op) {
  if (op.flow() || plan_request(scenario, op, 0)) return;
  const std::uint64_t segment_bytes = op.options.segment_bytes;
  op.options = ESP_COLL_OPTIONS_INIT;
  op.options.algorithm = ESP_ALGORITHM_TREE;
  op.options.segment_bytes = segment_bytes;
}

void draw_ops(Prng& prng, Scenario& scenario) {
  const std::uint64_t count = 1 + prng.below(scenario.ranks > 24 ? 4 : 8);
  for (std::uint64_t i = 0; i < count; ++i) {
    const bool again = i > 0 && prng.chance(0.35);
    OpSpec op =
        again ? vary(prng, scenario, scenario.ops[prng.below(i)]) : draw_op(prng, scenario.teams);
    op.values = prng.next();
    make_possible(scenario, op);
    scenario.ops.push_back(op);
  }
}

void draw_entries(Prng& prng, Scenario& scenario) {
  const std::uint64_t spread =
      pick(prng, {std::uint64_t{1}, std::uint64_t{1'000}, std::uint64_t{20'000},
                  std::uint64_t{500'000}, std::uint64_t{5'000'000}});
  const double waits = pick(prng, {0.0, 0.3, 1.0});
  const auto late = static_cast<Rank>(prng.below(scenario.ranks));
  for (std::size_t i = 0; i < scenario.ops.size(); ++i) {
    const bool alike = prng.chance(0.5);
    const bool after_all = prng.chance(waits);
    std::vector<Entry> entries(scenario.ranks);
    for (std::uint32_t r = 0; r < scenario.ranks; ++r) {
      entries[r] = {prng.below(spread), alike ? after_all : prng.chance(waits)};
      if (static_cast<Rank>(r) == late) entries[r].not_before_ns += spread;
    }
    scenario.entries.push_back(std::move(entries));
  }
}

void draw_faults(Prng& prng, Scenario& scenario) {
  sim::FaultSpec& faults = scenario.world.faults;
  faults.heal_ns =
      pick(prng, {std::uint64_t{50'000}, std::uint64_t{500'000}, std::uint64_t{5'000'000}});
  if (prng.chance(0.3)) return;
  if (prng.chance(0.4)) faults.retry = 0.6 * prng.unit();
  if (prng.chance(0.4)) faults.no_memory = 0.6 * prng.unit();
  if (prng.chance(0.5)) {
    faults.delay = 0.3 * prng.unit();
    faults.delay_ns = 1 + prng.below(5000);
  }
  if (prng.chance(0.3)) faults.clogs = static_cast<std::uint32_t>(1 + prng.below(6));
  if (prng.chance(0.2)) faults.one_way_partitions = static_cast<std::uint32_t>(1 + prng.below(3));
  if (prng.chance(0.2)) faults.slow_ranks = static_cast<std::uint32_t>(1 + prng.below(2));
  if (prng.chance(0.3)) {
    scenario.world.noise.kind = sim::NoiseSpec::Kind::kUniform;
    scenario.world.noise.hertz = 5000;
    scenario.world.noise.high_ns = 30'000;
  }
}

// One member has another count, collective or root.
Deviation draw_deviation(Prng& prng, const Scenario& scenario) {
  Deviation deviation;
  deviation.op = prng.below(scenario.ops.size());
  const OpSpec& op = scenario.ops[deviation.op];
  const std::size_t members = scenario.teams[op.team].size();
  deviation.member = static_cast<std::int32_t>(prng.below(members));
  if (op.flow()) deviation.member = prng.chance(0.5) ? op.root : op.peer;
  deviation.call = op;
  OpSpec& call = deviation.call;
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
      call.root = static_cast<std::int32_t>((static_cast<std::size_t>(op.root) + 1) % members);
  }
  make_possible(scenario, call);
  return deviation;
}

void draw_trouble(Prng& prng, Scenario& scenario) {
  const double kind = prng.unit();
  const std::uint64_t heal = scenario.world.faults.heal_ns;
  if (kind < 0.12) {
    scenario.world.faults.crashes = static_cast<std::uint32_t>(1 + prng.below(2));
  } else if (kind < 0.24) {
    scenario.deviation = draw_deviation(prng, scenario);
  } else if (kind < 0.34) {
    scenario.departure = Departure{static_cast<Rank>(prng.below(scenario.ranks)),
                                   prng.below(prng.chance(0.5) ? 20'000 : heal)};
  }
  for (std::uint64_t i = prng.below(4); i > 0; --i) {
    scenario.looks.push_back({static_cast<Rank>(prng.below(scenario.ranks)), prng.below(heal)});
  }
}

void draw_tuning(Prng& prng, Scenario& scenario) {
  Tuning& tuning = scenario.tuning;
  tuning.segment_bytes_min = tuning.spread_bytes_min = 16 << prng.below(5);
  tuning.segment_bytes_max = 1024;
  tuning.flow_segment_bytes_min = 16 << prng.below(8);
  tuning.segments = 1 + prng.below(16);
  tuning.window_send = static_cast<std::int32_t>(1 + prng.below(16));
  tuning.window_recv = static_cast<std::int32_t>(1 + prng.below(32));
  tuning.gather_ranks = static_cast<std::int32_t>(2 + prng.below(16));
  tuning.flat_ranks = static_cast<std::int32_t>(2 + prng.below(16));
  if (prng.chance(0.25)) {
    constexpr esp_shape kShapes[] = {ESP_SHAPE_CHAIN, ESP_SHAPE_BINOMIAL, ESP_SHAPE_FLAT};
    const auto inner = static_cast<std::int32_t>(2 + prng.below(4));
    tuning.levels[0] = {inner, pick(prng, kShapes), 2};
    if (prng.chance(0.5)) tuning.levels[1] = {2 * inner, pick(prng, kShapes), 2};
  }
}

}  // namespace

Result<PlanRequest> plan_request(const Scenario& scenario, const OpSpec& op, std::int32_t member) {
  PlanRequest base;
  base.collective = op.collective;
  base.rank = member;
  base.size = static_cast<std::int32_t>(scenario.teams[op.team].size());
  base.root = op.root;
  base.elements = op.count;
  base.element_bytes = static_cast<std::uint32_t>(type_size(op.type));
  base.commutative = !op.ordered;
  base.nodes.nodes = scenario.layout(op.team);
  auto request = resolve(op.options, base, scenario.tuning);
  if (!request) return request.error();
  auto plan = make_plan(*request);
  if (!plan) return plan.error();
  return request;
}

Scenario draw_scenario(std::uint64_t seed) {
  Prng prng(seed);
  Scenario scenario;
  scenario.seed = seed;
  scenario.world.seed = prng.next();
  draw_stage(prng, scenario);
  bool pulls = false;
  scenario.machine = draw_machine(prng, scenario.ranks, pulls);
  scenario.placement =
      pick(prng, {sim::Placement::kByCore, sim::Placement::kByNode, sim::Placement::kRandom});
  // A pull reads what its owner may have given up: the board tells who has.
  scenario.board = pulls || scenario.stage == StageKind::kShm || prng.chance(0.6);
  scenario.start_in_callbacks = prng.chance(0.5);
  draw_tuning(prng, scenario);
  scenario.teams = draw_teams(prng, scenario.ranks);
  draw_layouts(scenario);
  draw_ops(prng, scenario);
  draw_entries(prng, scenario);
  draw_faults(prng, scenario);
  draw_trouble(prng, scenario);
  draw_network(scenario);
  return scenario;
}

std::string OpSpec::describe() const {
  if (flow()) {
    return fmt::format("message of {} bytes from member {} to {}, channel {}", count, root, peer,
                       channel);
  }
  const esp_coll_options& o = options;
  return fmt::format(
      "{} of {} {}, {}, root {}{}; algorithm {}, shape {}, radix {}, segment {} B, windows {}/{}, "
      "variant {}",
      collective_name(collective), count, type_name(type), ordered ? "ordered" : op_name(op), root,
      in_place ? ", in place" : "", static_cast<int>(o.algorithm), static_cast<int>(o.shape),
      o.radix, o.segment_bytes, o.window_send, o.window_recv, static_cast<int>(o.variant));
}

const char* Scenario::stage_name() const noexcept {
  switch (stage) {
    case StageKind::kSim:
      return "simulated";
    case StageKind::kShm:
      if (!pulls) return "shared memory";
      return pulls_allowed.empty() ? "shared memory with pulls"
                                   : "shared memory with pulls until they are refused";
    case StageKind::kDatagrams:
      return "simulated datagrams";
    case StageKind::kConnections:
      return "simulated connections";
    case StageKind::kRdma:
      return "simulated connections and datagrams";
  }
  return "?";
}

std::string Scenario::describe() const {
  std::string text =
      fmt::format("{} ranks, {}, {} placement, {}{}, faults {}, noise {}\n", ranks, stage_name(),
                  placement_name(placement), board ? "board" : "no board",
                  start_in_callbacks ? ", starts in callbacks" : "", sim::to_text(world.faults),
                  sim::to_text(world.noise));
  if (has_datagrams()) {
    text += fmt::format(
        "  packets of {} bytes, {} to send, {} to receive, {} sends at a time, first number {:#x}, "
        "{} ghosts\n",
        port.packet_bytes, port.send_packets, port.receive_packets, port.send_depth, first_sequence,
        ghosts);
  }
  if (has_connections()) {
    text += fmt::format(
        "  packets of {} bytes, {} to send, {} to receive, {} operations at a time, window {}, {} "
        "completions at a time, places from {} bytes, read from {}, registered from {}{}\n",
        adapter.packet_bytes, connections.send_packets, adapter.receive_depth, adapter.send_depth,
        connections.window, connections.poll_budget, connections.place_from_bytes,
        connections.pull_from_bytes, connections.memory.register_from_bytes,
        odd_ranks_copy ? " by even ranks" : "");
  }
  if (accesses > 0) text += fmt::format("  {} accesses each, {:.2f} taken back\n", accesses, whims);
  if (stage == StageKind::kRdma) {
    text += fmt::format(
        "  {} connections for a rank's sends, adapters have {}, {} pairs of ranks have none\n",
        connections_max, adapter.connections, apart.size());
  }
  for (std::size_t t = 0; t < teams.size(); ++t) {
    const TeamNodes* nodes = layout(t);
    text += fmt::format("  team {}: {} members, {} nodes followed, {} levels inside\n", t,
                        teams[t].size(), nodes != nullptr ? nodes->count() : 0,
                        nodes != nullptr ? nodes->inner.size() : 0);
  }
  for (std::size_t i = 0; i < ops.size(); ++i) {
    text += fmt::format("  op {} on team {}: {}{}\n", i, ops[i].team, ops[i].describe(),
                        entries[i][0].after_all ? ", after all others" : "");
  }
  if (deviation) {
    text += fmt::format("  member {} calls op {} as: {}\n", deviation->member, deviation->op,
                        deviation->call.describe());
  }
  if (departure)
    text += fmt::format("  rank {} leaves at {} ns\n", departure->rank, departure->at_ns);
  return text;
}

}  // namespace espalier::swarm
