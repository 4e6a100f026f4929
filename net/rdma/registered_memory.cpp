#include "net/rdma/registered_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace espalier::rdma {

RegisteredMemory::~RegisteredMemory() {
  for (const Region& region : regions_) port_.withdraw(region);
}

Outcome RegisteredMemory::add(const void* begin, std::uint64_t bytes) {
  const auto* first = static_cast<const std::byte*>(begin);
  const auto after = std::upper_bound(
      regions_.begin(), regions_.end(), first,
      [](const std::byte* at, const Region& region) { return std::less<>{}(at, region.begin); });
  const bool meets_next = after != regions_.end() && after->begin - first < std::ptrdiff_t(bytes);
  const bool meets_last = after != regions_.begin() &&
                          first - std::prev(after)->begin < std::ptrdiff_t(std::prev(after)->bytes);
  if (bytes == 0 || meets_next || meets_last) {
    return error(
        ESP_ERR_ARGUMENT,
        fmt::format("{} bytes at {} overlap registered memory, or are none", bytes, begin));
  }
  auto region = port_.enroll(begin, bytes);
  if (!region) return region.error();
  regions_.insert(after, *region);
  return Unit{};
}

void RegisteredMemory::remove(const void* begin) noexcept {
  const auto found = std::find_if(regions_.begin(), regions_.end(),
                                  [&](const Region& region) { return region.begin == begin; });
  ESP_ASSERT(found != regions_.end());
  port_.withdraw(*found);
  regions_.erase(found);
}

const Region* RegisteredMemory::find(const void* begin, std::uint64_t bytes) const noexcept {
  const auto* first = static_cast<const std::byte*>(begin);
  const auto after = std::upper_bound(
      regions_.begin(), regions_.end(), first,
      [](const std::byte* at, const Region& region) { return std::less<>{}(at, region.begin); });
  if (after == regions_.begin()) return nullptr;
  const Region& region = *std::prev(after);
  const auto offset = static_cast<std::uint64_t>(first - region.begin);
  return offset <= region.bytes && bytes <= region.bytes - offset ? &region : nullptr;
}

}  // namespace espalier::rdma
