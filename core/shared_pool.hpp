// SharedPool: objects of one type that any thread takes and any thread gives back, without a lock.
//
// Free cells are a stack (Treiber's) whose links are numbers of cells, not addresses. Its head
// carries a count of takings beside the number, so that a thread that was away between its look and
// its exchange meets another head although the same cell may be on top again; the count would have
// to come round, 2^32 takings, in that time. Reclamation: cells live in slabs that are given back
// with the pool alone, and a cell's link is no part of the object in it, so that a look at a cell
// that is taken meanwhile reads memory that is there. Slab k has 64 * 2^k cells; growing takes a
// lock, as does nothing else. Objects that are out when the pool goes are forgotten: they have no
// destructors. The atomics are a parameter for the step-by-step interleaving test.
//
// Ownership: the pool owns the memory; an object is the caller's from allocate() to release().
// Threads: any. path: data (allocate, release), slow (growing)
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>

#include "core/assert.hpp"

namespace espalier {

template <typename T, template <typename> typename Atomic = std::atomic>
class SharedPool {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  SharedPool() = default;
  SharedPool(const SharedPool&) = delete;
  SharedPool& operator=(const SharedPool&) = delete;
  ~SharedPool() {
    for (Atomic<Cell*>& slab : slabs_) delete[] slab.load(std::memory_order_relaxed);
  }

  // A constructed object, or nullptr when there is no memory, or there are 2^22 of them already.
  template <typename... Args>
  [[nodiscard]] T* allocate(Args&&... args) noexcept {
    Cell* cell = pop();
    while (cell == nullptr) {
      if (!grow()) return nullptr;
      cell = pop();
    }
    return ::new (static_cast<void*>(cell->memory)) T(std::forward<Args>(args)...);
  }

  void release(T* object) noexcept {
    auto* cell = reinterpret_cast<Cell*>(object);  // It begins with it.
    push(*cell, *cell);
  }

 private:
  struct Cell {
    alignas(alignof(T)) std::byte memory[sizeof(T)];
    std::uint32_t number;  // from 1 on; set when the slab is made
    // The cell below, 0: none. Writer: who pushes the cell; readers: who pop, maybe too late, which
    // the exchange of the head finds out.
    Atomic<std::uint32_t> below{0};
  };
  static constexpr std::uint32_t kFirstSlab = 64, kSlabs = 16;

  static std::uint32_t number_of(std::uint64_t head) noexcept {
    return static_cast<std::uint32_t>(head);
  }
  Cell& cell(std::uint32_t number) const noexcept {
    const std::uint32_t position = number - 1 + kFirstSlab;
    const auto slab = static_cast<std::uint32_t>(std::bit_width(position / kFirstSlab)) - 1;
    Cell* cells = slabs_[slab].load(std::memory_order_acquire);
    return cells[position - (kFirstSlab << slab)];
  }

  Cell* pop() noexcept {
    std::uint64_t head = head_.load(std::memory_order_acquire);
    while (number_of(head) != 0) {
      Cell& top = cell(number_of(head));
      const std::uint64_t takings = (head >> 32) + 1;
      const std::uint64_t next = takings << 32 | top.below.load(std::memory_order_relaxed);
      if (head_.compare_exchange_weak(head, next, std::memory_order_acquire)) return &top;
    }
    return nullptr;
  }
  // Cells that hang together, from `top` to `bottom`.
  void push(Cell& top, Cell& bottom) noexcept {
    std::uint64_t head = head_.load(std::memory_order_relaxed);
    std::uint64_t next = 0;
    do {
      bottom.below.store(number_of(head), std::memory_order_relaxed);
      next = (head >> 32) << 32 | top.number;
    } while (!head_.compare_exchange_weak(head, next, std::memory_order_release));
  }

  [[gnu::cold, gnu::noinline]] bool grow() noexcept {
    const std::lock_guard lock(growing_);
    if (number_of(head_.load(std::memory_order_relaxed)) != 0) return true;  // Another has.
    if (used_slabs_ == kSlabs) return false;
    const std::uint32_t count = kFirstSlab << used_slabs_;
    auto* cells = new (std::nothrow) Cell[count];
    if (cells == nullptr) return false;
    const std::uint32_t first = count - kFirstSlab + 1;
    for (std::uint32_t i = 0; i < count; ++i) {
      cells[i].number = first + i;
      cells[i].below.store(first + i + 1, std::memory_order_relaxed);
    }
    slabs_[used_slabs_++].store(cells, std::memory_order_release);
    push(cells[0], cells[count - 1]);
    return true;
  }

  // Takings << 32 | number of the top cell. Writers: all (release, of a push: publishes the link);
  // readers: all.
  alignas(64) Atomic<std::uint64_t> head_{0};
  // Writer: who grows (release: publishes the cells); readers: all.
  alignas(64) Atomic<Cell*> slabs_[kSlabs] = {};
  std::mutex growing_;
  std::uint32_t used_slabs_ = 0;  // under the lock
};

}  // namespace espalier
