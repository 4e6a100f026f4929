// The body of the kernel that copies rows of bytes: how strided blocks are packed and unpacked.
//
// In units as large as the alignment of everything allows. Included by ptx.cpp and host_kernels.cpp
// only. Threads: any. path: data
#pragma once

#include "core/device/kernels/reduce.hpp"

namespace espalier::device {
namespace {

template <std::size_t bytes>
using Bytes = std::conditional_t<bytes == kVectorBytes, Vector<Plain<std::uint64_t>>,
                                 Single<Plain<typename WordOf<bytes>::Type>, bytes>>;

template <std::size_t unit>
[[gnu::always_inline]] inline void copy_rows_by(const CopyRowsParameters& p, Thread thread) {
  const std::uint64_t units = p.row_bytes / unit;  // of a row
  ESP_ROLLED
  for (std::uint64_t i = thread.index; i < p.rows * units; i += thread.number) {
    const std::uint64_t row = i / units;
    const std::uint64_t column = (i - row * units) * unit;
    const auto piece = Bytes<unit>::load(p.src, row * p.src_stride + column);
    piece.store(p.dst, row * p.dst_stride + column);
  }
}

[[gnu::always_inline]] inline void copy_rows(const CopyRowsParameters& p, Thread thread) {
  const std::uint64_t all = reinterpret_cast<std::uintptr_t>(p.dst) |
                            reinterpret_cast<std::uintptr_t>(p.src) | p.row_bytes | p.dst_stride |
                            p.src_stride;
  if (all % 16 == 0) {
    copy_rows_by<16>(p, thread);
  } else if (all % 8 == 0) {
    copy_rows_by<8>(p, thread);
  } else if (all % 4 == 0) {
    copy_rows_by<4>(p, thread);
  } else if (all % 2 == 0) {
    copy_rows_by<2>(p, thread);
  } else {
    copy_rows_by<1>(p, thread);
  }
}

}  // namespace
}  // namespace espalier::device
