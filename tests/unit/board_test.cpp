// The team's common memory: slots and calls are used again and again, and say so.
#include "coll/team/board.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

namespace espalier {
namespace {

constexpr int kMembers = 3;
constexpr std::uint64_t kShort = 300;

struct BoardTest : ::testing::Test {
  std::vector<std::byte> memory{Board::bytes(kMembers, kShort) + 128};
  std::byte* aligned() {
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    return memory.data() + (128 - address % 128) % 128;
  }
};

TEST_F(BoardTest, SlotsOfMembersAndTurnsDoNotOverlapAndStayInside) {
  Board board(aligned(), kMembers, kShort, 0);
  std::vector<std::pair<std::byte*, std::byte*>> parts;
  for (int m = 0; m < kMembers; ++m) {
    for (std::uint64_t s = 0; s < Board::kSlots; ++s) {
      auto& slot = board.slot(m, s);
      parts.emplace_back(reinterpret_cast<std::byte*>(&slot),
                         reinterpret_cast<std::byte*>(&slot + 1));
      EXPECT_EQ(&board.slot(m, s + Board::kSlots), &slot);
      EXPECT_EQ(board.payload(slot, m, s, sizeof slot.payload), slot.payload);
    }
    for (std::uint64_t s = 0; s < Board::kPages; ++s) {
      std::byte* page = board.payload(board.slot(m, s), m, s, kShort);
      parts.emplace_back(page, page + kShort);
      EXPECT_EQ(board.payload(board.slot(m, s), m, s + Board::kPages, kShort), page);
    }
    for (std::uint64_t s = 0; s < Board::kCalls; ++s) {
      auto* call = reinterpret_cast<std::byte*>(&board.call(m, s));
      parts.emplace_back(call, call + sizeof(Board::Call));
    }
  }
  auto* fault = reinterpret_cast<std::byte*>(&board.fault());
  parts.emplace_back(fault, fault + sizeof(Board::Fault));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EXPECT_GE(parts[i].first, aligned());
    EXPECT_LE(parts[i].second, aligned() + Board::bytes(kMembers, kShort));
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_TRUE(parts[i].second <= parts[j].first || parts[j].second <= parts[i].first);
    }
  }
}

TEST_F(BoardTest, TheCallsRingKnowsTheLastSixteenCalls) {
  Board board(aligned(), kMembers, kShort, std::uint64_t{5} << 40);
  CallSignature written{}, seen{};
  for (std::uint64_t s = 1; s <= 100; ++s) {
    EXPECT_FALSE(board.has_entered(1, s));
    EXPECT_FALSE(board.read(1, s, seen));
    std::memset(static_cast<void*>(&written), static_cast<int>(s), sizeof written);
    board.enter(1, s, written.words());
    EXPECT_TRUE(board.has_entered(1, s));
    EXPECT_FALSE(board.has_entered(0, s));
    for (std::uint64_t back = 0; back < s && back < 40; ++back) {
      const bool known = board.read(1, s - back, seen);
      EXPECT_EQ(known, back < Board::kCalls) << s << " - " << back;
      std::memset(static_cast<void*>(&written), static_cast<int>(s - back), sizeof written);
      if (known) {
        EXPECT_EQ(std::memcmp(&seen, &written, sizeof seen), 0);
      }
    }
  }
}

// A member overwrites the entry of sixteen calls ago while others read it: they get that call whole
// or not at all.
TEST_F(BoardTest, ReadersNeverSeeACallThatIsBeingOverwritten) {
  constexpr std::uint64_t kCallsMade = 1'000'000;
  const auto call_of = [](std::uint64_t sequence) {
    CallSignature call;
    call.root = static_cast<std::int32_t>(sequence);
    call.count = ~sequence;
    return call;
  };
  Board board(aligned(), kMembers, kShort, std::uint64_t{1} << 40);
  // These publish nothing: where it is worth looking, and what was found.
  std::atomic<std::uint64_t> entered{0};
  std::atomic<int> torn{0};
  const auto keep_reading = [&] {
    CallSignature seen;
    for (std::uint64_t newest = 0; newest < kCallsMade;) {
      newest = entered.load(std::memory_order_relaxed);
      if (newest < Board::kCalls) continue;
      const std::uint64_t oldest = newest - Board::kCalls + 1;
      // Until it goes, but not for ever after the last call.
      for (int look = 0; look < 100 && board.read(1, oldest, seen); ++look) {
        if (seen != call_of(oldest)) torn.fetch_add(1, std::memory_order_relaxed);
      }
    }
  };
  {
    std::jthread reader(keep_reading), another(keep_reading);
    for (std::uint64_t s = 1; s <= kCallsMade; ++s) {
      board.enter(1, s, call_of(s).words());
      entered.store(s, std::memory_order_relaxed);
    }
  }
  EXPECT_EQ(torn.load(), 0);
}

