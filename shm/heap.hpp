// Heap: the allocator of a rank's part of the shared segment (esp_alloc, boards of teams).
//
// First fit over an ordered list of free ranges, which lives in private memory: a peer that writes
// where it should not cannot corrupt it. Not a data-path allocator.
// Ownership: borrows the memory. Threads: owner. path: slow
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace espalier::shm {

class Heap {
 public:
  static constexpr std::uint64_t kAlign = 128;

  Heap(std::byte* memory, std::uint64_t bytes) : memory_(memory) {
    if (bytes > 0) free_[0] = bytes;
  }

  // nullptr when there is no free range of that size. 0 bytes count as 1.
  void* allocate(std::uint64_t bytes);
  // False when `memory` was not allocated here.
  bool release(void* memory);
  std::uint64_t used() const noexcept { return used_bytes_; }
  bool owns(const void* memory) const;

 private:
  std::byte* memory_;
  std::map<std::uint64_t, std::uint64_t> free_;  // offset -> bytes; neighbours are merged
  std::map<std::uint64_t, std::uint64_t> used_;  // offset -> bytes
  std::uint64_t used_bytes_ = 0;
};

}  // namespace espalier::shm
