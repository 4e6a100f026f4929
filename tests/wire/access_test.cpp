// Remote access over every link: what is put is there, what is got was there, words are counted
// once, messages come once and in order; also when links have no room, lose packets or break.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "frame_world.hpp"
#include "net/remote_access.hpp"
#include "traffic.hpp"
#include "world_kind.hpp"

namespace espalier::test {
namespace {

using net::RemoteAccess;
using net::RemoteKind;
using net::RemoteOp;

struct Probe : RemoteOp {
  Probe() : RemoteOp(on_fire) {}
  static void on_fire(Completion& op, Status status) noexcept {
    auto& self = static_cast<Probe&>(op);
    ++self.fired;
    self.status = status;
  }
  int fired = 0;
  Status status;
};

struct Sent : Completion {
  Sent() : Completion(on_fire) {}
  static void on_fire(Completion& op, Status status) noexcept {
    ++static_cast<Sent&>(op).fired;
    static_cast<Sent&>(op).status = status;
  }
  std::vector<std::byte> payload;
  Posted posted = Posted::kRetry;
  int fired = 0;
  Status status;
};

// One rank: its end of the protocol, a region, and what messages have told it.
struct Party final : MessageTaker {
  Party(FrameWorld& world, Rank rank, std::uint64_t region_bytes)
      : memory(region_bytes),
        next(static_cast<std::size_t>(world.size()), 0),
        access(std::make_unique<RemoteAccess>(
            std::vector<net::FrameWire*>(static_cast<std::size_t>(world.size()),
                                         &world.frames(rank)),
            *this)) {
    region = access->offer(memory.data(), memory.size());
  }
  bool take(Rank from, const ActiveMessage& message) noexcept override {
    if (message.id != 5) return false;
    auto& expected = next[static_cast<std::size_t>(from)];
    EXPECT_EQ(message.argument, expected);
    ++expected;
    EXPECT_TRUE(holds(message.payload, message.bytes, message.argument));
    return true;
  }

  std::vector<std::byte> memory;
  std::vector<std::uint64_t> next;  // message of each rank
  std::unique_ptr<RemoteAccess> access;
  std::uint32_t region = 0;
};

struct Parties {
  Parties(const WorldKind& kind, int ranks, std::uint64_t region_bytes) : made(kind.make(ranks)) {
    for (Rank r = 0; r < ranks; ++r) {
      all.push_back(std::make_unique<Party>(world(), r, region_bytes));
    }
  }
  FrameWorld& world() { return static_cast<FrameWorld&>(*made); }
  RemoteAccess& access(Rank r) { return *all[static_cast<std::size_t>(r)]->access; }
  Party& at(Rank r) { return *all[static_cast<std::size_t>(r)]; }

  int step() {
    int events = 0;
    for (Rank r = 0; r < world().size(); ++r) {
      if (!world().is_open(r)) continue;
      events += world().wire(r).progress();
      if (all[static_cast<std::size_t>(r)]->access != nullptr) events += access(r).progress();
    }
    if (events == 0) world().rest();
    return events;
  }
  template <typename Done>
  bool until(Done&& done) {
    for (int i = 0; i < 2'000'000; ++i) {
      if (done()) return true;
      (void)step();
    }
    return done();
  }
  ~Parties() {
    for (auto& party : all) party->access.reset();
  }

