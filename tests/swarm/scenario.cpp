#include "tests/swarm/scenario.hpp"

#include <numeric>
#include <utility>

#include "tests/swarm/drawing.hpp"

namespace espalier::swarm {
namespace {

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
  if (!prng.chance(0.1) && !draws_devices(scenario)) {
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

// By node: two pods of two switches, one node perhaps on none of the map; ranks are near the
// adapter or not. Draws of their own, so that seeds keep what they drew before there were any.
std::vector<SwitchPath> draw_switches(Scenario& scenario, std::uint64_t nodes) {
  Prng prng(scenario.seed ^ 0x7377697463686573ULL);
  std::vector<SwitchPath> paths(nodes, kSwitchesUnknown);
  if (!prng.chance(0.5)) return paths;
  const std::uint64_t pods = 1 + prng.below(2), leaves = 1 + prng.below(3);
  const double unnamed = pick(prng, {0.0, 0.0, 0.2});
  std::int32_t alone = 0;
  for (SwitchPath& path : paths) {
    const auto pod = static_cast<std::int32_t>(prng.below(pods));
    const auto leaf = static_cast<std::int32_t>(prng.below(leaves));
    path = {0, 1 + pod, 1 + pod * 8 + leaf};
    if (prng.chance(unnamed)) path.fill(--alone);
  }
  constexpr esp_shape kShapes[] = {ESP_SHAPE_CHAIN, ESP_SHAPE_BINOMIAL, ESP_SHAPE_FLAT,
                                   ESP_SHAPE_BINARY};
  if (prng.chance(0.5)) scenario.tuning.level_shapes.switches = {pick(prng, kShapes), 2};
  return paths;
}

// Nodes, and sockets and more inside them, which trees and exchanges follow. For all of them the
// wire is the same.
void draw_layouts(Scenario& scenario) {
  Prng prng(scenario.seed ^ 0x6c61796f757473ULL);
  if (!prng.chance(0.4)) return;
  scenario.tuning.inner_levels = FollowLevels::kOn;
  const std::uint64_t nodes = 1 + prng.below(5), sockets = 2 + prng.below(3);
  const double scattered = pick(prng, {0.0, 0.2, 1.0}), unbound = pick(prng, {0.0, 0.0, 0.1});
  // Boards have draws of their own, so that seeds keep what they drew before there were any.
  Prng board_prng(scenario.seed ^ 0x626f61726473ULL);
  const bool has_boards = board_prng.chance(0.3);
  const std::vector<SwitchPath> switches = draw_switches(scenario, nodes);
  Prng adapter_prng(scenario.seed ^ 0x6164617074657273ULL);
  const std::uint64_t distances = adapter_prng.chance(0.3) ? 3 : 1;
  std::vector<std::int32_t> node_of;
  std::vector<MemberLocality> locality_of;
  std::vector<NetworkPlace> network_of;
  for (std::uint64_t r = 0; r < scenario.ranks; ++r) {
    const std::uint64_t in_block = r * nodes / scenario.ranks;
    const auto node = prng.chance(scattered) ? prng.below(nodes) : in_block;
    node_of.push_back(static_cast<std::int32_t>(node));
    MemberLocality place = kBoundNowhere;
    for (std::size_t level = 1; level < kLocalityLevels; ++level) {  // sockets and what is inside
      place[level] = prng.chance(unbound) ? -1 : static_cast<std::int32_t>(prng.below(sockets));
    }
    if (has_boards) place[0] = static_cast<std::int32_t>(board_prng.below(2));
    locality_of.push_back(place);
    const auto to_adapter = static_cast<std::int32_t>(adapter_prng.below(distances));
    network_of.push_back({.switches = switches[node], .to_adapter = to_adapter});
  }
  for (const std::vector<Rank>& members : scenario.teams) {
    std::vector<std::int32_t> nodes_of_team;
    std::vector<MemberLocality> localities_of_team;
    std::vector<NetworkPlace> networks_of_team;
    for (const Rank r : members) {
      nodes_of_team.push_back(node_of[static_cast<std::size_t>(r)]);
      localities_of_team.push_back(locality_of[static_cast<std::size_t>(r)]);
      networks_of_team.push_back(network_of[static_cast<std::size_t>(r)]);
    }
    scenario.layouts.push_back(TeamNodes::of(nodes_of_team, localities_of_team, networks_of_team));
  }
  if (prng.chance(0.5)) scenario.tuning.inner_levels = FollowLevels::kAlways;
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

void draw_trouble(Prng& prng, Scenario& scenario) {
  const double kind = draws_devices(scenario) ? 1 : prng.unit();
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
  if (!prng.chance(0.25)) return;
  constexpr esp_shape kShapes[] = {ESP_SHAPE_CHAIN, ESP_SHAPE_BINOMIAL, ESP_SHAPE_FLAT};
  (void)prng.below(4);  // so that later drawings of a seed stay what they were
  tuning.level_shapes.inside = {pick(prng, kShapes), 2};
  if (prng.chance(0.5)) tuning.level_shapes.between.fill({pick(prng, kShapes), 2});
}

// Numbers of its own: other drawings of a seed stay what they were.
void draw_transfer(Scenario& scenario) {
  Prng prng(scenario.seed ^ 0x7472616e73666572ULL);
  if (!scenario.pulls || prng.chance(0.4)) return;
  Transfer& transfer = scenario.tuning.transfer;
  transfer.path = pick(prng, {Path::kAny, Path::kCopy, Path::kPull, Path::kPush});
  transfer.readers_at_once = static_cast<std::uint16_t>(prng.below(4));
  transfer.quantum_bytes = static_cast<std::uint32_t>(100 * prng.below(3));
}

// Numbers of its own, too. Others hear of a failure by the board.
void draw_moves(Scenario& scenario) {
  Prng prng(scenario.seed ^ 0x6d6f76657273ULL);
  if (!draws_exchanges(scenario) || (!draws_devices(scenario) && prng.chance(0.5))) return;
  // A leader of many moves all blocks of all: tens of millions of turns.
  if (scenario.partial() && scenario.ranks > 32) return;
  LateMoves& moves = scenario.moves.emplace();
  moves.refused = pick(prng, {0.0, 0.1, 0.5});
  moves.at_once = pick(prng, {0.0, 0.0, 0.5});
  moves.latest_ns = pick(prng, {std::uint64_t{1}, std::uint64_t{300}, std::uint64_t{20'000}});
  if (!scenario.board || scenario.troubled() || draws_devices(scenario) || !prng.chance(0.2))
    return;
  moves.breaks_at = static_cast<Rank>(prng.below(scenario.ranks));
  moves.breaks_after = prng.below(20);
}

}  // namespace

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
  if (draws_exchanges(scenario)) draw_exchange_tuning(scenario);
  scenario.teams = draw_teams(prng, scenario.ranks);
  draw_layouts(scenario);
  draw_ops(prng, scenario);
  draw_entries(prng, scenario);
  draw_faults(prng, scenario);
  draw_trouble(prng, scenario);
  draw_network(scenario);
  draw_transfer(scenario);
  draw_moves(scenario);
  draw_devices(scenario);
  return scenario;
}

}  // namespace espalier::swarm
