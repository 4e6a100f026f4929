// Choice of multicast: where it may be, where settings ask for it, where rules and costs have it,
// and what people are told.
#include <gtest/gtest.h>

#include <vector>

#include "bootstrap/make_tuning.hpp"
#include "coll/choice/choose.hpp"
#include "coll/choice/estimate.hpp"
#include "coll/choice/explain.hpp"
#include "coll/choice/predict.hpp"
#include "tests/unit/plan_cases.hpp"

namespace espalier::multicast_choice_check {
namespace {

constexpr esp_coll_options kFree = ESP_COLL_OPTIONS_INIT;

TeamNodes nodes_of(std::int32_t nodes, std::int32_t each) {
  std::vector<std::int32_t> of;
  for (std::int32_t m = 0; m < nodes * each; ++m) of.push_back(m / each);
  return TeamNodes::of(of);
}

PlanRequest asked(Collective collective, const TeamNodes& nodes, std::uint64_t bytes) {
  PlanRequest request;
  request.collective = collective;
  request.size = nodes.size();
  request.element_bytes = 8;
  request.elements = collective == Collective::kBarrier ? 0 : bytes / 8;
  request.nodes.nodes = &nodes;
  return request;
}

Tuning tuned(Multicast how, NetworkClass network = NetworkClass::kRdma) {
  Tuning tuning;
  tuning.network = network;
  tuning.multicast = how;
  tuning.multicast_packet_bytes = network == NetworkClass::kRdma ? 4056 : 1432;
  return tuning;
}
Tuning with_costs(Multicast how, NetworkClass network = NetworkClass::kRdma) {
  Tuning tuning = tuned(how, network);
  tuning.costs = Costs::typical(network, CoreClass::kOwn);
  return tuning;
}

PlanRequest chosen(const PlanRequest& request, const Tuning& tuning,
                   const esp_coll_options& options = kFree) {
  auto made = resolve(options, request, tuning);
  EXPECT_TRUE(made.ok());
  EXPECT_TRUE(!made.ok() || !made->nodes.multicast || why_no_multicast(*made) == nullptr);
  return made.ok() ? *made : request;
}
bool is_chosen(const PlanRequest& request, const Tuning& tuning,
               const esp_coll_options& options = kFree) {
  return chosen(request, tuning, options).nodes.multicast;
}

constexpr Collective kForAll[] = {Collective::kBarrier, Collective::kBcast, Collective::kAllreduce,
                                  Collective::kAllgather, Collective::kAllgatherv};

TEST(ChoiceMulticast, NeverWhereItCannotBe) {
  const TeamNodes two = nodes_of(2, 4), many = nodes_of(8, 2);
  for (const Collective collective : kForAll) {
    for (const std::uint64_t bytes : {8, 1 << 20}) {
      EXPECT_FALSE(is_chosen(asked(collective, many, bytes), tuned(Multicast::kOff)));
      for (const Multicast how : {Multicast::kAuto, Multicast::kOn}) {
        EXPECT_FALSE(is_chosen(asked(collective, two, bytes), tuned(how)));
        EXPECT_FALSE(is_chosen(asked(collective, two, bytes), with_costs(how)));
        Tuning without = with_costs(how);
        without.multicast_packet_bytes = 0;
        EXPECT_FALSE(is_chosen(asked(collective, many, bytes), without));
        PlanRequest alone = asked(collective, many, bytes);
        alone.nodes.nodes = nullptr;
        EXPECT_FALSE(is_chosen(alone, tuned(how)));
      }
    }
  }
}

TEST(ChoiceMulticast, OnIsEverywhere) {
  for (const TeamNodes& nodes : {nodes_of(3, 1), nodes_of(3, 2), nodes_of(20, 4)}) {
    for (const Collective collective : kForAll) {
      for (const std::uint64_t bytes : {8, 70'000, 4 << 20}) {
        const PlanRequest request = asked(collective, nodes, bytes);
        for (const Tuning& tuning : {tuned(Multicast::kOn), with_costs(Multicast::kOn)}) {
          const PlanRequest made = chosen(request, tuning);
          EXPECT_TRUE(made.nodes.multicast) << collective_name(collective);
          EXPECT_STREQ(made.reason.rule, "the setting MULTICAST");
          EXPECT_TRUE(make_plan(made).ok());
        }
      }
    }
    for (const Collective other :
         {Collective::kReduce, Collective::kAlltoall, Collective::kGather, Collective::kScan}) {
      EXPECT_FALSE(is_chosen(asked(other, nodes, 1024), tuned(Multicast::kOn)));
    }
  }
}

// What the caller fixed is kept, also against the setting.
TEST(ChoiceMulticast, NotWhereTheCallSaysHow) {
  const TeamNodes nodes = nodes_of(6, 2);
  const PlanRequest request = asked(Collective::kBcast, nodes, 1 << 20);
  for (const Multicast how : {Multicast::kAuto, Multicast::kOn}) {
    esp_coll_options options = kFree;
    options.algorithm = ESP_ALGORITHM_TREE;
    EXPECT_FALSE(is_chosen(request, tuned(how), options));
    options = kFree;
    options.shape = ESP_SHAPE_CHAIN;
    EXPECT_FALSE(is_chosen(request, tuned(how), options));
    options = kFree;
    options.variant = ESP_VARIANT_WAITALL;
    EXPECT_FALSE(is_chosen(request, tuned(how), options));
    Tuning preferred = tuned(how);
    preferred.preferred_algorithm = ESP_ALGORITHM_PUBLISH;
    EXPECT_FALSE(is_chosen(request, preferred));
  }
  // Shapes that settings name are for trees, which the other setting does without.
  Tuning shaped = tuned(Multicast::kAuto);
  shaped.level_shapes.nodes = {ESP_SHAPE_CHAIN, 2};
  EXPECT_FALSE(is_chosen(request, shaped));
  shaped.multicast = Multicast::kOn;
  EXPECT_TRUE(is_chosen(request, shaped));
  PlanRequest ordered = asked(Collective::kAllreduce, nodes, 1 << 20);
  ordered.commutative = false;
  EXPECT_TRUE(is_chosen(ordered, tuned(Multicast::kOn))) << "ranks are in the order of nodes";
  std::vector<std::int32_t> dealt;
  for (std::int32_t m = 0; m < 12; ++m) dealt.push_back(m % 6);
  const TeamNodes mixed = TeamNodes::of(dealt);
  ordered.nodes.nodes = &mixed;
  EXPECT_FALSE(is_chosen(ordered, tuned(Multicast::kOn)));
}

// A row of a profile was measured without; the setting goes before it.
TEST(ChoiceMulticast, ARowThatNamesSomething) {
  const TeamNodes nodes = nodes_of(6, 2);
  auto profile = Profile::parse(
      "espalier profile 1\nmade by hand\nbcast 12 6 - - 0 tree chain - 4096 - - - -\n", "rows");
  ASSERT_TRUE(profile.ok()) << profile.error().text;
  Tuning tuning = tuned(Multicast::kAuto);
  tuning.profile = std::make_shared<Profile>(*profile);
  const PlanRequest request = asked(Collective::kBcast, nodes, 1 << 20);
  EXPECT_EQ(chosen(request, tuning).shape, ESP_SHAPE_CHAIN);
  EXPECT_FALSE(is_chosen(request, tuning));
  tuning.multicast = Multicast::kOn;
  EXPECT_TRUE(is_chosen(request, tuning));
  EXPECT_EQ(chosen(request, tuning).reason.line, 0);
}

// Where ranks share cores no costs are known, and nothing was measured.
TEST(ChoiceMulticast, NotWithoutCosts) {
  const TeamNodes nodes = nodes_of(40, 2);
  for (const Collective collective : {Collective::kBcast, Collective::kAllreduce,
                                      Collective::kAllgather, Collective::kAllgatherv}) {
    for (const std::uint64_t bytes : {512, 16384, 1 << 20}) {
      EXPECT_FALSE(is_chosen(asked(collective, nodes, bytes), tuned(Multicast::kAuto)));
      EXPECT_TRUE(is_chosen(asked(collective, nodes, bytes), tuned(Multicast::kOn)));
    }
  }
}

// Members do not know each other's lengths: nobody estimates what they cost.
TEST(ChoiceMulticast, RulesWithoutAnEstimate) {
  const Tuning tuning = with_costs(Multicast::kAuto);
  const TeamNodes three = nodes_of(3, 2), four = nodes_of(4, 2);
  EXPECT_FALSE(is_chosen(asked(Collective::kAllgatherv, three, 65536), tuning));
  EXPECT_TRUE(is_chosen(asked(Collective::kAllgatherv, four, 8 * 65536), tuning));
  EXPECT_FALSE(is_chosen(asked(Collective::kAllgatherv, four, 9 * 65536), tuning));
}

// A tree's depth grows with the nodes, and its ports send each segment more than once.
TEST(ChoiceMulticast, CostsHaveItForManyNodes) {
  const Tuning tuning = with_costs(Multicast::kAuto);
  const TeamNodes many = nodes_of(64, 2);
  const PlanRequest made = chosen(asked(Collective::kBcast, many, 65536), tuning);
  EXPECT_TRUE(made.nodes.multicast);
  EXPECT_STREQ(made.reason.rule, "multicast, which costs least");
  EXPECT_FALSE(is_chosen(asked(Collective::kBarrier, many, 0), tuning)) << "an exchange is shorter";
  for (const std::int32_t count : {3, 8, 64, 300}) {
    const TeamNodes nodes = nodes_of(count, 2);
    for (const Collective collective :
         {Collective::kBcast, Collective::kAllreduce, Collective::kAllgather}) {
      for (const std::uint64_t bytes : {512, 16384, 1 << 20}) {
        const PlanRequest request = asked(collective, nodes, bytes);
        Tuning off = tuning;
        off.multicast = Multicast::kOff;
        Costs costs = *tuning.costs;
        costs.group.packet_bytes = tuning.multicast_packet_bytes;
        const double with = estimate(chosen(request, tuning), costs).value();
        const double without = estimate(chosen(request, off), costs).value();
        if (is_chosen(request, tuning)) {
          EXPECT_LT(with, without);
        } else {
          EXPECT_EQ(with, without);
        }
      }
    }
  }
}

// Cheaper packets, more multicast: costs are what decides.
TEST(ChoiceMulticast, DearPacketsHaveNone) {
  Tuning tuning = with_costs(Multicast::kAuto);
  const TeamNodes nodes = nodes_of(64, 2);
  const PlanRequest request = asked(Collective::kBcast, nodes, 65536);
  EXPECT_TRUE(is_chosen(request, tuning));
  tuning.costs->group.packet = 100'000;
  EXPECT_FALSE(is_chosen(request, tuning));
}

TEST(ChoiceMulticast, OverUdpOnlyIfAskedFor) {
  const TeamNodes nodes = nodes_of(64, 2);
  const PlanRequest request = asked(Collective::kBcast, nodes, 65536);
  EXPECT_FALSE(is_chosen(request, tuned(Multicast::kAuto, NetworkClass::kTcp)));
  EXPECT_FALSE(is_chosen(request, with_costs(Multicast::kAuto, NetworkClass::kTcp)));
  EXPECT_TRUE(is_chosen(request, tuned(Multicast::kOn, NetworkClass::kTcp)));
}

TEST(ChoiceMulticast, SegmentsAreThoseOfTheNetwork) {
  const TeamNodes nodes = nodes_of(5, 2);
  const Tuning tuning = tuned(Multicast::kOn);
  const PlanRequest request = asked(Collective::kBcast, nodes, 4 << 20);
  EXPECT_EQ(chosen(request, tuning).segment_bytes, tuning.network_bytes_max);
  esp_coll_options options = kFree;
  options.segment_bytes = 5000;
  EXPECT_EQ(chosen(request, tuning, options).segment_bytes, 5000U);
}

Costs of_groups(NetworkClass network) {
  Costs costs = Costs::typical(network, CoreClass::kOwn);
  costs.group.packet_bytes = 4056;
  return costs;
}

// A port sends one message, whatever the number of its readers.
TEST(ChoiceMulticast, PredictedAsOneMessage) {
  const Costs costs = of_groups(NetworkClass::kRdma);
  const auto predicted = [&](std::int32_t count, bool multicast) {
    const TeamNodes nodes = nodes_of(count, 1);
    PlanRequest request = chosen(asked(Collective::kBcast, nodes, 65536), tuned(Multicast::kOn));
    request.nodes.multicast = multicast;
    request.shape = ESP_SHAPE_FLAT;
    request.segment_bytes = 65536;
    return predict(request, costs).value();
  };
  EXPECT_DOUBLE_EQ(predicted(3, true), predicted(40, true));
  const double port = 65536 * costs.between.port_per_byte;
  EXPECT_GT(predicted(40, false), predicted(3, false) + 30 * port);
}

TEST(ChoiceMulticast, EstimatesAreNearPredictions) {
  for (const std::int32_t count : {3, 9, 33}) {
    for (const std::int32_t each : {1, 4}) {
      const TeamNodes nodes = nodes_of(count, each);
      for (const Collective collective :
           {Collective::kBcast, Collective::kAllreduce, Collective::kAllgather}) {
        for (const std::uint64_t bytes : {64, 8192, 262'144}) {
          const PlanRequest request =
              chosen(asked(collective, nodes, bytes), tuned(Multicast::kOn));
          const Costs costs = of_groups(NetworkClass::kRdma);
          const double estimated = estimate(request, costs).value();
          const double played = predict(request, costs).value();
          EXPECT_LT(estimated, 3 * played) << plan_check::describe(request) << count;
          EXPECT_GT(estimated, played / 3) << plan_check::describe(request) << count;
        }
      }
    }
  }
}

// Nodes with two leaders each, of three members.
struct TwoLeaders {
  explicit TwoLeaders(std::int32_t count) {
    std::vector<std::int32_t> node_of, part_of;
    for (std::int32_t m = 0; m < 3 * count; ++m) {
      node_of.push_back(m / 3);
      part_of.push_back(m / 3 * 2 + (m % 3 == 2 ? 1 : 0));
    }
    parts = TeamNodes::of(part_of);
    nodes = TeamNodes::of(node_of);
    nodes.leaders = &parts;
  }
  TwoLeaders(const TwoLeaders&) = delete;
  TwoLeaders& operator=(const TwoLeaders&) = delete;
  TeamNodes parts, nodes;
};

TEST(ChoiceMulticast, LeadersOfParts) {
  const TwoLeaders many(12);
  for (const Collective collective : kForAll) {
    const PlanRequest made = chosen(asked(collective, many.nodes, 65536), tuned(Multicast::kOn));
    EXPECT_TRUE(made.nodes.multicast);
    EXPECT_EQ(made.nodes.nodes, &many.nodes);
    EXPECT_TRUE(make_plan(made).ok());
  }
  EXPECT_NE(
      explain(kFree, asked(Collective::kBcast, many.nodes, 1 << 20), tuned(Multicast::kOn), false)
          .find("tree(multicast to 24 leaders of 12 nodes, flat inside)"),
      std::string::npos);
  // Two nodes are two, whatever the number of their leaders.
  const TwoLeaders two(2);
  EXPECT_FALSE(is_chosen(asked(Collective::kBcast, two.nodes, 65536), tuned(Multicast::kOn)));
}

// Of an allgather more runs go to the group, each a smaller one; else parts of nodes are smaller,
// which costs no more inside.
TEST(ChoiceMulticast, EstimatesAreOfLeaders) {
  const Costs costs = of_groups(NetworkClass::kRdma);
  for (const std::int32_t count : {3, 9, 12}) {
    const TwoLeaders with(count);
    TeamNodes without = with.nodes;
    without.leaders = nullptr;
    for (const Collective collective :
         {Collective::kBcast, Collective::kAllreduce, Collective::kAllgather}) {
      for (const std::uint64_t bytes : {64, 8192, 262'144}) {
        PlanRequest request = chosen(asked(collective, with.nodes, bytes), tuned(Multicast::kOn));
        const double estimated = estimate(request, costs).value();
        const double played = predict(request, costs).value();
        EXPECT_LT(estimated, 3 * played) << plan_check::describe(request) << count;
        EXPECT_GT(estimated, played / 3) << plan_check::describe(request) << count;
        request.nodes.nodes = &without;
        const double one_each = estimate(request, costs).value();
        if (collective == Collective::kAllgather) {
          EXPECT_NE(one_each, estimated);
        } else {
          EXPECT_GE(one_each, estimated);
        }
      }
    }
  }
}

TEST(ChoiceMulticast, Words) {
  const TeamNodes nodes = nodes_of(5, 2), two = nodes_of(2, 2);
  const auto told = [](Collective collective, const TeamNodes& where, const Tuning& tuning) {
    return explain(kFree, asked(collective, where, 1 << 20), tuning, false);
  };
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  };
  const Tuning on = tuned(Multicast::kOn);
  has(told(Collective::kBcast, nodes, on), "tree(multicast over 5 nodes, flat inside)");
  has(told(Collective::kBcast, nodes, on), ", the setting MULTICAST; predicted ");
  has(told(Collective::kAllreduce, nodes, on), "up and multicast over 5 nodes");
  has(told(Collective::kAllgather, nodes, on), "leaders, multicast over 5 nodes");
  EXPECT_EQ(told(Collective::kBcast, nodes, tuned(Multicast::kAuto)).find("multicast"),
            std::string::npos);
  has(told(Collective::kBcast, two, on), "no multicast (multicast is for three nodes or more)");
  has(told(Collective::kReduce, nodes, on), "no multicast (nothing of it is for all nodes");
  Tuning none = on;
  none.multicast_packet_bytes = 0;
  has(told(Collective::kBcast, nodes, none),
      "no multicast (not all ranks have a group of the network)");
  none.multicast = Multicast::kAuto;
  EXPECT_EQ(told(Collective::kBcast, nodes, none).find("multicast"), std::string::npos);
  esp_coll_options options = kFree;
  options.shape = ESP_SHAPE_CHAIN;
  has(explain(options, asked(Collective::kBcast, nodes, 64), on, false),
      "no multicast (the call, a setting or a profile names another way)");
  EXPECT_EQ(without_multicast(kFree, asked(Collective::kBcast, nodes, 64), on), nullptr);
}

TEST(ChoiceMulticast, TheSetting) {
  const auto tuning = [](const char* value, std::uint32_t packet_bytes) {
    const std::vector<std::string> settings = {std::string("MULTICAST=") + value};
    auto config = Config::load({}, settings);
    EXPECT_TRUE(config.ok());
    Surroundings around;
    around.multicast_packet_bytes = packet_bytes;
    return make_tuning(*config, {}, around);
  };
  EXPECT_EQ(tuning("auto", 0).multicast, Multicast::kAuto);
  EXPECT_EQ(tuning("on", 0).multicast, Multicast::kOn);
  EXPECT_EQ(tuning("off", 0).multicast, Multicast::kOff);
  EXPECT_EQ(tuning("on", 0).multicast_packet_bytes, 0U);
  EXPECT_EQ(tuning("on", 4056).multicast_packet_bytes, 4056U);
  EXPECT_FALSE(Config::load({}, std::vector<std::string>{"MULTICAST=perhaps"}).ok());
}

}  // namespace
}  // namespace espalier::multicast_choice_check
