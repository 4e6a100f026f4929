// Levels of large messages: those that divide only what shares a memory controller are left out
// (Ma's thesis, section 4.5.2).
#include "coll/choice/choose.hpp"
#include "coll/team/team.hpp"
#include "tests/unit/machine_cases.hpp"
#include "tests/unit/plan_cases.hpp"

namespace espalier::machines {
namespace {

constexpr std::uint64_t kSmall = 16384, kLarge = 1 << 20;

// As teams have it.
Membership membership_of(const Job& job) {
  Membership made;
  std::vector<std::int32_t> node_of;
  for (std::int32_t m = 0; m < job.nodes.size(); ++m) node_of.push_back(job.nodes.node_of(m));
  if (job.nodes.count() > 1) made.nodes = TeamNodes::of(node_of);
  made.follow(job.nodes);
  return made;
}

Result<PlanRequest> chosen(const Membership& of, std::uint64_t bytes,
                           Collective collective = Collective::kBcast,
                           FollowLevels follow = FollowLevels::kAuto) {
  PlanRequest request = plan_check::call(collective, of.localities.size(), 1);
  request.elements = bytes / request.element_bytes;
  request.nodes.nodes = &of.localities;
  Tuning tuning;
  tuning.inner_levels = follow;
  return resolve(ESP_COLL_OPTIONS_INIT, request, tuning);
}

std::string text(const Membership& of, std::uint64_t bytes) {
  auto request = chosen(of, bytes);
  if (!request) return request.error().text;
  auto plan = make_plan(*request);
  return plan ? plan->algorithm.substr(0, plan->algorithm.find(" event")) : plan.error().text;
}

TEST(PlanMemoryLevels, OneMemoryForAll) {
  const Membership zoot = membership_of(in_order(kZoot));
  EXPECT_EQ(zoot.localities.in_one_memory, 2U);
  EXPECT_EQ(text(zoot, kSmall), "tree(flat over 4 sockets, flat over 8 caches, flat inside)");
  EXPECT_EQ(text(zoot, kSmall + 8).find("publish"), 0U) << "one level";
  EXPECT_EQ(text(zoot, kLarge).find("publish"), 0U) << text(zoot, kLarge);
  EXPECT_EQ(chosen(zoot, kLarge)->nodes.nodes, nullptr);
  EXPECT_EQ(chosen(zoot, kLarge, Collective::kReduce)->nodes.nodes, nullptr);
  EXPECT_EQ(chosen(zoot, kLarge, Collective::kBcast, FollowLevels::kOn)->nodes.nodes,
            &zoot.localities)
      << "all levels were asked for";
  const Membership two = membership_of(in_order(kZoot, 2));
  EXPECT_EQ(chosen(two, kSmall)->nodes.nodes, &two.localities);
  EXPECT_EQ(chosen(two, kLarge)->nodes.nodes, &two.nodes);
}

TEST(PlanMemoryLevels, AMemoryForEachSocket) {
  const Membership ig = membership_of(in_order(kIg));
  EXPECT_EQ(ig.localities.in_one_memory, 0U);
  EXPECT_EQ(text(ig, kLarge), "tree(flat over 2 boards, flat over 8 sockets, flat inside)");
  EXPECT_EQ(text(ig, kLarge), text(ig, kSmall));
}

// Only the caches inside each NUMA node go; the order stays.
TEST(PlanMemoryLevels, SeveralCachesInEachMemory) {
  const Job job = placed(kManyCores, 1, [](std::int32_t r) { return r % 8 * 16 + r / 8; });
  const Membership many = membership_of(job);
  EXPECT_EQ(many.localities.in_one_memory, 1U);
  EXPECT_EQ(text(many, kSmall),
            "tree(flat over 2 sockets, flat over 8 NUMA nodes, flat over 32 caches, flat inside)");
  EXPECT_EQ(text(many, kLarge), "tree(flat over 2 sockets, flat over 8 NUMA nodes, flat inside)");
  EXPECT_EQ(chosen(many, kLarge)->nodes.nodes, &many.memories);
  const TeamNodes& left = many.memories;
  EXPECT_EQ(left.widest, (std::vector<std::int32_t>{1, 2, 4, 16}));
  EXPECT_EQ(left.largest_group, 16);
  for (std::int32_t p = 0; p < 128; ++p) ASSERT_EQ(left.member_at(p), job.nodes.member_at(p));
}

// What is bound to no NUMA node shares no memory with anybody, as far as is known.
TEST(PlanMemoryLevels, UnknownMemoryIsNotShared) {
  std::vector<Location> places = in_order(kZoot).places;
  for (Location& place : places) place.place.numa = kUnknownLocality;
  EXPECT_EQ(job_of(places).nodes.in_one_memory, 0U);
  // A node without levels has no say.
  std::vector<Location> two = in_order(kZoot, 2).places;
  for (std::size_t m = 16; m < 32; ++m) two[m].place = Locality{};
  EXPECT_EQ(job_of(two).nodes.in_one_memory, 2U);
}

TEST(PlanMemoryLevels, PlansAreCorrect) {
  const Membership many = membership_of(in_order(kZoot, 2));
  std::uint64_t seed = 1;
  for (const std::uint64_t bytes : {std::uint64_t{512}, kSmall + 8}) {
    for (const Collective collective : {Collective::kBcast, Collective::kReduce}) {
      auto request = chosen(many, bytes, collective);
      ASSERT_TRUE(request.ok());
      const std::vector<Plan> plans = plan_check::make_plans(*request);
      for (const auto& schedule : plan_check::schedules(++seed, request->size)) {
        ASSERT_TRUE(plan_check::expect_correct(plans, *request, schedule));
      }
    }
  }
}

}  // namespace
}  // namespace espalier::machines
