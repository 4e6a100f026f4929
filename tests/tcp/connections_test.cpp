// How connections begin and end: at once from both sides, through relays that tear at them, by
// goodbye, by death, by silence.
#include <linux/filter.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <ctime>

#include "tests/wire/relay_world.hpp"
#include "tests/wire/traffic.hpp"

namespace espalier::test {
namespace {

net::TcpOptions loopback() {
  return tcp_options("127.0.0.1");
}

// One small message from every rank to every other.
Messages everyone_to_everyone(World& world, std::uint64_t flow, std::uint64_t bytes) {
  Messages all;
  for (Rank from = 0; from < world.size(); ++from) {
    for (Rank to = 0; to < world.size(); ++to) {
      if (from == to) continue;
      all.push_back(
          std::make_unique<Message>(from, to, FlowId(1, 0, flow), bytes, flow * 1000 + all.size()));
    }
  }
  return all;
}

bool all_complete(const Messages& all) {
  return std::all_of(all.begin(), all.end(),
                     [](const auto& m) { return m->received.complete() && m->sent.complete(); });
}

void expect_one_connection_each(TcpWorld& world) {
  for (Rank a = 0; a < world.size(); ++a) {
    for (Rank b = a + 1; b < world.size(); ++b) {
      sockaddr_storage mine = {}, theirs = {};
      socklen_t bytes = sizeof mine;
      ASSERT_EQ(
          ::getsockname(world.tcp(a).socket_of(b), reinterpret_cast<sockaddr*>(&mine), &bytes), 0);
      bytes = sizeof theirs;
      ASSERT_EQ(
          ::getpeername(world.tcp(b).socket_of(a), reinterpret_cast<sockaddr*>(&theirs), &bytes),
          0);
      net::TcpAddress near, far;
      ASSERT_TRUE(net::from_socket_address(reinterpret_cast<sockaddr*>(&mine), near));
      ASSERT_TRUE(net::from_socket_address(reinterpret_cast<sockaddr*>(&theirs), far));
      EXPECT_EQ(near, far) << "ranks " << a << " and " << b << " use different connections";
    }
  }
}

// All begin at once, and are looked at in an order that differs from seed to seed.
TEST(TcpConnect, OfTwoConnectionsMadeAtOnceOneSurvives) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE(seed);
    Prng prng(seed);
    TcpWorld world(5, loopback());
    Messages all = everyone_to_everyone(world, seed, seed % 3 == 0 ? 20'000 : 100);
    for (auto& m : all) {
      if (prng.chance(0.5)) (void)m->receive(world.wire(m->to));
    }
    for (auto& m : all) {
      ASSERT_NE(m->send(world.wire(m->from)), Posted::kRetry);
      if (prng.chance(0.1)) (void)world.wire(m->to).progress();
    }
    for (auto& m : all) {
      if (m->received.answer == Posted::kRetry) (void)m->receive(world.wire(m->to));
    }
    for (int i = 0; i < 20000 && !all_complete(all); ++i) {
      const auto r = static_cast<Rank>(prng.below(5));
      if (world.wire(r).progress() == 0 && prng.chance(0.05)) world.rest();
    }
    ASSERT_TRUE(step_until(world, [&] { return all_complete(all); }));
    for (auto& m : all) m->check();
    expect_one_connection_each(world);
  }
}

// The same where every byte of the handshakes comes alone and late.
TEST(TcpConnect, OfTwoConnectionsMadeAtOnceOneSurvivesThroughRelays) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    RelayPolicy policy;
    policy.chunk_bytes = 1 + seed * 3;
    policy.hold = 0.3;
    RelayWorld world(4, loopback(), policy);
    for (std::uint64_t round = 0; round < 3; ++round) {
      Messages all = everyone_to_everyone(world, round, 300);
      for (auto& m : all) {
        ASSERT_NE(m->send(world.wire(m->from)), Posted::kRetry);
        (void)m->receive(world.wire(m->to));
      }
      ASSERT_TRUE(step_until(world, [&] { return all_complete(all); }));
      for (auto& m : all) m->check();
    }
    // Two lines were made per pair; one is left of them.
    settle(world);
    for (Rank a = 0; a < 4; ++a) {
      for (Rank b = a + 1; b < 4; ++b) {
        const auto lines = [&] {
          return world.relay(a, b).connections() + world.relay(b, a).connections();
        };
        EXPECT_TRUE(step_until(world, [&] { return lines() == 1; })) << lines();
      }
    }
  }
}

