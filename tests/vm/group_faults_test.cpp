// VerbsGroupPort (net/verbs/group_port.hpp) where something goes wrong: what is said, and what goes
// on.
#include <cerrno>
#include <set>

#include "tests/vm/group_nodes.hpp"
#include "tests/vm/queue_pairs.hpp"

namespace espalier::verbs {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr DatagramOptions kFewPackets = {
    .send_packets = 4, .receive_packets = 16, .send_depth = 16};

TEST_F(Groups, LossLosesPacketsAndNothingElse) {
  if (!in_guest()) GTEST_SKIP() << "needs a network that may be made bad";
  constexpr std::uint32_t kPackets = 600;
  auto members = join_all(4, group(1));
  Netem netem(0, "loss 5%");
  ASSERT_TRUE(netem.works());
  for (std::uint32_t i = 0; i < kPackets; ++i) {
    ASSERT_TRUE(eventually([&] {
      for (auto& member : members) (void)member->poll();
      return members[0]->send(0, i);
    }));
  }
  for_a_while([&] {
    for (auto& member : members) (void)member->poll();
  });
  const std::uint64_t dropped = netem.dropped();
  EXPECT_GE(dropped, 5u);
  for (std::size_t node = 1; node < 4; ++node) {
    EXPECT_TRUE(members[node]->right) << node;
    const auto& heard = members[node]->heard[0];
    EXPECT_TRUE(std::is_sorted(heard.begin(), heard.end()));
    const std::size_t once = std::set<std::uint32_t>(heard.begin(), heard.end()).size();
    EXPECT_EQ(once, heard.size());
    EXPECT_LT(once, kPackets) << "nothing was lost";
    EXPECT_GE(once + dropped, kPackets) << "more than the network lost";
    // Lost before the packets part: the same for all.
    EXPECT_EQ(heard, members[1]->heard[0]);
  }
}

TEST_F(Groups, ALinkThatGoesDownComesBack) {
  if (!in_guest()) GTEST_SKIP() << "needs a network that may be broken";
  auto members = join_all(3, group(1));
  ASSERT_TRUE(works(*members[0], *members[1]));
  ASSERT_TRUE(system_works("ip link set n0 down"));
  const std::size_t before = members[1]->from(0);
  for (std::uint32_t i = 0; i < 20; ++i) {
    (void)members[0]->send(0, i);
    for_a_while([&] { EXPECT_GE(members[0]->poll(), 0); });
  }
  (void)members[1]->poll();
  EXPECT_EQ(members[1]->from(0), before);
  const auto refused = adapters_[0]->open_group(group(2), kFewPackets);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().text,
            adapters_[0]->info().name() + ": group 239.77.0.2: the link is down");

  ASSERT_TRUE(system_works("ip link set n0 up && ip -batch /run/routes-n0"));
  EXPECT_TRUE(eventually([&] {
    (void)members[0]->port->arm();
    return adapters_[0]->link_up();
  }));
  EXPECT_EQ(members[0]->port->joined(), Joined::kYes);
  EXPECT_TRUE(works(*members[0], *members[1]));
  EXPECT_TRUE(works(*members[0], *members[2]));
  EXPECT_TRUE(works(*members[1], *members[0])) << "it is a member no more";
}

TEST_F(Groups, AddressesThatAreNoGroupsAreRefused) {
  const auto text = [&](const multicast::GroupAddress& address) {
    const auto made = adapters_[0]->open_group(address, kFewPackets);
    return made.ok() ? "taken" : made.error().text;
  };
  const std::string name = adapters_[0]->info().name();
  EXPECT_EQ(text(multicast::group_address({10, 77, 0, 1}, kKey)),
            name + ": 10.77.0.1 is no multicast group: it is not in 224.0.0.0/4");
  EXPECT_THAT(text(multicast::group_address({224, 0, 0, 1}, kKey)), HasSubstr("own protocols"));
  EXPECT_THAT(text(multicast::group_address({239, 77, 0, 1}, 0x80000001)),
              HasSubstr("key 0x80000001"));
  EXPECT_THAT(text({}), HasSubstr(":: is no multicast group"));
}

