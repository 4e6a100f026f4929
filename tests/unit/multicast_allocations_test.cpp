// A group that has met its sources asks for no memory: packets, repairs, questions,
// acknowledgements and probes. Members that never send take none.
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "net/multicast/group.hpp"
#include "tests/support/allocations.hpp"

namespace espalier::multicast {
namespace {

constexpr std::uint32_t kBusMembers = 3, kBusBytes = 128, kBusPackets = 64;

struct Ring {  // of packets or messages that wait
  void push(rdma::Packet* packet) { at[(first + count++) % kBusPackets] = packet; }
  rdma::Packet* pop() {
    if (count == 0) return nullptr;
    --count;
    return at[first++ % kBusPackets];
  }
  std::array<rdma::Packet*, kBusPackets> at = {};
  std::uint32_t first = 0, count = 0;
};

struct BusPort final : GroupPort {
  BusPort() : memory(2 * kBusPackets * kBusBytes), packets(2 * kBusPackets) {
    for (std::uint32_t i = 0; i < packets.size(); ++i) {
      packets[i].data = &memory[i * kBusBytes];
      packets[i].capacity = kBusBytes;
      (i < kBusPackets ? idle : free).push(&packets[i]);
    }
  }
  Joined joined() noexcept override { return Joined::kYes; }
  std::uint32_t packet_bytes() const noexcept override { return kBusBytes; }
  std::uint32_t receive_depth() const noexcept override { return kBusPackets; }
  rdma::Packet* take() noexcept override { return idle.pop(); }
  void give(rdma::Packet& packet) noexcept override {
    (&packet < &packets[kBusPackets] ? idle : free).push(&packet);
  }
  bool send(rdma::Packet& packet, bool) noexcept override;
  int poll(rdma::DatagramSink& sink, int) noexcept override {
    int events = 0;
    for (; rdma::Packet* packet = waiting.pop(); ++events) sink.arrived(*packet);
    return events;
  }
  const Status& fault() const noexcept override { return status; }
  int descriptor() const noexcept override { return -1; }
  bool arm() noexcept override { return true; }

  std::array<BusPort, kBusMembers>* bus = nullptr;
  std::vector<std::byte> memory;
  std::vector<rdma::Packet> packets;
  Ring idle, free, waiting;
  std::uint32_t sends = 0;
  Status status;
};

// Every fifth copy is lost.
bool BusPort::send(rdma::Packet& packet, bool) noexcept {
  for (BusPort& port : *bus) {
    if (&port == this || ++sends % 5 == 0) continue;
    rdma::Packet* copy = port.free.pop();
    if (copy == nullptr) continue;
    std::memcpy(copy->data, packet.data, packet.bytes);
    copy->bytes = packet.bytes;
    port.waiting.push(copy);
  }
  return true;
}

struct BusMail final : MemberMail {
  bool post(Rank to, std::span<const std::byte> message) noexcept override {
    if (used == letters.size()) return false;
    Letter& letter = letters[used++];
    letter.to = to;
    letter.bytes = message.size();
    std::memcpy(letter.data.data(), message.data(), message.size());
    return true;
  }
  struct Letter {
    Rank to = kNoRank;
    std::size_t bytes = 0;
    std::array<std::byte, 256> data = {};
  };
  std::array<Letter, 16> letters;
  std::size_t used = 0;
};

struct Counted final : GroupSink {
  void deliver(Rank, std::uint64_t, std::span<const std::byte>) override { ++delivered; }
  void source_ended(Rank, std::uint32_t) override {}
  std::uint32_t delivered = 0;
};

TEST(MulticastAllocations, AreNoneAfterTheFirstContact) {
  ManualClock clock(1000);
  std::array<BusPort, kBusMembers> ports;
  std::array<BusMail, kBusMembers> mails;
  std::array<Counted, kBusMembers> sinks;
  std::vector<std::unique_ptr<Group>> groups;
  const Rank ranks[] = {0, 1, 2};
  for (std::uint32_t i = 0; i < kBusMembers; ++i) {
    ports[i].bus = &ports;
    GroupOptions options;
    options.ranks = kBusMembers;
    options.rank = static_cast<Rank>(i);
    options.sources = 2;
    options.degree = 1;
    groups.push_back(std::make_unique<Group>(ranks, ports[i], mails[i], clock, sinks[i], options));
  }
  std::uint64_t before = 0;
  std::uint32_t sent = 0;
  for (int turn = 0; turn < 20'000; ++turn) {
    if (turn == 20) {
      before = test::allocations();
      EXPECT_LT(sent, 100U);
    }
    for (std::uint32_t i = 0; i < 2 && sent < 1000; ++i) {
      if (groups[i]->room().empty()) continue;
      groups[i]->publish(50, 0);
      ++sent;
    }
    clock.advance_ns(1000);
    for (std::uint32_t i = 0; i < kBusMembers; ++i) {
      (void)groups[i]->progress();
      BusMail mail = mails[i];
      mails[i].used = 0;
      for (std::size_t m = 0; m < mail.used; ++m) {
        const BusMail::Letter& letter = mail.letters[m];
        groups[static_cast<std::size_t>(letter.to)]->mail_arrived(
            static_cast<Rank>(i), {letter.data.data(), letter.bytes});
      }
    }
  }
  EXPECT_EQ(test::allocations(), before);
  EXPECT_EQ(sent, 1000U);
  EXPECT_EQ(sinks[0].delivered + sinks[1].delivered, 1000U);
  EXPECT_EQ(sinks[2].delivered, 1000U);
  EXPECT_GT(groups[2]->counts().nacks_sent, 10U);
  for (const auto& group : groups) EXPECT_TRUE(group->drained());
}

// Of a group with so many members, of which the last dies: when it is made, and then.
std::array<std::uint64_t, 2> allocations_of(std::uint32_t members) {
  ManualClock clock(1000);
  BusPort port;
  BusMail mail;
  Counted sink;
  std::vector<Rank> ranks(members);
  for (std::uint32_t i = 0; i < members; ++i) ranks[i] = static_cast<Rank>(i);
  GroupOptions options;
  options.ranks = members;
  options.rank = 0;
  const std::uint64_t before = test::allocations();
  Group group(ranks, port, mail, clock, sink, options);
  const std::uint64_t made = test::allocations();
  group.member_lost(static_cast<Rank>(members - 1));
  return {made - before, test::allocations() - made};
}

TEST(MulticastAllocations, DoNotGrowWithTheMembers) {
  const auto few = allocations_of(8);
  EXPECT_EQ(allocations_of(5000), few);
  EXPECT_GT(few[1], 0U) << "the dead source was not met";
}

}  // namespace
}  // namespace espalier::multicast
