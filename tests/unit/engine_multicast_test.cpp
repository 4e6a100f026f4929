// The engine joins the network's group of a team: once, at members of the group alone, before the
// first post that goes through it, and with the same members everywhere.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "coll/engine/engine.hpp"

namespace espalier {
namespace {

// Takes every post, completes none; notes who joins what, and what was posted before.
class GroupWire final : public Wire {
 public:
  WireCaps caps(Rank) const noexcept override { return {}; }
  Posted send(const Send&, SendOp&) noexcept override { return Posted::kPending; }
  Posted publish(const Send& send, const Group& group, SendOp&) noexcept override {
    if (send.transfer.path != Path::kMulticast) return Posted::kPending;
    ++multicasts;
    readers = group.readers().size();
    EXPECT_EQ(joins, 1) << "published before it had joined";
    return Posted::kPending;
  }
  Posted recv(const SegmentId&, std::uint32_t, RecvOp& op) noexcept override {
    if (op.transfer.path == Path::kMulticast) ++multicasts;
    return Posted::kPending;
  }
  void release(RecvOp&) noexcept override {}
  void cancel(RecvOp&) noexcept override {}
  void cancel(SendOp&) noexcept override {}
  int progress() noexcept override { return 0; }
  void join_group(std::uint32_t of, std::shared_ptr<const std::vector<Rank>> who) override {
    ++joins;
    team = of;
    members = std::move(who);
  }

  int joins = 0, multicasts = 0;
  std::size_t readers = 0;
  std::uint32_t team = 0;
  std::shared_ptr<const std::vector<Rank>> members;
};

struct GroupRoutes final : WireRoutes {
  explicit GroupRoutes(Wire& to) : wire(to) {}
  Wire& wire_to(Rank) noexcept override { return wire; }
  Wire* wire_of_groups() noexcept override { return has_groups ? &wire : nullptr; }
  Wire& wire;
  bool has_groups = true;
};

Tuning with_groups(Multicast how) {
  Tuning tuning;
  tuning.multicast = how;
  tuning.multicast_packet_bytes = 4056;
  return tuning;
}

// Members dealt out to four nodes; job ranks go down.
std::shared_ptr<const Membership> eight_on_four_nodes() {
  auto membership = std::make_shared<Membership>();
  membership->ranks = {17, 16, 15, 14, 13, 12, 11, 10};
  membership->nodes = TeamNodes::of(std::vector<std::int32_t>{0, 1, 2, 3, 0, 1, 2, 3});
  return membership;
}

struct GroupMember {
  GroupMember(int rank, std::shared_ptr<const Membership> of, const Tuning& tuning)
      : engine(counters, trace, tuning) {
    team.id = 5;
    team.wire = &near;
    team.network = &routes;
    team.segment_limit = 1 << 20;
    team.set_membership(rank, std::move(of));
  }
  ~GroupMember() { engine.fail(team, Status(ESP_ERR_CANCELED), "over"); }
  GroupMember(const GroupMember&) = delete;
  GroupMember& operator=(const GroupMember&) = delete;

  void start(Collective collective, std::size_t bytes, bool among_heads = false) {
    Call call;
    call.collective = collective;
    call.count = bytes;
    call.root = collective == Collective::kBcast ? 5 : 0;
    call.input = data.data();
    call.output = collective == Collective::kBcast ? data.data() : data.data() + 400;
    auto started = among_heads ? engine.start_among_heads(team, call, Entered(team), {})
                               : engine.start(team, call, {});
    ASSERT_TRUE(started.ok()) << started.error().text;
    while (engine.progress() > 0) {
    }
  }

