#include "coll/team/board.hpp"

#include <algorithm>

namespace espalier {

void Board::clear() noexcept {
  fault().word.store(0, std::memory_order_relaxed);
  for (int member = 0; member < members_; ++member) {
    for (std::uint32_t i = 0; i < kCalls; ++i) {
      call(member, i).turn.store(0, std::memory_order_relaxed);
      call(member, i).blame.store(0, std::memory_order_relaxed);
    }
    unread(member).store(0, std::memory_order_relaxed);
    for (std::uint32_t i = 0; has_slots_ && i < kSlots; ++i)
      slot(member, i).turn.store(0, std::memory_order_relaxed);
  }
  std::atomic_thread_fence(std::memory_order_release);
}

bool Board::read(int member, std::uint64_t sequence, CallSignature& signature) const noexcept {
  const Call& entry = call(member, sequence);
  if (entry.turn.load(std::memory_order_acquire) != turn(sequence)) return false;
  const std::array<std::uint64_t, 2> words = {entry.signature[0].load(std::memory_order_relaxed),
                                              entry.signature[1].load(std::memory_order_relaxed)};
  // It may have been overwritten by a later operation meanwhile.
  std::atomic_thread_fence(std::memory_order_acquire);
  if (entry.turn.load(std::memory_order_relaxed) != turn(sequence)) return false;
  signature = std::bit_cast<CallSignature>(words);
  return true;
}

namespace {

// A blame in one word, so that none of its parts is taken for another's: the operation's turn, so
// that a word which its writer has not taken back (it has failed) is not taken for that of a later
// operation in the same place; milliseconds; rank + 1.
constexpr unsigned kTurnBits = 12, kTimeBits = 24, kRankBits = 28;
static_assert(kTurnBits + kTimeBits + kRankBits == 64);
constexpr std::uint64_t kUnitNs = 1'000'000;

constexpr std::uint64_t low(std::uint64_t value, unsigned bits) noexcept {
  return value & ((std::uint64_t{1} << bits) - 1);
}

}  // namespace

void Board::set_blame(int me, std::uint64_t sequence, const Blame& blame) noexcept {
  const std::uint64_t word = low(turn(sequence), kTurnBits) << (kTimeBits + kRankBits) |
                             low(blame.found_ns / kUnitNs, kTimeBits) << kRankBits |
                             low(static_cast<std::uint64_t>(blame.rank) + 1, kRankBits);
  call(me, sequence).blame.store(word, std::memory_order_relaxed);
}

Blame Board::blame(int member, std::uint64_t sequence, std::uint64_t now_ns) const noexcept {
  const std::uint64_t word = call(member, sequence).blame.load(std::memory_order_relaxed);
  const auto rank = static_cast<Rank>(low(word, kRankBits)) - 1;
  const bool is_of_it = word >> (kTimeBits + kRankBits) == low(turn(sequence), kTurnBits);
  if (!is_of_it || rank == kNoRank) return {};
  std::uint64_t age = low(now_ns / kUnitNs - low(word >> kRankBits, kTimeBits), kTimeBits);
  if (age >> (kTimeBits - 1) != 0) age = 0;  // found since `now`
  return {rank, now_ns - std::min(age * kUnitNs, now_ns)};
}

namespace {

// Of a report.
constexpr unsigned kCodeBits = 16, kNameBits = 24;
static_assert(kCodeBits + 2 * kNameBits == 64);

constexpr Rank name_in(std::uint64_t word, unsigned shift) noexcept {
  return static_cast<Rank>(low(word >> shift, kNameBits)) - 1;
}

}  // namespace

bool Board::report(Status status, Rank by) noexcept {
  std::uint64_t none = 0;
  const std::uint64_t word =
      static_cast<std::uint64_t>(status.code()) |
      low(static_cast<std::uint64_t>(status.rank()) + 1, kNameBits) << kCodeBits |
      low(static_cast<std::uint64_t>(by) + 1, kNameBits) << (kCodeBits + kNameBits);
  const bool first = fault().word.compare_exchange_strong(none, word, std::memory_order_relaxed);
  // Seen before whatever the user does to buffers that were being read.
  std::atomic_thread_fence(std::memory_order_release);
  return first;
}

Status Board::reported() const noexcept {
  // Looked at after whatever was read from the buffers of others.
  std::atomic_thread_fence(std::memory_order_acquire);
  const std::uint64_t word = fault().word.load(std::memory_order_relaxed);
  return Status(static_cast<esp_status>(low(word, kCodeBits)), name_in(word, kCodeBits));
}

Rank Board::reporter() const noexcept {
  return name_in(fault().word.load(std::memory_order_relaxed), kCodeBits + kNameBits);
}

}  // namespace espalier
