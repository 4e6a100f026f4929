// Board: a team's common memory on one node, for messages of a few cache lines and for seeing who
// has called what.
//
//   fault | member 0: calls[16], unread, slots[32], pages[8] | member 1: ...
//
// Every line has one writer. A slot holds a turn (the number of the operation, unique to the team
// for ever), a hash of what its writer has called and the payload, all in the same lines: one
// transfer brings everything. A member's calls ring says which operations it has entered; entering
// operation s+1 means that everything of operation s has been read, so the ring is also what frees
// slots. A member that goes on before it has read says so: `unread` is the oldest such operation.
//
// Ownership: borrows the memory, which all members have mapped. Threads: owner. path: short
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "coll/team/signature.hpp"

namespace espalier {

// Whom a member waits for, at the end of the chain of those who wait for another, and when that was
// last found by one to whom that rank owes something itself. What members only tell each other in
// circles grows older, so of several the latest is true.
struct Blame {
  Rank rank = kNoRank;         // nobody
  std::uint64_t found_ns = 0;  // by the clock of the machine, which all its ranks have
};

// That a team is broken, and who has found it.
struct Report {
  Status status;
  Rank by = kNoRank;
};

class Board {
 public:
  static constexpr std::uint32_t kSlots = 32;
  static constexpr std::uint32_t kPages = 8;
  static constexpr std::uint32_t kCalls = 16;
  // Most of a short operation of a team on several nodes: what fits a slot. With 1 KiB in pages,
  // of which there are fewer, a burst of broadcasts took 1.5 times as long as by plans (4 ranks on
  // 2 nodes and 2 cores).
  static constexpr std::uint64_t kNodesShortBytes = 112;

  struct Slot {
    std::atomic<std::uint64_t> turn;  // written last, release: publishes the rest
    std::uint64_t history;            // Team::history of the writer: equal, or somebody miscalled
    std::byte payload[112];           // what is larger stands in a page of its own
  };
  static_assert(sizeof(Slot) == 128);
  struct Call {
    std::atomic<std::uint64_t> turn;  // written last, release: publishes the signature
    // A CallSignature, in words because it may be overwritten while it is read.
    std::array<std::atomic<std::uint64_t>, 2> signature;
    // Slow path, by the member itself: its blame in this operation, packed; 0: it has not said.
    std::atomic<std::uint64_t> blame;
  };
  // Written before the member enters a later operation; again, release, when it has read.
  struct alignas(128) Unread {
    std::atomic<std::uint64_t> turn;  // of the oldest operation of which it still reads; 0: none
  };
  // Set once, by the first member that finds the team broken; read by everybody who waits.
  struct alignas(128) Fault {
    // 0: none; else status code | (rank + 1) << 16 | (rank of who found it + 1) << 40
    std::atomic<std::uint64_t> word;
  };

  Board() = default;
  // Calls and fault, no slots. On several nodes members are named by their rows, Team::row().
  static Board of_calls(std::byte* memory, int rows, std::uint64_t turn_base) noexcept {
    Board board(memory, rows, 0, turn_base);
    board.member_stride_ = kSlotsAt;
    board.has_slots_ = false;
    return board;
  }
  static std::uint64_t bytes_of_calls(int rows) noexcept {
    return sizeof(Fault) + static_cast<std::uint64_t>(rows) * kSlotsAt;
  }
  // `turn_base`: added to operation numbers; larger than any turn ever written to this memory.
  Board(std::byte* memory, int members, std::uint64_t short_bytes, std::uint64_t turn_base) noexcept
      : memory_(memory),
        page_bytes_(page_bytes(short_bytes)),
        member_stride_(member_stride(short_bytes)),
        turn_base_(turn_base),
        short_bytes_(short_bytes),
        members_(members) {}

  static std::uint64_t bytes(int members, std::uint64_t short_bytes) noexcept {
    return sizeof(Fault) + static_cast<std::uint64_t>(members) * member_stride(short_bytes);
  }
  // For memory that is not fresh: before anybody else uses it.
  void clear() noexcept;

  explicit operator bool() const noexcept { return memory_ != nullptr; }
  std::uint64_t short_bytes() const noexcept { return short_bytes_; }
  std::uint64_t turn(std::uint64_t sequence) const noexcept { return turn_base_ + sequence; }

