// Plans as GOAL text: by hand for one small tree, and its rules for every plan.
#include "tools/esp-sim/goal.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

namespace esp_sim {
namespace {

using espalier::Collective;
using espalier::PlanRequest;

std::string goal_of(const PlanRequest& request, const espalier::sim::UnevenBlocks& blocks = {}) {
  std::ostringstream out;
  const auto outcome = write_goal(request, 0.25, out, blocks);
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
using Message = std::tuple<int, int, long, long>;  // from, to, bytes, tag
struct Operations {
  struct One {
    std::string verb;
    Message message;
    std::vector<std::size_t> needs;
    bool done = false;
  };
  std::vector<One> all;
  std::map<Message, int> balance;  // sends minus receives
};

void read_line(const std::string& line, int rank, std::map<std::string, std::size_t>& labels,
               Operations& operations) {
  std::istringstream words(line);
  std::string label, verb, bytes, preposition, tag_word;
  int peer = -1;
  long tag = -1;
  words >> label >> verb;
  if (verb == "requires") {
    std::string needed;
    words >> needed;
    ASSERT_TRUE(labels.contains(label) && labels.contains(needed)) << line;
    EXPECT_NE(label, needed);
    operations.all[labels[label]].needs.push_back(labels[needed]);
    return;
  }
  ASSERT_EQ(label.back(), ':') << line;
  label.pop_back();
  EXPECT_TRUE(labels.emplace(label, operations.all.size()).second) << "label used twice: " << line;
  operations.all.push_back({.verb = verb, .message = {}, .needs = {}});
  if (verb == "calc") return;
  words >> bytes >> preposition >> peer >> tag_word >> tag;
  EXPECT_EQ(bytes.back(), 'b') << line;
  EXPECT_EQ(tag_word, "tag") << line;
  const long size = std::stol(bytes);
  EXPECT_GE(size, 1) << line;
  EXPECT_NE(peer, rank) << line;
  ASSERT_EQ(preposition, verb == "send" ? "to" : "from") << line;
  const bool sends = verb == "send";
  const Message message = {sends ? rank : peer, sends ? peer : rank, size, tag};
  operations.all.back().message = message;
  operations.balance[message] += sends ? 1 : -1;
}

Operations read_goal(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  std::map<std::string, std::size_t> labels;
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

// Does everything come to its turn? A message waits for its receiver as long as need be.
bool ends(Operations operations) {
  std::map<Message, int> under_way;
  std::size_t done = 0, before = 0;
  do {
    before = done;
    for (Operations::One& one : operations.all) {
      if (one.done) continue;
      const bool ready = std::all_of(one.needs.begin(), one.needs.end(),
                                     [&](std::size_t need) { return operations.all[need].done; });
      if (!ready || (one.verb == "recv" && under_way[one.message] == 0)) continue;
      if (one.verb != "calc") under_way[one.message] += one.verb == "send" ? 1 : -1;
      one.done = true;
      ++done;
    }
  } while (done > before);
  return done == operations.all.size();
}

void expect_whole(const PlanRequest& request, const espalier::sim::UnevenBlocks& blocks = {}) {
  const std::string name = std::string(espalier::collective_name(request.collective)) + " " +
                           espalier::algorithm_name(request.algorithm) + ", " +
                           std::to_string(request.size) + " ranks";
  const Operations operations = read_goal(goal_of(request, blocks));
  for (const auto& [message, balance] : operations.balance) {
    EXPECT_EQ(balance, 0) << name << ": " << std::get<0>(message) << " -> " << std::get<1>(message);
  }
  EXPECT_TRUE(ends(operations)) << name;
  // Of two ranks one may have an empty block, and nothing to send.
  const bool quiet = request.size == 1 || (request.size == 2 && request.elements == 0);
  EXPECT_TRUE(quiet || !operations.balance.empty()) << name;
}

TEST(Goal, EverySendHasItsReceiveInEveryTree) {
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
          if (espalier::make_plan(request).ok()) expect_whole(request);
        }
      }
    }
  }
}

// Blocks of 5 segments, more than the window, and empty ones.
TEST(Goal, EverySendHasItsReceiveInEveryGather) {
  for (auto c = static_cast<std::size_t>(Collective::kAllgather); c < espalier::kCollectives; ++c) {
    const auto collective = static_cast<Collective>(c);
    int plans = 0;
    for (int algorithm = ESP_ALGORITHM_TREE; algorithm < ESP_ALGORITHM_COUNT; ++algorithm) {
      for (const std::int32_t size : {1, 2, 5, 8}) {
        espalier::sim::Operation operation;
        operation.collective = collective;
        operation.bytes = 5000;
        const auto ranks = static_cast<std::uint32_t>(size);
        PlanRequest request = request_for(collective, size, 0);
        request.elements = call_count(operation, ranks);
        request.algorithm = static_cast<esp_algorithm>(algorithm);
        request.window_send = 2;
        request.window_recv = 3;
        if (!espalier::has_algorithm(collective, request.algorithm)) continue;
        if (!espalier::fits_team(collective, request.algorithm, size)) continue;
        ++plans;
        expect_whole(request, {operation, ranks});
      }
    }
    EXPECT_GE(plans, 4) << espalier::collective_name(collective);
  }
}

// What an alltoallv does not send is no message.
TEST(Goal, EmptyBlocksAreNotSent) {
  espalier::sim::Operation operation;
  operation.collective = Collective::kAlltoallv;
  operation.bytes = 100;
  PlanRequest request = request_for(Collective::kAlltoallv, 4, 0);
  request.algorithm = ESP_ALGORITHM_ONE_FACTOR;
  const Operations operations = read_goal(goal_of(request, {operation, 4}));
  // Between ranks 1 and 3, and of ranks 0 and 2 with themselves.
  EXPECT_EQ(operations.balance.size(), 10U);
  EXPECT_FALSE(operations.balance.contains({1, 3, 1, 0}));
  EXPECT_TRUE(operations.balance.contains({0, 3, 100, 0}));
}

TEST(Goal, ScheduleThatWaitsForItselfDoesNotEnd) {
  EXPECT_FALSE(
      ends(read_goal("num_ranks 2\nrank 0 {\nl1: recv 8b from 1 tag 0\nl2: send 8b to 1 "
                     "tag 0\nl2 requires l1\n}\nrank 1 {\nl1: recv 8b from 0 tag 0\nl2: "
                     "send 8b to 0 tag 0\nl2 requires l1\n}\n")));
}

}  // namespace
}  // namespace esp_sim
