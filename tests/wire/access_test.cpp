// Remote access over every link: what is put is there, what is got was there, words are counted
// once, messages come once and in order; also when links have no room, lose packets or break.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "access_parties.hpp"

namespace espalier::test {
namespace {

using net::RemoteKind;

class Access : public ::testing::TestWithParam<WorldKind> {};

constexpr std::uint64_t kSlotBytes = 300'000;  // more than two requests
constexpr int kAccessRanks = 3, kSlots = 3;

// One slot of an origin at a target: put, then get, then again.
struct Slot {
  Rank from = 0, to = 0;
  std::uint64_t offset = 0;
  int rounds = 0;
  std::uint64_t bytes = 0, seed = 0;
  std::vector<std::byte> buffer;
  std::unique_ptr<Probe> op;

  void start(Parties& parties, Prng& prng) {
    const bool gets = op != nullptr && op->kind == RemoteKind::kPut;
    if (gets) {
      buffer.assign(bytes, std::byte{0});
    } else {
      bytes = 1 + prng.below(prng.chance(0.5) ? 200 : kSlotBytes - 8);
      seed = prng.next();
      buffer.resize(bytes);
      fill(buffer.data(), bytes, seed);
    }
    op = std::make_unique<Probe>();
    op->kind = gets ? RemoteKind::kGet : RemoteKind::kPut;
    op->target = to;
    op->region = parties.at(to).region;
    op->direct = parties.at(to).direct;
    op->offset = offset + seed % 7;
    op->memory = buffer.data();
    op->bytes = bytes;
    parties.access(from).start(*op);
    ASSERT_EQ(op->fired, 0) << "inside a post";
    ++rounds;
  }
  void look(Parties& parties) const {
    ASSERT_EQ(op->fired, 1);
    ASSERT_TRUE(op->status.ok()) << parties.world().link(from).describe(to);
    if (op->kind == RemoteKind::kGet) {
      ASSERT_TRUE(holds(buffer.data(), bytes, seed));
    }
  }
};

constexpr std::size_t kMany = 300;

// Adds 1 to the word of rank 0.
void start_count(Parties& parties, Prng& prng, std::deque<Probe>& counts,
                 std::deque<std::uint64_t>& olds, std::uint64_t offset) {
  Probe& add = counts.emplace_back();
  add.kind = RemoteKind::kFetchAdd;
  add.target = 0;
  add.region = parties.at(0).region;
  add.offset = offset;
  add.memory = reinterpret_cast<std::byte*>(&olds.emplace_back(~0ULL));
  add.bytes = 8;
  add.operands = {1, 0};
  parties.access(static_cast<Rank>(prng.below(kAccessRanks - 1) + 1)).start(add);
}

// The next of a rank to the rank behind it.
void send_letter(Parties& parties, Prng& prng, std::deque<Sent>& letters,
                 std::vector<std::uint64_t>& sent) {
  const auto from = static_cast<Rank>(prng.below(kAccessRanks));
  Sent& letter = letters.emplace_back();
  const std::uint64_t number = sent[static_cast<std::size_t>(from)]++;
  letter.payload.resize(prng.below(kMessageBytes + 1));
  fill(letter.payload.data(), letter.payload.size(), number);
  letter.posted = parties.access(from).send(
      (from + 1) % kAccessRanks, {5, number, letter.payload.data(), letter.payload.size()},
      letter.frame);
  ASSERT_EQ(letter.fired, 0) << "inside a post";
}

TEST_P(Access, PutsGetsAtomicsAndMessagesAtOnce) {
  constexpr std::uint64_t kWords =
      kAccessRanks * kSlots * kSlotBytes;  // the words stand behind them
  Parties parties(GetParam(), kAccessRanks, kWords + 16);
  Prng prng(11);
  std::vector<Slot> slots;
  for (Rank from = 0; from < kAccessRanks; ++from) {
    for (Rank to = 0; to < kAccessRanks; ++to) {
      for (int s = 0; s < kSlots && from != to; ++s) {
        Slot& slot = slots.emplace_back();
        slot.from = from;
        slot.to = to;
        slot.offset = static_cast<std::uint64_t>(from * kSlots + s) * kSlotBytes;
      }
    }
  }
  std::deque<Probe> counts;
  std::deque<std::uint64_t> olds;
  std::deque<Sent> letters;
  std::vector<std::uint64_t> sent(kAccessRanks, 0);
  for (Slot& slot : slots) slot.start(parties, prng);
  const int rounds = GetParam().slow ? 5 : 12;
  const auto done = [&] {
    if (HasFatalFailure()) return true;
    bool all = true;
    for (Slot& slot : slots) {
      if (slot.op->fired == 0) {
        all = false;
        continue;
      }
      slot.look(parties);
      if (slot.rounds < rounds) slot.start(parties, prng);
      all = all && slot.rounds == rounds && slot.op->fired == 1;
    }
    if (counts.size() < kMany) start_count(parties, prng, counts, olds, kWords);
    if (letters.size() < kMany) send_letter(parties, prng, letters, sent);
    for (const Probe& count : counts) all = all && count.fired == 1;
    for (const Sent& letter : letters) {
      all = all && (letter.posted == Posted::kDone || letter.fired == 1);
    }
    for (Rank from = 0; from < kAccessRanks; ++from) {
      const auto to = static_cast<std::size_t>((from + 1) % kAccessRanks);
      all = all && parties.all[to]->next[static_cast<std::size_t>(from)] ==
                       sent[static_cast<std::size_t>(from)];
    }
    return all && counts.size() == kMany && letters.size() == kMany;
  };
  ASSERT_TRUE(parties.until(done));
  std::sort(olds.begin(), olds.end());
  for (std::size_t i = 0; i < olds.size(); ++i) ASSERT_EQ(olds[i], i) << "each old value once";
  std::uint64_t word = 0;
  std::memcpy(&word, parties.at(0).memory.data() + kWords, sizeof word);
  EXPECT_EQ(word, kMany);
}

TEST_P(Access, CompareSwapSwapsWhenEqualOnly) {
  Parties parties(GetParam(), 2, 64);
  std::uint64_t old = 7;
  const auto swap = [&](std::uint64_t expected, std::uint64_t desired) {
    Probe op;
    op.kind = RemoteKind::kCompareSwap;
    op.target = 1;
    op.region = parties.at(1).region;
    op.offset = 8;
    op.memory = reinterpret_cast<std::byte*>(&old);
    op.bytes = 8;
    op.operands = {expected, desired};
    parties.access(0).start(op);
    EXPECT_TRUE(parties.until([&] { return op.fired > 0; }));
    EXPECT_TRUE(op.status.ok());
    return old;
  };
  EXPECT_EQ(swap(0, 5), 0U);
  EXPECT_EQ(swap(0, 6), 5U);
  EXPECT_EQ(swap(5, 9), 5U);
  EXPECT_EQ(swap(1, 1), 9U);
}

TEST_P(Access, MessagesThatNobodyTakesAreRefused) {
  Parties parties(GetParam(), 2, 64);
  Sent letter;
  letter.posted = parties.access(0).send(1, {9, 1, nullptr, 0}, letter.frame);
  EXPECT_TRUE(parties.until([&] { return letter.complete(); }));
  EXPECT_TRUE(parties.until([&] { return parties.access(0).refused(1, 9); }));
  EXPECT_FALSE(parties.access(0).refused(1, 5));
}

// A cancelled operation does not fire and its memory is left alone; those after it go on.
TEST_P(Access, CancelAtAnyMoment) {
  for (const int steps : {0, 1, 3, 10, 40}) {
    Parties parties(GetParam(), 2, 300'000);
    std::deque<Probe> ops;
    std::deque<std::vector<std::byte>> buffers;
    start_some(parties, ops, buffers, 1);
    for (int i = 0; i < steps; ++i) (void)parties.step();
    for (std::size_t i = 0; i < ops.size(); i += 2) {
      if (ops[i].fired > 0) continue;
      parties.access(1).cancel(ops[i]);
      buffers[i] = {};
      ops[i].fired = 100;
    }
    ASSERT_TRUE(parties.until([&] { return ended(ops); })) << steps;
    for (int i = 0; i < 100; ++i) (void)parties.step();
    for (std::size_t i = 0; i < ops.size(); ++i) {
      EXPECT_TRUE(ops[i].fired == 1 || ops[i].fired == 100) << ops[i].fired;
      EXPECT_TRUE(ops[i].status.ok());
    }
  }
}

// Memory that is taken back is not touched any more; what still comes for it is told so.
TEST_P(Access, RegionsMayBeRetractedAtAnyMoment) {
  for (const int steps : {0, 1, 3, 10, 40}) {
    Parties parties(GetParam(), 2, 300'000);
    std::deque<Probe> ops;
    std::deque<std::vector<std::byte>> buffers;
    start_some(parties, ops, buffers, 1);
    for (int i = 0; i < steps; ++i) (void)parties.step();
    parties.access(0).retract(parties.at(0).region);
    parties.at(0).memory = {};
    ASSERT_TRUE(parties.until([&] { return ended(ops); }));
    for (const Probe& op : ops) {
      EXPECT_EQ(op.fired, 1);
      EXPECT_TRUE(op.status.ok() || op.status == Status(ESP_ERR_STATE, 0));
    }
    EXPECT_TRUE(parties.access(1).state(0).ok()) << "nobody is given up for that";
  }
}

INSTANTIATE_TEST_SUITE_P(Links, Access, ::testing::ValuesIn(frame_worlds()), name_of_world);

}  // namespace
}  // namespace espalier::test
