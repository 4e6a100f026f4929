// The handshake under every interleaving: two sides, letters that are lost, repeated and overtaken,
// sides that ask when they like or have no room, connections that break.
#include "net/rdma/connection_handshake.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

#include "core/prng.hpp"

namespace espalier::rdma {
namespace {

// One side as ConnectionLink drives it; ends are numbers.
struct Side {
  explicit Side(bool precedes) : handshake(precedes) {}
  ConnectionHandshake handshake;
  std::uint32_t ends = 0;  // made so far
  std::uint32_t end = 0;   // the present one; 0: none
  std::uint32_t peer = 0;  // the end it is connected to; 0: none
  int asks = 0;            // still to happen: first use, breaks
  int refusals = 0;        // still to happen: requests that find no room
};

struct Mail {
  LetterKind kind;
  std::uint32_t epoch, end;
  friend auto operator<=>(const Mail&, const Mail&) = default;
};

struct State {
  std::array<Side, 2> sides{Side(true), Side(false)};
  std::array<std::set<Mail>, 2> to;  // a set: letters are repeated and overtaken as it pleases
  std::vector<std::uint32_t> key() const {
    std::vector<std::uint32_t> words;
    for (const Side& s : sides) {
      words.insert(words.end(),
                   {static_cast<std::uint32_t>(s.handshake.state()), s.handshake.epoch(), s.end,
                    s.peer, s.ends, static_cast<std::uint32_t>(s.asks),
                    static_cast<std::uint32_t>(s.refusals), s.handshake.asked()});
    }
    for (const auto& mail : to) {
      words.push_back(0xffffffff);
      for (const Mail& m : mail) {
        words.insert(words.end(), {static_cast<std::uint32_t>(m.kind), m.epoch, m.end});
      }
    }
    return words;
  }
};

void send(State& state, int from, LetterKind kind) {
  const Side& side = state.sides[static_cast<std::size_t>(from)];
  state.to[static_cast<std::size_t>(1 - from)].insert({kind, side.handshake.epoch(), side.end});
}

void ask(State& state, int who) {
  Side& side = state.sides[static_cast<std::size_t>(who)];
  side.end = ++side.ends;
  side.peer = 0;
  side.handshake.ask();
  send(state, who, LetterKind::kRequest);
}

void receive(State& state, int who, const Mail& mail) {
  Side& side = state.sides[static_cast<std::size_t>(who)];
  switch (side.handshake.receive(mail.kind, mail.epoch)) {
    case ConnectionHandshake::Step::kAnswer:
      if (side.refusals > 0) {
        --side.refusals;
        side.end = side.peer = 0;
        side.handshake.refuse();
        return send(state, who, LetterKind::kNoRoom);
      }
      side.end = ++side.ends;
      side.peer = mail.end;
      return send(state, who, LetterKind::kReply);
    case ConnectionHandshake::Step::kRepeatAnswer:
      ASSERT_EQ(side.peer, mail.end) << "the same request, from another end";
      return send(state, who, LetterKind::kReply);
    case ConnectionHandshake::Step::kConnect:
      side.peer = mail.end;
      return send(state, who, LetterKind::kReady);
    case ConnectionHandshake::Step::kRepeatReady:
      return send(state, who, LetterKind::kReady);
    case ConnectionHandshake::Step::kRepeatRefusal:
      return send(state, who, LetterKind::kNoRoom);
    case ConnectionHandshake::Step::kNoRoom:
      side.end = side.peer = 0;
      return;
    case ConnectionHandshake::Step::kGo:
    case ConnectionHandshake::Step::kNothing:
      return;
  }
}

// Both may send, and each is connected to the other's present end.
bool joined(const State& state) {
  const Side& a = state.sides[0];
  const Side& b = state.sides[1];
  return a.handshake.up() && b.handshake.up() && a.peer == b.end && b.peer == a.end;
}

void check(const State& state) {
  const Side& a = state.sides[0];
  const Side& b = state.sides[1];
  // Who may send in the other's epoch is connected to its present end, which takes it in.
  if (a.handshake.epoch() == b.handshake.epoch() && a.handshake.up()) {
    ASSERT_EQ(a.peer, b.end);
    ASSERT_EQ(b.peer, a.end);
  }
  if (a.handshake.epoch() == b.handshake.epoch() && b.handshake.up()) {
    ASSERT_EQ(b.peer, a.end);
    ASSERT_EQ(a.peer, b.end);
  }
}

// From any state, when letters get through again and timers repeat them, both are joined soon.
void check_liveness(State state) {
  for (Side& side : state.sides) side.refusals = 0;
  for (int round = 0; round < 12 && !joined(state); ++round) {
    for (int who = 0; who < 2; ++who) {
      const Side& side = state.sides[static_cast<std::size_t>(who)];
      if (side.handshake.state() == ConnectionHandshake::State::kAsking) {
        send(state, who, LetterKind::kRequest);
      }
      if (side.handshake.state() == ConnectionHandshake::State::kAnswering) {
        send(state, who, LetterKind::kReply);
      }
      // Who had no answer but that there is no room asks once more.
      if (side.end == 0 && side.handshake.epoch() > 0 &&
          state.sides[static_cast<std::size_t>(1 - who)].handshake.state() !=
              ConnectionHandshake::State::kAsking) {
        ask(state, who);
      }
      // A connection whose other end is gone breaks, and is asked for anew.
      const Side& other = state.sides[static_cast<std::size_t>(1 - who)];
      if (side.handshake.up() && (other.end != side.peer || other.peer != side.end) &&
          other.handshake.state() != ConnectionHandshake::State::kAsking &&
          other.handshake.epoch() >= side.handshake.epoch()) {
        ask(state, who);
      }
    }
    for (int who = 0; who < 2; ++who) {
      for (const Mail& mail : std::exchange(state.to[static_cast<std::size_t>(who)], {})) {
        receive(state, who, mail);
      }
    }
  }
  ASSERT_TRUE(joined(state));
}

// Every state that can be reached; letters stay in the set (repeated, overtaken) or are taken out
// (lost).
std::size_t explore(const State& start, std::size_t letters_max) {
  std::set<std::vector<std::uint32_t>> seen;
  std::vector<State> open{start};
  while (!open.empty()) {
    const State state = open.back();
    open.pop_back();
    if (!seen.insert(state.key()).second) continue;
    check(state);
    const bool begun = state.sides[0].handshake.epoch() > 0 || state.sides[1].handshake.epoch() > 0;
    if (begun) check_liveness(state);
    if (::testing::Test::HasFatalFailure()) return 0;
    for (int who = 0; who < 2; ++who) {
      const auto w = static_cast<std::size_t>(who);
      if (state.sides[w].asks > 0) {
        State next = state;
        --next.sides[w].asks;
        ask(next, who);
        open.push_back(next);
      }
      // A message on the connection: it comes from an end that may send.
      if (state.sides[w].handshake.state() == ConnectionHandshake::State::kAnswering &&
          state.sides[1 - w].handshake.up() && state.sides[1 - w].peer == state.sides[w].end) {
        State next = state;
        next.sides[w].handshake.heard();
        open.push_back(next);
      }
      for (const Mail& mail : state.to[w]) {
        State kept = state, lost = state, taken = state;
        receive(kept, who, mail);
        if (kept.to[0].size() + kept.to[1].size() <= letters_max) open.push_back(kept);
        lost.to[w].erase(mail);
        open.push_back(lost);
        taken.to[w].erase(mail);
        receive(taken, who, mail);
        open.push_back(taken);
      }
    }
  }
  return seen.size();
}

TEST(ConnectionHandshake, EveryInterleavingOfTwoSides) {
  for (int a = 0; a <= 2; ++a) {
    for (int b = 0; b <= 2; ++b) {
      if (a + b == 0 || a + b > 3) continue;
      State start;
      start.sides[0].asks = a;
      start.sides[1].asks = b;
      const std::size_t states = explore(start, 5);
      if (::testing::Test::HasFatalFailure()) FAIL() << a << " " << b;
      EXPECT_GT(states, 4U);
      RecordProperty("states_" + std::to_string(a) + std::to_string(b), static_cast<int>(states));
    }
  }
}

TEST(ConnectionHandshake, EveryInterleavingWhereThereIsNoRoom) {
  for (int a = 0; a <= 1; ++a) {
    for (int b = 0; b <= 1; ++b) {
      if (a + b == 0) continue;
      for (int refusing = 0; refusing < 2; ++refusing) {
        State start;
        start.sides[0].asks = a;
        start.sides[1].asks = b;
        start.sides[static_cast<std::size_t>(refusing)].refusals = 1;
        EXPECT_GT(explore(start, 5), 2U);
        if (::testing::Test::HasFatalFailure()) FAIL() << a << " " << b << " " << refusing;
      }
    }
  }
}

TEST(ConnectionHandshake, TheLowerRanksRequestCounts) {
  ConnectionHandshake low(true), high(false);
  low.ask();
  high.ask();
  EXPECT_EQ(low.receive(LetterKind::kRequest, 1), ConnectionHandshake::Step::kNothing);
  EXPECT_EQ(high.receive(LetterKind::kRequest, 1), ConnectionHandshake::Step::kAnswer);
  EXPECT_EQ(low.receive(LetterKind::kReply, 1), ConnectionHandshake::Step::kConnect);
  EXPECT_EQ(low.receive(LetterKind::kReply, 1), ConnectionHandshake::Step::kRepeatReady);
  EXPECT_EQ(high.receive(LetterKind::kReady, 1), ConnectionHandshake::Step::kGo);
  EXPECT_TRUE(low.up() && high.up());
  EXPECT_EQ(high.receive(LetterKind::kReady, 1), ConnectionHandshake::Step::kNothing);
}

TEST(ConnectionHandshake, StaleLettersAreHarmless) {
  ConnectionHandshake one(true);
  one.ask();
  one.ask();
  EXPECT_EQ(one.receive(LetterKind::kReply, 1), ConnectionHandshake::Step::kNothing);
  EXPECT_EQ(one.receive(LetterKind::kReady, 2), ConnectionHandshake::Step::kNothing);
  EXPECT_EQ(one.receive(LetterKind::kRequest, 1), ConnectionHandshake::Step::kNothing);
  EXPECT_EQ(one.state(), ConnectionHandshake::State::kAsking);
}

TEST(ConnectionHandshake, WhereThereIsNoRoomEveryRequestIsTold) {
  ConnectionHandshake asker(true), full(false);
  asker.ask();
  EXPECT_EQ(full.receive(LetterKind::kRequest, 1), ConnectionHandshake::Step::kAnswer);
  full.refuse();
  EXPECT_EQ(full.receive(LetterKind::kRequest, 1), ConnectionHandshake::Step::kRepeatRefusal);
  EXPECT_EQ(asker.receive(LetterKind::kNoRoom, 1), ConnectionHandshake::Step::kNoRoom);
  EXPECT_EQ(asker.receive(LetterKind::kNoRoom, 1), ConnectionHandshake::Step::kNothing);
  asker.ask();
  EXPECT_EQ(asker.receive(LetterKind::kNoRoom, 1), ConnectionHandshake::Step::kNothing)
      << "of before";
  EXPECT_EQ(full.receive(LetterKind::kRequest, 2), ConnectionHandshake::Step::kAnswer)
      << "now there is";
  EXPECT_EQ(full.receive(LetterKind::kRequest, 1), ConnectionHandshake::Step::kNothing);
}

TEST(Letter, ReadsBack) {
  Letter letter;
  letter.kind = LetterKind::kReply;
  letter.epoch = 0x01020304;
  letter.window = 77;
  letter.expected = 0x1122334455667788ULL;
  for (std::size_t i = 0; i < letter.end.bytes.size(); ++i) {
    letter.end.bytes[i] = static_cast<std::byte>(i + 1);
  }
  const auto bytes = letter_bytes(letter);
  const auto read = parse_letter(bytes);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value().epoch, letter.epoch);
  EXPECT_EQ(read.value().window, letter.window);
  EXPECT_EQ(read.value().expected, letter.expected);
  EXPECT_EQ(read.value().end.bytes, letter.end.bytes);
}

TEST(Letter, NonsenseIsRefused) {
  const auto good = letter_bytes({LetterKind::kRequest, 1, 8, 1, {}});
  EXPECT_TRUE(parse_letter(good).ok());
  EXPECT_FALSE(parse_letter(std::span(good).first(63)).ok());
  EXPECT_FALSE(parse_letter({}).ok());
  for (const std::size_t at : {0U, 3U, 4U, 7U}) {
    auto bad = good;
    bad[at] ^= std::byte{0x40};
    EXPECT_FALSE(parse_letter(bad).ok()) << at;
  }
  EXPECT_FALSE(parse_letter(letter_bytes({LetterKind::kRequest, 0, 8, 1, {}})).ok());
  EXPECT_TRUE(parse_letter(letter_bytes({LetterKind::kNoRoom, 1, 0, 0, {}})).ok());
}

// Letters that are nearly right: what is read is what stands there, and nothing else is refused.
TEST(Letter, DamagedOnesAreReadAsTheyStandOrRefused) {
  Prng prng(1);
  int read_ones = 0;
  for (int i = 0; i < 50'000; ++i) {
    Letter letter;
    letter.kind = static_cast<LetterKind>(1 + prng.below(4));
    letter.epoch = static_cast<std::uint32_t>(prng.chance(0.5) ? 1 : prng.next());
    letter.window = static_cast<std::uint32_t>(prng.below(128));
    letter.expected = prng.chance(0.5) ? 1 : prng.next();
    for (std::byte& b : letter.end.bytes) b = static_cast<std::byte>(prng.next());
    auto bytes = letter_bytes(letter);
    for (std::uint64_t flips = prng.below(4); flips > 0; --flips) {
      // Mostly where it is checked.
      std::byte& at = bytes[prng.below(prng.chance(0.5) ? 12 : bytes.size())];
      at ^= static_cast<std::byte>(1U << prng.below(8));
    }
    std::uint32_t words[3];
    std::memcpy(words, bytes.data(), sizeof words);
    const auto magic = letter_bytes({LetterKind::kRequest, 1, 8, 1, {}});
    const bool right = std::memcmp(bytes.data(), magic.data(), 4) == 0 && words[1] >= 1 &&
                       words[1] <= 4 && words[2] != 0;
    const auto read = parse_letter(bytes);
    ASSERT_EQ(read.ok(), right) << i;
    if (!read.ok()) {
      EXPECT_EQ(read.error().status.code(), ESP_ERR_NETWORK);
      EXPECT_FALSE(read.error().text.empty());
      continue;
    }
    ++read_ones;
    auto again = letter_bytes(read.value());
    // A short letter's rest has no meaning.
    const bool is_short =
        read.value().kind == LetterKind::kReady || read.value().kind == LetterKind::kNoRoom;
    EXPECT_EQ(std::memcmp(again.data(), bytes.data(), is_short ? 12 : bytes.size()), 0) << i;
    const std::size_t length = prng.below(bytes.size());
    EXPECT_FALSE(parse_letter(std::span(bytes).first(length)).ok()) << length;
  }
  EXPECT_GT(read_ones, 10'000);
}

}  // namespace
}  // namespace espalier::rdma
