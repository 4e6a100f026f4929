// PacketBits: some of the packets of a segment, one bit each.
//
// Values. path: data; resize() alone allocates, and only beyond what it had before
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "core/assert.hpp"

namespace espalier::multicast {

class PacketBits {
 public:
  // None of `packets`.
  void reset(std::uint32_t packets) {
    words_.assign((std::size_t{packets} + 63) / 64, 0);
    size_ = packets;
    count_ = 0;
  }
  // Room for more; those that are in stay.
  void grow(std::uint32_t packets) {
    if (packets <= size_) return;
    words_.resize((std::size_t{packets} + 63) / 64);
    size_ = packets;
  }

  std::uint32_t size() const noexcept { return size_; }
  std::uint32_t count() const noexcept { return count_; }
  bool all() const noexcept { return count_ == size_; }
  bool any() const noexcept { return count_ > 0; }
  bool has(std::uint32_t packet) const noexcept {
    return packet < size_ && (words_[packet / 64] >> packet % 64 & 1) != 0;
  }
  void add(std::uint32_t packet) noexcept {
    ESP_ASSERT(packet < size_);
    if (has(packet)) return;
    words_[packet / 64] |= std::uint64_t{1} << packet % 64;
    ++count_;
  }
  void remove(std::uint32_t packet) noexcept {
    if (!has(packet)) return;
    words_[packet / 64] &= ~(std::uint64_t{1} << packet % 64);
    --count_;
  }
  // The first that is in (or not in), from `at` on; size(): none.
  std::uint32_t next(std::uint32_t at, bool in = true) const noexcept {
    while (at < size_) {
      const std::uint64_t word = in ? words_[at / 64] : ~words_[at / 64];
      const std::uint64_t rest = word >> at % 64;
      if (rest != 0) {
        const std::uint32_t found = at + static_cast<std::uint32_t>(std::countr_zero(rest));
        return found < size_ ? found : size_;
      }
      at = (at / 64 + 1) * 64;
    }
    return size_;
  }

 private:
  std::vector<std::uint64_t> words_;
  std::uint32_t size_ = 0, count_ = 0;
};

}  // namespace espalier::multicast
