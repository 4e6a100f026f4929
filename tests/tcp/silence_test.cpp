// Machines that do not answer, and ranks that only compute.
#include <linux/filter.h>
#include <sys/socket.h>

#include <ctime>

#include "tests/tcp/connections.hpp"

namespace espalier::test {
namespace {

// Nothing that comes is taken: the machine behind this socket is as if it were gone.
void deafen(int fd) {
  sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
  const sock_fprog program = {1, &drop};
  ASSERT_EQ(::setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program), 0);
}

// The lower rank, which decides, is away between its hello and the challenge for longer than the
// other's patience with strangers.
TEST(TcpSilence, ARankThatComputesAfterItsHelloIsNotLost) {
  net::TcpOptions options = loopback();
  options.stranger_ns = 50'000'000;
  TcpWorld world(2, options);
  Message m(0, 1, FlowId(4, 0, 0), 100, 1);
  (void)m.receive(world.wire(1));
  ASSERT_NE(m.send(world.wire(0)), Posted::kRetry);
  for (int i = 0; i < 20; ++i) (void)world.wire(0).progress();
  SteadyClock clock;
  const std::uint64_t begin = clock.now_ns();
  while (clock.now_ns() - begin < 200'000'000) {
    (void)world.wire(1).progress();
    world.rest();
  }
  finish(world, m);
}

void partition(TcpWorld& world) {
  deafen(world.tcp(0).socket_of(1));
  deafen(world.tcp(1).socket_of(0));
}

// Three worlds at once, because each needs seconds: nothing under way, something under way, and a
// rank that only computes.
TEST(TcpSilence, AMachineThatDoesNotAnswerIsLostAndARankThatComputesIsNot) {
  net::TcpOptions options = loopback();
  options.silence_ns = 2 * kNanosecondsPerSecond;
  TcpWorld idle(2, options), busy(2, options), computes(2, options);
  for (TcpWorld* world : {&idle, &busy, &computes}) connect_pair(*world);
  for (TcpWorld* world : {&idle, &busy}) partition(*world);
  Ends of_idle(idle);
  ASSERT_TRUE(of_idle.untaken.sent.fired == 0);
  Ends of_busy(busy);
  Message much(0, 1, FlowId(5, 0, 0), 32 << 20, 1);
  ASSERT_EQ(much.send(computes.wire(0)), Posted::kPending);
  const auto look = [&] {
    (void)idle.wire(0).progress();
    (void)busy.wire(0).progress();
    (void)computes.wire(0).progress();
    const timespec some = {0, 20'000'000};
    (void)::nanosleep(&some, nullptr);
    return of_idle.over() && of_busy.over();
  };
  SteadyClock clock;
  const std::uint64_t begin = clock.now_ns();
  while (!look() && clock.now_ns() - begin < 60 * kNanosecondsPerSecond) {
  }
  of_idle.expect_all_ended(ESP_ERR_PEER_DIED);
  of_busy.expect_all_ended(ESP_ERR_PEER_DIED);
  // Its socket has been full for longer than the others took to be noticed.
  while (clock.now_ns() - begin < 4 * kNanosecondsPerSecond) (void)look();
  EXPECT_TRUE(computes.frames(0).state(1).ok()) << computes.tcp(0).describe(1);
  EXPECT_EQ(much.sent.fired, 0);
  (void)much.receive(computes.wire(1));
  ASSERT_TRUE(step_until(computes, [&] { return much.received.complete(); }));
  much.check();
}

}  // namespace
}  // namespace espalier::test
