// Arena: the sender's ring of variable-sized chunks, through which copied segments travel.
//
// Chunks are taken in order and freed in any order (a chunk may have several readers); space comes
// back in order. A ring of little traffic stays small: every page that it has not used yet costs
// two page faults, which takes longer than the copy that goes through it. It grows while traffic
// finds it full, for a slot that was just read still lies in the reader's cache, and writing it
// again takes it back line by line. All state here is private to the sender; readers only see
// offsets. Threads: owner. path: data
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/assert.hpp"

namespace espalier::shm {

class Arena {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;
  static constexpr std::uint64_t kAlign = 64;

  struct Chunk {
    std::uint32_t id = kNone;  // kNone: no room now
    std::uint64_t offset = 0;  // from the begin of the arena
  };

  // Of `bytes`, a multiple of kAlign; `first_ring` of them are used until traffic needs more.
  explicit Arena(std::uint64_t bytes, std::uint64_t first_ring = kFirstRing) noexcept
      : bytes_(bytes), ring_(std::min(bytes, first_ring)) {}

  // `readers` releases give the chunk back. The ring grows only if it may: a sender looks first
  // whether releases have come that it does not know yet.
  Chunk take(std::uint64_t bytes, std::uint32_t readers, bool may_grow) noexcept {
    ESP_ASSERT(readers > 0);
    const std::uint64_t need = (bytes + kAlign - 1) & ~(kAlign - 1);
    if (next_ - oldest_ == kChunks || !make_room(need, may_grow)) return {};
    const std::uint32_t id = next_++ % kChunks;
    chunks_[id] = {head_, readers};
    head_ += need;
    return {id, chunks_[id].begin};
  }

  void release(std::uint32_t id) noexcept {
    ESP_ASSERT(id < kChunks && chunks_[id].readers > 0);
    --chunks_[id].readers;
    while (!empty() && chunks_[oldest_ % kChunks].readers == 0) {
      if (++oldest_ == grown_at_) grew_wrapped_ = false;
    }
  }

  // Where the next chunk will lie, if there is room.
  std::uint64_t next_offset(std::uint64_t bytes) const noexcept {
    return head_ + bytes > ring_ ? 0 : head_;
  }

  bool empty() const noexcept { return oldest_ == next_; }
  std::uint64_t ring_bytes() const noexcept { return ring_; }  // of the arena, so far

 private:
  static constexpr std::uint32_t kChunks = 1024;
  static constexpr std::uint64_t kFirstRing = 128 << 10;
  struct Record {
    std::uint64_t begin = 0;
    std::uint32_t readers = 0;
  };

  // Moves head_ to where `need` bytes are free. False: nowhere.
  bool make_room(std::uint64_t need, bool may_grow) noexcept {
    const std::uint64_t tail = empty() ? head_ : chunks_[oldest_ % kChunks].begin;
    const bool wrapped = head_ < tail || (head_ == tail && !empty());
    if (head_ + need <= (wrapped ? tail : ring_)) return true;
    // No chunk wraps around: on from the begin, or further than the ring was so far.
    const bool begin_is_free = !wrapped && need <= (empty() ? ring_ : tail) && !grew_wrapped_;
    if (begin_is_free) {
      head_ = 0;
      return true;
    }
    const std::uint64_t begin = empty() ? 0 : wrapped ? ring_ : head_;
    if (!may_grow || begin + need > bytes_) return false;
    if (wrapped) {
      grown_at_ = next_;
      grew_wrapped_ = true;
    }
    ring_ = std::min(bytes_, std::max(2 * ring_, begin + need));
    head_ = begin;
    return true;
  }

  std::uint64_t bytes_;
  std::uint64_t ring_;                   // what is in use of it: offsets below
  std::uint64_t head_ = 0;               // offset of the next chunk
  std::uint32_t next_ = 0, oldest_ = 0;  // chunk numbers that only grow
  // There are chunks from before the ring grew with its head behind them (those before grown_at_):
  // the begin may be taken, whatever the oldest one's place says.
  bool grew_wrapped_ = false;
  std::uint32_t grown_at_ = 0;
  std::array<Record, kChunks> chunks_{};
};

}  // namespace espalier::shm
