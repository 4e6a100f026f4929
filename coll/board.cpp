#include "coll/board.hpp"

namespace espalier {

void Board::clear() noexcept {
  fault().word.store(0, std::memory_order_relaxed);
  for (int member = 0; member < members_; ++member) {
    for (std::uint32_t i = 0; i < kCalls; ++i)
      call(member, i).turn.store(0, std::memory_order_relaxed);
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

// waits_for of a call: operation and rank in one word, so that neither is taken for another's.
constexpr unsigned kRankBits = 32;
constexpr std::uint64_t kRankMask = (std::uint64_t{1} << kRankBits) - 1;

}  // namespace

void Board::set_waits_for(int me, std::uint64_t sequence, Rank rank) noexcept {
  call(me, sequence)
      .waits_for.store(
          turn(sequence) << kRankBits | (static_cast<std::uint64_t>(rank + 1) & kRankMask),
          std::memory_order_relaxed);
}

Rank Board::waits_for(int member, std::uint64_t sequence) const noexcept {
  const std::uint64_t word = call(member, sequence).waits_for.load(std::memory_order_relaxed);
  if (word >> kRankBits != (turn(sequence) & kRankMask)) return kNoRank;
  return static_cast<Rank>(word & kRankMask) - 1;
}

bool Board::report(Status status) noexcept {
  std::uint64_t none = 0;
  const std::uint64_t word = static_cast<std::uint64_t>(status.code()) |
                             static_cast<std::uint64_t>(status.rank() + 1) << 16;
  const bool first = fault().word.compare_exchange_strong(none, word, std::memory_order_relaxed);
  // Seen before whatever the user does to buffers that were being read.
  std::atomic_thread_fence(std::memory_order_release);
  return first;
}

Status Board::reported() const noexcept {
  // Looked at after whatever was read from the buffers of others.
  std::atomic_thread_fence(std::memory_order_acquire);
  const std::uint64_t word = fault().word.load(std::memory_order_relaxed);
  return Status(static_cast<esp_status>(word & 0xffff), static_cast<Rank>(word >> 16) - 1);
}

}  // namespace espalier
