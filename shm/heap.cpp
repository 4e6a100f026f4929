#include "shm/heap.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

namespace espalier::shm {

void* Heap::allocate(std::uint64_t bytes) {
  if (bytes > std::numeric_limits<std::uint64_t>::max() - kAlign) return nullptr;
  const std::uint64_t need = std::max(kAlign, (bytes + kAlign - 1) / kAlign * kAlign);
  const auto fits = [need](const auto& range) { return range.second >= need; };
  const auto range = std::find_if(free_.begin(), free_.end(), fits);
  if (range == free_.end()) return nullptr;
  const auto [offset, size] = *range;
  free_.erase(range);
  if (size > need) free_[offset + need] = size - need;
  used_[offset] = need;
  used_bytes_ += need;
  return memory_ + offset;
}

bool Heap::owns(const void* memory) const {
  const auto* p = static_cast<const std::byte*>(memory);
  return p >= memory_ && used_.contains(static_cast<std::uint64_t>(p - memory_));
}

bool Heap::release(void* memory) {
  if (!owns(memory)) return false;
  const auto used =
      used_.find(static_cast<std::uint64_t>(static_cast<std::byte*>(memory) - memory_));
  auto [offset, size] = *used;
  used_.erase(used);
  used_bytes_ -= size;
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && offset + size == next->first) {
    size += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += size;
      return true;
    }
  }
  free_[offset] = size;
  return true;
}

}  // namespace espalier::shm
