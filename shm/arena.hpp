// Arena: the sender's ring of variable-sized chunks, through which copied segments travel.
//
// Chunks are taken in order and freed in any order (a chunk may have several readers); space comes
// back in order. The ring is large on purpose: a slot that was just read still lies in the
// reader's cache, and writing it again takes it back line by line. All state here is private to
// the sender; readers only see offsets. Threads: owner. path: data
#pragma once

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

  explicit Arena(std::uint64_t bytes) noexcept : bytes_(bytes) {}

  // `readers` releases give the chunk back.
  Chunk take(std::uint64_t bytes, std::uint32_t readers) noexcept {
    ESP_ASSERT(readers > 0);
    const std::uint64_t need = (bytes + kAlign - 1) & ~(kAlign - 1);
    if (next_ - oldest_ == kChunks) return {};
    std::uint64_t begin = head_;
    const std::uint64_t at = begin % bytes_;
    if (at + need > bytes_) begin += bytes_ - at;  // No chunk wraps around.
    if (oldest_ == next_) tail_ = begin;           // Empty: what is skipped is not in use.
    if (begin + need - tail_ > bytes_) return {};
    head_ = begin + need;
    const std::uint32_t id = next_++ % kChunks;
    chunks_[id] = {head_, readers};
    return {id, begin % bytes_};
  }

  void release(std::uint32_t id) noexcept {
    ESP_ASSERT(id < kChunks && chunks_[id].readers > 0);
    --chunks_[id].readers;
    while (oldest_ != next_ && chunks_[oldest_ % kChunks].readers == 0) {
      tail_ = chunks_[oldest_ % kChunks].end;
      ++oldest_;
    }
    if (oldest_ == next_) tail_ = head_;
  }

  // Where the next chunk will lie, if there is room.
  std::uint64_t next_offset(std::uint64_t bytes) const noexcept {
    const std::uint64_t at = head_ % bytes_;
    return at + bytes > bytes_ ? 0 : at;
  }

  std::uint64_t used() const noexcept { return head_ - tail_; }

 private:
  static constexpr std::uint32_t kChunks = 1024;
  struct Record {
    std::uint64_t end = 0;
    std::uint32_t readers = 0;
  };

  std::uint64_t bytes_;
  std::uint64_t head_ = 0, tail_ = 0;    // positions that only grow
  std::uint32_t next_ = 0, oldest_ = 0;  // chunk numbers that only grow
  std::array<Record, kChunks> chunks_{};
};

}  // namespace espalier::shm
