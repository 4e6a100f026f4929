// Strangers at the launcher's port: whatever they send, the nodes still join and nobody else does.
#include "tools/esp-run/rendezvous.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstring>
#include <vector>

namespace esp_run {
namespace {

espalier::Descriptor connect_to(std::uint16_t port) {
  espalier::Descriptor connection(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(connection.fd(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)
    connection.close();
  return connection;
}

void progress_until_quiet(Rendezvous& rendezvous, std::vector<Rendezvous::Joined>& joined) {
  while (true) {
    std::vector<pollfd> polled;
    for (const int fd : rendezvous.fds()) polled.push_back({fd, POLLIN, 0});
    if (polled.empty() || poll(polled.data(), polled.size(), 100) <= 0) return;
    for (Rendezvous::Joined& one : rendezvous.progress()) joined.push_back(std::move(one));
  }
}

// The other side hung up, within two seconds.
bool is_cut_off(const espalier::Descriptor& connection) {
  pollfd polled{connection.fd(), POLLIN, 0};
  char byte = 0;
  return poll(&polled, 1, 2000) == 1 && recv(connection.fd(), &byte, 1, MSG_DONTWAIT) <= 0;
}

std::string hello_bytes(int node, const std::string& secret) {
  struct {
    std::uint32_t payload_bytes;
    std::uint32_t kind;
    std::int32_t rank;
    std::int32_t status;
    std::uint64_t id;
  } header{static_cast<std::uint32_t>(secret.size()), 1, node, 0, 0};
  return std::string(reinterpret_cast<const char*>(&header), sizeof(header)) + secret;
}

struct Garbage {
  const char* name;
  std::string bytes;
};
void PrintTo(const Garbage& garbage, std::ostream* out) {
  *out << garbage.name;
}

class StrangerTest : public testing::TestWithParam<Garbage> {};

TEST_P(StrangerTest, IsCutOffAndTheNodeStillJoins) {
  Rendezvous rendezvous(1);
  std::vector<Rendezvous::Joined> joined;
  const espalier::Descriptor stranger = connect_to(rendezvous.port());
  ASSERT_TRUE(stranger.is_open());
  const std::string& garbage = GetParam().bytes;
  // May be cut off in the middle: that is what we want.
  (void)send(stranger.fd(), garbage.data(), garbage.size(), MSG_NOSIGNAL);
  progress_until_quiet(rendezvous, joined);
  EXPECT_TRUE(joined.empty());
  EXPECT_TRUE(is_cut_off(stranger));

  const FrameStream node = join(rendezvous.port(), rendezvous.secret(), 0);
  progress_until_quiet(rendezvous, joined);
  ASSERT_EQ(joined.size(), 1U);
  EXPECT_EQ(joined[0].node, 0);
}

std::vector<Garbage> all_garbage() {
  return {{"Http", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"},
          {"Large", std::string(1 << 20, '\xff')},
          {"Zeros", std::string(64, '\0')},
          {"WrongSecret", hello_bytes(0, std::string(32, 'x'))},
          {"EmptySecret", hello_bytes(0, "")},
          {"WrongNode", hello_bytes(-1, std::string(32, 'x'))}};
}

std::string name_of(const testing::TestParamInfo<Garbage>& test) {
  return test.param.name;
}

INSTANTIATE_TEST_SUITE_P(Garbage, StrangerTest, testing::ValuesIn(all_garbage()), name_of);

TEST(Rendezvous, ASilentStrangerHoldsNobodyUp) {
  Rendezvous rendezvous(2);
  std::vector<Rendezvous::Joined> joined;
  std::vector<espalier::Descriptor> strangers;
  for (int i = 0; i < 100; ++i) strangers.push_back(connect_to(rendezvous.port()));
  progress_until_quiet(rendezvous, joined);
  const FrameStream one = join(rendezvous.port(), rendezvous.secret(), 1);
  const FrameStream zero = join(rendezvous.port(), rendezvous.secret(), 0);
  progress_until_quiet(rendezvous, joined);
  EXPECT_EQ(joined.size(), 2U);
  EXPECT_TRUE(rendezvous.is_complete());
  EXPECT_TRUE(is_cut_off(strangers.front()));
  EXPECT_TRUE(is_cut_off(strangers.back()));
}

TEST(Rendezvous, AnyNumberOfNodesJoinsAtOnce) {
  constexpr int kNodes = 100;
  Rendezvous rendezvous(kNodes);
  std::vector<Rendezvous::Joined> joined;
  std::vector<FrameStream> nodes;
  for (int node = 0; node < kNodes; ++node) {
    nodes.push_back(join(rendezvous.port(), rendezvous.secret(), node));
  }
  progress_until_quiet(rendezvous, joined);
  EXPECT_EQ(joined.size(), nodes.size());
  EXPECT_TRUE(rendezvous.is_complete());
}

TEST(Rendezvous, ThePortClosesWhenAllHaveJoined) {
  Rendezvous rendezvous(1);
  std::vector<Rendezvous::Joined> joined;
  const FrameStream node = join(rendezvous.port(), rendezvous.secret(), 0);
  progress_until_quiet(rendezvous, joined);
  EXPECT_FALSE(connect_to(rendezvous.port()).is_open());
}

TEST(Rendezvous, TheSameNodeCannotJoinTwice) {
  Rendezvous rendezvous(2);
  std::vector<Rendezvous::Joined> joined;
  const FrameStream first = join(rendezvous.port(), rendezvous.secret(), 0);
  const FrameStream second = join(rendezvous.port(), rendezvous.secret(), 0);
  const FrameStream beyond = join(rendezvous.port(), rendezvous.secret(), 2);
  progress_until_quiet(rendezvous, joined);
  EXPECT_EQ(joined.size(), 1U);
}

TEST(Rendezvous, WhatFollowsTheHelloIsNotLost) {
  Rendezvous rendezvous(1);
  std::vector<Rendezvous::Joined> joined;
  FrameStream node = join(rendezvous.port(), rendezvous.secret(), 0);
  node.send({FrameKind::kNodeFailed, -1, 0, 0, std::string(200000, 'x')});
  progress_until_quiet(rendezvous, joined);
  ASSERT_EQ(joined.size(), 1U);
  std::vector<Frame> frames;
  for (int i = 0; i < 200 && frames.empty(); ++i) {
    node.flush();
    pollfd polled{joined[0].stream.fd(), POLLIN, 0};
    poll(&polled, 1, 10);
    frames = joined[0].stream.receive();
  }
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].payload.size(), 200000U);
}

}  // namespace
}  // namespace esp_run
