#include "coll/device/device_pool.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/assert.hpp"

namespace espalier {

// The smallest that is free.
DevicePool::Block* DevicePool::find(std::uint64_t bytes, device::Home home) noexcept {
  Block* best = nullptr;
  for (Block& block : blocks_) {
    const bool fits = !block.taken && block.bytes >= bytes && block.memory.home() == home;
    if (fits && (best == nullptr || block.bytes < best->bytes)) best = &block;
  }
  return best;
}

DevicePool::Block* DevicePool::allocate(std::uint64_t bytes, device::Home home) noexcept {
  if (bytes > left_) return nullptr;
  auto memory = driver_.allocate(home, bytes);
  if (!memory.ok()) {
    left_ = bytes - 1;
    return nullptr;
  }
  left_ -= bytes;
  blocks_.push_back({std::move(*memory), bytes, false});
  return &blocks_.back();
}

std::byte* DevicePool::take(std::uint64_t bytes, device::Home home) noexcept {
  if (bytes > kMostBytes) return nullptr;
  const std::uint64_t size = std::bit_ceil(std::max(bytes, kLeastBytes));
  Block* block = find(size, home);
  if (block == nullptr) block = allocate(size, home);
  if (block == nullptr) return nullptr;
  block->taken = true;
  return block->begin();
}

void DevicePool::give_back(std::byte* block) noexcept {
  const auto at = std::find_if(blocks_.begin(), blocks_.end(),
                               [&](const Block& one) { return one.begin() == block; });
  ESP_ASSERT(at != blocks_.end() && at->taken);
  at->taken = false;
}

}  // namespace espalier
