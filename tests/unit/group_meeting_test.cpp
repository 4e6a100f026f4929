// How members of a group of the network agree when it is used and left (net/groups), with words
// that wait as long as they like, and room that is missing.
#include "net/groups/group_meeting.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "core/prng.hpp"

namespace espalier::net {
namespace {

using Stage = GroupMeeting::Stage;

struct Said {
  std::uint32_t to;
  GroupWord word;
  std::vector<std::byte> payload;
};

class Gathering {
 public:
  Gathering(std::uint32_t members, std::uint64_t seed) : prng_(seed) {
    for (std::uint32_t m = 0; m < members; ++m) {
      meetings.push_back(std::make_unique<GroupMeeting>(members, m, 3));
      voices_.push_back(std::make_unique<Mouth>(*this, m));
    }
    queues_.resize(members * members);
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(meetings.size()); }

  // One member speaks, or one word is heard.
  void step() {
    const auto member = static_cast<std::uint32_t>(prng_.below(size()));
    (void)meetings[member]->work(*voices_[member]);
    auto& queue = queues_[prng_.below(queues_.size())];
    if (queue.empty()) return;
    const Said said = std::move(queue.front());
    queue.pop_front();
    const auto from = static_cast<std::uint32_t>(&queue - queues_.data()) / size();
    EXPECT_TRUE(meetings[said.to]->heard(from, said.word, said.payload));
    ++words;
  }
  template <typename Done>
  bool run_until(Done&& done) {
    for (int i = 0; i < 200'000; ++i) {
      if (done()) return true;
      step();
    }
    return false;
  }
  bool all_at(Stage stage) const {
    return std::ranges::all_of(meetings, [&](auto& m) { return m->stage() == stage; });
  }

  std::vector<std::unique_ptr<GroupMeeting>> meetings;
  int words = 0;

 private:
  struct Mouth final : GroupMeeting::Voice {
    Mouth(Gathering& of, std::uint32_t who) : gathering(of), me(who) {}
    bool say(std::uint32_t to, GroupWord word, std::span<const std::byte> payload) override {
      if (gathering.prng_.below(3) == 0) return false;  // no room
      gathering.queues_[me * gathering.size() + to].push_back(
          {to, word, {payload.begin(), payload.end()}});
      return true;
    }
    Gathering& gathering;
    const std::uint32_t me;
  };

  Prng prng_;
  std::vector<std::unique_ptr<Mouth>> voices_;
  std::vector<std::deque<Said>> queues_;  // from each member to each
};

TEST(GroupMeeting, ItIsOpenWhenAllHaveJoinedAndLeftWhenAllAreDrained) {
  for (std::uint32_t members = 2; members < 20; ++members) {
    SCOPED_TRACE(members);
    Gathering g(members, members);
    const std::uint32_t last = (members * 7) % members;
    for (std::uint32_t m = 0; m < members; ++m) {
      if (m != last) g.meetings[m]->joined();
    }
    for (int i = 0; i < 3000; ++i) g.step();
    EXPECT_TRUE(g.all_at(Stage::kJoining));
    g.meetings[last]->joined();
    ASSERT_TRUE(g.run_until([&] { return g.all_at(Stage::kOpen); }));
    EXPECT_EQ(g.words, 2 * (static_cast<int>(members) - 1)) << "each is said once";
    const GroupEnd why{GroupEnd::Why::kLoss, 3, 120};
    g.meetings[members / 2]->drained();  // Not yet: it may still send.
    g.meetings[members / 2]->wish(why);
    ASSERT_TRUE(g.run_until([&] { return g.all_at(Stage::kClosing); }));
    for (auto& m : g.meetings) EXPECT_EQ(m->end(), why);
    for (std::uint32_t m = 1; m < members; ++m) g.meetings[m]->drained();
    for (int i = 0; i < 3000; ++i) g.step();
    EXPECT_TRUE(g.all_at(Stage::kClosing));
    g.meetings[0]->drained();
    EXPECT_TRUE(g.run_until([&] { return g.all_at(Stage::kGone); }));
  }
}

TEST(GroupMeeting, WhoForgetsItLeavesWithTheOthers) {
  Gathering g(9, 1);
  for (auto& m : g.meetings) m->joined();
  ASSERT_TRUE(g.run_until([&] { return g.all_at(Stage::kOpen); }));
  for (std::uint32_t m = 0; m < 9; ++m) {
    for (int i = 0; i < 1000; ++i) g.step();
    EXPECT_TRUE(g.all_at(Stage::kOpen)) << "before " << m;
    g.meetings[m]->forget();
    g.meetings[m]->drained();
  }
  EXPECT_TRUE(g.run_until([&] { return g.all_at(Stage::kGone); }));
}

TEST(GroupMeeting, OneThatCannotJoinClosesItForAll) {
  for (std::uint32_t who = 0; who < 6; ++who) {
    Gathering g(6, who);
    for (std::uint32_t m = 0; m < 6; ++m) {
      if (m != who) g.meetings[m]->joined();
    }
    g.meetings[who]->wish({GroupEnd::Why::kRefused, static_cast<Rank>(who), 0});
    ASSERT_TRUE(g.run_until([&] { return g.all_at(Stage::kClosing); }));
    for (auto& m : g.meetings) m->drained();
    EXPECT_TRUE(g.run_until([&] { return g.all_at(Stage::kGone); }));
  }
}

TEST(GroupMeeting, WhatNobodySaysIsRefused) {
  GroupMeeting meeting(6, 1, 3);  // below 0, above 4 and 5
  const GroupEnd end{GroupEnd::Why::kFault, 4, 0};
  const GroupEnd::Bytes bytes = end.bytes();
  EXPECT_FALSE(meeting.heard(0, GroupWord::kReady, {})) << "before it has said that it joined";
  EXPECT_FALSE(meeting.heard(0, GroupWord::kGone, {}));
  EXPECT_FALSE(meeting.heard(0, GroupWord::kJoined, {})) << "from above";
  EXPECT_FALSE(meeting.heard(4, GroupWord::kClose, bytes)) << "from below";
  EXPECT_FALSE(meeting.heard(2, GroupWord::kJoined, {})) << "from beside";
  EXPECT_FALSE(meeting.heard(4, GroupWord::kWish, {})) << "without a reason";
  EXPECT_FALSE(meeting.heard(4, GroupWord::kJoined, bytes)) << "with one";
  EXPECT_TRUE(meeting.heard(4, GroupWord::kJoined, {}));
  EXPECT_FALSE(meeting.heard(4, GroupWord::kJoined, {})) << "twice";
  EXPECT_TRUE(meeting.heard(5, GroupWord::kWish, bytes));
  EXPECT_TRUE(meeting.heard(0, GroupWord::kClose, bytes));
  EXPECT_FALSE(meeting.heard(0, GroupWord::kClose, bytes)) << "twice";
}

TEST(GroupEnd, TravelsAsItIs) {
  const GroupEnd end{GroupEnd::Why::kLoss, 12, 345};
  EXPECT_EQ(GroupEnd::parse(end.bytes()), end);
  EXPECT_EQ(end.text(), "345 of 1000 packets were lost on the way to rank 12");
  GroupEnd::Bytes bytes = end.bytes();
  EXPECT_FALSE(GroupEnd::parse(std::span(bytes).first(11)));
  bytes[0] = std::byte{99};
  EXPECT_FALSE(GroupEnd::parse(bytes));
  bytes[0] = std::byte{0};
  EXPECT_FALSE(GroupEnd::parse(bytes)) << "no reason";
}

}  // namespace
}  // namespace espalier::net
