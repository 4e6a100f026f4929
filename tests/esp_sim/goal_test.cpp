// Plans as GOAL text: by hand for one small tree, and its rules for every plan.
#include "tools/esp-sim/goal.hpp"

#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

namespace esp_sim {
namespace {

using espalier::Collective;
using espalier::PlanRequest;

std::string goal_of(const PlanRequest& request) {
  std::ostringstream out;
  const auto outcome = write_goal(request, 0.25, out);
  EXPECT_TRUE(outcome.ok()) << (outcome.ok() ? "" : outcome.error().text);
  return out.str();
}

PlanRequest request_for(Collective collective, std::int32_t size, std::uint64_t bytes) {
  PlanRequest request;
  request.collective = collective;
  request.size = size;
  request.elements = bytes;
  request.segment_bytes = 1024;
  return request;
}

TEST(Goal, BinomialBroadcastOfEightRanks) {
  EXPECT_EQ(goal_of(request_for(Collective::kBcast, 8, 1000)), R"(num_ranks 8

rank 0 {
l1: send 1000b to 4 tag 0
l2: send 1000b to 2 tag 0
l3: send 1000b to 1 tag 0
}

rank 1 {
l1: recv 1000b from 0 tag 0
}

rank 2 {
l1: recv 1000b from 0 tag 0
l2: send 1000b to 3 tag 0
l2 requires l1
}

rank 3 {
l1: recv 1000b from 2 tag 0
}

rank 4 {
l1: recv 1000b from 0 tag 0
l2: send 1000b to 6 tag 0
l3: send 1000b to 5 tag 0
l2 requires l1
l3 requires l1
}

rank 5 {
l1: recv 1000b from 4 tag 0
}

rank 6 {
l1: recv 1000b from 4 tag 0
l2: send 1000b to 7 tag 0
l2 requires l1
}

rank 7 {
l1: recv 1000b from 6 tag 0
}
)");
}

TEST(Goal, ReductionCostsCalculation) {
  PlanRequest request = request_for(Collective::kReduce, 2, 1000);
  const std::string text = goal_of(request);
  EXPECT_NE(text.find("calc 500\n"), std::string::npos) << "2 operands of 1000 bytes, 0.25 ns each";
}

TEST(Goal, WindowsAreEdges) {
  PlanRequest request = request_for(Collective::kBcast, 2, 5 * 1024);
  request.window_send = 2;
  const std::string text = goal_of(request);
  const std::string rank_0 = text.substr(0, text.find("rank 1"));
  EXPECT_NE(rank_0.find("l5: send 1024b to 1 tag 4\n"), std::string::npos) << rank_0;
  EXPECT_NE(rank_0.find("l3 requires l1\nl4 requires l2\nl5 requires l3\n}"), std::string::npos)
      << rank_0;
}

TEST(Goal, APublicationIsASendPerReaderAndAJoin) {
  PlanRequest request = request_for(Collective::kBcast, 3, 10);
  request.algorithm = ESP_ALGORITHM_PUBLISH;
  const std::string text = goal_of(request);
  EXPECT_NE(text.find("l1: send 10b to 1 tag 0\nl2: send 10b to 2 tag 0\nl3: calc 0\n"
                      "l3 requires l1\nl3 requires l2\n"),
            std::string::npos)
      << text;
}

TEST(Goal, RefusesWhatHasNoPlan) {
  PlanRequest request = request_for(Collective::kBcast, 4, 10);
  request.algorithm = ESP_ALGORITHM_SPREAD;
  std::ostringstream out;
  EXPECT_EQ(write_goal(request, 0.0, out).error().status.code(), ESP_ERR_UNSUPPORTED);
}

// A schedule as LogGOPSim's grammar has it: every line is one of these.
struct Operations {
  // (from, to, bytes, tag) -> sends minus receives
  std::map<std::tuple<int, int, long, long>, int> balance;
  int count = 0;
};

void read_line(const std::string& line, int rank, std::map<std::string, int>& labels,
               Operations& operations) {
  std::istringstream words(line);
  std::string label, verb, bytes, preposition, tag_word;
  int peer = -1;
  long tag = -1;
  words >> label >> verb;
  if (verb == "requires") {
    std::string needed;
    words >> needed;
    EXPECT_TRUE(labels.contains(label) && labels.contains(needed)) << line;
    EXPECT_NE(label, needed);
    return;
  }
  ASSERT_EQ(label.back(), ':') << line;
  label.pop_back();
  EXPECT_TRUE(labels.emplace(label, rank).second) << "label used twice: " << line;
  ++operations.count;
  if (verb == "calc") return;
  words >> bytes >> preposition >> peer >> tag_word >> tag;
  EXPECT_EQ(bytes.back(), 'b') << line;
  EXPECT_EQ(tag_word, "tag") << line;
  const long size = std::stol(bytes);
  EXPECT_GE(size, 1) << line;
  ASSERT_EQ(preposition, verb == "send" ? "to" : "from") << line;
  if (verb == "send") {
    ++operations.balance[{rank, peer, size, tag}];
  } else {
    --operations.balance[{peer, rank, size, tag}];
  }
}

Operations read_goal(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  std::map<std::string, int> labels;
  Operations operations;
  int rank = -1;
  while (std::getline(lines, line)) {
    if (line.empty() || line == "}" || line.starts_with("num_ranks ")) continue;
    if (line.starts_with("rank ")) {
      rank = std::stoi(line.substr(5));
      labels.clear();
    } else {
      read_line(line, rank, labels, operations);
    }
  }
  return operations;
}

TEST(Goal, EverySendHasItsReceiveInEveryPlan) {
  for (const Collective collective :
       {Collective::kBarrier, Collective::kBcast, Collective::kReduce, Collective::kAllreduce}) {
    for (const esp_algorithm algorithm :
         {ESP_ALGORITHM_TREE, ESP_ALGORITHM_PUBLISH, ESP_ALGORITHM_SPREAD}) {
      for (const esp_shape shape :
           {ESP_SHAPE_FLAT, ESP_SHAPE_CHAIN, ESP_SHAPE_BINOMIAL, ESP_SHAPE_TWO_TREE}) {
        for (const std::int32_t size : {1, 2, 5, 8}) {
          PlanRequest request = request_for(collective, size, 5000);
          if (collective == Collective::kBarrier) request.elements = 0;
          request.algorithm = algorithm;
          request.shape = shape;
          if (!espalier::make_plan(request).ok()) continue;
          const Operations operations = read_goal(goal_of(request));
          for (const auto& [message, balance] : operations.balance) {
            EXPECT_EQ(balance, 0) << espalier::collective_name(collective) << " " << size
                                  << " ranks: " << std::get<0>(message) << " -> "
                                  << std::get<1>(message);
          }
          EXPECT_TRUE(size == 1 || operations.count >= 2 * (size - 1));
        }
      }
    }
  }
}

}  // namespace
}  // namespace esp_sim
