// Pool: objects of one type, allocated and freed in O(1), from slabs that are only returned to the
// system when the pool dies.
//
// Ownership: the pool owns the memory; an object belongs to the caller from allocate() to
// release(). All objects must be back before the pool is destroyed (asserted). Threads: the owner's
// only. Under AddressSanitizer a released object is poisoned, so use after release is found. path:
// data (allocate from the free list, release), slow (growing)
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "core/assert.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define ESP_POOL_POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ESP_POOL_POISON 1
#endif
#endif
#ifdef ESP_POOL_POISON
#include <sanitizer/asan_interface.h>
#endif

namespace espalier {

struct PoolLimits {
  std::size_t objects_per_slab = 64;
  std::size_t objects_max = 1 << 20;  // rounded up to whole slabs
};

template <typename T>
class Pool {
 public:
  explicit Pool(PoolLimits limits = {}) noexcept : limits_(limits) {
    ESP_ASSERT(limits.objects_per_slab > 0);
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    ESP_ASSERT(in_use_ == 0);
    while (slabs_ != nullptr) free_slab(std::exchange(slabs_, slabs_->next));
  }

  // A constructed object, or nullptr when the limit is reached or the system has no memory.
  template <typename... Args>
  [[nodiscard]] T* allocate(Args&&... args) noexcept {
    if (free_ == nullptr && !grow()) [[unlikely]] {
      return nullptr;
    }
    FreeCell* cell = free_;
    unpoison(cell);
    free_ = cell->next;
    ++in_use_;
    return ::new (static_cast<void*>(cell)) T(std::forward<Args>(args)...);
  }

  void release(T* object) noexcept {
    ESP_ASSERT(object != nullptr);
    ESP_ASSERT(in_use_ > 0);
    ESP_ASSERT_SLOW(owns(object));
    object->~T();
    push_free(object);
    --in_use_;
  }

  std::size_t in_use() const noexcept { return in_use_; }
  std::size_t capacity() const noexcept { return capacity_; }

  // Whether `object` is a cell of this pool (walks the slabs: for assertions).
  bool owns(const T* object) const noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(object);
    for (const Slab* slab = slabs_; slab != nullptr; slab = slab->next) {
      const auto first = reinterpret_cast<std::uintptr_t>(slab) + kHeaderBytes;
      if (address < first || address >= first + kCellBytes * limits_.objects_per_slab) continue;
      return (address - first) % kCellBytes == 0;
    }
    return false;
  }

 private:
  struct FreeCell {
    FreeCell* next;
  };
  struct Slab {
    Slab* next;
  };

  static constexpr std::size_t larger(std::size_t a, std::size_t b) { return a > b ? a : b; }
  static constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) {
    return (bytes + unit - 1) / unit * unit;
  }
  static constexpr std::size_t kAlignment = larger(alignof(T), alignof(FreeCell));
  static constexpr std::size_t kCellBytes =
      round_up(larger(sizeof(T), sizeof(FreeCell)), kAlignment);
  static constexpr std::size_t kHeaderBytes = round_up(sizeof(Slab), kAlignment);

  [[gnu::cold, gnu::noinline]] bool grow() noexcept {
    if (capacity_ >= limits_.objects_max) return false;
    const std::size_t bytes = kHeaderBytes + kCellBytes * limits_.objects_per_slab;
    void* memory = ::operator new(bytes, std::align_val_t{kAlignment}, std::nothrow);
    if (memory == nullptr) return false;
    slabs_ = ::new (memory) Slab{slabs_};
    std::byte* cells = static_cast<std::byte*>(memory) + kHeaderBytes;
    // Last cell first, so that the first allocations walk the slab upwards.
    for (std::size_t i = limits_.objects_per_slab; i-- > 0;) push_free(cells + i * kCellBytes);
    capacity_ += limits_.objects_per_slab;
    return true;
  }

  void push_free(void* memory) noexcept {
    free_ = ::new (memory) FreeCell{free_};
    poison(memory);
  }
  void free_slab(Slab* slab) noexcept {
    std::byte* cells = reinterpret_cast<std::byte*>(slab) + kHeaderBytes;
    for (std::size_t i = 0; i < limits_.objects_per_slab; ++i) unpoison(cells + i * kCellBytes);
    ::operator delete(slab, std::align_val_t{kAlignment});
  }

  static void poison([[maybe_unused]] void* cell) noexcept {
#ifdef ESP_POOL_POISON
    __asan_poison_memory_region(cell, kCellBytes);
#endif
  }
  static void unpoison([[maybe_unused]] void* cell) noexcept {
#ifdef ESP_POOL_POISON
    __asan_unpoison_memory_region(cell, kCellBytes);
#endif
  }

  FreeCell* free_ = nullptr;
  Slab* slabs_ = nullptr;
  std::size_t in_use_ = 0;
  std::size_t capacity_ = 0;
  PoolLimits limits_;
};

}  // namespace espalier

#undef ESP_POOL_POISON
