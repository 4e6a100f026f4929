// The shared segment: what lies where, and who writes it.
//
//   header | rank block 0..n-1 | pull access (0,0)..(n-1,n-1) | pair block (0,0)..(n-1,n-1) |
//   mail ring (0,0)..(n-1,n-1) | arena 0..n-1 | heap 0..n-1
//
// The segment is a sparse memory file: only what is touched costs memory. All-zero is the valid
// initial state of everything, so nobody initialises anything for anybody else. n is the number of
// ranks of the job on this node; indices are *local* indices.
// path: data (plain arithmetic)
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/away_memory.hpp"
#include "core/doorbell.hpp"

namespace espalier::shm {

// As many as the bits of two neighbouring cache lines (RankBlock::Bits): one look sees who has
// sent.
inline constexpr std::uint32_t kMaxLocalRanks = 1024;
inline constexpr std::uint32_t kRingCells = 64;
inline constexpr std::uint32_t kTickets = 256;
inline constexpr std::uint32_t kLandings = 16;
inline constexpr std::uint32_t kRankWords = kMaxLocalRanks / 64;
inline constexpr std::uint64_t kMailRingBytes = 128 << 10;
// In Cell::ticket: the send is synchronous, its receive answers kTaken.
inline constexpr std::uint16_t kSynchronous = 0x8000;

// Drawn by chance, known to the ranks of one job.
using Key = std::array<std::byte, 16>;

enum class CellKind : std::uint8_t {
  kInline,  // payload in the cell
  kArena,   // payload in the sender's arena at `where`; acknowledged
  kDirect,  // payload in the sender's heap at `where`; acknowledged
  kAway,    // payload in memory of a device, whose AwayName the cell has; acknowledged
  kPull,    // payload in the sender's private memory at `where`: process_vm_readv; acknowledged
  kLost,    // no payload: it cannot be had, for the reason (errno) `where`
  // Answers to the reverse flow, without a payload:
  kGrant,     // segments with ordinal < `where` may be sent
  kTaken,     // the receive of the synchronous segment `where` has found it
  kRefused,   // this pull, which the cell repeats, is not allowed: copy. Its ticket stays open
  kDeclined,  // this segment of a device, which the cell repeats, is wanted as bytes: likewise
  // Not an answer, but as short:
  kWritten,  // the segment stands in the memory of its receive, as landing `where` says
};
// `where` of kLost: its sender's device, or the driver of that, has failed.
inline constexpr std::uint64_t kLostOnDevice = std::uint64_t{1} << 32;
// Has it no payload to be fetched?
constexpr bool is_answer(CellKind kind) noexcept {
  return kind >= CellKind::kGrant;
}

// One message from one rank to another. Written by the sender, `turn` last (release); the receiver
// reads `turn` (acquire) and then the rest. Re-used when the receiver's `drained` has passed it.
struct alignas(128) Cell {
  static constexpr std::size_t kPayloadBytes = 88;

  std::atomic<std::uint32_t> turn;  // lap + 1
  CellKind kind;
  std::uint8_t lap;  // of the ticket: what the acknowledgement must say
  std::uint16_t ticket;
  std::uint64_t flow;
  std::uint32_t ordinal;
  std::uint32_t signature;
  std::uint64_t bytes;
  std::uint64_t where;
  std::byte payload[kPayloadBytes];
};
static_assert(sizeof(Cell) == 128 && offsetof(Cell, payload) == 40);
static_assert(sizeof(AwayName) <= Cell::kPayloadBytes);

// Memory of a posted receive, for its sender to write into (shm_wire_push.cpp). The receiver writes
// all while it is kFree, `state` last (release). Whoever may take the next step owns it:
//
//   kFree --receiver--> kOpen --sender--> kWriting --sender--> kWritten --receiver--> kFree
//     ^----receiver------'  ^---sender------'  (refused)          '--receiver--> kLeft --> kFree
//
// Both leave kOpen by compare-and-swap: what the receiver closes is never written to.
struct alignas(64) Landing {
  enum State : std::uint32_t { kFree, kOpen, kWriting, kWritten, kLeft };

