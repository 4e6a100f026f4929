#include "coll/device/device_shares.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/memory_watch.hpp"

namespace espalier {

// Where the driver does not say, or gives no handle, there is no name, and readers ask for bytes.
AwayName DeviceShares::name_of(const void* at) noexcept {
  auto place = kinds_.of(at);
  if (!place.ok() || place->kind != device::MemoryKind::kDevice || !place->shareable) return {};
  Name& known = named_[place->allocation % kNamedMost];
  if (known.allocation != place->allocation) {
    auto handle = context_.driver.export_memory(*place);
    if (!handle.ok()) return {};
    known = {*handle, place->allocation, 0};
  }
  Name name = known;
  name.offset = reinterpret_cast<std::uintptr_t>(at) - place->base;
  return std::bit_cast<AwayName>(name);
}

const void* DeviceShares::open(Rank owner, const AwayName& name) noexcept {
  const Name asked = std::bit_cast<Name>(name);
  if (asked.allocation == 0) return nullptr;
  Opened* const opened = find_or_open({owner, asked.allocation}, asked.handle);
  if (opened == nullptr) return nullptr;
  ++opened->readers;
  opened->used = ++uses_;
  return static_cast<const std::byte*>(opened->memory.handle()) + asked.offset;
}

DeviceShares::Opened* DeviceShares::find_or_open(Allocation of,
                                                 const device::MemoryHandle& handle) noexcept {
  const auto known = std::find_if(opened_.begin(), opened_.end(),
                                  [&](const Opened& opened) { return opened.of == of; });
  if (known != opened_.end()) return &*known;
  if (std::find(refused_.begin(), refused_.end(), of) != refused_.end()) return nullptr;
  if (opened_.size() >= kOpenMost && !close_oldest()) return nullptr;
  auto memory = context_.driver.open_memory(context_.mover.home(), handle);
  // What its owner has freed may be in the way.
  while (!memory.ok() && close_oldest()) {
    memory = context_.driver.open_memory(context_.mover.home(), handle);
  }
  if (!memory.ok()) {
    refuse(of, memory.error());
    return nullptr;
  }
  opened_.push_back({of, std::move(*memory), 0, 0});
  return &opened_.back();
}

bool DeviceShares::close_oldest() noexcept {
  auto oldest = opened_.end();
  for (auto at = opened_.begin(); at != opened_.end(); ++at) {
    const bool older = oldest == opened_.end() || at->used < oldest->used;
    if (at->readers == 0 && older) oldest = at;
  }
  if (oldest == opened_.end()) return false;
  opened_.erase(oldest);
  return true;
}

void DeviceShares::refuse(Allocation of, const Error& why) noexcept {
  refused_[refused_next_++ % kRefusedMost] = of;
  if (context_.driver.lost(context_.mover.home().device) || std::exchange(warned_, true)) return;
  context_.log.warn("memory of a device of rank {} is copied through the host: {}", of.owner,
                    why.text);
}

void DeviceShares::close(Rank owner, const void* opened) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(opened);
  Opened* nearest = nullptr;  // Places of one do not overlap those of another.
  for (Opened& one : opened_) {
    const bool before = one.of.owner == owner && one.base() <= at;
    if (before && (nearest == nullptr || one.base() > nearest->base())) nearest = &one;
  }
  ESP_ASSERT(nearest != nullptr && nearest->readers > 0);
  --nearest->readers;
}

AwayAllocation DeviceShares::allocation_of(const void* at) noexcept {
  auto place = kinds_.of(at);
  if (!place.ok() || place->kind != device::MemoryKind::kDevice) return {};
  return {place->allocation, reinterpret_cast<const std::byte*>(place->base), place->bytes};
}

// Of whole pages, with what else of the device's memory lies in the first and the last.
Result<Descriptor> DeviceShares::file_of(const AwayAllocation& allocation) {
  auto place = kinds_.of(allocation.begin);
  if (!place) return place.error();
  if (place->allocation != allocation.number) {
    return error(ESP_ERR_STATE, "the memory was freed meanwhile");
  }
  const std::uintptr_t begin = MemoryWatch::page_of(allocation.begin);
  const std::uintptr_t end = MemoryWatch::page_after(allocation.begin, allocation.bytes);
  return context_.driver.dma_buf(*place, reinterpret_cast<const void*>(begin), end - begin);
}

Posted DeviceShares::fetch(std::byte* dst, const void* src, std::uint64_t bytes,
                           Completion& op) noexcept {
  auto* elements = static_cast<std::byte*>(const_cast<void*>(src));
  return context_.mover.repack({&bytes_, nullptr, elements, dst, 0, bytes, true}, op);
}

Posted DeviceShares::store(void* dst, const std::byte* src, std::uint64_t bytes,
                           Completion& op) noexcept {
  auto* run = const_cast<std::byte*>(src);  // It is only read.
  return context_.mover.repack(
      {&bytes_, nullptr, static_cast<std::byte*>(dst), run, 0, bytes, false}, op);
}

}  // namespace espalier