TEST(TcpConnect, ARankThatWaitsReachesOutOnceItIsIdle) {
  TcpWorld world(2, loopback());
  Message m(0, 1, FlowId(1, 0, 0), 100, 1);
  (void)m.receive(world.wire(1));
  settle(world);
  EXPECT_EQ(world.tcp(1).describe(0), "not connected");
  world.wire(1).idle();
  ASSERT_TRUE(step_until(world, [&] { return world.tcp(0).socket_of(1) >= 0; }));
  world.close(0);
  for (int i = 0; i < 1000 && !m.received.complete(); ++i) {
    if (world.wire(1).progress() == 0) world.rest();
  }
  EXPECT_EQ(m.received.status.code(), ESP_ERR_PEER_DIED);
}

TEST(TcpConnect, NobodyListening) {
  TcpWorld world(3, loopback());
  world.close(1);
  Message m(1, 0, FlowId(1, 0, 0), 100, 1), n(0, 1, FlowId(1, 0, 1), 5000, 2);
  (void)m.receive(world.wire(0));
  ASSERT_EQ(n.send(world.wire(0), true), Posted::kPending);
  EXPECT_EQ(n.sent.fired, 0) << "a completion fired inside send";
  for (int i = 0; i < 1000 && !n.sent.complete(); ++i) (void)world.wire(0).progress();
  EXPECT_EQ(n.sent.status.code(), ESP_ERR_PEER_DIED);
  EXPECT_EQ(n.sent.status.rank(), 1);
  EXPECT_EQ(m.received.status.code(), ESP_ERR_PEER_DIED);
  EXPECT_NE(world.tcp(0).describe(1).find("Connection refused"), std::string::npos)
      << world.tcp(0).describe(1);
}

TEST(TcpConnect, TheSecondAddressIsTriedWhenTheFirstIsOfSomebodyElse) {
  TcpWorld world(3, loopback());
  net::TcpContact contact = world.tcp(1).contact();
  // The first leads to rank 2, which does not know the secret; the next to nobody.
  net::TcpAddress nobody;
  nobody = contact.addresses.front();
  {
    net::TcpAddress free = nobody;
    free.port = 0;
    auto listener = net::listen_on(free);
    ASSERT_TRUE(listener.ok());
    nobody = free;
  }
  contact.addresses = {world.tcp(2).contact().addresses.front(), nobody, contact.addresses.front()};
  world.tcp(0).set_contact(1, contact);
  Message m(0, 1, FlowId(1, 0, 0), 100, 1);
  (void)m.receive(world.wire(1));
  ASSERT_NE(m.send(world.wire(0)), Posted::kRetry);
  ASSERT_TRUE(step_until(world, [&] { return m.received.complete(); }));
  m.check();
}

