// Plans for teams on several nodes: any placement, any root; what is published stays inside a node.
#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "coll/algorithms/exchange_steps.hpp"
#include "coll/algorithms/trees.hpp"
#include "coll/choice/choose.hpp"
#include "tests/unit/plan_cases.hpp"
#include "tests/unit/plan_hazards.hpp"

namespace espalier::plan_check {
namespace {

// Nodes of 1 to 5 members; members are dealt out in blocks, in turn, or at random.
enum class Placement { kByCore, kByNode, kRandom };

TeamNodes placed(Placement how, std::int32_t nodes, std::int32_t size, unsigned seed) {
  std::vector<std::int32_t> of(static_cast<std::size_t>(size));
  for (std::int32_t m = 0; m < size; ++m) {
    of[static_cast<std::size_t>(m)] = how == Placement::kByCore ? m * nodes / size : m % nodes;
  }
  if (how == Placement::kRandom) std::shuffle(of.begin(), of.end(), std::mt19937(seed));
  return TeamNodes::of(of);
}

struct PlacedTeam {
  TeamNodes nodes;
  std::int32_t size;
};

std::vector<PlacedTeam> cases() {
  std::vector<PlacedTeam> all;
  for (const auto& [nodes, size] : {std::pair{2, 2}, {2, 4}, {3, 7}, {3, 3}, {5, 12}, {4, 18}}) {
    for (const Placement how : {Placement::kByCore, Placement::kByNode, Placement::kRandom}) {
      all.push_back({placed(how, nodes, size, static_cast<unsigned>(size)), size});
    }
  }
  return all;
}

Result<Plan> without_nodes(PlanRequest request, std::int32_t rank) {
  request.rank = rank;
  request.nodes = {};
  return make_plan(request);
}

// Pairs of nodes that exchange segments, from -> to.
std::set<std::pair<std::int32_t, std::int32_t>> edges(const std::vector<Plan>& plans,
                                                      const TeamNodes& nodes) {
  std::set<std::pair<std::int32_t, std::int32_t>> found;
  for (const Plan& plan : plans) {
    for (const Vertex& vertex : plan.vertices) {
      if (vertex.action != Action::kSend || nodes.together(plan.rank, vertex.peer.first)) continue;
      EXPECT_TRUE(found.emplace(nodes.node_of(plan.rank), nodes.node_of(vertex.peer.first)).second)
          << "two members of a node send to the same node";
    }
  }
  return found;
}

PlanRequest resolved(PlanRequest request, const TeamNodes& nodes) {
  const esp_coll_options options = ESP_COLL_OPTIONS_INIT;
  request.nodes.nodes = &nodes;
  const std::uint64_t segment_bytes = request.segment_bytes;
  auto made = resolve(options, request);
  EXPECT_TRUE(made.ok());
  EXPECT_TRUE(made->nodes.follow);
  made->segment_bytes = segment_bytes;  // that of the test: several
  made->window_send = 3;
  made->window_recv = 5;
  return *made;
}

TEST(PlanNodesTest, CorrectForEveryPlacementAndRoot) {
  std::uint64_t seed = 1;
  for (const PlacedTeam& c : cases()) {
    for (const Collective collective :
         {Collective::kBarrier, Collective::kBcast, Collective::kReduce, Collective::kAllreduce}) {
      for (std::int32_t root = 0; root < c.size; ++root) {
        if (root > 0 &&
            (collective == Collective::kBarrier || collective == Collective::kAllreduce))
          break;
        for (const std::uint64_t segments : {1U, 5U}) {
          PlanRequest request = call(collective, c.size, segments);
          request.root = root;
          request = resolved(request, c.nodes);
          if (segments > 1) request.nodes.exchange_radix = 0;
          if (segments > 1 && root % 2 == 1) request.shape = ESP_SHAPE_CHAIN;
          const std::vector<Plan> plans = make_plans(request);
          ASSERT_FALSE(plans.empty());
          ASSERT_TRUE(publishes_only_inside(plans, c.nodes));
          PlanRequest renamed = request;
          renamed.root = c.nodes.position_of(root);
          // A tree of nodes combines in the order of nodes, whatever the root.
          renamed.commutative = false;
          ++seed;
          for (const Schedule& schedule : schedules(seed, c.size)) {
            ASSERT_TRUE(expect_correct(in_node_order(plans, c.nodes), renamed, schedule));
          }
        }
      }
    }
  }
}

TEST(ExchangeStepsTest, Groups) {
  const auto groups = [](std::int32_t nodes, std::int32_t radix) {
    const ExchangeSteps steps = exchange_steps(nodes, radix);
    return std::vector<std::int32_t>(steps.groups.begin(),
                                     steps.groups.begin() + static_cast<long>(steps.count));
  };
  using Groups = std::vector<std::int32_t>;
  EXPECT_EQ(groups(1, 2), Groups{});
  EXPECT_EQ(groups(8, 8), Groups{8});
  EXPECT_EQ(groups(8, 2), (Groups{2, 2, 2}));
  EXPECT_EQ(groups(6, 2), (Groups{2, 3})) << "what is no power has larger groups";
  EXPECT_EQ(groups(7, 2), Groups{7});
  EXPECT_EQ(groups(12, 8), (Groups{4, 3})) << "as equal as may be";
  EXPECT_EQ(groups(16, 8), (Groups{4, 4}));
  EXPECT_EQ(groups(27, 8), (Groups{3, 3, 3})) << "not 9 x 3";
  EXPECT_EQ(groups(22, 8), (Groups{11, 2})) << "there are no smaller divisors";
  for (std::int32_t nodes = 1; nodes <= 1000; ++nodes) {
    for (const std::int32_t radix : {2, 3, 8}) {
      std::int64_t product = 1;
      std::int32_t messages = 0;
      for (const std::int32_t group : groups(nodes, radix)) {
        product *= group;
        messages += group - 1;
      }
      ASSERT_EQ(product, nodes) << radix;
      ASSERT_EQ(messages, exchange_steps(nodes, radix).messages());
    }
  }
}

// Between 2 and 16 heads, in one step and in several: every head has the sum of all, and sends as
// many messages as it is said to.
TEST(PlanNodesTest, ExchangeInSteps) {
  std::uint64_t seed = 1;
  for (std::int32_t nodes = 2; nodes <= 16; ++nodes) {
    for (const auto& [how, size] :
         {std::pair{Placement::kByCore, nodes}, {Placement::kRandom, 2 * nodes + 1}}) {
      const PlacedTeam c{placed(how, nodes, size, static_cast<unsigned>(nodes)), size};
      for (const std::int32_t radix : {2, 3, 8}) {
        for (const std::uint64_t segments : {1U, 5U, 23U}) {
          PlanRequest request = resolved(call(Collective::kAllreduce, size, segments), c.nodes);
          request.nodes.exchange_radix = radix;
          request.nodes.spread = false;
          const std::vector<Plan> plans = make_plans(request);
          ASSERT_FALSE(plans.empty());
          ASSERT_EQ(edges(plans, c.nodes).size(),
                    static_cast<std::size_t>(nodes * exchange_steps(nodes, radix).messages()));
          PlanRequest renamed = request;
          renamed.commutative = false;  // every head combines in the order of nodes
          for (const Schedule& schedule : schedules(++seed, size)) {
            ASSERT_TRUE(expect_correct(in_node_order(plans, c.nodes), renamed, schedule))
                << nodes << " nodes, radix " << radix << ", " << segments << " segments";
          }
        }
      }
    }
  }
}

// An allreduce dealt out to the heads: more segments than heads, fewer, and one.
TEST(PlanNodesTest, SpreadOverHeads) {
  std::uint64_t seed = 1;
  std::vector<PlacedTeam> all = cases();
  all.push_back({placed(Placement::kRandom, 16, 24, 3), 24});
  for (const PlacedTeam& c : all) {
    for (const std::uint64_t segments : {1U, 2U, 5U, 23U}) {
      PlanRequest request = resolved(call(Collective::kAllreduce, c.size, segments), c.nodes);
      request.nodes.exchange_radix = 0;
      request.nodes.spread = true;
      request.nodes.inside = ESP_SHAPE_FLAT;
      const std::vector<Plan> plans = make_plans(request);
      ASSERT_FALSE(plans.empty());
      ASSERT_TRUE(publishes_only_inside(plans, c.nodes));
      PlanRequest renamed = request;
      renamed.commutative = false;  // every head combines in the order of nodes
      for (const Schedule& schedule : schedules(++seed, c.size)) {
        ASSERT_TRUE(expect_correct(in_node_order(plans, c.nodes), renamed, schedule))
            << segments << " segments";
      }
    }
  }
}

// 7 segments come to each node, and no leader takes more than its stripes.
void expect_shared_out(const std::vector<Plan>& plans, const TeamNodes& nodes,
                       std::int32_t stripes) {
  std::vector<std::uint64_t> segments(static_cast<std::size_t>(nodes.count()));
  for (const Plan& plan : plans) {
    const std::int32_t node = nodes.node_of(plan.rank);
    std::uint64_t mine = 0;
    for (const Vertex& v : plan.vertices) {
      if (v.action != Action::kRecv || nodes.together(plan.rank, v.peer.first)) continue;
      mine += v.indices.count;
    }
    segments[static_cast<std::size_t>(node)] += mine;
    const std::int32_t leaders = std::min(stripes, nodes.members(node));
    EXPECT_LE(mine, 7U / static_cast<std::uint32_t>(leaders) + 1U + (stripes > leaders ? 6U : 0U));
  }
  EXPECT_EQ(std::count(segments.begin(), segments.end(), 0U), 1) << "the root's";
  EXPECT_EQ(std::count(segments.begin(), segments.end(), 7U), nodes.count() - 1);
}

// One rank of each node talks to each other node, and each node is entered once.
TEST(PlanNodesTest, OneEdgeIntoEveryNode) {
  for (const PlacedTeam& c : cases()) {
    for (std::int32_t root = 0; root < c.size; ++root) {
      PlanRequest request = call(Collective::kBcast, c.size, 5);
      request.root = root;
      const auto down = edges(make_plans(resolved(request, c.nodes)), c.nodes);
      EXPECT_EQ(down.size(), static_cast<std::size_t>(c.nodes.count() - 1));
      request.collective = Collective::kReduce;
      const auto up = edges(make_plans(resolved(request, c.nodes)), c.nodes);
      EXPECT_EQ(up.size(), static_cast<std::size_t>(c.nodes.count() - 1));
    }
    const PlanRequest barrier = resolved(call(Collective::kBarrier, c.size, 1), c.nodes);
    EXPECT_GT(barrier.nodes.exchange_radix, 0);
    const auto count = static_cast<std::size_t>(c.nodes.count());
    EXPECT_EQ(edges(make_plans(barrier), c.nodes).size(), count * (count - 1));
  }
}

// Each segment enters each node once, and the leaders of a node share them out.
TEST(PlanNodesTest, StripesOfSeveralLeaders) {
  std::uint64_t seed = 1;
  for (const PlacedTeam& c : cases()) {
    for (const Collective collective :
         {Collective::kBcast, Collective::kReduce, Collective::kAllreduce, Collective::kBarrier}) {
      const bool rooted = traits_of(collective).rooted;
      for (std::int32_t root = 0; root < (rooted ? c.size : 1); ++root) {
        for (const std::int32_t stripes : {2, kStripesMax}) {
          PlanRequest request = resolved(call(collective, c.size, 7), c.nodes);
          request.root = root;
          request.nodes.exchange_radix = 0;
          request.nodes.spread = false;
          request.nodes.stripes = stripes;
          if (stripes == kStripesMax) request.nodes.inside = ESP_SHAPE_DOUBLE_LEADER;
          const std::vector<Plan> plans = make_plans(request);
          ASSERT_FALSE(plans.empty());
          ASSERT_TRUE(publishes_only_inside(plans, c.nodes));
          PlanRequest renamed = request;
          renamed.root = c.nodes.position_of(root);
          renamed.commutative = false;  // every leader combines in the order of nodes
          const std::vector<Schedule> all = schedules(++seed, c.size);
          ASSERT_TRUE(
              expect_correct(in_node_order(plans, c.nodes), renamed, all[seed % all.size()]));
          const std::vector<std::int64_t> nowhere(plans.size(), -1);
          ASSERT_EQ(find_hazard(plans, nowhere), "");
          if (collective == Collective::kBcast) expect_shared_out(plans, c.nodes, stripes);
        }
      }
    }
  }
}

// What a caller has fixed is kept; who reads a publication is the wires' matter.
TEST(PlanNodesTest, ChosenAlgorithmsExistAcrossNodes) {
  std::uint64_t seed = 1;
  for (const PlacedTeam& c : cases()) {
    for (const esp_algorithm algorithm :
         {ESP_ALGORITHM_TREE, ESP_ALGORITHM_PUBLISH, ESP_ALGORITHM_SPREAD}) {
      esp_coll_options options = ESP_COLL_OPTIONS_INIT;
      options.algorithm = algorithm;
      options.segment_bytes = 32;
      PlanRequest request = call(Collective::kAllreduce, c.size, 5);
      request.nodes.nodes = &c.nodes;
      auto made = resolve(options, request);
      ASSERT_TRUE(made.ok());
      EXPECT_FALSE(made->nodes.follow);
      const std::vector<Plan> plans = make_plans(*made);
      ASSERT_FALSE(plans.empty());
      for (const Plan& plan : plans) EXPECT_EQ(plan, *without_nodes(*made, plan.rank));
      for (const Schedule& schedule : schedules(++seed, c.size)) {
        ASSERT_TRUE(expect_correct(plans, *made, schedule));
      }
    }
  }
}

TEST(PlanNodesTest, RankOrderIsKeptWhereItIsPossible) {
  for (const PlacedTeam& c : cases()) {
    PlanRequest request = call(Collective::kReduce, c.size, 5);
    request.commutative = false;
    request.root = c.size / 2;
    request.nodes.nodes = &c.nodes;
    auto made = resolve(ESP_COLL_OPTIONS_INIT, request);
    ASSERT_TRUE(made.ok());
    EXPECT_EQ(made->nodes.follow, c.nodes.in_order());
    const std::vector<Plan> plans = make_plans(*made);
    ASSERT_FALSE(plans.empty());
    for (const Schedule& schedule : schedules(3, c.size)) {
      ASSERT_TRUE(expect_correct(plans, *made, schedule));
    }
  }
}

TEST(PlanNodesTest, Texts) {
  const TeamNodes nodes = placed(Placement::kByCore, 3, 7, 0);
  const auto text = [&](Collective collective, std::uint64_t segments) {
    PlanRequest request = call(collective, 7, segments);
    return make_plans(resolved(request, nodes)).front().algorithm;
  };
  EXPECT_EQ(text(Collective::kBarrier, 1).find("tree(exchange over 3 nodes, flat inside)"), 0u);
  EXPECT_EQ(text(Collective::kBcast, 1).find("tree(binomial over 3 nodes, flat inside)"), 0u)
      << text(Collective::kBcast, 1);
}

// ---- levels inside nodes ----

// Two nodes (or one) of two sockets of two NUMA nodes, which share a cache each.
TeamNodes with_places(Placement how, std::int32_t nodes, std::int32_t size, unsigned seed) {
  std::vector<std::int32_t> place(static_cast<std::size_t>(size));  // of 4 per node
  for (std::int32_t m = 0; m < size; ++m) {
    place[static_cast<std::size_t>(m)] =
        how == Placement::kByCore ? m * 4 * nodes / size : m % (4 * nodes);
  }
  if (how == Placement::kRandom) std::shuffle(place.begin(), place.end(), std::mt19937(seed));
  std::vector<std::int32_t> node_of;
  std::vector<MemberLocality> places;
  for (const std::int32_t p : place) {
    node_of.push_back(p / 4);
    places.push_back({0, p % 4 / 2, p % 4, p % 4});
  }
  return TeamNodes::of(node_of, places);
}

// Pairs of groups of one level that exchange segments, without those that are inside outer groups.
std::size_t edges_between_sockets(const std::vector<Plan>& plans, const TeamNodes& nodes) {
  const std::vector<std::int32_t>& begin = nodes.inner.front().begin;
  const auto group = [&](std::int32_t member) {
    const std::int32_t at = nodes.position_of(member);
    return std::upper_bound(begin.begin(), begin.end(), at) - begin.begin();
  };
  std::size_t found = 0;
  for (const Plan& plan : plans) {
    for (const Vertex& vertex : plan.vertices) {
      if (vertex.action == Action::kSend) found += group(plan.rank) != group(vertex.peer.first);
      for (const std::int32_t peer : vertex.peers) found += group(plan.rank) != group(peer);
    }
  }
  return found;
}

Tuning following(const LevelShapes& shapes = {}) {
  Tuning tuning;
  tuning.inner_levels = FollowLevels::kOn;
  tuning.level_shapes = shapes;
  return tuning;
}

TEST(PlanPlacesTest, CorrectForEveryPlacementAndRoot) {
  LevelShapes shapes;
  shapes.nodes = {ESP_SHAPE_BINARY, 2};
  shapes.between = {
      {{ESP_SHAPE_FLAT, 2}, {ESP_SHAPE_CHAIN, 2}, {ESP_SHAPE_BINOMIAL, 2}, {ESP_SHAPE_FLAT, 2}}};
  shapes.inside = {ESP_SHAPE_KARY, 3};
  std::uint64_t seed = 1;
  for (std::int32_t size = 2; size <= 21; size += size < 12 ? 1 : 3) {
    for (const Placement how : {Placement::kByCore, Placement::kByNode, Placement::kRandom}) {
      const TeamNodes nodes = with_places(how, 1 + size % 3, size, static_cast<unsigned>(size));
      if (nodes.inner.empty()) continue;
      for (const Collective collective : {Collective::kBarrier, Collective::kBcast,
                                          Collective::kReduce, Collective::kAllreduce}) {
        const bool rooted = collective == Collective::kBcast || collective == Collective::kReduce;
        for (std::int32_t root = 0; root < (rooted ? size : 1); ++root) {
          PlanRequest request = call(collective, size, 5);
          request.root = root;
          request.nodes.nodes = &nodes;
          esp_coll_options options = ESP_COLL_OPTIONS_INIT;
          options.segment_bytes = 32;
          options.window_send = 3;
          options.window_recv = 5;
          auto made = resolve(options, request, following(seed % 2 == 0 ? shapes : LevelShapes{}));
          ASSERT_TRUE(made.ok());
          ASSERT_TRUE(made->nodes.follow && made->nodes.nodes == &nodes);
          const std::vector<Plan> plans = make_plans(*made);
          ASSERT_FALSE(plans.empty());
          ASSERT_TRUE(publishes_only_inside(plans, nodes));
          if (rooted) {  // each socket is entered, or left, once
            EXPECT_EQ(edges_between_sockets(plans, nodes), nodes.inner.front().begin.size() - 2);
          }
          made->root = nodes.position_of(root);
          made->commutative = false;
          const std::vector<Schedule> all = schedules(++seed, size);
          const Schedule& schedule = all[seed % all.size()];
          ASSERT_TRUE(expect_correct(in_node_order(plans, nodes), *made, schedule));
        }
      }
    }
  }
}

// Where following the levels does not pay, or cannot be, plans are those without them.
TEST(PlanPlacesTest, FollowedWhereItPays) {
  const TeamNodes plain = placed(Placement::kByCore, 2, 24, 0);
  TeamNodes places = with_places(Placement::kByCore, 2, 24, 0);
  places.plain = &plain;
  const auto chosen = [&](const TeamNodes& nodes, Collective collective, std::int32_t size,
                          FollowLevels follow) {
    PlanRequest request = call(collective, size, 5000);
    request.nodes.nodes = &nodes;
    Tuning tuning;
    tuning.inner_levels = follow;
    return resolve(ESP_COLL_OPTIONS_INIT, request, tuning)->nodes.nodes;
  };
  EXPECT_EQ(chosen(places, Collective::kBcast, 24, FollowLevels::kAuto), &places);
  EXPECT_EQ(chosen(places, Collective::kBcast, 24, FollowLevels::kOff), &plain);
  TeamNodes few = with_places(Placement::kByCore, 1, 8, 0);
  EXPECT_EQ(chosen(few, Collective::kBcast, 8, FollowLevels::kAuto), nullptr);
  EXPECT_EQ(chosen(few, Collective::kBcast, 8, FollowLevels::kOn), &few);
  TeamNodes many = with_places(Placement::kByCore, 1, 24, 0);
  EXPECT_EQ(chosen(many, Collective::kReduce, 24, FollowLevels::kAuto), &many);
  EXPECT_EQ(chosen(many, Collective::kAllreduce, 24, FollowLevels::kAuto), nullptr) << "spread";
  // Rank order cannot be kept where the order goes to and fro between sockets.
  TeamNodes mixed = with_places(Placement::kByNode, 1, 24, 0);
  PlanRequest request = call(Collective::kReduce, 24, 5);
  request.commutative = false;
  request.nodes.nodes = &mixed;
  EXPECT_EQ(resolve(ESP_COLL_OPTIONS_INIT, request, following())->nodes.nodes, nullptr);
  request.nodes.nodes = &many;
  EXPECT_EQ(resolve(ESP_COLL_OPTIONS_INIT, request, following())->nodes.nodes, &many);
}

TEST(PlanPlacesTest, Texts) {
  const TeamNodes nodes = with_places(Placement::kByCore, 2, 24, 0);
  PlanRequest request = call(Collective::kBcast, 24, 5);
  request.nodes.nodes = &nodes;
  LevelShapes shapes;
  shapes.between[1] = {ESP_SHAPE_CHAIN, 2};
  auto made = resolve(ESP_COLL_OPTIONS_INIT, request, following(shapes));
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(
      make_plans(*made).front().algorithm.find(
          "tree(binomial over 2 nodes, chain over 4 sockets, flat over 8 NUMA nodes, flat inside)"),
      0U)
      << make_plans(*made).front().algorithm;
}

}  // namespace
}  // namespace espalier::plan_check
