#include "net/rdma/away_regions.hpp"

#include <algorithm>
#include <utility>

#include "core/assert.hpp"
#include "core/memory_watch.hpp"
#include "net/rdma/registration_cache.hpp"

namespace espalier::rdma {
namespace {

bool holds(const AwayAllocation& whole, const void* at, std::uint64_t bytes) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(whole.begin);
  const auto from = reinterpret_cast<std::uintptr_t>(at);
  return begin <= from && from - begin <= whole.bytes && bytes <= whole.bytes - (from - begin);
}

}  // namespace

void AwayRegions::set(AwayMemory* away) noexcept {
  forget_all();
  away_ = away;
  usable_.store(away != nullptr, std::memory_order_relaxed);
  why_.clear();
}

void AwayRegions::forget_all() noexcept {
  while (!entries_.empty()) remove(entries_.size() - 1);
}

const Region* AwayRegions::hold(const void* at, std::uint64_t bytes) noexcept {
  if (!usable()) return nullptr;
  const AwayAllocation allocation = away_->allocation_of(at);
  if (allocation.number == 0 || !holds(allocation, at, bytes)) return nullptr;
  const auto known = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.of.number == allocation.number && !entry.revoked;
  });
  Entry* const entry = known != entries_.end() ? &*known : make(allocation);
  if (entry == nullptr) return nullptr;
  ++entry->holders;
  entry->used = ++uses_;
  return &entry->region;
}

AwayRegions::Entry* AwayRegions::make(const AwayAllocation& allocation) noexcept {
  const bool refused =
      std::find(refused_.begin(), refused_.end(), allocation.number) != refused_.end();
  if (refused || (entries_.size() >= kMost && !shed())) return nullptr;
  auto file = away_->file_of(allocation);
  if (!file) {
    refuse(allocation, file.error());
    return nullptr;
  }
  const std::uintptr_t begin = MemoryWatch::page_of(allocation.begin);
  const std::uint64_t bytes = MemoryWatch::page_after(allocation.begin, allocation.bytes) - begin;
  const auto* const first = reinterpret_cast<const std::byte*>(begin);
  auto region = port_.enroll_file(file->fd(), first, bytes);
  while (!region && is_short_of_memory(region.error()) && shed()) {
    region = port_.enroll_file(file->fd(), first, bytes);
  }
  if (!region) {
    refuse(allocation, region.error());
    return nullptr;
  }
  entries_.push_back({.of = allocation, .region = *region});
  return &entries_.back();
}

void AwayRegions::refuse(const AwayAllocation& allocation, const Error& why) noexcept {
  refused_[refused_next_++ % kRefusedMost] = allocation.number;
  const bool never = why.status.code() == ESP_ERR_UNSUPPORTED;
  if (never) usable_.store(false, std::memory_order_relaxed);
  why_ = why.text;
}

AwayRegions::Entry* AwayRegions::holding(const void* at) noexcept {
  for (Entry& entry : entries_) {
    if (entry.holders > 0 && holds(entry.of, at, 1)) return &entry;
  }
  return nullptr;
}

void AwayRegions::drop(const void* at) noexcept {
  Entry* const entry = holding(at);
  if (entry == nullptr || --entry->holders > 0 || !entry->revoked) return;
  remove(static_cast<std::size_t>(entry - entries_.data()));
}

void AwayRegions::revoke(const void* at) noexcept {
  for (Entry& entry : entries_) {
    const bool is_held = entry.holders > 0 && holds(entry.of, at, 1);
    if (is_held && !std::exchange(entry.revoked, true)) port_.withdraw(entry.region);
  }
}

const Region* AwayRegions::find(const void* at, std::uint64_t bytes) const noexcept {
  for (const Entry& entry : entries_) {
    if (entry.holders > 0 && !entry.revoked && holds(entry.of, at, bytes)) {
      return &entry.region;
    }
  }
  return nullptr;
}

// What nobody holds, the one used longest ago. False: there is none.
bool AwayRegions::shed() noexcept {
  auto oldest = entries_.end();
  for (auto at = entries_.begin(); at != entries_.end(); ++at) {
    const bool older = oldest == entries_.end() || at->used < oldest->used;
    if (at->holders == 0 && older) oldest = at;
  }
  if (oldest == entries_.end()) return false;
  remove(static_cast<std::size_t>(oldest - entries_.begin()));
  return true;
}

void AwayRegions::remove(std::size_t at) noexcept {
  if (!entries_[at].revoked) port_.withdraw(entries_[at].region);
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(at));
}

}  // namespace espalier::rdma
