#include "net/rdma/receive_window.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/prng.hpp"

namespace espalier::rdma {
namespace {

using Verdict = ReceiveWindow::Verdict;
constexpr std::uint64_t kDelay = 100;

// A window and packets that lie in memory of their own, as a port's do.
struct Receiver {
  explicit Receiver(std::uint32_t first_number = 0, std::uint32_t count = 256)
      : first{first_number}, window(first), memory(count * kPacketHeaderBytes), packets(count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      packets[i].data = &memory[i * kPacketHeaderBytes];
      packets[i].bytes = packets[i].capacity = kPacketHeaderBytes;
      PacketHeader header;
      header.flags = kData;
      header.sequence = first + i;
      write_packet(header, {packets[i].data, kPacketHeaderBytes});
    }
  }
  // What the window hands on is added to `taken`.
  Verdict arrive(std::uint32_t number) {
    const Verdict verdict = window.arrived(first + number, packets[number], now, kDelay);
    if (verdict == Verdict::kNext) {
      taken.push_back(number);
      while (Packet* held = window.pop_held()) {
        taken.push_back(static_cast<std::uint32_t>(held - packets.data()));
      }
    }
    return verdict;
  }
  bool answers_now() const { return window.answer_ns() <= now; }

  Sequence first;
  ReceiveWindow window;
  std::vector<std::byte> memory;
  std::vector<Packet> packets;
  std::vector<std::uint32_t> taken;
  std::uint64_t now = 1000;
};

TEST(ReceiveWindow, HandsOnInOrderWhateverTheOrderOfArrival) {
  Prng prng(3);
  for (const std::uint32_t first : {0U, 0xffffffc0U, 0x7fffffe0U}) {
    for (int round = 0; round < 50; ++round) {
      Receiver r(first);
      r.window.permit(kWindowMax - kFirstPermission);
      std::vector<std::uint32_t> order(kWindowMax);
      std::iota(order.begin(), order.end(), 0);
      for (std::size_t i = order.size() - 1; i > 0; --i) {
        std::swap(order[i], order[prng.below(i + 1)]);
      }
      for (const std::uint32_t number : order) {
        EXPECT_NE(r.arrive(number), Verdict::kRefuse);
        EXPECT_EQ(r.arrive(number), Verdict::kRefuse);  // again
      }
      ASSERT_EQ(r.taken.size(), order.size());
      EXPECT_TRUE(std::is_sorted(r.taken.begin(), r.taken.end()));
      EXPECT_FALSE(r.window.acknowledgement(r.now).arrived.any());
      EXPECT_EQ(r.window.outstanding(), 0U);
    }
  }
}

TEST(ReceiveWindow, RefusesWhatHasNoPermission) {
  Receiver r;
  EXPECT_EQ(r.arrive(kFirstPermission), Verdict::kRefuse);
  EXPECT_EQ(r.arrive(kFirstPermission - 1), Verdict::kHeld);
  r.window.permit(1);
  EXPECT_EQ(r.arrive(kFirstPermission), Verdict::kHeld);
  EXPECT_EQ(r.window.outstanding(), kFirstPermission + 1);
}

TEST(ReceiveWindow, SaysWhatHasCome) {
  Receiver r;
  (void)r.arrive(0);
  (void)r.arrive(2);
  (void)r.arrive(3);
  r.now += 40;
  const Acknowledgement ack = r.window.acknowledgement(r.now);
  EXPECT_EQ(ack.expected, Sequence{1});
  EXPECT_EQ(ack.limit, Sequence{kFirstPermission});
  EXPECT_EQ(ack.held_ns, 40U);
  EXPECT_TRUE(ack.arrived.test(0));
  EXPECT_TRUE(ack.arrived.test(1));
  EXPECT_FALSE(ack.arrived.test(2));
  (void)r.arrive(1);
  EXPECT_EQ(r.window.acknowledgement(r.now).expected, Sequence{4});
  EXPECT_FALSE(r.window.acknowledgement(r.now).arrived.any());
}

// What was said to have come is never said to be missing.
TEST(ReceiveWindow, AcknowledgesARunBeforeItIsHandedOn) {
  Receiver r;
  (void)r.arrive(1);
  (void)r.arrive(2);
  EXPECT_EQ(r.window.arrived(r.first, r.packets[0], r.now, kDelay), Verdict::kNext);
  EXPECT_EQ(r.window.acknowledgement(r.now).expected, Sequence{3});
  EXPECT_EQ(r.window.pop_held(), &r.packets[1]);
  EXPECT_EQ(r.window.pop_held(), &r.packets[2]);
  EXPECT_EQ(r.window.pop_held(), nullptr);
}

TEST(ReceiveWindow, AnswersASinglePacketLateAndTheEighthAtOnce) {
  Receiver r;
  r.window.permit(kWindowMax - kFirstPermission);
  EXPECT_EQ(r.window.answer_ns(), kNever);
  (void)r.arrive(0);
  const std::uint64_t due = r.now + kDelay;
  EXPECT_EQ(r.window.answer_ns(), due);
  r.now += 10;
  for (std::uint32_t i = 1; i < 7; ++i) (void)r.arrive(i);
  EXPECT_EQ(r.window.answer_ns(), due);
  (void)r.arrive(7);
  EXPECT_TRUE(r.answers_now());
  r.window.answered();
  EXPECT_EQ(r.window.answer_ns(), kNever);
  (void)r.arrive(8);
  EXPECT_FALSE(r.answers_now());
}

TEST(ReceiveWindow, AnswersGapsTheirEndsAndRepetitionsAtOnce) {
  Receiver r;
  (void)r.arrive(1);
  EXPECT_TRUE(r.answers_now());
  r.window.answered();
  (void)r.arrive(0);
  EXPECT_TRUE(r.answers_now());
  r.window.answered();
  (void)r.arrive(0);
  EXPECT_TRUE(r.answers_now());
}

TEST(ReceiveWindow, GivesUpWhatItHolds) {
  Receiver r;
  (void)r.arrive(1);
  (void)r.arrive(3);
  EXPECT_EQ(r.window.drop_held(), &r.packets[1]);
  EXPECT_EQ(r.window.drop_held(), &r.packets[3]);
  EXPECT_EQ(r.window.drop_held(), nullptr);
}

}  // namespace
}  // namespace espalier::rdma