// Behind the first is somebody who is busy; at the time of the second the rank itself is. Both are
// asked in turn, with growing patience, and nobody is lost.
TEST(TcpConnect, TheSecondAddressIsTriedWhenTheFirstIsSilent) {
  net::TcpOptions options = loopback();
  options.connect_ns = 20'000'000;
  TcpWorld world(2, options);
  net::TcpContact contact = world.tcp(1).contact();
  net::TcpAddress silent = contact.addresses.front();
  silent.port = 0;
  auto listener = net::listen_on(silent);
  ASSERT_TRUE(listener.ok());
  contact.addresses.insert(contact.addresses.begin(), silent);
  world.tcp(0).set_contact(1, contact);
  Message m(0, 1, FlowId(1, 0, 0), 100, 1);
  (void)m.receive(world.wire(1));
  ASSERT_NE(m.send(world.wire(0)), Posted::kRetry);
  SteadyClock clock;
  const std::uint64_t begin = clock.now_ns();
  while (clock.now_ns() - begin < 100'000'000) {  // Rank 1 computes.
    (void)world.wire(0).progress();
    world.rest();
  }
  EXPECT_TRUE(world.frames(0).state(1).ok());
  for (int i = 0; i < 100'000 && !m.received.complete(); ++i) {
    if (step(world) == 0) ::usleep(100);
  }
  m.check();
}

