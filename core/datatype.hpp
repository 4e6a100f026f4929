// Element types and reduction kernels. Tables, rounding, NaN and tie rules: docs/datatypes.md.
//
// A CombineKernel combines k inputs of `count` elements in order: dst[i] = src[0][i] op src[1][i]
// op ... op src[k-1][i], evaluated strictly from left to right, so results never depend on arrival
// order. dst may be equal to any one of the sources (same start), otherwise the ranges do not
// overlap. k >= 1; k == 1 copies. Pointers need no alignment. There is one for each instruction set
// (core/kernels/isa.hpp: SSE2/AVX2/AVX-512/NEON); every variant gives bit-identical results, the
// payload of a NaN made or passed on by sum and prod excepted.
// Threads: any. path: data (kernels), setup (lookup).
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/status.hpp"

namespace espalier {

// Where a kernel's results go. Past the caches: into memory that need not be read first, for
// results so long that their begin would be gone from the caches before their end was there. It is
// a wish: some kernels, and other architectures, have one way only.
enum class Store : std::uint8_t { kCached, kPastCaches };

using CombineKernel = void (*)(void* dst, const void* const* src, std::size_t k, std::size_t count);

std::size_t type_size(esp_type type) noexcept;  // 0: unknown type
const char* type_name(esp_type type) noexcept;  // "int32", ...; "unknown" otherwise
const char* op_name(esp_op op) noexcept;        // "sum", ...; "user" for user-defined ones
bool op_defined(esp_op op, esp_type type) noexcept;
// True when any order of combining gives bit-identical results (integer sums, min, max, logicals,
// bits, reproducible sums; not other float sums).
bool op_exact(esp_op op, esp_type type) noexcept;

}  // namespace espalier
