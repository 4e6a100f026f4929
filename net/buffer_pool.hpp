// BufferPool: memory for payloads that have no place of their own: those that came before their
// receive, and those that are read in place.
//
// Blocks of powers of two, aligned to a cache line. What is given back is kept for the next of its
// size, up to a limit of bytes for all, so that a steady state allocates nothing. What is taken at
// a time may be bounded, too. Ownership: a
// block is the taker's until give(); all must be back before the pool dies (asserted). Threads:
// owner. path: data (take from the kept, give), slow (take from the system)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace espalier::net {

class BufferPool {
 public:
  static constexpr std::uint64_t kUnbounded = UINT64_MAX;

  explicit BufferPool(std::uint64_t keep_bytes, std::uint64_t use_bytes = kUnbounded) noexcept
      : keep_bytes_(keep_bytes), use_bytes_(use_bytes) {}
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  // At least `bytes` bytes; nullptr when the system has none, or more would be in use than may be.
  [[nodiscard]] std::byte* take(std::uint64_t bytes) noexcept;
  void give(std::byte* memory) noexcept;

  // In whole blocks. What is in use already stays.
  void bound(std::uint64_t use_bytes) noexcept { use_bytes_ = use_bytes; }

  std::uint64_t in_use_bytes() const noexcept { return in_use_bytes_; }  // in whole blocks
  std::uint64_t kept_bytes() const noexcept { return kept_bytes_; }

 private:
  static constexpr unsigned kSmallestShift = 8, kClasses = 40;
  struct Block;

  static std::uint64_t class_bytes(unsigned size_class) noexcept {
    return std::uint64_t{1} << (kSmallestShift + size_class);
  }

  std::array<Block*, kClasses> kept_ = {};
  const std::uint64_t keep_bytes_;
  std::uint64_t use_bytes_;
  std::uint64_t kept_bytes_ = 0;
  std::uint64_t in_use_bytes_ = 0;
};

}  // namespace espalier::net
