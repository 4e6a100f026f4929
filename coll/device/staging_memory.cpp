#include "coll/device/staging_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>

namespace espalier {

StagingMemory::~StagingMemory() {
  while (!areas_.empty()) unmap(areas_.back().begin);
}

unsigned StagingMemory::bits_of(std::uint64_t bytes) noexcept {
  return std::max(kLeastBits,
                  static_cast<unsigned>(std::bit_width(std::max<std::uint64_t>(bytes, 1) - 1)));
}

StagingMemory::Area* StagingMemory::map(std::uint64_t bytes, device::Home home) noexcept {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  // A child of fork() that lives on would make the pages others than those that are registered.
  ::madvise(memory, bytes, MADV_DONTFORK);
  Area area{static_cast<std::byte*>(memory), bytes, {}};
  auto registered = driver_.register_host(memory, bytes, home);
  if (registered.ok()) area.registration = std::move(*registered);
  areas_.push_back(std::move(area));
  return &areas_.back();
}

void StagingMemory::unmap(std::byte* begin) noexcept {
  const auto at = std::find_if(areas_.begin(), areas_.end(),
                               [&](const Area& area) { return area.begin == begin; });
  at->registration.reset();
  ::munmap(at->begin, at->bytes);
  areas_.erase(at);
}

bool StagingMemory::is_registered(const std::byte* block) const noexcept {
  return std::any_of(areas_.begin(), areas_.end(), [&](const Area& area) {
    return area.begin <= block && block < area.begin + area.bytes && area.registration;
  });
}

bool StagingMemory::carve(unsigned bits, device::Home home) noexcept {
  constexpr std::uint64_t kSlabBytes = std::uint64_t{1} << kSlabBits;
  const Area* slab = map(kSlabBytes, home);
  if (slab == nullptr) return false;
  for (std::uint64_t at = 0; at < kSlabBytes; at += std::uint64_t{1} << bits) {
    free_[bits].push_back(slab->begin + at);
  }
  return true;
}

std::byte* StagingMemory::take(std::uint64_t bytes, device::Home home) noexcept {
  const unsigned bits = bits_of(bytes);
  if (bits > kBits) return nullptr;
  std::vector<std::byte*>& free = free_[bits];
  if (free.empty() && bits >= kSlabBits) {
    const Area* area = map(std::uint64_t{1} << bits, home);
    return area != nullptr ? area->begin : nullptr;
  }
  if (free.empty() && !carve(bits, home)) return nullptr;
  std::byte* block = free.back();
  free.pop_back();
  if (bits >= kSlabBits) kept_ -= std::uint64_t{1} << bits;
  return block;
}

void StagingMemory::give_back(std::byte* block, std::uint64_t bytes) noexcept {
  if (block == nullptr) return;
  const unsigned bits = bits_of(bytes);
  const std::uint64_t size = std::uint64_t{1} << bits;
  if (bits >= kSlabBits) {
    if (kept_ + size > kKeptBytes) return unmap(block);
    kept_ += size;
  }
  free_[bits].push_back(block);
}

}  // namespace espalier
