#include "net/rdma/registration_cache.hpp"

#include <algorithm>
#include <cstring>
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

RegistrationCache::Entry* RegistrationCache::take(const void* begin, std::uint64_t bytes,
                                                  Use use) noexcept {
  const bool writes = use == Use::kWrite;
  if (!watch_.settled()) {
    if (watch_.blindness() != 0) forget_all();
    ++counts_.refused;
    return nullptr;
  }
  if (watch_.stirred()) forget_gone();
  const std::uintptr_t first = MemoryWatch::page_of(begin);
  const std::uintptr_t end = MemoryWatch::page_after(begin, bytes);
  const auto found = first_that_ends_after(first);
  Entry* entry = nullptr;
  const bool there = found != table_.end() && (*found)->begin() <= first && end <= (*found)->end();
  if (there && ((*found)->region.writable || !writes)) {
    entry = found->get();
    ++counts_.hits;
  } else {
    entry = make(first, end, writes);
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
  bytes_ -= entry.region.bytes;
  port_.withdraw(entry.region);
  std::erase_if(parted_, [&](const auto& one) { return one.get() == &entry; });
}

// What is in use goes with its last user.
RegistrationCache::Table::iterator RegistrationCache::remove(Table::iterator at) noexcept {
  Entry& entry = **at;
  if (entry.users > 0) {
    entry.gone = true;
    parted_.push_back(std::move(*at));
  } else {
    bytes_ -= entry.region.bytes;
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

// Any of it may have gone. What is in use is its user's, who keeps it until then.
void RegistrationCache::forget_all() noexcept {
  for (auto at = table_.begin(); at != table_.end(); ++counts_.gone) at = remove(at);
  notice_.say(std::string("memory cannot be watched: ") + std::strerror(watch_.blindness()));
}

// Of these pages and, if there is room, those of the registrations that they meet.
RegistrationCache::Entry* RegistrationCache::make(std::uintptr_t begin, std::uintptr_t end,
                                                  bool writes) noexcept {
  if (end - begin > bytes_max_) return nullptr;
  std::uintptr_t all_begin = begin, all_end = end;
  auto at = first_that_ends_after(begin);
  while (at != table_.end() && (*at)->begin() < end) {
    all_begin = std::min(all_begin, (*at)->begin());
    all_end = std::max(all_end, (*at)->end());
    ++counts_.evicted;
    at = remove(at);
  }
  if (all_end - all_begin <= bytes_max_) {
    begin = all_begin;
    end = all_end;
  }
  if (!make_room(end - begin)) return nullptr;
  const auto* memory = reinterpret_cast<const std::byte*>(begin);
  // Before it is registered: what goes in between is told, and found by the next take().
  if (!watch_.watch(memory, end - begin)) return nullptr;
  auto region = enroll(memory, end - begin);
  if (!region) return nullptr;
  if (writes && !region->writable) {
    port_.withdraw(*region);
    return nullptr;
  }
  auto entry = std::make_unique<Entry>();
  entry->region = *region;
  bytes_ += region->bytes;
  ++counts_.made;
  return table_.insert(first_that_ends_after(begin), std::move(entry))->get();
}

bool RegistrationCache::make_room(std::uint64_t bytes) noexcept {
  if (bytes > bytes_max_) return false;
  while (bytes_ + bytes > bytes_max_ || table_.size() >= kEntriesMax) {
    if (!shed()) return false;
  }
  return true;
}

bool RegistrationCache::shed() noexcept {
  if (idle_.empty()) return false;
  const auto oldest = first_that_ends_after(idle_.front()->begin());
  ++counts_.evicted;
  (void)remove(oldest);
  return true;
}

// The system may allow less than bytes_max_ (ulimit -l).
Result<Region> RegistrationCache::enroll(const std::byte* memory, std::uint64_t bytes) noexcept {
  auto region = port_.enroll(memory, bytes);
  while (!region && is_short_of_memory(region.error()) && shed()) {
    region = port_.enroll(memory, bytes);
  }
  region ? notice_.worked() : notice_.refused(region.error());
  return region;
}

}  // namespace espalier::rdma
