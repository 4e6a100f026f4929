// Active messages between the ranks of one node, in one process.
#include "shm/mailbox.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <numeric>
#include <vector>

namespace espalier::shm {
namespace {

// As many as there can be; job ranks begin at 1000.
constexpr std::uint32_t kRanks = kMaxLocalRanks;
constexpr Rank kFirst = 1000;

struct Taken final : MessageTaker {
  bool take(Rank from, const ActiveMessage& message) noexcept override {
    senders.push_back(from);
    arguments.push_back(message.argument);
    return true;
  }
  std::vector<Rank> senders;
  std::vector<std::uint64_t> arguments;
};

// One of them, with a mapping of its own.
struct Node {
  Node(const MemoryFile& file, const Layout& layout, std::uint32_t index)
      : segment(map(file, layout, index)),
        doorbell(segment->rank_block(index).bell, segment->header().sleepers, false),
        mailbox(*segment, ranks(), doorbell, counters, taken) {}

  static std::unique_ptr<Segment> map(const MemoryFile& file, const Layout& layout,
                                      std::uint32_t index) {
    auto same = MemoryFile::adopt(Descriptor(::dup(file.fd())), layout.total(), {});
    return std::move(*Segment::map(std::move(*same), layout, index));
  }
  static std::vector<Rank> ranks() {
    std::vector<Rank> all(kRanks);
    std::iota(all.begin(), all.end(), kFirst);
    return all;
  }

  std::unique_ptr<Segment> segment;
  Counters counters;
  Taken taken;
  Doorbell doorbell;
  Mailbox mailbox;
};

TEST(Mailbox, MessagesComeFromEveryPlaceOnTheLargestNode) {
  const Layout layout(kRanks, 64 << 10, 64 << 10);
  auto file = MemoryFile::create(layout.total(), {});
  ASSERT_TRUE(file.ok()) << file.error().text;
  constexpr std::uint32_t kTo = 700;
  Node receiver(*file, layout, kTo);
  EXPECT_EQ(receiver.mailbox.progress(), 0);
  std::vector<Rank> expected;
  for (const std::uint32_t from : {0U, 63U, 64U, 255U, 256U, 511U, 512U, kRanks - 1}) {
    Node sender(*file, layout, from);
    ActiveMessage message;
    message.argument = from;
    ASSERT_EQ(sender.mailbox.send(kTo, message), Posted::kDone);
    expected.push_back(kFirst + static_cast<Rank>(from));
  }
  EXPECT_EQ(receiver.mailbox.progress(), static_cast<int>(expected.size()));
  EXPECT_EQ(receiver.taken.senders, expected);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(receiver.taken.arguments[i], static_cast<std::uint64_t>(expected[i] - kFirst));
  }
  EXPECT_EQ(receiver.mailbox.progress(), 0);
}

TEST(Mailbox, TheReceiverFindsItsMailInTwoLines) {
  EXPECT_EQ(sizeof(RankBlock::Bits), 128U);
  EXPECT_GE(kRankWords * 64, kMaxLocalRanks);
  EXPECT_GE(kMaxLocalRanks, 1024U);
}

}  // namespace
}  // namespace espalier::shm