// An acceptor that gives up between the proof and its go: the initiator has sent nothing yet. But
// it has waited longer than for a stranger: the acceptor could have taken the connection.
TEST(TcpConnect, TheInitiatorWaitsForTheGo) {
  net::TcpOptions options = loopback();
  options.connect_ns = 10'000'000;
  TcpWorld world(2, options);
  net::TcpContact contact = world.tcp(1).contact();
  net::TcpAddress here = contact.addresses.front();
  here.port = 0;
  auto listener = net::listen_on(here);
  ASSERT_TRUE(listener.ok());
  const net::TcpContact real = contact;
  contact.addresses = {here, real.addresses.front()};
  world.tcp(0).set_contact(1, contact);
  Message m(0, 1, FlowId(1, 0, 0), 100, 1);
  (void)m.receive(world.wire(1));
  ASSERT_NE(m.send(world.wire(0)), Posted::kRetry);
  int first = -1;
  ASSERT_TRUE(step_until(world, [&] {
    if (first < 0) first = ::accept4(listener->fd(), nullptr, nullptr, SOCK_NONBLOCK);
    return first >= 0;
  }));
  auto shake = net::Handshake::acceptor(1, 2, contact.secret, {});
  const auto hear = [&] {
    std::vector<std::byte> message(shake.expects());
    ASSERT_TRUE(step_until(world, [&] {
      return ::recv(first, message.data(), message.size(), MSG_DONTWAIT) ==
             static_cast<ssize_t>(message.size());
    }));
    (void)shake.take(message);
  };
  hear();
  ASSERT_EQ(::send(first, shake.reply().data(), shake.reply().size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(shake.reply().size()));
  hear();  // the proof
  for (int i = 0; i < 50; ++i) {
    (void)world.wire(0).progress();
    ::usleep(1000);
  }
  std::byte frame;
  EXPECT_EQ(::recv(first, &frame, 1, MSG_DONTWAIT), -1) << "a frame before the go, or an end";
  EXPECT_EQ(world.tcp(0).socket_of(1), -1);
  ::close(first);
  listener->close();  // refuses from here on: the next address is the real one
  for (int i = 0; i < 100'000 && !m.received.complete(); ++i) {
    if (step(world) == 0) ::usleep(100);
  }
  m.check();
}

// ---- the end ----

struct Ends {
  // Posted at rank 0, from and to rank 1, in every state that there is.
  explicit Ends(World& world) : world_(world) {
    view.in_place = true;
    (void)posted.receive(world.wire(0));
    (void)view.receive(world.wire(0));
    for (auto& m : granted) (void)m->receive(world.wire(0), 16);
    EXPECT_EQ(untaken.send(world.wire(0), true), Posted::kPending);
  }
  void expect_all_ended(esp_status code) {
    for (Message* m : {&posted, &view}) {
      EXPECT_EQ(m->received.fired, 1);
      EXPECT_EQ(m->received.status.code(), code);
      EXPECT_EQ(m->received.status.rank(), 1);
    }
    for (auto& m : granted) EXPECT_EQ(m->received.fired, 1);
    EXPECT_EQ(untaken.sent.fired, 1);
    EXPECT_EQ(untaken.sent.status.code(), code);
    // What is posted from now on ends likewise, from progress().
    Message late(1, 0, FlowId(9, 0, 0), 10, 1), send(0, 1, FlowId(9, 0, 1), 10, 1);
    EXPECT_EQ(late.receive(world_.wire(0)), Posted::kPending);
    EXPECT_EQ(send.send(world_.wire(0)), Posted::kPending);
    Message cancelled(1, 0, FlowId(9, 0, 2), 10, 1), unsent(0, 1, FlowId(9, 0, 3), 10, 1);
    EXPECT_EQ(cancelled.receive(world_.wire(0)), Posted::kPending);
    EXPECT_EQ(unsent.send(world_.wire(0)), Posted::kPending);
    world_.wire(0).cancel(cancelled.received);
    world_.wire(0).cancel(unsent.sent);
    EXPECT_EQ(late.received.fired + send.sent.fired, 0);
    (void)world_.wire(0).progress();
    EXPECT_EQ(late.received.fired, 1);
    EXPECT_EQ(send.sent.fired, 1);
    EXPECT_EQ(cancelled.received.fired + unsent.sent.fired, 0);
    EXPECT_EQ(late.received.status.code(), code);
    EXPECT_EQ(send.sent.status.code(), code);
  }
  bool over() const { return posted.received.complete() && untaken.sent.complete(); }

  Message posted{1, 0, FlowId(8, 0, 0), 1000, 1}, view{1, 0, FlowId(8, 0, 1), 1000, 1},
      untaken{0, 1, FlowId(8, 0, 2), 1000, 1};
  Messages granted = make_flow(1, 0, FlowId(8, 0, 3), 40, 100);

 private:
  World& world_;
};

// Looks at rank 0 alone.
template <typename Done>
bool step_first(World& world, Done&& done) {
  for (int i = 0; i < 5000; ++i) {
    if (done()) return true;
    if (world.wire(0).progress() == 0) world.rest();
  }
  return done();
}

void connect_pair(World& world) {
  Message m(0, 1, FlowId(7, 0, 0), 100, 1);
  (void)m.receive(world.wire(1));
  ASSERT_NE(m.send(world.wire(0)), Posted::kRetry);
  ASSERT_TRUE(step_until(world, [&] { return m.received.complete(); }));
}

TEST(TcpEnd, DeathEndsEverythingOnce) {
  TcpWorld world(2, loopback());
  connect_pair(world);
  Ends ends(world);
  settle(world);
  world.close(1);
  ASSERT_TRUE(step_first(world, [&] { return ends.over(); }));
  ends.expect_all_ended(ESP_ERR_PEER_DIED);
}

// Half of a payload has come: into the user's memory, and into early memory that a receive claims.
TEST(TcpEnd, ACutInTheMiddleOfAPayload) {
  for (const bool reset : {false, true}) {
    for (const bool early : {false, true}) {
      RelayWorld world(2, loopback(), {});
      connect_pair(world);
      Ends ends(world);
      Message half(1, 0, FlowId(6, 0, 0), 24 << 20, 3);  // more than sockets hold
      if (!early) (void)half.receive(world.wire(0));
      ASSERT_EQ(half.send(world.wire(1)), Posted::kPending);
      Relay& relay = world.relay(0, 1);
      const std::uint64_t before = relay.passed_bytes();
      while (relay.passed_bytes() < before + (1 << 20)) (void)step(world);
      if (early) {
        ASSERT_EQ(half.receive(world.wire(0)), Posted::kPending);
      }
      ASSERT_EQ(half.received.fired, 0);
      relay.cut(reset);
      ASSERT_TRUE(step_first(world, [&] { return ends.over() && half.received.complete(); }));
      EXPECT_EQ(half.received.status.code(), ESP_ERR_PEER_DIED);
      EXPECT_EQ(half.received.fired, 1);
      ends.expect_all_ended(ESP_ERR_PEER_DIED);
      ASSERT_TRUE(step_until(world, [&] { return half.sent.complete(); }));
      EXPECT_EQ(half.sent.status.code(), ESP_ERR_PEER_DIED);
    }
  }
}

TEST(TcpEnd, SegmentsThatHadComeWholeAreStillThere) {
  TcpWorld world(2, loopback());
  connect_pair(world);
  auto flow = make_flow(1, 0, FlowId(6, 0, 1), 8, 30'000);
  for (auto& m : flow) ASSERT_NE(m->send(world.wire(1)), Posted::kRetry);
  settle(world);
  world.close(1);
  ASSERT_TRUE(step_first(world, [&] { return !world.frames(0).state(1).ok(); }));
  for (auto& m : flow) {
    EXPECT_EQ(m->receive(world.wire(0)), Posted::kDone);
    m->check();
  }
}

TEST(TcpEnd, AGoodbyeIsNotALoss) {
  TcpWorld world(3, loopback());
  connect_pair(world);
  Message last(1, 0, FlowId(6, 0, 2), 300'000, 4);
  (void)last.receive(world.wire(0));
  ASSERT_NE(last.send(world.wire(1)), Posted::kRetry);
  for (Rank r : {0, 1, 2}) {
    for (Rank other : {0, 1, 2}) {
      if (r != other) world.link(r).say_goodbye(other);
    }
  }
  ASSERT_TRUE(step_until(world, [&] { return last.received.complete(); }));
  last.check();
  Message none(0, 1, FlowId(6, 0, 9), 10, 1);
  EXPECT_NE(none.send(world.wire(0)), Posted::kRetry) << "what comes after it goes nowhere";
  ASSERT_TRUE(step_until(world, [&] {
    return world.link(0).drained() && world.link(1).drained() && world.link(2).drained();
  }));
  world.close(1);
  for (int i = 0; i < 50; ++i) {
    if (world.wire(0).progress() == 0) world.rest();
  }
  EXPECT_TRUE(world.frames(0).state(1).ok());
  EXPECT_TRUE(world.frames(2).state(1).ok());
  EXPECT_EQ(world.tcp(0).describe(1), "has left the job");
}

// One side says goodbye; what the other still has to say arrives.
TEST(TcpEnd, AGoodbyeOfOneSideLetsTheOtherFinish) {
  TcpWorld world(2, loopback());
  connect_pair(world);
  world.link(1).say_goodbye(0);
  settle(world);
  Message m(0, 1, FlowId(6, 0, 3), 300'000, 4);
  (void)m.receive(world.wire(1));
  ASSERT_NE(m.send(world.wire(0)), Posted::kRetry);
  ASSERT_TRUE(step_until(world, [&] { return m.received.complete() && m.sent.complete(); }));
  m.check();
  world.close(1);
  // Who leaves does not read any more. What is posted when that is known does not go in silence.
  Message unread(0, 1, FlowId(6, 0, 4), 300'000, 4), late(0, 1, FlowId(6, 0, 5), 300'000, 4);
  (void)unread.send(world.wire(0));
  ASSERT_TRUE(step_first(world, [&] { return world.tcp(0).describe(1) == "has left the job"; }));
  EXPECT_TRUE(world.frames(0).state(1).ok());
  (void)late.send(world.wire(0));
  ASSERT_TRUE(step_first(world, [&] { return !world.frames(0).state(1).ok(); }));
  EXPECT_EQ(world.frames(0).state(1).code(), ESP_ERR_PEER_DIED);
  EXPECT_EQ(world.tcp(0).describe(1), "lost: it has left the job");
}

// ---- silence ----

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
  ASSERT_TRUE(step_until(world, [&] { return m.received.complete() && m.sent.complete(); }));
  m.check();
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

// ---- limits ----

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
