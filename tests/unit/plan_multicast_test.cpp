// Plans by multicast: any placement, any root, up to 64 ranks; who publishes to whom, and how
// often.
#include <algorithm>
#include <deque>
#include <numeric>

#include "coll/algorithms/trees.hpp"
#include "tests/unit/exchange_cases.hpp"
#include "tests/unit/plan_hazards.hpp"

namespace espalier::plan_check {
namespace {

#ifdef ESPALIER_SANITIZED
constexpr std::int32_t kGroupRanksMax = 17;
#else
constexpr std::int32_t kGroupRanksMax = 64;
#endif

// Members dealt out to nodes in blocks, in turn, or at random; then nodes differ in size. One also
// with two sockets in a node, of which one has fewer members. All of them also with leaders of
// parts of nodes, up to three of a node and of unequal size.
struct GroupPlaces {
  GroupPlaces(std::int32_t nodes, std::int32_t size) {
    std::vector<std::int32_t> in_order, in_turn;
    for (std::int32_t m = 0; m < size; ++m) {
      in_order.push_back(m * nodes / size);
      in_turn.push_back(m % nodes);
    }
    std::vector<std::int32_t> mixed = in_turn;
    std::shuffle(mixed.begin(), mixed.end(), std::mt19937(static_cast<unsigned>(size)));
    for (std::size_t m = 0; m < mixed.size() / 2; ++m) mixed[m] = mixed[m] % 2;  // two large ones
    for (const std::vector<std::int32_t>& of : {in_order, in_turn, mixed}) {
      plain.push_back(TeamNodes::of(of));
    }
    std::vector<MemberLocality> sockets;
    for (std::int32_t m = 0; m < size; ++m) sockets.push_back({0, m % 3 > 0 ? 1 : 0, 0, m});
    leveled = TeamNodes::of(in_order, sockets);
    leveled.plain = plain.data();
    const std::vector<const std::vector<std::int32_t>*> dealt = {&in_order, &in_turn, &mixed,
                                                                 &in_order};
    for (std::size_t k = 0; k < dealt.size(); ++k) {
      const bool levels = k + 1 == dealt.size();
      const std::vector<std::int32_t>& node_of = *dealt[k];
      const std::vector<std::int32_t> numbers = TeamNodes::parts_of(node_of, parts_in(node_of, k));
      if (numbers.empty()) continue;
      parts.push_back(TeamNodes::of(numbers));
      parted.push_back(levels ? leveled : plain[k]);
      if (levels) {
        TeamNodes with = TeamNodes::of(numbers, sockets);
        with.plain = &parts.back();
        parts.push_back(std::move(with));
      }
      parted.back().leaders = &parts.back();
    }
  }
  // Of every fourth node none; of others members go in turn, or in a block and a rest.
  static std::vector<std::uint64_t> parts_in(const std::vector<std::int32_t>& node_of,
                                             std::size_t seed) {
    std::vector<std::uint64_t> part_of;
    for (std::size_t m = 0; m < node_of.size(); ++m) {
      const auto node = static_cast<std::size_t>(node_of[m]);
      const std::size_t in_turn = m % 3, block = m * 5 / node_of.size() % 2 + 1;
      part_of.push_back(node % 4 == 3 ? 0 : (node + seed) % 2 == 0 ? in_turn : block);
    }
    return part_of;
  }
  GroupPlaces(const GroupPlaces&) = delete;
  GroupPlaces& operator=(const GroupPlaces&) = delete;
  std::vector<const TeamNodes*> all() const {
    std::vector<const TeamNodes*> found;
    for (const TeamNodes& nodes : plain) {
      if (nodes.count() >= kMulticastNodesMin) found.push_back(&nodes);
    }
    if (leveled.count() >= kMulticastNodesMin) found.push_back(&leveled);
    for (const TeamNodes& nodes : parted) {
      if (nodes.count() >= kMulticastNodesMin) found.push_back(&nodes);
    }
    return found;
  }