TEST_F(BoardTest, TheFirstReportStays) {
  Board board(aligned(), kMembers, kShort, 0);
  EXPECT_TRUE(board.reported().ok());
  board.report(Status(ESP_ERR_PEER_DIED, 2));
  board.report(Status(ESP_ERR_TIMEOUT, 1));
  EXPECT_EQ(board.reported().code(), ESP_ERR_PEER_DIED);
  EXPECT_EQ(board.reported().rank(), 2);
}

TEST_F(BoardTest, ABlameIsOfOneOperationAndKnowsItsTime) {
  constexpr std::uint64_t kMs = 1'000'000, kMonthMs = std::uint64_t{30} * 24 * 3600 * 1000;
  Board board(aligned(), kMembers, kShort, 0);
  EXPECT_EQ(board.blame(1, 5, kMonthMs * kMs).rank, kNoRank);
  for (const std::uint64_t found : {std::uint64_t{0}, std::uint64_t{1}, kMonthMs}) {
    for (const Rank rank : {0, 1, 200'000'000}) {
      for (const std::uint64_t age :
           {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{8'000'000}}) {
        board.set_blame(1, 5, {rank, found * kMs});
        const Blame blame = board.blame(1, 5, (found + age) * kMs);
        EXPECT_EQ(blame.rank, rank);
        EXPECT_EQ(blame.found_ns, found * kMs) << found << " and " << age << " ms later";
      }
    }
    EXPECT_EQ(board.blame(1, 5 + Board::kCalls, found * kMs).rank, kNoRank);
    EXPECT_EQ(board.blame(0, 5, found * kMs).rank, kNoRank);
  }
  board.set_blame(1, 5, {});
  EXPECT_EQ(board.blame(1, 5, 0).rank, kNoRank);
}

TEST_F(BoardTest, WhoFreesItsTeamLeavesItsLastCallsReadable) {
  Board board(aligned(), kMembers, kShort, 0);
  for (std::uint64_t s = 1; s <= 40; ++s) {
    board.enter(0, s, {});
    EXPECT_FALSE(board.has_freed(0)) << s;
  }
  board.leave(0, 40);
  EXPECT_TRUE(board.has_freed(0));
  EXPECT_FALSE(board.has_freed(1));
  CallSignature call;
  for (std::uint64_t s = 26; s <= 40; ++s) EXPECT_TRUE(board.read(0, s, call)) << s;
}

// Whatever it was that it called last: it has called everything up to there and nothing more.
TEST_F(BoardTest, WhoFreesItsTeamHasEnteredNothingMore) {
  for (std::uint64_t last = 0; last <= 40; ++last) {
    Board board(aligned(), kMembers, kShort, 0);
    board.clear();
    for (std::uint64_t s = 1; s <= last; ++s) board.enter(0, s, {});
    board.leave(0, last);
    for (std::uint64_t s = 1; s <= 2 * last + Board::kCalls; ++s) {
      EXPECT_EQ(board.has_entered(0, s), s <= last) << s << " of " << last;
    }
  }
}

TEST_F(BoardTest, ABlameMayBeLaterThanWhoReadsIt) {
  Board board(aligned(), kMembers, kShort, 0);
  board.set_blame(1, 5, {2, 7'000'000});
  EXPECT_EQ(board.blame(1, 5, 4'000'000).found_ns, 4'000'000u);
}

TEST_F(BoardTest, OldMemoryIsClearedOrHasOlderTurns) {
  Board old(aligned(), kMembers, kShort, std::uint64_t{1} << 40);
  old.enter(0, 7, {});
  old.report(Status(ESP_ERR_PEER_DIED, 2));
  Board next(aligned(), kMembers, kShort, std::uint64_t{2} << 40);
  EXPECT_FALSE(next.has_entered(0, 7));
  next.clear();
  EXPECT_TRUE(next.reported().ok());
  EXPECT_FALSE(old.has_entered(0, 7));
}

}  // namespace
}  // namespace espalier
