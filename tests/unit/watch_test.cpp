// The watchdog of a team whose members are on one board: whom it names when things happen between
// two of its looks.
#include "coll/team/watch.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "core/trace.hpp"

namespace espalier {
namespace {

constexpr Rank kLate = 1, kGone = 2;

// Something happens while it is asked whether somebody has left.
struct Happenings final : Liveness {
  bool is_dead(Rank rank) noexcept override { return rank == dead; }
  bool is_stopped(Rank) noexcept override { return false; }
  bool is_leaving(Rank rank) noexcept override { return rank == leaving; }
  bool has_left(Rank rank) noexcept override {
    if (happens) happens();
    return rank == left;
  }
  std::function<void()> happens;
  Rank dead = kNoRank, leaving = kNoRank, left = kNoRank;
};

struct HandClock final : Clock {
  std::uint64_t now_ns() noexcept override { return now; }
  std::uint64_t now = 1;
};

// Rank 0 of three, waiting in a small allreduce.
struct Waiter {
  Waiter()
      : engine(counters, trace, tuning),
        watch(engine, liveness, Log(), {0, 1'000'000'000}),
        memory(Board::bytes_of_calls(3) + 128) {
    auto membership = std::make_shared<Membership>();
    membership->ranks = {0, 1, 2};
    team.set_membership(0, membership);
    void* at = memory.data();
    std::size_t room = memory.size();
    team.board = Board::of_calls(
        static_cast<std::byte*>(std::align(128, Board::bytes_of_calls(3), at, room)), 3, 0);
    CallSignature signature;
    signature.count = 2;
    team.enter(signature);
    team.short_wait = team.sequence;
    watch.add(team);
  }
  ~Waiter() { watch.remove(team); }

  HandClock clock;
  Counters counters;
  Trace trace;
  Tuning tuning;
  Happenings liveness;
  Engine engine;
  TeamWatch watch;
  std::vector<std::byte> memory;
  Team team;
};

// All have entered, as far as the board says.
TEST(TeamWatch, SaysThatNobodyIsKnownToBeLate) {
  for (const std::uint64_t waited_ns : {30'000'000ULL, 1'200'000'000ULL}) {
    Waiter w;
    for (const int member : {1, 2}) {
      auto membership = std::make_shared<Membership>();
      membership->ranks = {0, 1, 2};
      Team other;
      other.set_membership(member, membership);
      other.board = w.team.board;
      CallSignature signature;
      signature.count = 2;
      other.enter(signature);
    }
    w.watch.look(1, 1);
    if (waited_ns < 1'000'000'000) (void)w.team.board.report(Status(ESP_ERR_DEVICE, kGone));
    w.watch.look(1, 1 + waited_ns);
    ASSERT_TRUE(w.team.failed());
    EXPECT_NE(
        w.team.fault_text.find(waited_ns < 1'000'000'000
                                   ? ") waits, for no rank that is known to be late; "
                                   : ") has waited 1.2 s, for no rank that is known to be late"),
        std::string::npos)
        << w.team.fault_text;
  }
}

TEST(TeamWatch, NamesWhoHasLeft) {
  Waiter w;
  w.liveness.left = kGone;
  w.watch.look(1, 2);
  EXPECT_EQ(w.team.fault.code(), ESP_ERR_PEER_DIED);
  EXPECT_EQ(w.team.fault.rank(), kGone);
}

// Another member gives up and leaves between two lines of one look: its reason counts.
TEST(TeamWatch, NamesWhomTheLeaverHadWaitedFor) {
  for (Rank Happenings::*const way : {&Happenings::left, &Happenings::dead, &Happenings::leaving}) {
    Waiter w;
    w.liveness.happens = [&] {
      (void)w.team.board.report(Status(ESP_ERR_TIMEOUT, kLate));
      w.liveness.*way = kGone;
    };
    w.watch.look(1, 2);
    EXPECT_EQ(w.team.fault.code(), ESP_ERR_TIMEOUT);
    EXPECT_EQ(w.team.fault.rank(), kLate);
  }
}

// It is not known which of the two that a report is about has called something else than this rank.
TEST(TeamWatch, AMismatchOfOthersAccusesNobody) {
  Waiter w;
  (void)w.team.board.report(Status(ESP_ERR_MISMATCH, kLate), kGone);
  w.watch.look(1, 2);
  EXPECT_EQ(w.team.fault.code(), ESP_ERR_MISMATCH);
  EXPECT_EQ(w.team.fault.rank(), kNoRank);
  EXPECT_EQ(w.team.fault_text.find("rank 1"), std::string::npos) << w.team.fault_text;
  EXPECT_EQ(w.team.fault_text.find("rank 2"), std::string::npos) << w.team.fault_text;
}

// ... unless its call can be read.
TEST(TeamWatch, AMismatchOfOthersIsLookedInto) {
  Waiter w;
  CallSignature other;
  other.count = 3;
  w.team.board.enter(2, 1, other.words());
  (void)w.team.board.report(Status(ESP_ERR_MISMATCH, kLate), kGone);
  w.watch.look(1, 2);
  EXPECT_EQ(w.team.fault, Status(ESP_ERR_MISMATCH, 2));
}

}  // namespace
}  // namespace espalier
