// What must not grow with the job: tables of a rank, looks of the watchdog, news of a failure.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include "coll/choice/choose.hpp"
#include "coll/team/watch.hpp"
#include "core/trace.hpp"
#include "tests/unit/news_node.hpp"

namespace espalier {
namespace {

std::shared_ptr<Membership> world_of(std::int32_t nodes, std::int32_t ranks_per_node) {
  auto membership = std::make_shared<Membership>();
  std::vector<std::int32_t> node_of;
  for (Rank rank = 0; rank < nodes * ranks_per_node; ++rank) {
    membership->ranks.push_back(rank);
    node_of.push_back(rank / ranks_per_node);
  }
  membership->ranks.shrink_to_fit();
  membership->nodes = TeamNodes::of(node_of);
  return membership;
}

TEST(Scale, ATeamOfAMillionHasFourBytesForEachMember) {
  constexpr std::int32_t kNodes = 4096, kEach = 256;
  const auto membership = world_of(kNodes, kEach);
  const std::size_t bytes = membership->ranks.capacity() * sizeof(Rank) + membership->nodes.bytes();
  EXPECT_LE(bytes, std::size_t{kNodes} * kEach * 4 + std::size_t{8} * kNodes);
  Team team;
  team.set_membership(700'000, membership);
  EXPECT_FALSE(team.is_remote(700'000 / kEach * kEach));
  EXPECT_TRUE(team.is_remote(0));
  // Its board: rows of one node.
  EXPECT_EQ(team.row(700'000), 700'000 % kEach);
  EXPECT_EQ(team.nodes()->members(team.nodes()->node_of(team.rank)), kEach);
}

// Counts who is asked about.
struct Counting final : Liveness {
  std::uint64_t changes() noexcept override { return now; }
  bool is_dead(Rank) noexcept override { return count(); }
  bool is_stopped(Rank) noexcept override { return count(); }
  bool is_leaving(Rank) noexcept override { return count(); }
  bool has_left(Rank rank) noexcept override {
    (void)count();
    return rank == left;
  }
  bool count() noexcept {
    ++asked;
    return false;
  }
  std::uint64_t now = 1;
  std::uint64_t asked = 0;
  Rank left = kNoRank;
};

// A rank of many nodes that waits.
struct WaitingFar {
  WaitingFar(std::int32_t nodes, std::int32_t each)
      : engine(counters, trace, tuning),
        news(post, liveness, clock, clock, nodes * each, 0),
        watch(engine, liveness, Log(LogLevel::kError), {0, 1'000'000'000}, &news),
        memory(Board::bytes_of_calls(each) + 128) {
    team.set_membership(0, world_of(nodes, each));
    void* at = memory.data();
    std::size_t room = memory.size();
    const std::uint64_t bytes = Board::bytes_of_calls(each);
    team.board =
        Board::of_calls(static_cast<std::byte*>(std::align(128, bytes, at, room)), each, 0);
    CallSignature signature;
    signature.count = 2;
    team.enter(signature);
    team.short_wait = team.short_call = team.sequence;
    watch.add(team);
  }
  ~WaitingFar() { watch.remove(team); }

  HandClock clock;
  Counters counters;
  Trace trace;
  Tuning tuning;
  Counting liveness;
  Post post;
  Engine engine;
  TeamNews news;
  TeamWatch watch;
  std::vector<std::byte> memory;
  Team team;
};

TEST(Scale, ALookAsksAboutTheOwnNodeUnlessSomethingHappened) {
  constexpr std::int32_t kEach = 8;
  WaitingFar few(64, kEach), many(4096, kEach);
  std::uint64_t asked[2] = {};
  WaitingFar* const waiting[2] = {&few, &many};
  for (int i = 0; i < 2; ++i) {
    waiting[i]->watch.look(1, 2);  // the first asks about all
    const std::uint64_t before = waiting[i]->liveness.asked;
    waiting[i]->watch.look(1, 3);
    asked[i] = waiting[i]->liveness.asked - before;
    EXPECT_FALSE(waiting[i]->team.failed());
  }
  EXPECT_EQ(asked[0], asked[1]);
  EXPECT_LE(asked[0], 8U * kEach);
  // It is found when something has happened, and then only.
  many.liveness.left = 30'000;
  many.watch.look(1, 4);
  EXPECT_FALSE(many.team.failed());
  many.liveness.now = 2;
  many.watch.look(1, 5);
  EXPECT_EQ(many.team.fault.rank(), 30'000);
}

// A plan names the members that it has to do with: those of the own node, in one vertex, and the
// parent and children of a tree over the nodes.
TEST(Scale, APlanOfAMillionNamesTheOwnNodeAndAFewMore) {
  constexpr std::int32_t kNodes = 4096, kEach = 256, kMembers = kNodes * kEach;
  constexpr std::size_t kTree = std::size_t{2} * std::bit_width(unsigned{kNodes});
  const auto membership = world_of(kNodes, kEach);
  for (const Collective collective :
       {Collective::kBarrier, Collective::kBcast, Collective::kReduce, Collective::kAllreduce}) {
    for (const std::uint64_t bytes : {std::uint64_t{8}, std::uint64_t{1} << 20}) {
      for (const std::int32_t rank : {0, 1, kEach, 700'000, kMembers - 1}) {
        PlanRequest base;
        base.collective = collective;
        base.rank = rank;
        base.size = kMembers;
        base.root = collective == Collective::kReduce ? kMembers / 2 : 0;
        base.elements = collective == Collective::kBarrier ? 0 : bytes;
        base.nodes.nodes = &membership->nodes;
        auto request = resolve(ESP_COLL_OPTIONS_INIT, base);
        ASSERT_TRUE(request.ok());
        auto plan = make_plan(request.value());
        ASSERT_TRUE(plan.ok());
        std::size_t named = 0;
        for (const Vertex& vertex : plan.value().vertices) {
          named += std::max<std::size_t>(vertex.peers.size(), 1);
        }
        EXPECT_LE(named, 2 * (kEach + kTree)) << plan.value().algorithm << " of rank " << rank;
      }
    }
  }
}

// A failure is told on by each node that hears of it first, though some are gone.
TEST(Scale, AFailureIsEverywhereAfterFewMessagesOfEach) {
  constexpr int kNodes = 300;
  std::vector<std::unique_ptr<Node>> nodes;
  for (Rank rank = 0; rank < kNodes; ++rank) nodes.push_back(std::make_unique<Node>(rank, kNodes));
  const auto is_gone = [](Rank rank) { return rank % 7 == 3; };
  Node& first = *nodes[18];
  first.team.fault = Status(ESP_ERR_PEER_DIED, 3);
  ASSERT_TRUE(first.team.board.report(first.team.fault, 18));
  first.news.failed(first.team, true);
  std::vector<std::size_t> sent(kNodes, 0);
  for (bool quiet = false; !quiet;) {
    quiet = true;
    for (Rank from = 0; from < kNodes; ++from) {
      auto& letters = nodes[static_cast<std::size_t>(from)]->post.sent;
      for (; !letters.empty(); letters.pop_front(), quiet = false) {
        ++sent[static_cast<std::size_t>(from)];
        if (is_gone(letters.front().to)) continue;
        nodes[static_cast<std::size_t>(letters.front().to)]->news.heard(from,
                                                                        letters.front().bytes);
      }
    }
  }
  constexpr std::size_t kMost = std::size_t{2} * std::bit_width(unsigned{kNodes});
  for (Rank rank = 0; rank < kNodes; ++rank) {
    const auto n = static_cast<std::size_t>(rank);
    EXPECT_LE(sent[n], kMost) << "rank " << rank;
    EXPECT_EQ(nodes[n]->team.board.reported().ok(), is_gone(rank)) << "rank " << rank;
  }
}

}  // namespace
}  // namespace espalier
