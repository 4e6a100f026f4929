// Connections for which there are no descriptors.
#include <sys/resource.h>

#include "tests/tcp/connections.hpp"

namespace espalier::test {
namespace {

class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t limit) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit now = {limit, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &now);
  }
  ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_ = {};
};

TEST(TcpLimits, NoDescriptorForAConnection) {
  TcpWorld world(2, loopback());
  Message m(0, 1, FlowId(4, 0, 0), 100, 1), n(1, 0, FlowId(4, 0, 1), 100, 1);
  (void)n.receive(world.wire(0));
  const DescriptorLimit none(0);
  ASSERT_NE(m.send(world.wire(0)), Posted::kRetry);
  SteadyClock clock;
  const std::uint64_t begin = clock.now_ns();
  while (!n.received.complete() && clock.now_ns() - begin < 30 * kNanosecondsPerSecond) {
    (void)world.wire(0).progress();
  }
  EXPECT_EQ(n.received.status.code(), ESP_ERR_NO_MEMORY);
  EXPECT_NE(world.tcp(0).describe(1).find("ulimit -n"), std::string::npos)
      << world.tcp(0).describe(1);
}

TEST(TcpLimits, NoDescriptorToAcceptWithIsWaitedFor) {
  TcpWorld world(2, loopback());
  Message m(0, 1, FlowId(4, 0, 0), 100, 1);
  (void)m.receive(world.wire(1));
  ASSERT_NE(m.send(world.wire(0)), Posted::kRetry);
  {
    const DescriptorLimit none(0);
    for (int i = 0; i < 50; ++i) (void)step(world);
    EXPECT_FALSE(m.received.complete());
  }
  ASSERT_TRUE(step_until(world, [&] { return m.received.complete(); }));
  m.check();
}

}  // namespace
}  // namespace espalier::test
