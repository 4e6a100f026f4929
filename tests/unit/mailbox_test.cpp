// Active messages between the ranks of one node, in one process.
#include "shm/mailbox.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "core/prng.hpp"

namespace espalier::shm {
namespace {

// Job ranks begin at 1000.
constexpr Rank kFirst = 1000;
constexpr std::size_t kHotRings = 16;

struct Letter {
  Rank from = kNoRank;
  unsigned id = 0;
  std::uint64_t argument = 0;
  std::uint32_t context = 0;
  std::vector<std::byte> payload;
  friend bool operator==(const Letter&, const Letter&) = default;
};

Letter letter_of(Rank from, const ActiveMessage& message) {
  Letter letter = {from, message.id, message.argument, message.context, {}};
  const auto* payload = static_cast<const std::byte*>(message.payload);
  letter.payload.assign(payload, payload + message.bytes);
  return letter;
}

ActiveMessage message_of(const Letter& letter) {
  return {letter.id, letter.argument, letter.payload.data(), letter.payload.size(), letter.context};
}

struct Taken final : MessageTaker {
  bool take(Rank from, const ActiveMessage& message) noexcept override {
    letters.push_back(letter_of(from, message));
    return true;
  }
  std::vector<Letter> letters;
};

// One of them, with a mapping of its own.
struct Node {
  Node(const MemoryFile& file, const Layout& layout, std::uint32_t index, std::uint32_t count)
      : segment(map(file, layout, index)),
        doorbell(segment->rank_block(index).bell, segment->header().sleepers, false),
        mailbox(*segment, ranks(count), doorbell, counters, taken) {}

  static std::unique_ptr<Segment> map(const MemoryFile& file, const Layout& layout,
                                      std::uint32_t index) {
    auto same = MemoryFile::adopt(Descriptor(::dup(file.fd())), layout.total(), {});
    return std::move(*Segment::map(std::move(*same), layout, index));
  }
  static std::vector<Rank> ranks(std::uint32_t count) {
    std::vector<Rank> all(count);
    std::iota(all.begin(), all.end(), kFirst);
    return all;
  }

  std::unique_ptr<Segment> segment;
  Counters counters;
  Taken taken;
  Doorbell doorbell;
  Mailbox mailbox;
};

// A node of which the ranks that are asked for exist.
class Room {
 public:
  explicit Room(std::uint32_t count)
      : count_(count),
        layout_(count, 64 << 10, 64 << 10),
        file_(std::move(*MemoryFile::create(layout_.total(), {}))) {}

  std::unique_ptr<Node> make(std::uint32_t index) const {
    return std::make_unique<Node>(file_, layout_, index, count_);
  }

 private:
  const std::uint32_t count_;
  const Layout layout_;
  const MemoryFile file_;
};

// Rank 0 receives, the others send.
class Mail : public ::testing::Test {
 protected:
  Mail() : room_(kRanks), receiver_(room_.make(0)) {
    for (std::uint32_t i = 1; i < kRanks; ++i) senders_.push_back(room_.make(i));
  }

  Posted send(std::uint32_t from, std::uint64_t argument = 0) {
    ActiveMessage message;
    message.argument = argument;
    return senders_[from - 1]->mailbox.send(0, message);
  }
  bool has_bit(std::uint32_t from) const {
    const auto& mail = receiver_->segment->rank_block(0).mail;
    return (mail.of[from / 64].load(std::memory_order_relaxed) >> from % 64 & 1) != 0;
  }
  bool is_hot(std::uint32_t from) const {
    return receiver_->segment->mail_ring(from, 0).hot.load(std::memory_order_relaxed) != 0;
  }
  int progress() { return receiver_->mailbox.progress(); }
  // How many have come since the last call.
  std::size_t came() {
    const std::size_t count = receiver_->taken.letters.size();
    receiver_->taken.letters.clear();
    return count;
  }
  // The first so many are hot.
  void heat() {
    for (std::uint32_t from = 1; from <= kHotRings; ++from) {
      ASSERT_EQ(send(from), Posted::kDone);
      ASSERT_EQ(progress(), 1);
    }
    came();
  }