  std::atomic<std::uint32_t> state;
  std::uint32_t ordinal;
  std::uint32_t signature;
  std::uint64_t flow;
  std::uint64_t address;  // in the receiver's private memory
  std::uint64_t bytes;
};
static_assert(sizeof(Landing) == 64);

// Everything between one sender and one receiver.
struct PairBlock {
  Cell cells[kRingCells];                           // written by the sender
  alignas(128) std::atomic<std::uint32_t> drained;  // by the receiver: cells taken; frees them
  alignas(128) std::atomic<std::uint8_t> acks[kTickets];  // by the receiver: lap of the done ticket
  // Of places on devices, so that none is read that its owner has back. Both by lap of the ticket,
  // and each looks at the other's after its own (seq_cst): one of the two sees that it is late.
  alignas(128) std::atomic<std::uint8_t> opened[kTickets];   // by the receiver
  alignas(128) std::atomic<std::uint8_t> revoked[kTickets];  // by the sender
  alignas(128) Landing landings[kLandings];
};

// Active messages from one sender to one receiver (shm/mailbox.hpp).
struct MailRing {
  alignas(128) std::atomic<std::uint32_t> waits;    // by the sender: it needs room
  alignas(128) std::atomic<std::uint64_t> head;     // by the receiver: bytes taken; frees them
  alignas(128) std::atomic<std::uint64_t> refused;  // by the receiver: ids that it does not take
  std::atomic<std::uint32_t> hot;                   // by the receiver: it looks at the ring itself
  alignas(128) std::byte bytes[kMailRingBytes];     // by the sender: records
};

struct RankBlock {
  struct alignas(128) Flags {
    std::atomic<std::uint32_t> leaving;   // by the owner: it has nothing to do any more; 2: and has
                                          // compared its calls with those of other nodes
    std::atomic<std::uint32_t> released;  // by the node's leader: steps that all nodes have done
    // By the owner, before leaving = 2: the mismatch it has found, (team + 1) << 32 | rank + 1, or
    // 0. The leader's, before released = 2: the first that anybody has.
    std::atomic<std::uint64_t> found;
    std::atomic<std::uint32_t> left;      // by the owner: it has finalized
    std::atomic<std::uint32_t> joined;    // by the owner: it has locked its byte of the file
    std::atomic<std::uint32_t> lost;      // by whoever has found it: its process is gone
    std::atomic<std::uint32_t> opens;     // by the owner: it opens memory of the others' devices
    std::atomic<std::uint32_t> pressure;  // by the owner: a send found its arena full; readers that
                                          // hold segments of it may move them out
  };

  // A bit per local rank.
  struct alignas(128) Bits {
    std::atomic<std::uint64_t> of[kRankWords];
  };
  static_assert(sizeof(Bits) == 128);

