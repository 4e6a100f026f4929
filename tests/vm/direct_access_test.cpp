// Puts and gets by a real adapter: the target does not look, and a region that is freed meanwhile.
#include <poll.h>

#include <algorithm>
#include <deque>

#include "core/clock.hpp"
#include "net/rdma/rdma_link.hpp"
#include "tests/vm/verbs_world.hpp"
#include "tests/wire/access_parties.hpp"

namespace espalier::test {
namespace {

using net::RemoteKind;

constexpr std::uint64_t kReadBytes = 2 << 20;
constexpr std::uint64_t kPatienceNs = 20'000'000'000;

std::unique_ptr<World> over_connections(int ranks) {
  return std::make_unique<VerbsWorld>(ranks, Over::kConnections, "");
}

// Rank 0 reaches into the memory of rank 1; there is a connection.
struct Two : Parties {
  Two() : Parties({"", over_connections}, 2, kReadBytes) {
    Probe first;
    first.kind = RemoteKind::kFetchAdd;
    first.target = 1;
    first.bytes = 8;
    auto& link = static_cast<rdma::RdmaLink&>(world().link(0));
    for (int i = 0; i < 1000 && !(link.connected(1) && !link.holds()); ++i) {
      first.fired = 0;
      access(0).start(first);
      EXPECT_TRUE(until([&] { return first.fired == 1; }));
      for (int turn = 0; turn < 20; ++turn) (void)step();
    }
    EXPECT_TRUE(link.connected(1) && !link.holds());
  }
  const rdma::ConnectionStatistics& statistics(Rank r) {
    return static_cast<VerbsWorld&>(*made).connections(r).statistics();
  }
  void start(Probe& op, RemoteKind kind, std::byte* local, std::uint64_t bytes,
             std::uint64_t offset) {
    op.kind = kind;
    op.target = 1;
    op.region = at(1).region;
    op.direct = at(1).direct;
    op.memory = local;
    op.bytes = bytes;
    op.offset = offset;
    access(0).start(op);
  }
  // The target computes: only the origin looks.
  bool ends_alone(const Probe& op) {
    SteadyClock clock;
    const std::uint64_t begin_ns = clock.now_ns();
    while (op.fired == 0 && clock.now_ns() - begin_ns < kPatienceNs) {
      if (world().wire(0).progress() + access(0).progress() == 0) (void)::poll(nullptr, 0, 1);
    }
    return op.fired == 1;
  }
};

TEST(DirectAccess, TheTargetNeedNotLook) {
  Two two;
  ASSERT_NE(two.at(1).direct.address, 0U);
  std::vector<std::byte> bytes(kReadBytes);
  std::uint64_t done = 0;
  for (const std::uint64_t size : {1UL, 100UL, 5000UL, 100'000UL, kReadBytes - 5}) {
    for (const bool is_registered : {false, true}) {
      SCOPED_TRACE(size);
      auto& memory = static_cast<VerbsWorld&>(*two.made).connections(0).memory();
      ASSERT_TRUE(!is_registered || memory.add(bytes.data(), kReadBytes).ok());
      fill(bytes.data(), size, size + done);
      Probe put, get;
      two.start(put, RemoteKind::kPut, bytes.data(), size, 5);
      ASSERT_TRUE(two.ends_alone(put));
      EXPECT_TRUE(put.status.ok());
      EXPECT_TRUE(holds(two.at(1).memory.data() + 5, size, size + done));
      std::fill(bytes.begin(), bytes.end(), std::byte{0});
      two.start(get, RemoteKind::kGet, bytes.data(), size, 5);
      ASSERT_TRUE(two.ends_alone(get));
      EXPECT_TRUE(get.status.ok());
      EXPECT_TRUE(holds(bytes.data(), size, size + done));
      if (is_registered) memory.remove(bytes.data());
      ++done;
    }
  }
  EXPECT_EQ(two.statistics(0).puts, done);
  EXPECT_EQ(two.statistics(0).gets, done);
}

// The adapter refuses what was let go: the connection is made anew, and the answer says why.
TEST(DirectAccess, FreedRegionsAreAnsweredAsSuch) {
  Two two;
  std::vector<std::byte> bytes(kReadBytes);
  two.access(1).retract(two.at(1).region);
  fill(two.at(1).memory.data(), kReadBytes, 6);
  std::deque<Probe> ops(6);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    two.start(ops[i], i % 2 == 0 ? RemoteKind::kPut : RemoteKind::kGet, bytes.data(),
              i < 2 ? 8 : 100'000, 0);
  }
  ASSERT_TRUE(two.until([&] {
    return std::all_of(ops.begin(), ops.end(), [](const Probe& op) { return op.fired > 0; });
  }));
  for (const Probe& op : ops) {
    EXPECT_EQ(op.fired, 1);
    EXPECT_EQ(op.status, Status(ESP_ERR_STATE, 1));
  }
  EXPECT_TRUE(holds(two.at(1).memory.data(), kReadBytes, 6));
  EXPECT_GT(two.statistics(0).turned_away, 0U);
  EXPECT_TRUE(two.access(0).state(1).ok());
  EXPECT_TRUE(two.access(1).state(0).ok());
}

}  // namespace
}  // namespace espalier::test