  Counters counters;
  Trace trace;
  Engine engine;
  GroupWire near, far;
  GroupRoutes routes{far};
  std::vector<std::byte> data = std::vector<std::byte>(4000);
  Team team;
};

TEST(EngineMulticast, MembersOfTheGroupJoinOnce) {
  const auto membership = eight_on_four_nodes();
  const std::vector<Rank> expected = {14, 15, 16, 17};
  std::shared_ptr<const std::vector<Rank>> seen;
  for (int rank = 0; rank < 8; ++rank) {
    GroupMember member(rank, membership, with_groups(Multicast::kOn));
    member.start(Collective::kBcast, 300);
    member.start(Collective::kBcast, 200);
    member.start(Collective::kAllgather, 100);
    const bool joins = rank < 4;
    EXPECT_EQ(member.far.joins, joins ? 1 : 0) << rank;
    EXPECT_EQ(member.near.joins, 0);
    EXPECT_EQ(member.far.multicasts > 0, joins) << rank;
    if (!joins) continue;
    EXPECT_EQ(member.far.team, 5U);
    EXPECT_EQ(*member.far.members, expected);
    EXPECT_TRUE(seen == nullptr || seen == member.far.members) << "one list for all teams";
    seen = member.far.members;
  }
}

// Of one node with two leaders one talks to the other by the network, too.
TEST(EngineMulticast, LeadersOfOneNode) {
  auto membership = eight_on_four_nodes();
  auto with = std::make_shared<Membership>(*membership);
  with->lead(std::vector<std::int32_t>{0, 1, 2, 3, 4, 1, 2, 3});
  membership = with;
  EXPECT_EQ(*membership->group(), (std::vector<Rank>{13, 14, 15, 16, 17}));
  for (int rank = 0; rank < 8; ++rank) {
    GroupMember member(rank, membership, with_groups(Multicast::kOn));
    member.start(Collective::kBcast, 300);
    member.start(Collective::kAllgather, 100);
    const bool joins = rank < 5;
    EXPECT_EQ(member.far.joins, joins ? 1 : 0) << rank;
    EXPECT_EQ(member.far.multicasts > 0, joins) << rank;
    EXPECT_EQ(member.near.multicasts, 0) << rank;
    if (rank == 0) {
      EXPECT_EQ(member.far.readers, 4U) << "of the blocks of its part, which is it alone";
    }
  }
}

// Whatever plans follow inside nodes, the group is the same.
TEST(EngineMulticast, LeadersWithLevels) {
  const std::vector<std::int32_t> node_of = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2};
  const std::vector<std::int32_t> parts = {0, 0, 0, 1, 2, 2, 3, 3, 4, 4, 4, 4};
  std::vector<MemberLocality> caches(12, kBoundNowhere);
  for (std::size_t m = 0; m < 12; ++m) caches[m][3] = static_cast<std::int32_t>(m * 2 % 3);
  Membership team;
  for (Rank r = 0; r < 12; ++r) team.ranks.push_back(r);
  team.nodes = TeamNodes::of(node_of);
  team.follow(TeamNodes::of(node_of, caches));
  ASSERT_FALSE(team.localities.empty());
  EXPECT_EQ(team.localities.leaders, nullptr);
  team.lead({});
  EXPECT_EQ(&team.nodes.of_group(), &team.nodes);
  team.lead(parts, caches);
  ASSERT_NE(team.localities.leaders, nullptr);
  EXPECT_FALSE(team.localities.leaders->inner.empty());
  ASSERT_EQ(team.nodes.of_group().count(), 5);
  ASSERT_EQ(team.localities.of_group().count(), 5);
  for (std::int32_t part = 0; part < 5; ++part) {
    EXPECT_EQ(team.localities.of_group().group_member(part),
              team.nodes.of_group().group_member(part));
  }
  EXPECT_EQ(team.group()->size(), 5U);
}

TEST(EngineMulticast, NobodyJoinsWithoutAPlanThatAsks) {
  const auto membership = eight_on_four_nodes();
  GroupMember off(0, membership, with_groups(Multicast::kOff));
  off.start(Collective::kBcast, 300);
  EXPECT_EQ(off.far.joins, 0);
  GroupMember on(0, membership, with_groups(Multicast::kOn));
  on.start(Collective::kReduce, 300);
  EXPECT_EQ(on.far.joins, 0);
}

// No group of the network: the wires do what they can with the path.
TEST(EngineMulticast, AWireWithoutGroupsIsNotAsked) {
  GroupMember member(2, eight_on_four_nodes(), with_groups(Multicast::kOn));
  member.routes.has_groups = false;
  member.start(Collective::kBcast, 300);
  EXPECT_EQ(member.far.joins, 0);
  EXPECT_GT(member.far.multicasts, 0);
}

// A root stands for its node among heads, and may be no member of the group.
TEST(EngineMulticast, NotAmongHeadsOfShortOperations) {
  const auto heads = std::make_shared<Membership>(*eight_on_four_nodes());
  heads->heads = TeamNodes::of(std::vector<std::int32_t>{0, 1, 2, 3});
  GroupMember member(5, heads, with_groups(Multicast::kOn));
  member.start(Collective::kBcast, 8, true);
  EXPECT_EQ(member.far.joins, 0);
  EXPECT_EQ(member.far.multicasts, 0);
}

}  // namespace
}  // namespace espalier