  std::unique_ptr<World> made;
  std::vector<std::unique_ptr<Party>> all;
};

class Access : public ::testing::TestWithParam<WorldKind> {};

constexpr std::uint64_t kSlotBytes = 300'000;  // more than two requests
constexpr int kRanks = 3, kSlots = 3;

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
    op->offset = offset + seed % 7;
    op->memory = buffer.data();
    op->bytes = bytes;
    parties.access(from).start(*op);
    ASSERT_EQ(op->fired, 0) << "inside a post";
    ++rounds;
  }
  void look() const {
    ASSERT_EQ(op->fired, 1);
    ASSERT_TRUE(op->status.ok());
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
  parties.access(static_cast<Rank>(prng.below(kRanks - 1) + 1)).start(add);
}

// The next of a rank to the rank behind it, unless there is no room.
void send_letter(Parties& parties, Prng& prng, std::deque<Sent>& letters,
                 std::vector<std::uint64_t>& sent) {
  const auto from = static_cast<Rank>(prng.below(kRanks));
  Sent& letter = letters.emplace_back();
  std::uint64_t& number = sent[static_cast<std::size_t>(from)];
  letter.payload.resize(prng.below(kMessageBytes + 1));
  fill(letter.payload.data(), letter.payload.size(), number);
  letter.posted = parties.access(from).send(
      (from + 1) % kRanks, {5, number, letter.payload.data(), letter.payload.size()}, letter);
  if (letter.posted == Posted::kRetry) {
    letters.pop_back();
  } else {
    ++number;
  }
}

TEST_P(Access, PutsGetsAtomicsAndMessagesAtOnce) {
  constexpr std::uint64_t kWords = kRanks * kSlots * kSlotBytes;  // the words stand behind them
  Parties parties(GetParam(), kRanks, kWords + 16);
  Prng prng(11);
  std::vector<Slot> slots;
  for (Rank from = 0; from < kRanks; ++from) {
    for (Rank to = 0; to < kRanks; ++to) {
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
  std::vector<std::uint64_t> sent(kRanks, 0);
  for (Slot& slot : slots) slot.start(parties, prng);
  constexpr int kRounds = 12;
  const auto done = [&] {
    bool all = true;
    for (Slot& slot : slots) {
      if (slot.op->fired == 0) {
        all = false;
        continue;
      }
      slot.look();
      if (slot.rounds < kRounds) slot.start(parties, prng);
      all = all && slot.rounds == kRounds && slot.op->fired == 1;
    }
    if (counts.size() < kMany) start_count(parties, prng, counts, olds, kWords);
    if (letters.size() < kMany) send_letter(parties, prng, letters, sent);
    for (const Probe& count : counts) all = all && count.fired == 1;
    for (const Sent& letter : letters) {
      all = all && (letter.posted == Posted::kDone || letter.fired == 1);
    }
    for (Rank from = 0; from < kRanks; ++from) {
      const auto to = static_cast<std::size_t>((from + 1) % kRanks);
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
  ASSERT_TRUE(parties.until([&] {
    return parties.access(0).send(1, {9, 1, nullptr, 0}, letter) != Posted::kRetry;
  }));
  EXPECT_TRUE(parties.until([&] { return parties.access(0).refused(1, 9); }));
  EXPECT_FALSE(parties.access(0).refused(1, 5));
}

// Operations of all kinds and of several requests, at any moment.
void start_some(Parties& parties, std::deque<Probe>& ops,
                std::deque<std::vector<std::byte>>& buffers, Rank from) {
  for (int i = 0; i < 12; ++i) {
    Probe& op = ops.emplace_back();
    op.kind = static_cast<RemoteKind>(i % 3);
    op.target = 0;
    op.region = parties.at(0).region;
    op.bytes = i % 3 == 2 ? 8 : 250'000;
    op.memory = buffers.emplace_back(op.bytes).data();
    parties.access(from).start(op);
  }
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
    const auto all_ended = [&] {
      for (const Probe& op : ops) {
        if (op.fired == 0) return false;
      }
      return true;
    };
    ASSERT_TRUE(parties.until(all_ended)) << steps;
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
    ASSERT_TRUE(parties.until([&] {
      for (const Probe& op : ops) {
        if (op.fired == 0) return false;
      }
      return true;
    }));
    for (const Probe& op : ops) {
      EXPECT_EQ(op.fired, 1);
      EXPECT_TRUE(op.status.ok() || op.status == Status(ESP_ERR_STATE, 0));
    }
    EXPECT_TRUE(parties.access(1).state(0).ok()) << "nobody is given up for that";
  }
}

// The target goes away: everything ends once and names it, and so does what comes later.
TEST_P(Access, LostTargetsEndOperations) {
  for (const int steps : {0, 2, 20}) {
    Parties parties(GetParam(), 2, 300'000);
    Probe first;
    first.kind = RemoteKind::kFetchAdd;
    first.target = 0;
    first.bytes = 8;
    parties.access(1).start(first);
    ASSERT_TRUE(parties.until([&] { return first.fired == 1; }));
    std::deque<Probe> ops;
    std::deque<std::vector<std::byte>> buffers;
    start_some(parties, ops, buffers, 1);
    for (int i = 0; i < steps; ++i) (void)parties.step();
    parties.at(0).access.reset();
    parties.world().close(0);
    ASSERT_TRUE(parties.until([&] { return !parties.access(1).state(0).ok(); }));
    start_some(parties, ops, buffers, 1);
    ASSERT_TRUE(parties.until([&] {
      for (const Probe& op : ops) {
        if (op.fired == 0) return false;
      }
      return true;
    }));
    for (std::size_t i = 0; i < ops.size(); ++i) {
      EXPECT_EQ(ops[i].fired, 1);
      EXPECT_TRUE(ops[i].status.ok() || ops[i].status.rank() == 0);
      EXPECT_TRUE(i < 12 || !ops[i].status.ok());
    }
  }
}

// A target that has said goodbye does not answer, and goes: who waits asks for it and is told.
TEST_P(Access, TargetsThatLeaveEndOperations) {
  Parties parties(GetParam(), 2, 64);
  const auto add = [&](Probe& op) {
    op.kind = RemoteKind::kFetchAdd;
    op.target = 0;
    op.bytes = 8;
    parties.access(1).start(op);
  };
  Probe before, late;
  int looks = 0;
  add(before);
  ASSERT_TRUE(parties.until([&] { return before.fired == 1; }));
  parties.world().link(0).say_goodbye(1);
  add(late);
  ASSERT_TRUE(parties.until([&] { return parties.world().link(0).drained(); }));
  for (int i = 0; i < 20; ++i) (void)parties.step();
  parties.at(0).access.reset();
  parties.world().close(0);
  ASSERT_TRUE(parties.until([&] {
    if (late.fired == 0 && ++looks % 64 == 0) parties.access(1).probe(0);
    return late.fired == 1;
  }));
  EXPECT_FALSE(late.status.ok());
  EXPECT_EQ(late.status.rank(), 0);
}

// Tries again whenever it fails.
struct Stubborn : RemoteOp {
  explicit Stubborn(RemoteAccess& way) : RemoteOp(on_fire), access(way) {
    kind = RemoteKind::kFetchAdd;
    target = 0;
    bytes = 8;
  }
  static void on_fire(Completion& op, Status) noexcept {
    auto& self = static_cast<Stubborn&>(op);
    if (++self.fired < 20) self.access.start(self);
  }
  RemoteAccess& access;
  int fired = 0;
};

// Whoever tries again with a target that is lost gets its next failure from the next progress.
TEST_P(Access, TryingAgainIsNoEndlessProgress) {
  Parties parties(GetParam(), 2, 64);
  Probe first;
  first.kind = RemoteKind::kFetchAdd;
  first.target = 0;
  first.bytes = 8;
  parties.access(1).start(first);
  ASSERT_TRUE(parties.until([&] { return first.fired == 1; }));
  parties.at(0).access.reset();
  parties.world().close(0);
  RemoteAccess& access = parties.access(1);
  Probe last;
  last.kind = RemoteKind::kGet;
  last.target = 0;
  last.bytes = 8;
  last.memory = parties.at(1).memory.data();
  access.start(last);
  ASSERT_TRUE(parties.until([&] { return last.fired == 1; }));
  Stubborn a(access), b(access);
  access.start(a);
  access.start(b);
  for (int turn = 1; turn <= 20; ++turn) {
    EXPECT_GE(access.progress(), 2);
    EXPECT_EQ(a.fired, turn);
    EXPECT_EQ(b.fired, turn);
  }
}

// Over links; the others have no frames.
std::vector<WorldKind> frame_worlds() {
  std::vector<WorldKind> worlds;
  for (const WorldKind& kind : random_worlds()) {
    const std::string_view name = kind.name;
    if (name.starts_with("Shm") || name.starts_with("Sim")) continue;
    worlds.push_back(kind);
  }
  return worlds;
}

// A link on which nothing goes out, and frames come in when the test says so.
struct HandLink final : net::Link {
  net::LinkCaps caps(Rank) const noexcept override { return {}; }
  Posted post(Rank, const net::FrameHeader&, const void*, Completion&) noexcept override {
    return Posted::kDone;
  }
  void withdraw(Rank, Completion&) noexcept override {}
  void reach(Rank) noexcept override {}
  void lose(Rank peer, Error) noexcept override { given_up.push_back(peer); }
  int progress(net::FrameSink& sink) noexcept override {
    if (payload == nullptr) payload = sink.begin(0, header);
    if (payload != nullptr) std::memset(payload, value, header.bytes);
    if (payload != nullptr && ends) sink.end(0, header, payload);
    return 1;
  }
  int descriptor() const noexcept override { return -1; }
  bool arm() noexcept override { return false; }
  void say_goodbye(Rank) noexcept override {}
  bool drained() const noexcept override { return true; }
  std::string describe(Rank) const override { return ""; }

  net::FrameHeader header;
  int value = 0;
  bool ends = true;
  std::byte* payload = nullptr;  // of the frame that has begun
  std::vector<Rank> given_up;
};

// Rank 0 lies: it is inside a message on its own way, and comes by the other one, too.
TEST(RemoteAccess, FramesByAWayThatIsNotThePeersTouchNothing) {
  struct Taker final : MessageTaker {
    bool take(Rank, const ActiveMessage& message) noexcept override {
      const auto* bytes = static_cast<const std::byte*>(message.payload);
      for (std::uint64_t i = 0; i < message.bytes; ++i) EXPECT_EQ(bytes[i], std::byte{1});
      ++taken;
      return true;
    }
    int taken = 0;
  } taker;
  Counters counters;
  HandLink own, other;
  net::FrameWire own_wire(own, 3, {}, counters), other_wire(other, 3, {}, counters);
  net::RemoteAccess access({&own_wire, nullptr, &other_wire}, taker);
  std::vector<std::byte> memory(64);
  const std::uint32_t region = access.offer(memory.data(), memory.size());

  own.header.kind = net::FrameKind::kMessage;
  own.header.ordinal = 5;
  own.header.bytes = 48;
  own.value = 1;
  own.ends = false;
  (void)own_wire.progress();
  ASSERT_NE(own.payload, nullptr);

  other.header.kind = net::FrameKind::kPut;
  other.header.ordinal = region;
  other.header.bytes = 32;
  other.value = 2;
  (void)other_wire.progress();
  EXPECT_EQ(other.payload, nullptr);
  EXPECT_EQ(other.given_up, std::vector<Rank>{0});
  EXPECT_TRUE(own.given_up.empty());
  EXPECT_EQ(memory, std::vector<std::byte>(64));

  // Its own way goes on as if nothing had been.
  own.ends = true;
  (void)own_wire.progress();
  EXPECT_EQ(taker.taken, 1);
  EXPECT_TRUE(own.given_up.empty());
}

INSTANTIATE_TEST_SUITE_P(Links, Access, ::testing::ValuesIn(frame_worlds()), name_of_world);

}  // namespace
}  // namespace espalier::test