  std::vector<TeamNodes> plain;
  TeamNodes leveled;
  std::deque<TeamNodes> parts, parted;  // places that stay
};

PlanRequest by_multicast(const TeamNodes& nodes, PlanRequest request) {
  request.nodes.nodes = &nodes;
  request.nodes.follow = has_shapes(request.collective);
  request.nodes.multicast = true;
  return request;
}

struct GroupTeam {
  std::int32_t nodes, size;
};
constexpr GroupTeam kGroupTeams[] = {{3, 3},  {3, 5}, {4, 4},   {5, 7},
                                     {5, 12}, {9, 9}, {12, 31}, {21, 64}};

bool is_group_member(const TeamNodes& nodes, std::int32_t member) {
  const TeamNodes& parts = nodes.of_group();
  return parts.group_member(parts.node_of(member)) == member;
}

// By multicast between members of the group alone, each publication for all others of them; inside
// nodes otherwise. Returns the segments that cross between nodes otherwise.
std::uint64_t expect_by_group(const std::vector<Plan>& plans, const TeamNodes& nodes) {
  const TeamNodes& parts = nodes.of_group();
  std::uint64_t others = 0;
  for (const Plan& plan : plans) {
    for (const Vertex& v : plan.vertices) {
      const bool by_group = v.transfer.path == Path::kMulticast;
      if (by_group) {
        EXPECT_TRUE(is_group_member(nodes, plan.rank));
        EXPECT_TRUE(v.action == Action::kPublish || v.action == Action::kRecv);
      }
      if (v.action == Action::kPublish) {
        std::vector<std::int32_t> readers = v.peers, expected;
        for (std::int32_t part = 0; part < parts.count(); ++part) {
          if (part != parts.node_of(plan.rank)) expected.push_back(parts.group_member(part));
        }
        std::sort(readers.begin(), readers.end());
        std::sort(expected.begin(), expected.end());
        EXPECT_EQ(by_group, readers == expected);
        for (const std::int32_t reader : readers) {
          EXPECT_EQ(by_group, !parts.together(plan.rank, reader));
        }
        continue;
      }
      if (is_local(v.action)) continue;
      for (std::uint32_t i = 0; i < v.indices.count; ++i) {
        const std::int32_t peer = plan.peer(v, i);
        const bool leaves = !parts.together(plan.rank, peer);
        EXPECT_TRUE(!by_group || (leaves && is_group_member(nodes, peer)));
        const bool crosses = !nodes.together(plan.rank, peer);
        if (crosses && !by_group && v.action == Action::kSend) ++others;
      }
    }
  }
  return others;
}

void expect_no_hazard(const std::vector<Plan>& plans, const PlanRequest& request) {
  if (request.size > 12) return;
  std::vector<std::int64_t> input_at(plans.size(), -1);
  EXPECT_EQ(find_hazard(plans, input_at), "") << describe(request);
  const bool gathers = !has_shapes(request.collective);
  for (std::size_t r = 0; r < plans.size(); ++r) {
    input_at[r] = gathers ? static_cast<std::int64_t>(plans[r].layout(Place::kOutput).begin(r)) : 0;
  }
  EXPECT_EQ(find_hazard(plans, input_at), "") << describe(request) << " in place";
}

// The checker wants partial results to be runs of ranks.
void check_tree(const PlanRequest& request, const TeamNodes& nodes, std::uint64_t seed) {
  const std::vector<Plan> plans = make_plans(request);
  ASSERT_FALSE(plans.empty());
  const std::uint64_t others = expect_by_group(plans, nodes);
  EXPECT_EQ(others > 0, request.collective != Collective::kBcast);
  PlanRequest renamed = request;
  renamed.root = nodes.position_of(request.root);
  renamed.commutative = false;
  const std::vector<Plan> in_order = in_node_order(plans, nodes);
  for (const Schedule& schedule : schedules(seed, request.size)) {
    ASSERT_TRUE(expect_correct(in_order, renamed, schedule)) << nodes.count() << " nodes";
  }
  expect_no_hazard(plans, request);
}

TEST(PlanMulticast, TreesOfEveryPlacementAndRoot) {
  std::uint64_t seed = 1;
  for (const GroupTeam& team : kGroupTeams) {
    if (team.size > kGroupRanksMax) continue;
    const GroupPlaces places(team.nodes, team.size);
    for (const TeamNodes* nodes : places.all()) {
      for (const Collective collective :
           {Collective::kBcast, Collective::kAllreduce, Collective::kBarrier}) {
        const bool rooted = collective == Collective::kBcast;
        for (std::int32_t root = 0; root < (rooted ? team.size : 1); root += 1 + team.size / 8) {
          PlanRequest request = by_multicast(*nodes, call(collective, team.size, 1 + seed % 7));
          request.root = root;
          request.shape = seed % 2 == 0 ? ESP_SHAPE_CHAIN : ESP_SHAPE_BINOMIAL;
          if (seed % 3 == 0) request.nodes.inside = ESP_SHAPE_KNOMIAL;
          check_tree(request, *nodes, seed++);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

void check_gather(const std::vector<Plan>& plans, const TeamNodes& nodes,
                  const PlanRequest& request) {
  ASSERT_FALSE(plans.empty());
  EXPECT_EQ(expect_by_group(plans, nodes), 0U);
  for (const Schedule& schedule : schedules(request.elements + 1, request.size)) {
    ASSERT_TRUE(expect_correct(plans, request, schedule)) << nodes.count() << " nodes";
  }
  expect_no_hazard(plans, request);
}

void check_blocks(const TeamNodes& nodes, PlanRequest request) {
  std::mt19937 random(static_cast<unsigned>(request.size));
  for (const std::uint64_t elements : {0, 1, 5, 33}) {
    if (request.size > 20 && elements > 5) break;
    request.elements = elements;
    if (!is_irregular(request.collective)) {
      check_gather(make_plans(request), nodes, request);
      continue;
    }
    const auto sent = random_lengths(request.size, false, random);
    const IrregularPlans made(request, sent, elements % 2 == 1, random);
    check_gather(made.plans(), nodes, request);
  }
}

TEST(PlanMulticast, GathersOfEveryPlacement) {
  for (const GroupTeam& team : kGroupTeams) {
    if (team.size > kGroupRanksMax) continue;
    const GroupPlaces places(team.nodes, team.size);
    for (const TeamNodes* nodes : places.all()) {
      for (const Collective collective : {Collective::kAllgather, Collective::kAllgatherv}) {
        check_blocks(*nodes,
                     by_multicast(*nodes, exchange(collective, ESP_ALGORITHM_TREE, team.size)));
        if (HasFatalFailure()) return;
      }
    }
  }
}

// What leaves the nodes by members of the group, in segments, by rank.
std::vector<std::uint64_t> published_to_group(const std::vector<Plan>& plans) {
  std::vector<std::uint64_t> segments;
  for (const Plan& plan : plans) {
    std::uint64_t own = 0;
    for (const Vertex& v : plan.vertices) {
      const bool is_one = v.action == Action::kPublish && v.transfer.path == Path::kMulticast;
      if (is_one) own += v.indices.count;
    }
    segments.push_back(own);
  }
  return segments;
}

// A broadcast leaves the root's node once, whatever the number of nodes, and nobody else's.
TEST(PlanMulticast, MessagesLeaveOnce) {
  for (const std::int32_t nodes : {3, 5, 21}) {
    const GroupPlaces places(nodes, 3 * nodes);
    const TeamNodes& dealt = places.plain[1];
    PlanRequest request = by_multicast(dealt, call(Collective::kBcast, 3 * nodes, 6));
    request.root = nodes + 1;  // no member of the group: that of its node is rank 1
    std::vector<std::uint64_t> segments = published_to_group(make_plans(request));
    EXPECT_EQ(segments[1], 6U);
    EXPECT_EQ(std::accumulate(segments.begin(), segments.end(), 0U), 6U);
    request.collective = Collective::kAllreduce;
    segments = published_to_group(make_plans(request));
    EXPECT_EQ(segments[0], 6U);
    EXPECT_EQ(std::accumulate(segments.begin(), segments.end(), 0U), 6U);
    request = by_multicast(dealt, exchange(Collective::kAllgather, ESP_ALGORITHM_TREE, 3 * nodes));
    request.elements = 4;
    segments = published_to_group(make_plans(request));
    for (std::int32_t m = 0; m < 3 * nodes; ++m) {
      EXPECT_EQ(segments[static_cast<std::size_t>(m)], m < nodes ? 6U : 0U) << "3 blocks of 2";
    }
  }
}

// Source k begins when it has what those up to k - 4 have sent.
TEST(PlanMulticast, SourcesAtOnce) {
  const GroupPlaces places(7, 14);
  PlanRequest request =
      by_multicast(places.plain[0], exchange(Collective::kAllgather, ESP_ALGORITHM_TREE, 14));
  request.elements = 3;
  const std::vector<Plan> plans = make_plans(request);
  for (std::int32_t node = 0; node < 7; ++node) {
    const Plan& plan = plans[static_cast<std::size_t>(2 * node)];
    std::uint32_t earlier = 0;
    bool found = false;
    for (const Vertex& v : plan.vertices) {
      if (v.action != Action::kPublish || v.transfer.path != Path::kMulticast) continue;
      found = true;
      for (const Dependency& need : v.needs) {
        const Vertex& other = plan.vertices[need.vertex];
        EXPECT_TRUE(need.whole);
        if (other.transfer.path == Path::kMulticast) earlier += other.steps;
      }
    }
    EXPECT_TRUE(found);
    EXPECT_EQ(earlier, static_cast<std::uint32_t>(std::max(0, node - 3))) << node;
  }
}

// The group is of the members without levels, whatever the plan follows.
TEST(PlanMulticast, GroupIsWithoutLevels) {
  const GroupPlaces places(4, 12);
  const TeamNodes& leveled = places.leveled;
  ASSERT_FALSE(leveled.inner.empty());
  bool differs = false;
  for (std::int32_t node = 0; node < 4; ++node) {
    EXPECT_EQ(leveled.group_member(node), places.plain[0].head(node));
    differs = differs || leveled.group_member(node) != leveled.head(node);
  }
  EXPECT_TRUE(differs);
  EXPECT_EQ(places.plain[0].group_member(2), places.plain[0].head(2));
}

// What goes to no part of its own goes with the first; parts of one node are none of another's.
TEST(PlanMulticast, PartsOfNodes) {
  using Nodes = std::vector<std::int32_t>;
  using Parts = std::vector<std::uint64_t>;
  const auto of = [](const Nodes& nodes, const Parts& parts) {
    return TeamNodes::parts_of(nodes, parts);
  };
  EXPECT_EQ(of({0, 0, 1, 1}, {7, 7, 7, 7}), Nodes());
  EXPECT_EQ(of({0, 0, 1, 1}, {0, 0, 0, 0}), Nodes());
  EXPECT_EQ(of({0, 1, 0, 1}, {0, 5, 5, 0}), Nodes());
  EXPECT_EQ(of({0, 1, 0, 1}, {7, 7, 8, 7}), (Nodes{0, 1, 2, 1}));
  EXPECT_EQ(of({0, 0, 0, 1, 0}, {0, 8, 7, 7, 8}), (Nodes{0, 0, 1, 2, 0}));
  EXPECT_EQ(of({}, {}), Nodes());
}

// A leader of each part receives what the root's publishes, also on the root's own node.
TEST(PlanMulticast, LeadersOfOneNode) {
  const std::vector<std::int32_t> node_of = {0, 0, 0, 0, 1, 1, 1, 2, 2};
  const TeamNodes parts = TeamNodes::of(
      TeamNodes::parts_of(node_of, std::vector<std::uint64_t>{1, 2, 1, 2, 1, 1, 2, 1, 1}));
  TeamNodes nodes = TeamNodes::of(node_of);
  EXPECT_EQ(&nodes.of_group(), &nodes);
  nodes.leaders = &parts;
  ASSERT_EQ(parts.count(), 5);
  PlanRequest request = by_multicast(nodes, call(Collective::kBcast, 9, 4));
  request.root = 3;
  const std::vector<Plan> plans = make_plans(request);
  const std::vector<std::uint64_t> segments = published_to_group(plans);
  EXPECT_EQ(segments, (std::vector<std::uint64_t>{0, 4, 0, 0, 0, 0, 0, 0, 0}));
  std::vector<std::int32_t> receivers;
  for (const Plan& plan : plans) {
    for (const Vertex& v : plan.vertices) {
      const bool from_group = v.action == Action::kRecv && v.transfer.path == Path::kMulticast;
      if (from_group) receivers.push_back(plan.rank);
    }
  }
  EXPECT_EQ(receivers, (std::vector<std::int32_t>{0, 4, 6, 7}));
  EXPECT_EQ(plans[0].algorithm.find("tree(multicast to 5 leaders of 3 nodes, flat inside) event"),
            0U)
      << plans[0].algorithm;
  request.collective = Collective::kAllreduce;
  EXPECT_EQ(make_plans(request)[0].algorithm.find(
                "tree(binomial up and multicast to 5 leaders of 3 nodes, flat inside) event"),
            0U);
  request = by_multicast(nodes, exchange(Collective::kAllgather, ESP_ALGORITHM_TREE, 9));
  request.elements = 2;
  EXPECT_EQ(make_plans(request)[0].algorithm.find("leaders, multicast to 5 leaders of 3 nodes, "),
            0U);
}

TEST(PlanMulticast, Texts) {
  const GroupPlaces places(5, 10);
  const TeamNodes& nodes = places.plain[0];
  PlanRequest request = by_multicast(nodes, call(Collective::kBcast, 10, 2));
  std::string text = make_plans(request)[0].to_text();
  EXPECT_NE(text.find("tree(multicast over 5 nodes, flat inside) event, 2 segments"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("publish output to 4 ranks x2 channel 0 by multicast window 3"),
            std::string::npos)
      << text;
  EXPECT_NE(make_plans(request)[2].to_text().find("recv output from 0 x2 channel 0 by multicast"),
            std::string::npos);
  request.collective = Collective::kAllreduce;
  text = make_plans(request)[0].algorithm;
  EXPECT_EQ(text.find("tree(binomial up and multicast over 5 nodes, flat inside) event, "), 0U);
  request = by_multicast(nodes, exchange(Collective::kAllgather, ESP_ALGORITHM_TREE, 10));
  request.elements = 2;
  EXPECT_EQ(make_plans(request)[0].algorithm.find("leaders, multicast over 5 nodes, "), 0U);
}

TEST(PlanMulticast, Refusals) {
  const GroupPlaces places(3, 6), two(2, 6);
  const auto refused = [](const PlanRequest& request) {
    const auto plan = make_plan(request);
    EXPECT_FALSE(plan.ok());
    if (plan.ok()) return std::string();
    EXPECT_EQ(plan.error().status.code(), ESP_ERR_UNSUPPORTED);
    return plan.error().text;
  };
  const PlanRequest request = by_multicast(places.plain[0], call(Collective::kBcast, 6, 2));
  EXPECT_TRUE(make_plan(request).ok());
  PlanRequest other = by_multicast(two.plain[0], call(Collective::kBcast, 6, 2));
  EXPECT_EQ(refused(other), "multicast is for three nodes or more");
  other = request;
  other.collective = Collective::kReduce;
  EXPECT_EQ(refused(other), "nothing of it is for all nodes, which multicast takes");
  other = request;
  other.variant = ESP_VARIANT_WAITALL;
  EXPECT_EQ(refused(other), "multicast has the event variant alone");
  other = request;
  other.nodes.follow = false;
  EXPECT_EQ(refused(other), "multicast is for trees over nodes, and leaders of nodes");
  other = request;
  other.nodes.stripes = 2;
  EXPECT_EQ(refused(other), "multicast is for one leader of each node, and no exchange of them");
  other = request;
  other.collective = Collective::kAllreduce;
  other.nodes.spread = true;
  EXPECT_EQ(refused(other), "multicast is for one leader of each node, and no exchange of them");
}

// What is no multicast between nodes goes the way that the request asks for.
TEST(PlanMulticast, OtherTransfersAreTheRequests) {
  const GroupPlaces places(3, 9);
  PlanRequest request = by_multicast(places.plain[0], call(Collective::kAllreduce, 9, 2));
  request.transfer.path = Path::kPull;
  for (const Plan& plan : make_plans(request)) {
    for (const Vertex& v : plan.vertices) {
      if (is_local(v.action)) continue;
      EXPECT_TRUE(v.transfer.path == Path::kPull || v.transfer.path == Path::kMulticast);
    }
  }
}

}  // namespace
}  // namespace espalier::plan_check
