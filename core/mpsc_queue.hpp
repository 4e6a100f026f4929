// MpscQueue: bounded queue, many producers, one consumer, no lock (Vyukov's bounded queue with the
// consumer's side simplified).
//
//   cell i:  sequence == position          free for the producer of that position
//            sequence == position + 1      holds the value of that position
//            sequence == position + size   taken; free for the next lap
//
// Threads: try_push any; try_pop and empty the one consumer. A producer that is suspended between
// claiming a cell and filling it hides later values from the consumer until it runs again; the
// consumer never waits for it. Sleeping: a consumer that wants to sleep when the queue is empty
// must order its announcement before its last look, and producers their push before their look at
// the announcement, with sequentially consistent fences; this is the doorbell's business.
// Reclamation: values are copied out of cells (trivially copyable), cells live as long as the
// queue; nothing is ever freed while shared. The atomics are a parameter for the sake of the
// step-by-step interleaving test. path: data
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>

#include "core/assert.hpp"
#include "core/status.hpp"

namespace espalier {

template <typename T, template <typename> typename Atomic = std::atomic>
class MpscQueue final {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  // `capacity` is rounded up to a power of two, at least 2.
  static Result<std::unique_ptr<MpscQueue>> create(std::size_t capacity) {
    ESP_ASSERT(capacity <= std::size_t{1} << 30);
    const std::size_t size = std::bit_ceil(capacity < 2 ? std::size_t{2} : capacity);
    std::unique_ptr<Cell[]> cells(new (std::nothrow) Cell[size]);
    if (cells == nullptr) return error(ESP_ERR_NO_MEMORY, "no memory for a submission queue");
    std::unique_ptr<MpscQueue> queue(new (std::nothrow) MpscQueue(std::move(cells), size));
    if (queue == nullptr) return error(ESP_ERR_NO_MEMORY, "no memory for a submission queue");
    return queue;
  }
  MpscQueue(const MpscQueue&) = delete;
  MpscQueue& operator=(const MpscQueue&) = delete;

  // False when the queue is full.
  bool try_push(const T& value) noexcept {
    std::uint64_t position = tail_.load(std::memory_order_relaxed);
    while (true) {
      Cell& cell = cells_[position & mask_];
      const std::uint64_t sequence = cell.sequence.load(std::memory_order_acquire);
      if (sequence == position) {
        // Failure reloads `position`: another producer claimed the cell.
        if (tail_.compare_exchange_weak(position, position + 1, std::memory_order_relaxed)) {
          cell.value = value;
          cell.sequence.store(position + 1, std::memory_order_release);
          return true;
        }
      } else if (sequence < position) {
        return false;  // One lap behind: the consumer has not taken this cell's value yet.
      } else {
        position = tail_.load(std::memory_order_relaxed);
      }
    }
  }

  // False when the queue is empty, or its next value is still being written.
  bool try_pop(T& value) noexcept {
    Cell& cell = cells_[head_ & mask_];
    if (cell.sequence.load(std::memory_order_acquire) != head_ + 1) return false;
    value = cell.value;
    cell.sequence.store(head_ + mask_ + 1, std::memory_order_release);
    ++head_;
    return true;
  }

  // What try_pop would find, without taking it.
  bool empty() const noexcept {
    return cells_[head_ & mask_].sequence.load(std::memory_order_acquire) != head_ + 1;
  }

  std::size_t capacity() const noexcept { return mask_ + 1; }
  static constexpr std::size_t cell_bytes() noexcept { return sizeof(Cell); }

 private:
  // Cells of a line or more share theirs with no other.
  static constexpr std::size_t kAlignment = sizeof(T) + sizeof(std::uint64_t) < 64 ? 8 : 128;
  struct alignas(kAlignment) Cell {
    // Writers: the producer that claimed the cell (release publishes `value` to the consumer) and
    // then the consumer (release gives the cell, whose value has been read, to a later producer).
    // Readers: all of them.
    Atomic<std::uint64_t> sequence{0};
    T value;
  };

  MpscQueue(std::unique_ptr<Cell[]> cells, std::size_t size) noexcept
      : cells_(std::move(cells)), mask_(size - 1) {
    for (std::size_t i = 0; i < size; ++i) {
      cells_[i].sequence.store(i, std::memory_order_relaxed);
    }
  }

  const std::unique_ptr<Cell[]> cells_;
  const std::size_t mask_;
  // Writers and readers: producers. The next position to claim; publishes nothing (cells do). On a
  // line of its own, so that producers do not take the consumer's.
  alignas(64) Atomic<std::uint64_t> tail_{0};
  // The consumer's alone.
  alignas(64) std::uint64_t head_ = 0;
};

}  // namespace espalier
