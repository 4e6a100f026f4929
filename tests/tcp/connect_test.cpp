// How connections begin: at once from both sides, through relays that tear at them, where nobody
// listens.
#include <sys/socket.h>

#include <algorithm>

#include "tests/tcp/connections.hpp"

namespace espalier::test {
namespace {

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

// Somebody who listens beside a rank's first address and says nothing.
struct Silent {
  explicit Silent(const net::TcpContact& beside) : address(beside.addresses.front()) {
    address.port = 0;
    auto made = net::listen_on(address);
    EXPECT_TRUE(made.ok());
    if (made) listener = std::move(*made);
  }
  net::TcpAddress address;
  Descriptor listener;
};

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
      if (m->received.posted == Posted::kRetry) (void)m->receive(world.wire(m->to));
    }
    for (int i = 0; i < 20000 && !complete(all); ++i) {
      const auto r = static_cast<Rank>(prng.below(5));
      if (world.wire(r).progress() == 0 && prng.chance(0.05)) world.rest();
    }
    ASSERT_TRUE(step_until(world, [&] { return complete(all); }));
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
      ASSERT_TRUE(step_until(world, [&] { return complete(all); }));
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
  const Silent silent(contact);
  contact.addresses.insert(contact.addresses.begin(), silent.address);
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
  Silent here(contact);
  contact.addresses.insert(contact.addresses.begin(), here.address);
  world.tcp(0).set_contact(1, contact);
  Message m(0, 1, FlowId(1, 0, 0), 100, 1);
  (void)m.receive(world.wire(1));
  ASSERT_NE(m.send(world.wire(0)), Posted::kRetry);
  int first = -1;
  ASSERT_TRUE(step_until(world, [&] {
    if (first < 0) first = ::accept4(here.listener.fd(), nullptr, nullptr, SOCK_NONBLOCK);
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
  here.listener.close();  // refuses from here on: the next address is the real one
  for (int i = 0; i < 100'000 && !m.received.complete(); ++i) {
    if (step(world) == 0) ::usleep(100);
  }
  m.check();
}

}  // namespace
}  // namespace espalier::test
