// Four nodes whose ports join multicast groups (net/verbs/group_port.hpp), and what they hear.
#pragma once

#include <gmock/gmock.h>

#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "net/multicast/group_address.hpp"
#include "tests/vm/nodes.hpp"

namespace espalier::verbs {

using multicast::GroupPort;
using multicast::Joined;
using rdma::Packet;

// A port in a group. Packets say who sent them and which they are; that decides about all their
// bytes.
struct Member final : rdma::DatagramSink {
  static constexpr std::uint32_t kHead = 8;

  explicit Member(std::unique_ptr<GroupPort> port_) : port(std::move(port_)) {}

  void arrived(Packet& packet) noexcept override {
    std::uint32_t head[2] = {};
    if (packet.bytes >= kHead) std::memcpy(head, packet.data, kHead);
    right = right && packet.bytes == length(head[1]);
    for (std::uint32_t i = kHead; right && i < packet.bytes; ++i) {
      right = packet.data[i] == pattern(head[0], head[1], i);
    }
    heard[head[0]].push_back(head[1]);
    held.push_back(&packet);
  }
  int poll() {
    const int events = port->poll(*this, 64);
    for (Packet* packet : held) port->give(*packet);
    held.clear();
    return events;
  }
  // False: no packet, or no room.
  bool send(std::uint32_t source, std::uint32_t number, bool more = false) {
    Packet* packet = port->take();
    if (packet == nullptr) return false;
    packet->bytes = length(number);
    const std::uint32_t head[2] = {source, number};
    std::memcpy(packet->data, head, kHead);
    for (std::uint32_t i = kHead; i < packet->bytes; ++i) {
      packet->data[i] = pattern(source, number, i);
    }
    const bool went = port->send(*packet, more);
    port->give(*packet);
    return went;
  }
  std::size_t from(std::uint32_t source) { return heard[source].size(); }
  std::uint32_t length(std::uint32_t number) const {
    return kHead + number * 131 % (port->packet_bytes() - kHead + 1);
  }
  static std::byte pattern(std::uint32_t source, std::uint32_t number, std::uint32_t i) {
    return static_cast<std::byte>(source * 101 + number * 37 + i * 11 + (i >> 8));
  }

  std::unique_ptr<GroupPort> port;
  std::vector<Packet*> held;
  std::map<std::uint32_t, std::vector<std::uint32_t>> heard;  // by source, in order of arrival
  bool right = true;
};

class Groups : public Nodes<4> {
 protected:
  static constexpr std::uint32_t kKey = 0x11223344;

  void SetUp() override {
    Nodes<4>::SetUp();
    if (HasFatalFailure()) return;
    const std::string why = why_no_groups(adapters_[0]->info());
    if (!why.empty()) GTEST_SKIP() << why;
  }
  Log log() override {
    const auto note = [](void* self, LogLevel, Rank, std::string_view message) noexcept {
      static_cast<Groups*>(self)->logged_ += std::string(message) + "\n";
    };
    return Log(LogLevel::kWarn, kNoRank, {note, this});
  }

  static multicast::GroupAddress group(std::uint8_t number) {
    return multicast::group_address({239, 77, 0, number}, kKey);
  }
  std::unique_ptr<GroupPort> open(std::size_t node, const multicast::GroupAddress& address,
                                  const DatagramOptions& options = {}) {
    auto made = adapters_[node]->open_group(address, options);
    if (made) return std::move(*made);
    ADD_FAILURE() << made.error().text;
    return nullptr;
  }
  // A member that has joined.
  std::unique_ptr<Member> join(std::size_t node, const multicast::GroupAddress& address,
                               const DatagramOptions& options = {}) {
    auto port = open(node, address, options);
    if (port == nullptr) return nullptr;
    EXPECT_TRUE(eventually([&] { return port->joined() != Joined::kNotYet; }));
    EXPECT_EQ(port->joined(), Joined::kYes) << logged_;
    return std::make_unique<Member>(std::move(port));
  }
  std::vector<std::unique_ptr<Member>> join_all(std::size_t members,
                                                const multicast::GroupAddress& address) {
    std::vector<std::unique_ptr<Member>> made;
    for (std::size_t node = 0; node < members; ++node) made.push_back(join(node, address));
    return made;
  }

  // Packets begin ... end - 1 from one member; returns when all of `to` have them. Not more are
  // under way than each can keep: none is lost here.
  static void stream(Member& from, std::uint32_t source, std::uint32_t begin, std::uint32_t end,
                     const std::vector<Member*>& to) {
    constexpr std::uint32_t kUnderWay = 64;
    std::uint32_t next = begin;
    std::map<Member*, std::size_t> before;
    for (Member* member : to) before[member] = member->from(source);
    ASSERT_TRUE(eventually([&] {
      std::size_t slowest = end - begin;
      for (Member* member : to) {
        slowest = std::min(slowest, member->from(source) - before[member]);
      }
      while (next < end && next - begin - slowest < kUnderWay && from.send(source, next)) ++next;
      (void)from.poll();
      for (Member* member : to) (void)member->poll();
      return slowest == end - begin;
    })) << next - begin
        << " sent";
  }
  // Whether what one member sends arrives at the other. Earlier packets may have been lost.
  static ::testing::AssertionResult works(Member& from, Member& to) {
    for (std::uint32_t attempt = 0; attempt < 50; ++attempt) {
      const std::size_t before = to.from(kProbe);
      (void)from.send(kProbe, attempt);
      for_a_while([&] { (void)from.poll(), (void)to.poll(); });
      if (to.from(kProbe) > before) return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure() << "nothing gets through";
  }
  static constexpr std::uint32_t kProbe = 77;

  // What the system counts; 0 where it does not.
  static std::uint64_t number_in(const std::string& path) {
    std::uint64_t number = 0;
    std::ifstream(path) >> number;
    return number;
  }
  std::uint64_t counted(std::size_t node, const char* counter) const {
    return number_in("/sys/class/infiniband/" + adapters_[node]->info().device +
                     "/ports/1/hw_counters/" + counter);
  }

  std::string logged_;
};

// 0 ... count - 1
inline std::vector<std::uint32_t> numbers_to(std::uint32_t count) {
  std::vector<std::uint32_t> all(count);
  for (std::uint32_t i = 0; i < count; ++i) all[i] = i;
  return all;
}

}  // namespace espalier::verbs
