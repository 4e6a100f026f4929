// VerbsGroupPort (net/verbs/group_port.hpp) between up to four nodes: what reaches whom.
#include "tests/vm/group_nodes.hpp"

namespace espalier::verbs {
namespace {

TEST_F(Groups, WhatIsSentOnceReachesAllMembers) {
  constexpr std::uint32_t kPackets = 300;
  auto members = join_all(4, group(1));
  ASSERT_TRUE(members[0]->port->intact());
  EXPECT_TRUE(!in_guest() || members[0]->port->packet_bytes() == 4096);
  const std::uint64_t sent = counted(0, "sent_pkts");
  std::vector<std::uint64_t> received;
  for (std::size_t node = 0; node < 4; ++node) received.push_back(counted(node, "rcvd_pkts"));
  const std::uint64_t wire = number_in("/sys/class/net/n0/statistics/tx_bytes");

  stream(*members[0], 0, 0, kPackets, {members[1].get(), members[2].get(), members[3].get()});
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < kPackets; ++i) bytes += members[0]->length(i);
  for (std::size_t node = 1; node < 4; ++node) {
    EXPECT_EQ(members[node]->heard[0], numbers_to(kPackets)) << node;
    EXPECT_TRUE(members[node]->right) << node;
    EXPECT_EQ(members[node]->heard.size(), 1u);
    EXPECT_GE(members[node]->port->counts().arrivals, kPackets);
  }
  EXPECT_TRUE(members[0]->right);
  EXPECT_EQ(members[0]->port->counts().sends, kPackets) << "once each, not once for each member";
  if (!in_guest()) return;
  // Soft-RoCE hands them to the sender, too; not every adapter does.
  EXPECT_TRUE(
      eventually([&] { return (void)members[0]->poll(), members[0]->from(0) == kPackets; }));
  EXPECT_EQ(members[0]->heard[0], numbers_to(kPackets));
  EXPECT_EQ(counted(0, "sent_pkts") - sent, kPackets);
  for (std::size_t node = 1; node < 4; ++node) {
    EXPECT_EQ(counted(node, "rcvd_pkts") - received[node], kPackets) << node;
  }
  // The node's own interface: headers, and a few packets of the system besides.
  const std::uint64_t carried = number_in("/sys/class/net/n0/statistics/tx_bytes") - wire;
  EXPECT_GE(carried, bytes);
  EXPECT_LE(carried, bytes + bytes / 4 + 20'000);
}

TEST_F(Groups, PacketsBatchedByTheSenderShareADoorbell) {
  auto members = join_all(2, group(1));
  for (std::uint32_t i = 0; i < 8; ++i) ASSERT_TRUE(members[0]->send(0, i, true));
  members[0]->port->flush();
  EXPECT_TRUE(eventually([&] {
    (void)members[0]->poll();
    (void)members[1]->poll();
    return members[1]->from(0) == 8;
  }));
  EXPECT_EQ(members[0]->port->counts().sends, 8u);
  EXPECT_EQ(members[0]->port->counts().doorbells, 1u);
  EXPECT_EQ(members[1]->heard[0], numbers_to(8));
}

TEST_F(Groups, TwoSourcesAtOnce) {
  constexpr std::uint32_t kPackets = 200;
  auto members = join_all(4, group(1));
  std::uint32_t next[2] = {};
  ASSERT_TRUE(eventually([&] {
    std::size_t slowest[2] = {kPackets, kPackets};
    for (std::size_t node = 0; node < 4; ++node) {
      for (std::uint32_t source = 0; source < 2; ++source) {
        if (node == source) continue;
        slowest[source] = std::min(slowest[source], members[node]->from(source));
      }
    }
    for (std::uint32_t source = 0; source < 2; ++source) {
      if (next[source] == kPackets || next[source] - slowest[source] >= 32) continue;
      next[source] += members[source]->send(source, next[source]);
    }
    for (auto& member : members) (void)member->poll();
    return slowest[0] == kPackets && slowest[1] == kPackets;
  }));
  for (std::uint32_t node = 0; node < 4; ++node) {
    EXPECT_TRUE(members[node]->right) << node;
    for (std::uint32_t source = 0; source < 2; ++source) {
      if (node == source) continue;
      EXPECT_EQ(members[node]->heard[source], numbers_to(kPackets)) << source << " to " << node;
    }
  }
}

TEST_F(Groups, TwoGroupsDoNotMix) {
  auto other_key = group(1);
  ++other_key.key;
  auto first = join_all(2, group(1)), second = join_all(2, group(2)),
       third = join_all(2, other_key);
  stream(*first[0], 1, 0, 40, {first[1].get()});
  stream(*second[0], 2, 0, 50, {second[1].get()});
  stream(*third[0], 3, 0, 60, {third[1].get()});
  for_a_while([&] {
    for (auto* all : {&first, &second, &third}) {
      for (auto& member : *all) (void)member->poll();
    }
  });
  // On one device a member's own packets come back, so all six may have heard their own group.
  std::uint32_t source = 0;
  for (auto* all : {&first, &second, &third}) {
    ++source;
    for (auto& member : *all) {
      EXPECT_TRUE(member->right);
      for (const auto& [from, numbers] : member->heard) EXPECT_EQ(from, source);
    }
    EXPECT_EQ(all->back()->heard[source], numbers_to(30 + 10 * source));
  }
}

TEST_F(Groups, WhoHasLeftHearsNothingAndMayComeBack) {
  auto members = join_all(3, group(1));
  stream(*members[0], 0, 0, 20, {members[1].get(), members[2].get()});
  members[2].reset();
  const std::uint64_t before = counted(2, "rcvd_pkts");
  stream(*members[0], 0, 20, 120, {members[1].get()});
  if (in_guest()) {
    EXPECT_EQ(counted(2, "rcvd_pkts"), before) << "the host is still in the group";
  }

  members[2] = join(2, group(1));
  for_a_while([&] { (void)members[2]->poll(); });
  EXPECT_TRUE(members[2]->heard.empty());
  stream(*members[0], 0, 120, 150, {members[1].get(), members[2].get()});
  EXPECT_EQ(members[1]->heard[0], numbers_to(150));
  EXPECT_EQ(members[2]->from(0), 30u);
  EXPECT_EQ(members[2]->heard[0].front(), 120u);
  EXPECT_TRUE(members[1]->right && members[2]->right);
}

// Also of a group in which another port of the same device stays.
TEST_F(Groups, WhoLeavesLetsTheOthersOfItsDeviceBe) {
  auto stays = join(1, group(1)), leaves = join(1, group(1)), sender = join(0, group(1));
  stream(*sender, 0, 0, 10, {stays.get(), leaves.get()});
  leaves.reset();
  stream(*sender, 0, 10, 30, {stays.get()});
  EXPECT_EQ(stays->heard[0], numbers_to(30));
}

TEST_F(Groups, WhatAMemberCannotKeepIsLostForItAlone) {
  auto sender = join(0, group(1)), ample = join(1, group(1));
  auto small = join(2, group(1), {.send_packets = 16, .receive_packets = 16, .send_depth = 16});
  for (std::uint32_t i = 0; i < 40; ++i) {
    ASSERT_TRUE(eventually([&] { return (void)sender->poll(), sender->send(0, i); }));
  }
  EXPECT_TRUE(eventually([&] {
    (void)sender->poll(), (void)ample->poll();
    return ample->from(0) == 40;
  }));
  for_a_while([&] { (void)small->poll(); });
  EXPECT_EQ(small->port->receive_depth(), 16u);
  EXPECT_EQ(small->heard[0], numbers_to(16));
  EXPECT_TRUE(works(*sender, *small));
  EXPECT_TRUE(small->right && ample->right);
}

TEST_F(Groups, SleepsUntilItHasJoinedAndUntilSomethingArrives) {
  auto port = open(1, group(1));
  ASSERT_NE(port, nullptr);
  while (port->joined() == Joined::kNotYet) {
    if (port->arm()) {
      ASSERT_TRUE(readable(port->descriptor(), 20000));
    }
  }
  ASSERT_EQ(port->joined(), Joined::kYes) << logged_;
  Member receiver(std::move(port));
  auto sender = join(0, group(1));
  ASSERT_TRUE(eventually([&] { return receiver.poll() == 0 && receiver.port->arm(); }));
  EXPECT_FALSE(readable(receiver.port->descriptor(), 20));
  ASSERT_TRUE(sender->send(0, 5));
  EXPECT_TRUE(readable(receiver.port->descriptor(), 20000));
  EXPECT_TRUE(eventually([&] { return receiver.poll() > 0; }));
  EXPECT_EQ(receiver.heard[0], std::vector<std::uint32_t>{5});
  EXPECT_TRUE(receiver.right);
}

}  // namespace
}  // namespace espalier::verbs