  Bell bell;
  Flags flags;
  // By each rank, when it has written into its mail ring (release: publishes its tail); cleared by
  // the owner before it looks there.
  Bits mail;
  // By each rank, for good, before its first cell: rings in which nothing ever stood are not looked
  // at, and so cost no memory.
  Bits senders;
};

// May one rank read another's memory? 0: not probed yet, else a PullAccess. kNo is final. Written
// by the reader, whose answers are a row of the table.
using PullFlag = std::atomic<std::uint8_t>;

// When CMA is used, if that is measured (path_cost.hpp). Written once, by the rank that set
// `measuring` first; `threshold` last (release).
struct alignas(128) PathChoice {
  std::atomic<std::uint32_t> measuring;
  std::atomic<std::uint32_t> readers;    // of one segment, at most
  std::atomic<std::uint64_t> threshold;  // size of the flow, at least; 0: not known yet
  std::atomic<std::uint64_t> bytes;      // size of the deciding look, and what it took
  std::atomic<std::uint64_t> in_ns, out_ns, pull_ns;
};

// Whose file this is. Written by the rank that makes it before anybody else has it, and held by the
// others against what they expect before they map it.
struct Stamp {
  static constexpr std::uint64_t kMagic = 0x3174674553505345;
  std::uint64_t magic = kMagic;
  std::uint64_t bytes = 0;  // of the whole file
  Key nonce{};              // of the job
  friend bool operator==(const Stamp&, const Stamp&) = default;
};

// Of all ranks of the node: one looks for all whether the others live.
struct alignas(128) Lives {
  std::atomic<std::uint64_t> looked_ns;  // by who looks next: it takes the turn
  std::atomic<std::uint64_t> changes;    // after a flag `lost` or `left` was set (release)
};

struct Header {
  alignas(128) Stamp stamp;
  SleeperCount sleepers;
  PathChoice path_choice;
  Lives lives;
  // By the rank that makes the file, before others have it: a digest of its warnings about
  // settings.
  std::atomic<std::uint64_t> warnings;
};

class Layout {
 public:
  Layout() = default;
  Layout(std::uint32_t ranks, std::uint64_t arena_bytes, std::uint64_t heap_bytes) noexcept
      : ranks_(ranks), arena_bytes_(arena_bytes), heap_bytes_(heap_bytes) {
    rank_blocks_ = up(sizeof(Header), kPage);
    pull_flags_ = rank_blocks_ + sizeof(RankBlock) * ranks;
    pairs_ = up(pull_flags_ + pull_row() * ranks, kPage);
    mail_rings_ = up(pairs_ + sizeof(PairBlock) * ranks * ranks, kPage);
    arenas_ = up(mail_rings_ + sizeof(MailRing) * ranks * ranks, kHugePage);
    heaps_ = up(arenas_ + arena_bytes * ranks, kHugePage);
    total_ = heaps_ + heap_bytes * ranks;
  }

  std::uint32_t ranks() const noexcept { return ranks_; }
  std::uint64_t arena_bytes() const noexcept { return arena_bytes_; }
  std::uint64_t heap_bytes() const noexcept { return heap_bytes_; }
  std::uint64_t rank_block(std::uint32_t r) const noexcept {
    return rank_blocks_ + sizeof(RankBlock) * r;
  }
  std::uint64_t pull_flag(std::uint32_t reader, std::uint32_t owner) const noexcept {
    return pull_flags_ + pull_row() * reader + sizeof(PullFlag) * owner;
  }
  // Blocks of one receiver lie side by side: it is the one that polls them all.
  std::uint64_t pair(std::uint32_t from, std::uint32_t to) const noexcept {
    return pairs_ + sizeof(PairBlock) * (std::uint64_t{to} * ranks_ + from);
  }
  std::uint64_t mail_ring(std::uint32_t from, std::uint32_t to) const noexcept {
    return mail_rings_ + sizeof(MailRing) * (std::uint64_t{to} * ranks_ + from);
  }
  std::uint64_t arena(std::uint32_t r) const noexcept { return arenas_ + arena_bytes_ * r; }
  std::uint64_t heap(std::uint32_t r) const noexcept { return heaps_ + heap_bytes_ * r; }
  std::uint64_t total() const noexcept { return total_; }

 private:
  static constexpr std::uint64_t kPage = 4096, kHugePage = std::uint64_t{2} << 20;
  // No two readers write to one line.
  std::uint64_t pull_row() const noexcept { return up(sizeof(PullFlag) * ranks_, 128); }
  static std::uint64_t up(std::uint64_t n, std::uint64_t to) noexcept {
    return (n + to - 1) / to * to;
  }

  std::uint32_t ranks_ = 0;
  std::uint64_t arena_bytes_ = 0, heap_bytes_ = 0;
  std::uint64_t rank_blocks_ = 0, pull_flags_ = 0, pairs_ = 0, mail_rings_ = 0, arenas_ = 0,
                heaps_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace espalier::shm