  static constexpr std::uint32_t kRanks = kHotRings + 3;
  const Room room_;
  std::unique_ptr<Node> receiver_;
  std::vector<std::unique_ptr<Node>> senders_;
};

TEST(Mailbox, MessagesComeFromEveryPlaceOnTheLargestNode) {
  constexpr std::uint32_t kTo = 700;
  const Room room(kMaxLocalRanks);
  const auto receiver = room.make(kTo);
  EXPECT_EQ(receiver->mailbox.progress(), 0);
  std::vector<Letter> expected;
  for (const std::uint32_t from : {0U, 63U, 64U, 255U, 256U, 511U, 512U, kMaxLocalRanks - 1}) {
    const auto sender = room.make(from);
    ActiveMessage message;
    message.argument = from;
    ASSERT_EQ(sender->mailbox.send(kTo, message), Posted::kDone);
    expected.push_back(letter_of(kFirst + static_cast<Rank>(from), message));
  }
  EXPECT_EQ(receiver->mailbox.progress(), static_cast<int>(expected.size()));
  EXPECT_EQ(receiver->taken.letters, expected);
  EXPECT_EQ(receiver->mailbox.progress(), 0);
}

TEST(Mailbox, TheReceiverFindsItsMailInTwoLines) {
  EXPECT_EQ(sizeof(RankBlock::Bits), 128U);
  EXPECT_GE(kRankWords * 64, kMaxLocalRanks);
  EXPECT_GE(kMaxLocalRanks, 1024U);
}

TEST_F(Mail, WhatAMessageSaysComesWithIt) {
  std::vector<Letter> expected;
  for (unsigned id = 0; id < kOwnMessagesEnd; ++id) {
    for (const std::uint32_t context : {0U, 1U, 0x10203U, kContextMax}) {
      expected.push_back({kFirst + 1, id, ~std::uint64_t{id}, context, {}});
    }
  }
  for (const std::uint64_t bytes :
       {std::uint64_t{1}, std::uint64_t{15}, std::uint64_t{16}, std::uint64_t{17}, kMessageBytes}) {
    expected.push_back({kFirst + 1, kOwnMessagesEnd - 1, bytes, kContextMax,
                        std::vector<std::byte>(bytes, std::byte{0xff})});
  }
  for (const Letter& letter : expected) {
    ASSERT_EQ(senders_[0]->mailbox.send(0, message_of(letter)), Posted::kDone);
    while (progress() > 0) {
    }
  }
  EXPECT_EQ(receiver_->taken.letters, expected);
}

TEST_F(Mail, TheFrontStaysUntilItIsPopped) {
  EXPECT_FALSE(receiver_->mailbox.front(1));
  ASSERT_EQ(send(1, 10), Posted::kDone);
  ASSERT_EQ(send(1, 11), Posted::kDone);
  ASSERT_EQ(send(2, 20), Posted::kDone);
  for (int looks = 0; looks < 2; ++looks) {
    const std::optional<ActiveMessage> next = receiver_->mailbox.front(1);
    ASSERT_TRUE(next);
    EXPECT_EQ(next->argument, 10U);
  }
  receiver_->mailbox.pop(1);
  ASSERT_TRUE(receiver_->mailbox.front(1));
  EXPECT_EQ(receiver_->mailbox.front(1)->argument, 11U);
  EXPECT_EQ(progress(), 2);
  ASSERT_EQ(receiver_->taken.letters.size(), 2U);
  EXPECT_EQ(receiver_->taken.letters[0].argument, 11U);
  EXPECT_FALSE(receiver_->mailbox.front(1));
}

// Of all sizes, many times round the ring, by both ways of taking.
TEST_F(Mail, NothingIsTornAtTheEndOfTheRing) {
  Prng prng(1);
  std::deque<Letter> under_way;
  std::vector<Letter>& came = receiver_->taken.letters;
  std::uint64_t bytes_sent = 0, retries = 0;
  while (bytes_sent < 100 * kMailRingBytes) {
    Letter letter;
    letter.from = kFirst + 1;
    letter.argument = prng.next();
    letter.payload.resize(prng.chance(0.5) ? prng.below(40) : prng.below(kMessageBytes + 1));
    for (std::byte& byte : letter.payload) byte = static_cast<std::byte>(prng.next());
    while (senders_[0]->mailbox.send(0, message_of(letter)) == Posted::kRetry) {
      ++retries;
      const std::optional<ActiveMessage> next = receiver_->mailbox.front(1);
      ASSERT_TRUE(next) << "the ring is full of nothing";
      ASSERT_EQ(letter_of(kFirst + 1, *next), under_way.front());
      under_way.pop_front();
      receiver_->mailbox.pop(1);
    }
    bytes_sent += letter.payload.size();
    under_way.push_back(std::move(letter));
    if (!prng.chance(0.05)) continue;
    while (progress() > 0) {
    }
    ASSERT_TRUE(std::equal(came.begin(), came.end(), under_way.begin(), under_way.end()));
    came.clear();
    under_way.clear();
  }
  EXPECT_GT(retries, 0U);
}

TEST_F(Mail, AFullRingTakesAgainWhatWasTakenFromIt) {
  std::uint64_t sent = 0;
  while (send(1, sent) == Posted::kDone) ++sent;
  // All but the first word behind the last.
  EXPECT_EQ(sent, kMailRingBytes / 16 - 1);
  EXPECT_EQ(send(1, sent), Posted::kRetry);
  EXPECT_EQ(receiver_->segment->mail_ring(1, 0).waits.load(std::memory_order_relaxed), 1U);
  ASSERT_TRUE(receiver_->mailbox.front(1));
  receiver_->mailbox.pop(1);
  EXPECT_EQ(send(1, sent++), Posted::kDone);
  EXPECT_EQ(receiver_->segment->mail_ring(1, 0).waits.load(std::memory_order_relaxed), 0U);
  EXPECT_EQ(send(1, sent), Posted::kRetry);
  while (progress() > 0) {
  }
  ASSERT_EQ(receiver_->taken.letters.size(), sent - 1);
  for (std::uint64_t i = 1; i < sent; ++i) {
    EXPECT_EQ(receiver_->taken.letters[i - 1].argument, i);
  }
}

// By both ways of taking.
TEST_F(Mail, AFullRingWakesItsSenderWhenThereIsRoom) {
  for (const bool pops : {true, false}) {
    while (send(1) == Posted::kDone) {
    }
    Bell& bell = senders_[0]->segment->rank_block(1).bell;
    bell.armed.store(Armed::kFutex, std::memory_order_relaxed);
    senders_[0]->segment->header().sleepers.value.fetch_add(1, std::memory_order_relaxed);
    const std::uint32_t ticks = bell.ticks.load(std::memory_order_relaxed);
    if (pops) {
      ASSERT_TRUE(receiver_->mailbox.front(1));
      receiver_->mailbox.pop(1);
    } else {
      ASSERT_GT(progress(), 0);
    }
    EXPECT_NE(bell.ticks.load(std::memory_order_relaxed), ticks) << (pops ? "pop" : "progress");
    senders_[0]->doorbell.disarm();
  }
}

TEST_F(Mail, NoBitIsSetForARingThatIsHot) {
  ASSERT_EQ(send(1), Posted::kDone);
  EXPECT_TRUE(has_bit(1));
  EXPECT_FALSE(is_hot(1));
  EXPECT_EQ(progress(), 1);
  EXPECT_TRUE(is_hot(1));
  ASSERT_EQ(send(1), Posted::kDone);
  EXPECT_FALSE(has_bit(1));
  EXPECT_EQ(progress(), 1);
  // Of what is popped, too.
  ASSERT_EQ(send(2), Posted::kDone);
  ASSERT_TRUE(receiver_->mailbox.front(2));
  receiver_->mailbox.pop(2);
  EXPECT_TRUE(is_hot(2));
  ASSERT_EQ(send(2), Posted::kDone);
  EXPECT_EQ(progress(), 1);
  EXPECT_EQ(came(), 3U);
}

TEST_F(Mail, OneMoreThanCanBeHotHasItsBit) {
  heat();
  constexpr std::uint32_t kOther = kHotRings + 1;
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(send(kOther), Posted::kDone);
    EXPECT_TRUE(has_bit(kOther));
    for (std::uint32_t from = 1; from <= kHotRings; ++from) ASSERT_EQ(send(from), Posted::kDone);
    EXPECT_EQ(progress(), static_cast<int>(kHotRings + 1));
    EXPECT_FALSE(is_hot(kOther));
  }
}

// More from one rank than one progress() takes: the rest needs no bit.
TEST_F(Mail, WhatIsLeftInARingIsTakenByTheNextProgress) {
  for (std::uint64_t i = 0; i < 1000; ++i) ASSERT_EQ(send(1, i), Posted::kDone);
  int rounds = 0;
  while (progress() > 0) ++rounds;
  EXPECT_GT(rounds, 1);
  EXPECT_EQ(came(), 1000U);
}

// Which of the hot ones gives way: one in which nothing comes.
TEST_F(Mail, AnIdleRingGivesWayToABusyOne) {
  heat();
  constexpr std::uint32_t kIdle = 5, kBusy = kHotRings + 1;
  int messages = 0;
  for (; is_hot(kIdle) && messages < 10'000; ++messages) {
    for (std::uint32_t from = 1; from <= kHotRings; ++from) {
      if (from == kIdle) continue;
      ASSERT_EQ(send(from), Posted::kDone);
    }
    ASSERT_EQ(send(kBusy), Posted::kDone);
    (void)progress();
  }
  EXPECT_FALSE(is_hot(kIdle));
  EXPECT_TRUE(is_hot(kBusy));
  EXPECT_GT(messages, 100) << "hot rings give way too soon: a fence for each";
  came();
  ASSERT_EQ(send(kIdle), Posted::kDone);
  EXPECT_TRUE(has_bit(kIdle));
  ASSERT_EQ(send(kBusy), Posted::kDone);
  EXPECT_FALSE(has_bit(kBusy));
  EXPECT_EQ(progress(), 2);
}

// A sender sends while its ring is cooled: what came without a bit is found by the next look. Two
// ranks take turns in giving way to each other; the others are busy.
TEST_F(Mail, NothingIsLostInARingThatIsCooledMeanwhile) {
  constexpr int kRounds = 300;
  constexpr std::uint32_t kPerCooling = 256;  // messages that find no room among the hot ones
  heat();
  std::uint32_t cooled = kHotRings, busy = kHotRings + 1;
  const auto send_others = [&] {
    for (std::uint32_t from = 1; from < kHotRings; ++from) (void)send(from);
  };
  const auto make_busy = [&](std::uint32_t messages) {
    for (std::uint32_t i = 0; i < messages; ++i) {
      if (i % 64 == 0) send_others();
      (void)send(busy);
      (void)progress();
    }
  };
  // All have been used when the first look at them comes, and all but one at the second.
  make_busy(kPerCooling);
  std::atomic<int> go{0}, sent{0};
  std::atomic<std::uint32_t> from{0};
  std::thread other([&] {
    Prng prng(7);
    for (int round = 1; round <= kRounds; ++round) {
      while (go.load(std::memory_order_acquire) < round) std::this_thread::yield();
      for (std::uint64_t spins = prng.below(300); spins > 0; --spins) {
        std::atomic_signal_fence(std::memory_order_seq_cst);
      }
      (void)send(from.load(std::memory_order_relaxed), 99);
      sent.store(round, std::memory_order_release);
    }
  });
  int lost = 0, cooled_in_time = 0;
  for (int round = 1; round <= kRounds; ++round) {
    make_busy(kPerCooling - 1);
    send_others();
    (void)send(busy);
    came();
    from.store(cooled, std::memory_order_relaxed);
    go.store(round, std::memory_order_release);
    (void)progress();
    cooled_in_time += is_hot(cooled) ? 0 : 1;
    while (sent.load(std::memory_order_acquire) < round) std::this_thread::yield();
    (void)progress();
    const std::vector<Letter>& letters = receiver_->taken.letters;
    lost += std::none_of(letters.begin(), letters.end(),
                         [](const Letter& letter) { return letter.argument == 99; });
    if (!is_hot(cooled)) {
      std::swap(cooled, busy);
      make_busy(kPerCooling - 1);  // and the message above was one
    }
  }
  other.join();
  EXPECT_EQ(lost, 0);
  EXPECT_GT(cooled_in_time, 0);  // how often depends on the scheduler
}

}  // namespace
}  // namespace espalier::shm
