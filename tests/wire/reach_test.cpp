// Puts and gets by adapters, simulated ones and real ones: the target does not look, and a region
// that is freed meanwhile.
#include <deque>

#include "access_parties.hpp"

namespace espalier::test {
namespace {

using net::RemoteKind;

constexpr std::uint64_t kReachBytes = 3 << 20;

class ReachTest : public ::testing::TestWithParam<WorldKind> {};
INSTANTIATE_TEST_SUITE_P(Links, ReachTest, ::testing::ValuesIn(connected_links()), name_of_world);

TEST_P(ReachTest, TheTargetNeedNotLook) {
  Reach two(GetParam(), kReachBytes);
  ASSERT_NE(two.at(1).direct.address, 0U);
  std::vector<std::byte> local(kReachBytes);
  const std::uint64_t frames = two.statistics(0).frames;
  std::uint64_t puts = 0;
  for (const std::uint64_t bytes :
       {1UL, 100UL, 129UL, 4096UL, 5000UL, 200'000UL, kReachBytes - 3}) {
    for (const bool is_registered : {false, true}) {
      SCOPED_TRACE(bytes);
      rdma::DirectMemory& memory = two.world().connections(0).memory();
      ASSERT_TRUE(!is_registered || memory.add(local.data(), kReachBytes).ok());
      fill(local.data(), bytes, bytes + puts);
      Probe put, get;
      two.start(put, RemoteKind::kPut, local.data(), bytes, 3);
      ASSERT_TRUE(two.alone_until([&] { return put.fired == 1; }));
      EXPECT_TRUE(put.status.ok());
      EXPECT_TRUE(holds(two.memory() + 3, bytes, bytes + puts));
      std::fill(local.begin(), local.end(), std::byte{0});
      two.start(get, RemoteKind::kGet, local.data(), bytes, 3);
      ASSERT_TRUE(two.alone_until([&] { return get.fired == 1; }));
      EXPECT_TRUE(get.status.ok());
      EXPECT_TRUE(holds(local.data(), bytes, bytes + puts));
      if (is_registered) memory.remove(local.data());
      ++puts;
    }
  }
  EXPECT_EQ(two.statistics(0).puts, puts);
  EXPECT_EQ(two.statistics(0).gets, puts);
  EXPECT_EQ(two.world().counters(0).adapter_accesses.value(), 2 * puts);
  EXPECT_EQ(two.statistics(1).puts_taken, 0U) << "it has not looked";
  EXPECT_TRUE(two.until([&] { return two.statistics(1).puts_taken == puts; }));
  EXPECT_EQ(two.statistics(0).frames, frames);
}

// What is under way ends with a status that names the target, nothing is written there any more,
// and the two go on: the adapter refuses what was let go, and the connection is made anew.
TEST_P(ReachTest, FreedRegionsAreAnsweredAsSuch) {
  std::uint64_t turned_away = 0;
  // Before it is asked for, and after so many turns.
  for (int steps = -1; steps < (GetParam().slow ? 3 : 40); steps += 2) {
    SCOPED_TRACE(steps);
    Reach two(GetParam(), kReachBytes);
    std::vector<std::byte> local(kReachBytes);
    const auto free_region = [&] {
      two.access(1).retract(two.at(1).region);
      fill(two.memory(), kReachBytes, 6);
    };
    if (steps < 0) free_region();
    std::deque<Probe> ops(6);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      two.start(ops[i], i % 2 == 0 ? RemoteKind::kPut : RemoteKind::kGet,
                local.data() + i * 400'000, i < 2 ? 8 : 400'000, i * 400'000);
    }
    for (int i = 0; i < steps; ++i) (void)two.step();
    if (steps >= 0) free_region();
    ASSERT_TRUE(two.until([&] { return ended(ops); }));
    EXPECT_TRUE(holds(two.memory(), kReachBytes, 6));
    for (const Probe& op : ops) {
      EXPECT_EQ(op.fired, 1);
      EXPECT_TRUE((steps >= 0 && op.status.ok()) || op.status == Status(ESP_ERR_STATE, 1));
    }
    EXPECT_TRUE(two.access(0).state(1).ok());
    EXPECT_TRUE(two.access(1).state(0).ok());
    turned_away += two.statistics(0).turned_away;
  }
  EXPECT_GT(turned_away, 0U);
}

}  // namespace
}  // namespace espalier::test