  // How many operations later the memory of a payload of this size is used again.
  static constexpr std::uint64_t depth(std::uint64_t bytes) noexcept {
    return bytes <= sizeof(Slot::payload) ? kSlots : kPages;
  }
  Slot& slot(int member, std::uint64_t sequence) const noexcept {
    return reinterpret_cast<Slot*>(block(member) + kSlotsAt)[sequence % kSlots];
  }
  // Where a payload of this size of the slot's operation stands. `at` is that slot.
  std::byte* payload(Slot& at, int member, std::uint64_t sequence,
                     std::uint64_t bytes) const noexcept {
    if (bytes <= sizeof(Slot::payload)) [[likely]]
      return at.payload;
    return block(member) + kLines + page_bytes_ * (sequence % kPages);
  }
  Call& call(int member, std::uint64_t sequence) const noexcept {
    return reinterpret_cast<Call*>(block(member))[sequence % kCalls];
  }
  Fault& fault() const noexcept { return *reinterpret_cast<Fault*>(memory_); }

  // Tells the other members that the team is broken; the first report stays. Was this it? `by`: who
  // has found it, because of a mismatch it is known only that this rank and the named one differ.
  bool report(Status status, Rank by = kNoRank) noexcept;
  Status reported() const noexcept;
  Rank reporter() const noexcept;

  [[gnu::always_inline]] void enter(int me, std::uint64_t sequence,
                                    const CallSignature::Words& words) noexcept {
    Call& entry = call(me, sequence);
    // No reader may take the old turn with the new signature. Zero only looks like "not yet".
    entry.turn.store(0, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    entry.signature[0].store(words[0], std::memory_order_relaxed);
    entry.signature[1].store(words[1], std::memory_order_relaxed);
    entry.turn.store(turn(sequence), std::memory_order_release);
  }
  // What the member called as this operation; false when it has not, or too long ago.
  bool read(int member, std::uint64_t sequence, CallSignature& signature) const noexcept;
  // In `sequence`; of nobody: it has not said. Its time is exact to a millisecond, for hours.
  Blame blame(int member, std::uint64_t sequence, std::uint64_t now_ns) const noexcept;
  void set_blame(int me, std::uint64_t sequence, const Blame& blame) noexcept;
  // A member that has freed the team after `sequence` says so in the place of its oldest call, as
  // an operation that nobody calls.
  void leave(int me, std::uint64_t sequence) noexcept {
    enter(me, kFreed + (sequence + 1) % kCalls, {});
  }
  bool has_freed(int member) const noexcept {
    for (std::uint32_t i = 0; i < kCalls; ++i) {
      if (turn_of(member, i) >= turn(kFreed)) return true;
    }
    return false;
  }
  // Of what this member still reads: `sequence`, 0: nothing.
  void set_unread(int me, std::uint64_t sequence) noexcept {
    unread(me).store(sequence == 0 ? 0 : turn(sequence), std::memory_order_release);
  }
  // Has the member entered the operation, and read everything of those before?
  bool is_past(int member, std::uint64_t sequence) const noexcept {
    if (!has_entered(member, sequence)) return false;
    const std::uint64_t oldest = unread(member).load(std::memory_order_acquire);
    return oldest == 0 || oldest >= turn(sequence);
  }
  bool has_entered(int member, std::uint64_t sequence) const noexcept {
    const std::uint64_t found = turn_of(member, sequence);
    if (found < turn(kFreed)) [[likely]]
      return found >= turn(sequence);
    // It has freed the team: it called what stood here, but not what would have come next. Which
    // of them is asked for, the place before tells, where its last call stands.
    return turn_of(member, sequence - 1) > turn(sequence - 1);
  }

 private:
  static constexpr std::uint64_t kFreed = (std::uint64_t{1} << 40) - kCalls;
  static constexpr std::uint64_t kUnreadAt = sizeof(Call) * kCalls;
  static constexpr std::uint64_t kSlotsAt = kUnreadAt + sizeof(Unread);
  static constexpr std::uint64_t kLines = kSlotsAt + sizeof(Slot) * kSlots;
  static std::uint64_t page_bytes(std::uint64_t short_bytes) noexcept {
    return (short_bytes + 127) & ~std::uint64_t{127};
  }
  static std::uint64_t member_stride(std::uint64_t short_bytes) noexcept {
    return kLines + kPages * page_bytes(short_bytes);
  }
  std::uint64_t turn_of(int member, std::uint64_t sequence) const noexcept {
    return call(member, sequence).turn.load(std::memory_order_acquire);
  }
  std::atomic<std::uint64_t>& unread(int member) const noexcept {
    return reinterpret_cast<Unread*>(block(member) + kUnreadAt)->turn;
  }
  std::byte* block(int member) const noexcept {
    return memory_ + sizeof(Fault) + static_cast<std::uint64_t>(member) * member_stride_;
  }

  std::byte* memory_ = nullptr;
  std::uint64_t page_bytes_ = 0;
  std::uint64_t member_stride_ = 0;
  std::uint64_t turn_base_ = 0;
  std::uint64_t short_bytes_ = 0;
  int members_ = 0;
  bool has_slots_ = true;
};
static_assert(sizeof(Board::Call) == 32);

}  // namespace espalier