TEST_F(Groups, NothingIsSentBeforeItHasJoined) {
  auto port = open(0, group(1), kFewPackets);
  ASSERT_NE(port, nullptr);
  Packet* packet = port->take();
  ASSERT_NE(packet, nullptr);
  EXPECT_FALSE(port->send(*packet, false));
  EXPECT_EQ(packet->in_flight, 0u);
  port->give(*packet);
  EXPECT_TRUE(port->fault().ok());
  EXPECT_TRUE(eventually([&] { return port->joined() == Joined::kYes; }));
}

// Those that left before the answer came included.
TEST_F(Groups, JoiningAndLeavingLeavesNothingBehind) {
  for (int i = 0; i < 20; ++i) ASSERT_NE(open(0, group(1), kFewPackets), nullptr);
  for (int i = 0; i < 20; ++i) ASSERT_NE(join(0, group(1), kFewPackets), nullptr);
  auto members = join_all(2, group(1));
  EXPECT_TRUE(works(*members[0], *members[1]));
  EXPECT_TRUE(works(*members[1], *members[0]));
}

TEST_F(Groups, AGroupThatIsFullIsNamed) {
  const std::uint32_t limit = adapters_[0]->info().group_limits.of_one;
  if (limit > 128) GTEST_SKIP() << "the device takes " << limit << " queue pairs in one group";
  ASSERT_GT(limit, 0u);
  std::vector<std::unique_ptr<Member>> members;
  while (members.size() < limit) {
    members.push_back(join(0, group(1), kFewPackets));
    ASSERT_FALSE(HasFailure()) << members.size();
  }
  auto one_more = open(0, group(1), kFewPackets);
  ASSERT_NE(one_more, nullptr);
  EXPECT_TRUE(eventually([&] { return one_more->joined() == Joined::kFailed; }));
  EXPECT_EQ(one_more->fault().code(), ESP_ERR_NO_MEMORY);
  EXPECT_THAT(logged_, AllOf(HasSubstr(adapters_[0]->info().name() + ": group 239.77.0.1: "),
                             HasSubstr("ibv_attach_mcast"),
                             HasSubstr(std::to_string(limit) + " queue pairs in one")));
  members.pop_back();
  EXPECT_NE(join(0, group(1), kFewPackets), nullptr) << "its place is free";
}

TEST_F(Groups, WithoutTheConnectionManagerItSaysSo) {
  for (const auto& [reason, hint] : {std::pair(EACCES, "may this process open"),
                                     std::pair(ENOENT, "is the module rdma_ucm loaded?")}) {
    test::QueuePairWatch watch;
    watch.channel_errno = reason;
    const auto made = adapters_[0]->open_group(group(1), kFewPackets);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().status.error_number(), reason);
    EXPECT_THAT(made.error().text,
                AllOf(HasSubstr(adapters_[0]->info().name() + ": group 239.77.0.1: "),
                      HasSubstr(std::strerror(reason)), HasSubstr(hint)));
  }
}

TEST_F(Groups, WithoutARouteItSaysSo) {
  test::QueuePairWatch watch;
  watch.path_errno = EINVAL;
  auto port = open(0, group(1), kFewPackets);
  ASSERT_NE(port, nullptr);
  EXPECT_TRUE(eventually([&] { return port->joined() == Joined::kFailed; }));
  EXPECT_EQ(port->fault().error_number(), EINVAL);
  EXPECT_THAT(logged_, HasSubstr("group 239.77.0.1: ibv_create_ah: Invalid argument"));
  Packet* packet = port->take();
  ASSERT_NE(packet, nullptr);
  EXPECT_FALSE(port->send(*packet, false));
  port->give(*packet);
}

TEST_F(Groups, ADeviceThatIsGoneEndsIt) {
  test::QueuePairWatch watch;
  auto member = join(0, group(1), kFewPackets);
  ASSERT_NE(member, nullptr);
  EXPECT_GE(member->poll(), 0);
  watch.device_gone = true;
  EXPECT_FALSE(member->port->arm());
  EXPECT_LT(member->poll(), 0);
  EXPECT_EQ(member->port->joined(), Joined::kFailed);
  EXPECT_EQ(member->port->fault().error_number(), ENODEV);
}

}  // namespace
}  // namespace espalier::verbs
