// What members of a team on different nodes tell each other: the message, and who knows what after
// it. Two ranks on two nodes, messages carried by hand.
#include "coll/team/team_news.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <random>

#include "news_node.hpp"

namespace espalier {
namespace {

void deliver(Node& from, Node& to, Rank sender) {
  while (!from.post.sent.empty()) {
    to.news.heard(sender, from.post.sent.front().bytes);
    from.post.sent.pop_front();
  }
}

TEST(TeamNews, AQuestionAboutATeamThatWasFreedIsAnswered) {
  Node a(0), b(1);
  a.call(1);
  b.call(1);
  b.news.remove(b.team);
  a.news.ask(a.team, 1);
  deliver(a, b, 0);
  deliver(b, a, 1);
  EXPECT_TRUE(a.team.has_answered(1));
  EXPECT_TRUE(a.team.has_entered(1, 1)) << "it had called what it was asked about";
  EXPECT_FALSE(a.team.has_entered(1, 2));
  EXPECT_TRUE(a.team.remote.at(1).freed);
}

TEST(TeamNews, WhoHasNotMadeATeamHasNotFreedIt) {
  Node a(0), other(1);
  other.news.remove(other.team);
  a.team.id = 11;
  a.news.add(a.team);
  a.news.ask(a.team, 1);
  deliver(a, other, 0);
  deliver(other, a, 1);
  EXPECT_TRUE(a.team.has_answered(1));
  EXPECT_FALSE(a.team.remote.at(1).freed);
}

// To one that does not read.
TEST(TeamNews, QuestionsDoNotPileUp) {
  Node a(0);
  a.call(1);
  a.post.full = true;
  for (int i = 0; i < 100; ++i) {
    a.news.ask(a.team, 1);
    a.clock.now += TeamNews::kAskMostNs;
  }
  EXPECT_TRUE(a.post.sent.empty());
  a.post.full = false;
  a.news.ask(a.team, 1);
  EXPECT_EQ(a.post.sent.size(), 1u) << "asked again";
}

// Nor do answers, to one that asks and does not read them.
TEST(TeamNews, AnswersDoNotPileUp) {
  Node a(0), b(1);
  b.post.full = true;
  a.news.ask_now(a.team, 1);
  deliver(a, b, 0);
  EXPECT_TRUE(b.post.sent.empty());
  b.post.full = false;
  a.news.ask_now(a.team, 1);
  deliver(a, b, 0);
  EXPECT_EQ(b.post.sent.size(), 1u);
}

TEST(TeamNews, WhoIsNoMemberIsNotBlamed) {
  Node a(0, 3), liar(1, 3);
  auto membership = std::make_shared<Membership>();
  membership->ranks = {0, 1};
  membership->nodes = TeamNodes::of(std::vector<std::int32_t>{0, 1});
  a.team.set_membership(0, membership);
  a.call(1);
  a.news.ask(a.team, 1);
  News news;
  news.team = a.team.id;
  news.rings[0].rank = 1;
  news.waits_for = 2;
  const auto bytes = news_bytes(news);
  a.news.heard(1, bytes);
  EXPECT_TRUE(a.team.has_answered(1));
  EXPECT_EQ(a.team.remote.at(1).blame.rank, kNoRank);
}

TEST(TeamNews, AQuestionTellsBothSides) {
  Node a(0), b(1);
  for (std::uint64_t i = 1; i <= 20; ++i) a.call(i);
  for (std::uint64_t i = 1; i <= 19; ++i) b.call(i == 19 ? 7 : i);
  a.news.ask(a.team, 1);
  EXPECT_FALSE(a.team.has_answered(1));
  deliver(a, b, 0);
  deliver(b, a, 1);
  EXPECT_TRUE(a.team.has_answered(1));
  EXPECT_TRUE(a.team.has_entered(1, 19));
  EXPECT_FALSE(a.team.has_entered(1, 20));
  for (Node* node : {&a, &b}) {
    std::uint64_t sequence = 0;
    int member = -1;
    CallSignature mine, theirs;
    ASSERT_TRUE(find_difference(node->team, sequence, member, mine, theirs));
    EXPECT_EQ(sequence, 19u);
    EXPECT_EQ(member, node == &a ? 1 : 0);
    EXPECT_EQ(theirs.count, node == &a ? 7u : 19u);
  }
}

// Also where only messages have gone, and no operation is counted.
TEST(TeamNews, AsksSeldom) {
  for (const bool calls : {true, false}) {
    Node a(0);
    if (calls) a.call(1);
    int asked = 0;
    for (int look = 0; look < 100; ++look) {
      a.news.ask(a.team, 1);
      a.clock.now += TeamNews::kAskLeastNs;
      asked += static_cast<int>(a.post.sent.size());
      a.post.sent.clear();
    }
    // 2 s: after 0, 20, 60, 140 and 300 ms, then every 320 ms.
    EXPECT_GE(asked, 8);
    EXPECT_LE(asked, 11);
  }
}

TEST(TeamNews, AFailureReachesTheOtherNode) {
  Node a(0), b(1);
  a.call(1);
  a.team.fault = Status(ESP_ERR_TIMEOUT, 1);
  EXPECT_TRUE(a.team.board.report(a.team.fault));
  a.post.full = true;
  a.news.failed(a.team, true);
  deliver(a, b, 0);
  EXPECT_EQ(b.team.board.reported().code(), ESP_ERR_TIMEOUT);
  EXPECT_EQ(b.team.board.reported().rank(), 1);
  EXPECT_EQ(b.news.take_changed(), std::vector<Team*>{&b.team});
}

// Another rank of this node has told that one already, but perhaps later than this rank is gone.
TEST(TeamNews, WhoeverFailsTellsThoseItExchangesWith) {
  Node a(0);
  a.call(1);
  Plan plan;
  plan.vertices.resize(2);
  for (Vertex& vertex : plan.vertices) vertex.peer = Steps::constant(1);
  std::array<VertexState, 2> states;
  RecvSlot slot;
  for (VertexState& state : states) {
    state.recvs = &slot;
    state.indices.count = 1;
  }
  Instance instance;
  instance.plan = &plan;
  instance.states = states;
  a.team.active = &instance;
  a.news.failed(a.team, false);
  ASSERT_EQ(a.post.sent.size(), 1u);  // once, whatever is exchanged
  EXPECT_EQ(a.post.sent.front().to, 1);
  a.news.failed(a.team, true);
  EXPECT_EQ(a.post.sent.size(), 2u);
  for (VertexState& state : states) state.base = 1;  // nothing left
  a.news.failed(a.team, false);
  EXPECT_EQ(a.post.sent.size(), 2u);
  a.team.active = nullptr;
}

// Who frees a team that has failed tells why, not only that it has: its calls, those of the member
// that differs, and who has compared them.
TEST(TeamNews, AFailureOutlivesItsTeam) {
  Node a(0), b(1);
  a.call(1);
  b.call(2);
  b.news.ask(b.team, 0);
  deliver(b, a, 1);
  a.post.sent.clear();
  a.team.fault = Status(ESP_ERR_MISMATCH, 1);
  EXPECT_TRUE(a.team.board.report(a.team.fault, 0));
  a.news.remove(a.team);
  b.news.ask_now(b.team, 0);
  deliver(b, a, 1);
  ASSERT_EQ(a.post.sent.size(), 1u);
  const auto news = parse_news(a.post.sent.front().bytes, 2);
  ASSERT_TRUE(news);
  EXPECT_EQ(news->flags, News::kFreed);
  EXPECT_EQ(news->rings[1].rank, 1) << "the other's calls, as evidence";
  deliver(a, b, 0);
  EXPECT_EQ(b.team.board.reported(), Status(ESP_ERR_MISMATCH, 1));
  EXPECT_EQ(b.team.board.reporter(), 0);
  std::uint64_t sequence = 0;
  int member = -1;
  CallSignature mine, theirs;
  ASSERT_TRUE(find_difference(b.team, sequence, member, mine, theirs));
  EXPECT_EQ(member, 0) << "from what it is told, not who is named";
}

TEST(TeamNews, AFailureMayComeBeforeTheTeam) {
  Node a(0), b(1);
  b.news.remove(b.team);
  EXPECT_TRUE(a.team.board.report(Status(ESP_ERR_PEER_DIED, 0)));
  a.news.failed(a.team, true);
  deliver(a, b, 0);
  EXPECT_TRUE(b.team.board.reported().ok());
  b.news.add(b.team);
  EXPECT_EQ(b.team.board.reported().code(), ESP_ERR_PEER_DIED);
}

// Whatever comes, nothing breaks, and nothing is learned of who is not a member.
TEST(TeamNews, BytesOfStrangers) {
  std::mt19937 random(3);
  Node a(0), b(1);
  for (std::uint64_t i = 1; i <= 20; ++i) a.call(i);
  a.news.ask_now(a.team, 1);
  const std::vector<std::byte> good = a.post.sent.front().bytes;
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    auto bytes = good;
    if (round % 7 == 0) bytes.resize(random() % (good.size() + 9));
    for (unsigned flips = 1 + random() % 4; flips > 0 && !bytes.empty(); --flips) {
      // Half of them among the numbers at the front.
      const std::size_t within = random() % 2 == 0 ? 48 : bytes.size();
      bytes[random() % std::min(bytes.size(), within)] = static_cast<std::byte>(random());
    }
    if (!parse_news(bytes, 2)) ++refused;
    b.news.heard(0, bytes);
    for (const auto& [member, known] : b.team.remote) {
      EXPECT_EQ(member, 0);
      EXPECT_LE(known.ring.count, Board::kCalls);
    }
    b.post.sent.clear();
    (void)b.news.take_changed();
  }
  EXPECT_GT(refused, 5000);
}

}  // namespace
}  // namespace espalier
