// Ports that are members of a group on loopback, what they hear, and strangers that send to it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <seccomp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "net/multicast/group_address.hpp"
#include "net/udp/udp_group_port.hpp"

namespace espalier::net {

using multicast::Joined;

template <typename Condition>
bool eventually(Condition&& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

// Returns what `call` does while the kernel answers this system call with an error; with an
// argument, if it has this value. In a thread of its own, which the filter ends with.
template <typename Call>
bool while_refused(int number, int failure, std::vector<scmp_arg_cmp> if_equal, Call&& call) {
  bool filtered = false;
  std::thread thread([&] {
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    filtered =
        filter != nullptr &&
        seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(static_cast<unsigned>(failure)), number,
                               static_cast<unsigned>(if_equal.size()), if_equal.data()) == 0 &&
        seccomp_load(filter) == 0;
    seccomp_release(filter);
    if (filtered) call();
  });
  thread.join();
  return filtered;
}

// Packets say which they are, which decides about all their bytes.
struct Member final : rdma::DatagramSink {
  explicit Member(std::unique_ptr<UdpGroupPort> port_) : port(std::move(port_)) {}
  ~Member() { give_all(); }

  void arrived(rdma::Packet& packet) noexcept override {
    std::uint32_t number = ~0U;
    if (packet.bytes >= sizeof number) std::memcpy(&number, packet.data, sizeof number);
    heard.push_back(number);
    lengths.push_back(packet.bytes);
    for (std::uint32_t i = sizeof number; i < packet.bytes; ++i) {
      right = right && packet.data[i] == pattern(number, i);
    }
    if (keeps) {
      held.push_back(&packet);
    } else {
      port->give(packet);
    }
  }
  int poll(int budget = 1'000'000) { return port->poll(*this, budget); }
  void give_all() {
    for (rdma::Packet* packet : held) port->give(*packet);
    held.clear();
  }
  // False: no packet, or no room.
  bool send(std::uint32_t number, std::uint32_t bytes, bool more = false) {
    rdma::Packet* packet = port->take();
    if (packet == nullptr) return false;
    packet->bytes = bytes;
    std::memcpy(packet->data, &number, sizeof number);
    for (std::uint32_t i = sizeof number; i < bytes; ++i) packet->data[i] = pattern(number, i);
    const bool went = port->send(*packet, more);
    port->give(*packet);
    return went;
  }
  static std::byte pattern(std::uint32_t number, std::uint32_t i) {
    return static_cast<std::byte>(number * 37 + i * 11 + (i >> 8));
  }
  // Whether so many have come by then.
  bool hears(std::size_t count) {
    return eventually([&] { return (void)poll(), heard.size() >= count; });
  }

  std::unique_ptr<UdpGroupPort> port;
  bool keeps = false, right = true;
  std::vector<rdma::Packet*> held;
  std::vector<std::uint32_t> heard, lengths;
};

inline std::vector<std::uint32_t> numbers_to(std::uint32_t count) {
  std::vector<std::uint32_t> all(count);
  for (std::uint32_t i = 0; i < count; ++i) all[i] = i;
  return all;
}

class UdpGroups : public ::testing::Test {
 protected:
  static Interface loopback() {
    Interface found{.name = "lo", .address = {}, .prefix_bits = 8, .loopback = true};
    EXPECT_TRUE(parse_host("127.0.0.1", found.address));
    return found;
  }
  // Processes that run at the same time have ports or groups of their own.
  static UdpGroupOptions options(std::uint8_t group = 1) {
    constexpr int kPorts = 12'768;
    UdpGroupOptions made;
    made.interface = loopback();
    made.group = multicast::group_address(
        {239, 77, static_cast<std::uint8_t>(::getpid() / kPorts), group}, 0);
    made.port = static_cast<std::uint16_t>(20'000 + ::getpid() % kPorts);
    return made;
  }
  Log log() {
    const auto note = [](void* self, LogLevel, Rank, std::string_view message) noexcept {
      static_cast<UdpGroups*>(self)->logged_ += std::string(message) + "\n";
    };
    return Log(LogLevel::kInfo, kNoRank, {note, this});
  }
  std::unique_ptr<UdpGroupPort> open(const UdpGroupOptions& with) {
    auto made = UdpGroupPort::create(with, log());
    if (made) return std::move(*made);
    ADD_FAILURE() << made.error().text;
    return nullptr;
  }
  std::unique_ptr<Member> join(const UdpGroupOptions& with) {
    auto port = open(with);
    if (port == nullptr) return nullptr;
    EXPECT_EQ(port->joined(), Joined::kYes) << logged_;
    return std::make_unique<Member>(std::move(port));
  }

  // A socket that is bound to the address of the group, and to nothing else.
  static sockaddr_in address_of(const UdpGroupOptions& group) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(group.port);
    const auto ipv4 = multicast::ipv4_of(group.group);
    std::memcpy(&address.sin_addr, ipv4.data(), ipv4.size());
    return address;
  }
  static bool binds_alone(const Descriptor& socket, const UdpGroupOptions& group) {
    const sockaddr_in at = address_of(group);
    return ::bind(socket.fd(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
  }
  static Descriptor stranger() {
    Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ip_mreqn by = {};
    by.imr_address.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::setsockopt(socket.fd(), IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof by), 0);
    return socket;
  }
  static bool shout(const Descriptor& socket, const UdpGroupOptions& group,
                    const std::vector<std::byte>& bytes) {
    const sockaddr_in to = address_of(group);
    return ::sendto(socket.fd(), bytes.data(), bytes.size(), 0,
                    reinterpret_cast<const sockaddr*>(&to),
                    sizeof to) == static_cast<ssize_t>(bytes.size());
  }
  static bool readable(int descriptor, int for_ms) {
    pollfd look = {.fd = descriptor, .events = POLLIN, .revents = 0};
    return ::poll(&look, 1, for_ms) == 1;
  }

  std::string logged_;
};

}  // namespace espalier::net
