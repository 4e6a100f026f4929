// What the short path and short operations do with what stands on a board. path: short
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/copy.hpp"
#include "core/datatype.hpp"

namespace espalier {

// Operands of one kernel call.
inline constexpr std::size_t kLineOperands = 32;

inline void copy_line(void* to, const void* from, std::uint64_t bytes) noexcept {
  if (bytes == 8) {
    std::memcpy(to, from, 8);  // One load, one store.
  } else if (bytes > 0) {
    copy_bytes(to, from, bytes);
  }
}

// Combines operands in the order of their coming into `to`. Of more than kLineOperands in several
// steps, the partial result first: then `to` is written before the last operand has come.
class LineReduction {
 public:
  LineReduction(CombineKernel kernel, void* to, std::uint64_t count) noexcept
      : kernel_(kernel), to_(to), count_(count) {}
  void add(const void* operand) noexcept {
    operands_[held_++] = operand;
    if (held_ == kLineOperands) flush();
  }
  void finish() noexcept {
    if (held_ > 1 || (held_ == 1 && operands_[0] != to_)) flush();
  }

 private:
  void flush() noexcept {
    if (count_ > 0) kernel_(to_, operands_, held_, count_);
    operands_[0] = to_;
    held_ = 1;
  }

  CombineKernel kernel_;
  void* to_;
  std::uint64_t count_;
  const void* operands_[kLineOperands];
  std::size_t held_ = 0;
};

}  // namespace espalier
