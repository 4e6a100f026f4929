#include "net/rdma/registration_cache.hpp"

#include <algorithm>
#include <utility>

#include "core/assert.hpp"

namespace espalier::rdma {

RegistrationCache::~RegistrationCache() {
  while (!table_.empty()) remove(std::prev(table_.end()));
  for (const auto& entry : parted_) port_.withdraw(entry->region);
}

RegistrationCache::Table::iterator RegistrationCache::first_that_ends_after(
    std::uintptr_t at) noexcept {
  return std::upper_bound(
      table_.begin(), table_.end(), at,
      [](std::uintptr_t value, const auto& entry) { return value < entry->end(); });
}

RegistrationCache::Entry* RegistrationCache::take(const void* begin, std::uint64_t bytes) noexcept {
  if (watch_.stirred()) forget_gone();
  const std::uintptr_t first = MemoryWatch::page_of(begin);
  const std::uintptr_t end = MemoryWatch::page_after(begin, bytes);
  const auto found = first_that_ends_after(first);
  Entry* entry = nullptr;
  if (found != table_.end() && (*found)->begin() <= first && end <= (*found)->end()) {
    entry = found->get();
    ++counts_.hits;
  } else {
    entry = make(first, end);
    if (entry == nullptr) {
      ++counts_.refused;
      return nullptr;
    }
  }
  if (entry->users++ == 0 && entry->linked()) entry->unlink();
  return entry;
}

void RegistrationCache::give(Entry& entry) noexcept {
  ESP_ASSERT(entry.users > 0);
  if (--entry.users > 0) return;
  if (!entry.gone) return idle_.push_back(entry);
  port_.withdraw(entry.region);
  std::erase_if(parted_, [&](const auto& one) { return one.get() == &entry; });
}

// What is in use goes with its last user.
RegistrationCache::Table::iterator RegistrationCache::remove(Table::iterator at) noexcept {
  Entry& entry = **at;
  bytes_ -= entry.region.bytes;
  if (entry.users > 0) {
    entry.gone = true;
    parted_.push_back(std::move(*at));
  } else {
    if (entry.linked()) entry.unlink();
    port_.withdraw(entry.region);
  }
  return table_.erase(at);
}

void RegistrationCache::forget_gone() noexcept {
  const MemoryWatch::Gone gone = watch_.take();
  if (gone.count == 0 && !gone.all) return;
  for (auto at = table_.begin(); at != table_.end();) {
    if (!gone.meets((*at)->begin(), (*at)->end())) {
      ++at;
      continue;
    }
    ++counts_.gone;
    at = remove(at);
  }
}

// Of these pages and those of the registrations that they meet.
RegistrationCache::Entry* RegistrationCache::make(std::uintptr_t begin,
                                                  std::uintptr_t end) noexcept {
  auto at = first_that_ends_after(begin);
  for (auto met = at; met != table_.end() && (*met)->begin() < end; ++met) {
    begin = std::min(begin, (*met)->begin());
    end = std::max(end, (*met)->end());
  }
  while (at != table_.end() && (*at)->begin() < end) {
    ++counts_.evicted;
    at = remove(at);
  }
  if (!make_room(end - begin)) return nullptr;
  const auto* memory = reinterpret_cast<const std::byte*>(begin);
  // Before it is registered: what goes in between is told, and found by the next take().
  if (!watch_.watch(memory, end - begin)) return nullptr;
  auto region = port_.enroll(memory, end - begin);
  if (!region) return nullptr;
  auto entry = std::make_unique<Entry>();
  entry->region = *region;
  bytes_ += region->bytes;
  ++counts_.made;
  return table_.insert(first_that_ends_after(begin), std::move(entry))->get();
}

bool RegistrationCache::make_room(std::uint64_t bytes) noexcept {
  if (bytes > bytes_max_) return false;
  while (bytes_ + bytes > bytes_max_ || table_.size() >= kEntriesMax) {
    if (idle_.empty()) return false;
    const auto oldest = first_that_ends_after(idle_.front()->begin());
    ++counts_.evicted;
    (void)remove(oldest);
  }
  return true;
}

}  // namespace espalier::rdma
