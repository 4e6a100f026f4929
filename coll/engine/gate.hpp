// Gate and Consumer: where a plan meets those who are no wire. Partial completion, partitioned
// calls and chains of operations are these two.
//
// A kAwait vertex begins an index when its bit in the gate is set; a kDeliver vertex hands an index
// to the consumer. Both come with the call (Call::gate, Call::consumer).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace espalier {

// Bits of indices that may begin. Bits are set by any thread and never cleared while the operation
// runs; who sets one tells the engine (Engine::opened, on the owner).
class Gate {
 public:
  // `words`: one bit per index, borrowed.
  Gate(std::atomic<std::uint64_t>* words, std::size_t count) noexcept
      : words_(words), count_(count) {}
  // Writer: any thread. Release: publishes what the index's segment holds.
  void open(std::size_t index) noexcept {
    words_[index / 64].fetch_or(std::uint64_t{1} << index % 64, std::memory_order_release);
  }
  // Bit b: index `base` + b is open. Reader: the owner.
  std::uint64_t open_from(std::size_t base) const noexcept {
    const std::size_t word = base / 64;
    const std::size_t shift = base % 64;
    std::uint64_t bits = load(word) >> shift;
    if (shift != 0) bits |= load(word + 1) << (64 - shift);
    return bits;
  }

 private:
  std::uint64_t load(std::size_t word) const noexcept {
    return word * 64 < count_ ? words_[word].load(std::memory_order_acquire) : 0;
  }
  std::atomic<std::uint64_t>* words_;
  std::size_t count_;
};

struct Delivery {
  std::uint32_t index = 0;   // of the vertex
  std::uint32_t block = 0;   // of the buffer that holds the segment
  std::uint64_t offset = 0;  // bytes, in the block
  const void* data = nullptr;
  std::uint64_t bytes = 0;
};

// Runs on the owner, from progress(), never inside a start. False: there is no room, ask again
// after progress.
struct Consumer {
  using Function = bool (*)(void* context, const Delivery& delivery) noexcept;
  Function function = nullptr;
  void* context = nullptr;
};

}  // namespace espalier
