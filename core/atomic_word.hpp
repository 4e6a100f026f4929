// The atomic operations on words of regions. All of them, of whatever rank by whatever wire, are
// done by a processor of the node that has the word: so they are atomic with each other and with
// the atomics of programs on that memory.
// Threads: any. path: data
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace espalier {

enum class AtomicKind : std::uint32_t { kFetchAdd = 1, kCompareSwap = 2 };

// Summand; or expected, desired.
using AtomicOperands = std::array<std::uint64_t, 2>;

// The old value. `at` is aligned to 8 bytes.
// Writers and readers: all ranks that know the region. Sequentially consistent: orders the
// program's own plain accesses before and after it, on the node.
inline std::uint64_t apply_atomic(AtomicKind kind, void* at,
                                  const AtomicOperands& operands) noexcept {
  auto* word = static_cast<std::uint64_t*>(at);
  if (kind == AtomicKind::kFetchAdd) {
    return __atomic_fetch_add(word, operands[0], __ATOMIC_SEQ_CST);
  }
  std::uint64_t expected = operands[0];
  (void)__atomic_compare_exchange_n(word, &expected, operands[1], false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST);
  return expected;
}

}  // namespace espalier
