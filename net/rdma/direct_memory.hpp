// DirectMemory: memory that the adapter may read and write itself, for the length of an operation.
//
// Three sources, the cheapest first: memory that is registered anyhow (registered_memory.hpp); the
// cache of registrations, where there is one (registration_cache.hpp); a registration for this
// operation alone, of large memory, if that is wanted. Where none of them helps the operation is
// copied through packets.
//
// Ownership: as its parts. Threads: owner. path: data
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "core/clock.hpp"
#include "core/counters.hpp"
#include "net/rdma/registered_memory.hpp"
#include "net/rdma/registration_cache.hpp"

namespace espalier::rdma {

// A value that end() takes back. Without bytes: there is none.
struct Lease {
  Region region;
  RegistrationCache::Entry* cached = nullptr;
  bool own = false;  // registered for this operation
  explicit operator bool() const noexcept { return region.bytes > 0; }
};

struct DirectMemoryOptions {
  std::uint64_t register_from_bytes = kNever;  // larger buffers are registered for one operation
  // Both or none: a cache of at most so many bytes.
  MemoryWatch* watch = nullptr;
  std::uint64_t cache_bytes = 0;
  Counter* registrations = nullptr;  // those of made(), for people
  Log log{LogLevel::kError};         // is told once if registering fails that worked before
};

class DirectMemory {
 public:
  DirectMemory(ConnectionPort& port, const DirectMemoryOptions& options)
      : port_(port),
        register_from_bytes_(options.register_from_bytes),
        counter_(options.registrations),
        notice_(options.log),
        registered_(port) {
    if (options.watch != nullptr && options.cache_bytes > 0) {
      cache_.emplace(port, *options.watch, options.cache_bytes, notice_);
    }
  }

  // Memory that is registered for longer: see RegisteredMemory. What the cache keeps for nobody
  // makes room where the system has none.
  Outcome add(const void* begin, std::uint64_t bytes) {
    Outcome added = registered_.add(begin, bytes);
    while (!added && is_short_of_memory(added.error()) && cache_ && cache_->shed()) {
      added = registered_.add(begin, bytes);
    }
    added ? notice_.worked() : notice_.refused(added.error());
    return added;
  }
  void remove(const void* begin) noexcept { registered_.remove(begin); }
  const Region* find(const void* begin, std::uint64_t bytes) const noexcept {
    return registered_.find(begin, bytes);
  }

  Lease lease(const void* begin, std::uint64_t bytes, Use use) noexcept {
    if (const Region* region = registered_.find(begin, bytes)) return {.region = *region};
    if (RegistrationCache::Entry* entry = cache_ ? cache_->take(begin, bytes, use) : nullptr) {
      count();
      return {.region = entry->region, .cached = entry};
    }
    if (bytes < register_from_bytes_) return {};
    auto made = port_.enroll(begin, bytes);
    if (!made) {
      notice_.refused(made.error());
      return {};
    }
    notice_.worked();
    if (use == Use::kWrite && !made->writable) {
      port_.withdraw(*made);
      return {};
    }
    ++own_;
    count();
    return {.region = *made, .own = true};
  }
  void end(Lease& lease) noexcept {
    const Lease ended = std::exchange(lease, {});
    if (ended.cached != nullptr) cache_->give(*ended.cached);
    if (ended.own) port_.withdraw(ended.region);
  }

  // nullptr: there is none.
  const RegistrationCache* cache() const noexcept { return cache_ ? &*cache_ : nullptr; }
  // Registrations, for one operation or for the cache.
  std::uint64_t made() const noexcept { return own_ + (cache_ ? cache_->counts().made : 0); }

 private:
  void count() noexcept {
    if (counter_ == nullptr || made() == counted_) return;
    *counter_ += made() - counted_;
    counted_ = made();
  }

  ConnectionPort& port_;
  const std::uint64_t register_from_bytes_;
  Counter* const counter_;
  std::uint64_t counted_ = 0;
  RegistrationNotice notice_;
  RegisteredMemory registered_;
  std::optional<RegistrationCache> cache_;
  std::uint64_t own_ = 0;
};

}  // namespace espalier::rdma
