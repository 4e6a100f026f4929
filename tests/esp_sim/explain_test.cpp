// The critical path, on transfers made by hand.
#include "tools/esp-sim/explain.hpp"

#include <gtest/gtest.h>

namespace esp_sim {
namespace {

using espalier::sim::TransferRecord;

TransferRecord transfer(int from, int to, std::uint64_t posted, std::uint64_t started,
                        std::uint64_t arrived, std::uint64_t taken) {
  return {.from = from,
          .to = to,
          .flow = 0,
          .ordinal = 0,
          .level = 0,
          .bytes = 8,
          .posted_ns = posted,
          .started_ns = started,
          .arrived_ns = arrived,
          .taken_ns = taken};
}

TEST(Explain, NothingHasNoPath) {
  EXPECT_TRUE(critical_path({}).empty());
}

TEST(Explain, FollowsArrivalsBackToTheStart) {
  // 0 -> 1 -> 2, and a transfer that did not matter.
  const auto path = critical_path({transfer(0, 3, 0, 0, 500, 550), transfer(0, 1, 5, 10, 100, 120),
                                   transfer(1, 2, 130, 200, 300, 600)});
  ASSERT_EQ(path.size(), 2u);
  EXPECT_EQ(path[0].transfer.to, 1);
  EXPECT_EQ(path[0].sender_ns, 5u);
  EXPECT_EQ(path[0].queue_ns, 5u);
  EXPECT_EQ(path[0].network_ns, 90u);
  EXPECT_EQ(path[0].receiver_ns, 20u);
  EXPECT_EQ(path[1].transfer.to, 2);
  EXPECT_EQ(path[1].sender_ns, 10u);
  EXPECT_EQ(path[1].queue_ns, 70u);
  EXPECT_EQ(path[1].network_ns, 100u);
  EXPECT_EQ(path[1].receiver_ns, 300u);
}

TEST(Explain, TheSumIsTheTimeOfTheLastTransfer) {
  // A pipeline through a chain of 4 ranks, 8 segments; each hop 100, a rank busy for 30.
  std::vector<TransferRecord> transfers;
  for (std::uint64_t segment = 0; segment < 8; ++segment) {
    std::uint64_t time = segment * 130;
    for (int rank = 0; rank < 3; ++rank) {
      transfers.push_back(transfer(rank, rank + 1, time, time + 3, time + 103, time + 130));
      time += 135;
    }
  }
  const auto path = critical_path(transfers);
  std::uint64_t sum = 0;
  for (const Step& step : path) sum += step.total_ns();
  EXPECT_EQ(sum, path.back().transfer.taken_ns);
  EXPECT_EQ(sum, 7 * 130 + 2 * 135 + 130u);
}

TEST(Explain, TakesTheLatestArrivalBeforeThePost) {
  const auto path = critical_path({transfer(5, 1, 0, 0, 10, 10), transfer(6, 1, 0, 0, 40, 40),
                                   transfer(7, 1, 0, 0, 60, 60), transfer(1, 2, 50, 50, 90, 90)});
  ASSERT_EQ(path.size(), 2u);
  EXPECT_EQ(path[0].transfer.from, 6);
  EXPECT_EQ(path[1].sender_ns, 10u);
}

TEST(Explain, EndsWhereTimeDoesNotPass) {
  // Two ranks that answer each other in no time.
  const auto path = critical_path({transfer(0, 1, 5, 5, 5, 5), transfer(1, 0, 5, 5, 5, 5)});
  EXPECT_LE(path.size(), 3u);
}

TEST(Explain, SaysWhereTheTimeWent) {
  espalier::sim::Machine machine;
  machine.levels.resize(2);
  machine.levels[0].name = "cluster";
  machine.levels[0].lane = 1;
  machine.lanes.resize(1);
  machine.lanes[0].name = "nic";
  machine.lanes[0].per = "node";
  const auto path = critical_path({transfer(0, 1, 0, 250, 750, 1000)});
  // The sender works before the transfer starts, the receiver until after it was handled; what
  // another rank does, and when, is of no account.
  const std::vector<espalier::sim::WorkRecord> work = {{0, 0, 100}, {1, 800, 1300}, {2, 0, 2000}};
  const std::string text = explain(path, work, machine, 2000);
  for (const char* part :
       {"1 transfers, 1.00 us", "500 ns  25.0 %  under way",
        "150 ns   7.5 %  posted, waiting for a lane", "0 ns   0.0 %  not yet posted",
        "50 ns   2.5 %  arrived, the receiver in a detour", "100 ns   5.0 %  work of the sender",
        "200 ns  10.0 %  work of the receiver", "50.0 %  after the last",
        "250 ns posted and not started (lane nic, one per node)"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
}

}  // namespace
}  // namespace esp_sim
