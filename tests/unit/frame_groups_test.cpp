// net/groups/frame_groups.hpp: which teams have ports, among one rank's words with another.
#include "net/groups/frame_groups.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "core/clock.hpp"

namespace espalier::net {
namespace {

// Packets to nobody.
class QuietPort final : public multicast::GroupPort {
 public:
  explicit QuietPort(int& open) : open_(open) { ++open_; }
  ~QuietPort() override { --open_; }
  multicast::Joined joined() noexcept override { return multicast::Joined::kYes; }
  std::uint32_t packet_bytes() const noexcept override { return 1024; }
  std::uint32_t receive_depth() const noexcept override { return 64; }
  rdma::Packet* take() noexcept override { return nullptr; }
  void give(rdma::Packet&) noexcept override {}
  bool send(rdma::Packet&, bool) noexcept override { return true; }
  int poll(rdma::DatagramSink&, int) noexcept override { return 0; }
  const Status& fault() const noexcept override { return fine_; }
  int descriptor() const noexcept override { return -1; }
  bool arm() noexcept override { return true; }

 private:
  int& open_;
  const Status fine_;
};

class Ports final : public GroupPorts {
 public:
  Result<std::unique_ptr<multicast::GroupPort>> open(std::uint32_t, Rank) override {
    return std::unique_ptr<multicast::GroupPort>(std::make_unique<QuietPort>(now));
  }
  int now = 0;
};

// Rank 0, to which rank 1 says what a test has it say.
class RankZero final : public GroupHost {
 public:
  explicit RankZero(std::uint32_t groups_max) : groups(*this, clock, counters, terms(groups_max)) {}

  void join(std::uint32_t team) { groups.join(team, members_); }
  void hear(std::uint32_t team, GroupWord word, std::span<const std::byte> payload = {}) {
    FrameHeader header;
    header.kind = FrameKind::kGroup;
    header.flow = team;
    header.ordinal = static_cast<std::uint32_t>(word);
    header.bytes = payload.size();
    std::byte* buffer = payload.empty() ? nullptr : pool_.take(payload.size());
    if (buffer != nullptr) std::memcpy(buffer, payload.data(), payload.size());
    groups.frame(1, header, buffer);
    groups.progress();
  }
  std::string describe(std::uint32_t team) const { return groups.find(team)->describe(); }

  std::byte* begin_segment(FrameArrival&, const FrameHeader&) noexcept override { return nullptr; }
  void end_segment(FrameArrival&) noexcept override {}
  bool tell(Rank, std::uint32_t team, GroupWord word,
            std::span<const std::byte>) noexcept override {
    said[team].push_back(word);
    return true;
  }
  Posted post_relayed(Rank, OutgoingFrame&) noexcept override { return Posted::kDone; }
  void withdraw_relayed(Rank, OutgoingFrame&) noexcept override {}
  void lose_peer(Rank, Error why) noexcept override { ADD_FAILURE() << why.text; }
  BufferPool& pool() noexcept override { return pool_; }

  SteadyClock clock;
  Counters counters;
  Ports ports;
  std::map<std::uint32_t, std::vector<GroupWord>> said;

 private:
  FrameGroupsOptions terms(std::uint32_t groups_max) {
    FrameGroupsOptions options;
    options.ports = &ports;
    options.ranks = 2;
    options.rank = 0;
    options.packet_bytes = 1024;
    options.receive_depth = 64;
    options.groups_max = groups_max;
    return options;
  }
  BufferPool pool_{1 << 20};
  const FrameGroup::Members members_ =
      std::make_shared<const std::vector<Rank>>(std::vector<Rank>{0, 1});

 public:
  FrameGroups groups;
};

TEST(FrameGroups, TheLeastLatelyUsedGivesItsRoom) {
  RankZero rank(1);
  rank.join(1);
  rank.hear(1, GroupWord::kJoined);
  EXPECT_EQ(rank.describe(1), "multicast to 1 others");
  rank.join(2);
  EXPECT_EQ(rank.ports.now, 1);
  rank.hear(2, GroupWord::kJoined);
  EXPECT_EQ(rank.said[1], (std::vector{GroupWord::kReady, GroupWord::kClose}));
  rank.hear(1, GroupWord::kDrained);
  rank.groups.progress();
  EXPECT_EQ(rank.describe(1), "messages: it gave way to another team's, rank 0 had no room");
  EXPECT_EQ(rank.describe(2), "multicast to 1 others");
  EXPECT_EQ(rank.ports.now, 1);
}

// The other rank has no room for it, while this one waits for some.
TEST(FrameGroups, WhatWasClosedMeanwhileTakesNoRoom) {
  RankZero rank(1);
  rank.join(1);
  rank.hear(1, GroupWord::kJoined);
  rank.join(2);
  rank.hear(2, GroupWord::kWish, GroupEnd{GroupEnd::Why::kRefused, 1, 0}.bytes());
  rank.hear(2, GroupWord::kDrained);
  EXPECT_EQ(rank.describe(2), "messages: rank 1 could not join");
  rank.hear(1, GroupWord::kDrained);
  EXPECT_EQ(rank.ports.now, 0);
  rank.join(3);
  rank.hear(3, GroupWord::kJoined);
  EXPECT_EQ(rank.describe(3), "multicast to 1 others");
}

TEST(FrameGroups, WhyAMemberCouldNotJoinIsSaid) {
  RankZero rank(1);
  rank.join(1);
  const GroupEnd end{GroupEnd::Why::kRefused, 1, ENOBUFS};
  rank.hear(1, GroupWord::kWish, end.bytes());
  EXPECT_EQ(rank.describe(1), "messages: rank 1 could not join: No buffer space available");
}

// Its publications are complete when they are relayed: it would never wait, and hear nothing.
TEST(FrameGroups, WhoOnlySendsHearsThatAllHaveJoined) {
  RankZero rank(8);
  rank.join(1);
  FrameGroup& group = *rank.groups.find(1);
  struct Nobody : Completion {
    Nobody() noexcept : Completion([](Completion&, Status) noexcept {}) {}
  } nobody;
  OutgoingFrame frame(nobody);
  frame.header.kind = FrameKind::kSegment;
  frame.header.flow = FlowId(1, 0, 0).key;
  int posted = 0;
  while (posted < 1000 && group.post(frame) == Posted::kDone) ++posted;
  EXPECT_EQ(group.post(frame), Posted::kRetry);
  EXPECT_EQ(posted, 16);
  rank.groups.progress();
  EXPECT_EQ(group.post(frame), Posted::kDone);
  EXPECT_EQ(rank.counters.group_relays.value(), 17U);
}

TEST(FrameGroups, EachTeamHasALine) {
  RankZero rank(8);
  rank.join(70'000);
  rank.join(3);
  rank.hear(3, GroupWord::kJoined);
  EXPECT_EQ(rank.groups.describe(),
            (std::vector<std::string>{"team 3     multicast to 1 others",
                                      "team 70000 messages: not all have joined yet"}));
}

}  // namespace
}  // namespace espalier::net
