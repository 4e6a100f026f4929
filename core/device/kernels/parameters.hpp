// What kernels on devices are launched with: one struct each, by value.
//
// Host and device lay them out alike. Pointers are addresses in the memory of the device, or of the
// host where the device can reach it; they need no alignment, and 16 bytes are fastest.
// Values only. path: data
#pragma once

#include <cstdint>

namespace espalier::device {

inline constexpr std::uint32_t kMostSources = 8;

// dst[i] = sources[0][i] op ... op sources[k - 1][i], from left to right; 1 <= k <= kMostSources,
// and one source is copied as it is. dst may be any one of the sources, otherwise nothing overlaps
// it. Of more sources, the first kMostSources go first; then dst is the first one of those of each
// further launch.
struct ReduceParameters {
  void* dst;
  const void* sources[kMostSources];
  std::uint64_t count;  // of elements
  std::uint64_t k;
};

// Row i is row_bytes at dst + i * dst_stride, from src + i * src_stride. Rows do not overlap.
struct CopyRowsParameters {
  void* dst;
  const void* src;
  std::uint64_t rows;
  std::uint64_t row_bytes;
  std::uint64_t dst_stride;
  std::uint64_t src_stride;
};

// Of the threads of a launch, one: kernels deal their work out to any number of them.
struct Thread {
  std::uint64_t index;
  std::uint64_t number;  // of all threads
};

// Threads of a block, at most and best: what the kernels are compiled for.
inline constexpr std::uint32_t kBlockThreads = 256;
// What a thread moves at once.
inline constexpr std::uint32_t kVectorBytes = 16;

// Blocks for so many bytes of result, at least one, at most `most`.
constexpr std::uint32_t useful_blocks(std::uint64_t bytes, std::uint32_t most) noexcept {
  constexpr std::uint64_t kBlockBytes = std::uint64_t{kBlockThreads} * kVectorBytes;
  const std::uint64_t blocks = bytes / kBlockBytes + 1;
  return blocks < most ? static_cast<std::uint32_t>(blocks) : most;
}

}  // namespace espalier::device
