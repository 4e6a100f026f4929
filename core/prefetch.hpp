// Hints to the cache: lines that will be written soon. Values only; any thread. path: data
#pragma once

#include <cstddef>

namespace espalier {

inline constexpr std::size_t kCacheLine = 64;

// Asks for the lines of [begin, begin + bytes) to be fetched as this core's own. A hint: nothing is
// read or written, and no address is wrong.
inline void prefetch_for_write(const std::byte* begin, std::size_t bytes) noexcept {
  for (const std::byte* line = begin; line < begin + bytes; line += kCacheLine) {
#if defined(__x86_64__)
    // __builtin_prefetch becomes a prefetch for reading unless -mprfchw is given. Processors
    // without the instruction take it for a no-op.
    __asm__ volatile("prefetchw %0" : : "m"(*line));
#else
    __builtin_prefetch(line, 1, 3);
#endif
  }
}

}  // namespace espalier
