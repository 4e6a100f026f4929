// The loops of the combine kernels, and the table of all of them for one instruction set.
//
// Up to four sources are combined in one loop. More are combined strip by strip: the first four
// into a strip of stack memory that stays in the first-level cache, then three more at a time, and
// the last ones with the strip into the destination. So each source is read and the destination is
// written once, and the destination, which may be one of the sources, only after all sources of its
// strip were read.
//
// Kernels that store past the caches compute a line at a time and write it as a whole, so that the
// destination need not be read first. Included by the combine_*.cpp only: see kernel_table.hpp.
// Threads: any. path: data
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "core/assert.hpp"
#include "core/kernels/elements.hpp"
#include "core/kernels/kernel_table.hpp"
#include "core/kernels/operation_of.hpp"
#include "core/kernels/wide.hpp"

// Iterations do not depend on each other: the destination is either the same array as a source,
// element by element, or does not overlap it. Compilers would otherwise test for overlap at run
// time and take the scalar loop for the most common case, accumulation in place.
#if defined(__clang__)
#define ESP_INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#else
#define ESP_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#endif

namespace espalier {
namespace {

constexpr std::size_t kStripBytes = 4096;
constexpr std::size_t kFanIn = 4;  // Sources of one loop, at most.
constexpr std::size_t kLineBytes = 64;

// dst = src[0] op ... op src[fan_in - 1], for the elements [first, end).
template <typename Op, std::size_t fan_in>
void combine_range(std::byte* dst, const std::byte* const (&src)[kFanIn], std::size_t first,
                   std::size_t end) {
  static_assert(fan_in >= 2 && fan_in <= kFanIn);
  const std::byte* const s0 = src[0];
  const std::byte* const s1 = src[1];
  const std::byte* const s2 = src[2];
  const std::byte* const s3 = src[3];
  ESP_INDEPENDENT_ITERATIONS
  for (std::size_t i = first; i < end; ++i) {
    const std::size_t at = i * Op::kBytes;
    auto value = Op::combine(Op::read(s0 + at), Op::read(s1 + at));
    if constexpr (fan_in >= 3) value = Op::combine(value, Op::read(s2 + at));
    if constexpr (fan_in >= 4) value = Op::combine(value, Op::read(s3 + at));
    Op::write(dst + at, value);
  }
}

#if defined(__x86_64__)
// The elements [0, count), with lines of the destination written past the caches. The fence:
// whoever is told of the result by an ordinary store finds it.
template <typename Op, std::size_t fan_in>
void combine_lines(std::byte* dst, const std::byte* const (&src)[kFanIn], std::size_t count) {
  constexpr std::size_t kElements = kLineBytes / Op::kBytes;
  static_assert(kLineBytes % Op::kBytes == 0);
  const std::size_t head = -reinterpret_cast<std::uintptr_t>(dst) % kLineBytes;
  // A destination that is not aligned to its elements has no line that begins with one.
  const bool fits = head % Op::kBytes == 0 && head / Op::kBytes < count;
  std::size_t i = fits ? head / Op::kBytes : count;
  combine_range<Op, fan_in>(dst, src, 0, i);
  for (; i + kElements <= count; i += kElements) {
    alignas(kLineBytes) std::byte line[kLineBytes];
    const std::byte* at[kFanIn] = {};
    for (std::size_t j = 0; j < fan_in; ++j) at[j] = src[j] + i * Op::kBytes;
    combine_range<Op, fan_in>(line, at, 0, kElements);
    auto* const to = reinterpret_cast<__m128i*>(dst + i * Op::kBytes);
    const auto* const from = reinterpret_cast<const __m128i*>(line);
    for (std::size_t j = 0; j < kLineBytes / sizeof(__m128i); ++j) {
      _mm_stream_si128(to + j, _mm_load_si128(from + j));
    }
  }
  combine_range<Op, fan_in>(dst, src, i, count);
  _mm_sfence();
}
constexpr bool kCanStorePast = true;
#else
constexpr bool kCanStorePast = false;
#endif

template <typename Op, std::size_t fan_in, Store store>
void combine_pass(std::byte* dst, const std::byte* const (&src)[kFanIn], std::size_t count) {
  using WideOp = typename Wide<Op>::Type;
  if constexpr (store == Store::kPastCaches) {
    combine_lines<Op, fan_in>(dst, src, count);
  } else if constexpr (std::is_void_v<WideOp>) {
    combine_range<Op, fan_in>(dst, src, 0, count);
  } else {
    const std::size_t blocks = count / WideOp::kLanes;
    combine_range<WideOp, fan_in>(dst, src, 0, blocks);
    combine_range<Op, fan_in>(dst, src, blocks * WideOp::kLanes, count);
  }
}

template <typename Op, Store store>
void combine_few(std::byte* dst, const std::byte* const (&src)[kFanIn], std::size_t k,
                 std::size_t count) {
  switch (k) {
    case 2:
      return combine_pass<Op, 2, store>(dst, src, count);
    case 3:
      return combine_pass<Op, 3, store>(dst, src, count);
    default:
      return combine_pass<Op, 4, store>(dst, src, count);
  }
}

// k > kFanIn.
template <typename Op, Store store>
void combine_many(std::byte* dst, const std::byte* const* src, std::size_t k, std::size_t count) {
  constexpr std::size_t kStripCount = kStripBytes / Op::kBytes;
  alignas(64) std::byte strip[kStripBytes];
  for (std::size_t first = 0; first < count; first += kStripCount) {
    const std::size_t n = count - first < kStripCount ? count - first : kStripCount;
    const std::size_t at = first * Op::kBytes;
    const std::byte* inputs[kFanIn] = {src[0] + at, src[1] + at, src[2] + at, src[3] + at};
    combine_pass<Op, 4, Store::kCached>(strip, inputs, n);
    inputs[0] = strip;
    for (std::size_t next = kFanIn; next < k; next += kFanIn - 1) {
      const std::size_t more = k - next < kFanIn - 1 ? k - next : kFanIn - 1;
      for (std::size_t j = 0; j < more; ++j) inputs[1 + j] = src[next + j] + at;
      if (next + more == k) {
        combine_few<Op, store>(dst + at, inputs, 1 + more, n);
      } else {
        combine_few<Op, Store::kCached>(strip, inputs, 1 + more, n);
      }
    }
  }
}

template <typename Op, Store store>
void combine(void* dst, const void* const* src, std::size_t k, std::size_t count) {
  if (count == 0) return;
  auto* const to = static_cast<std::byte*>(dst);
  const auto* const from = reinterpret_cast<const std::byte* const*>(src);
  if (k == 2) {
    // First: pairs are what trees and rings combine, and small calls count instructions.
    const std::byte* const inputs[kFanIn] = {from[0], from[1]};
    return combine_pass<Op, 2, store>(to, inputs, count);
  }
  ESP_ASSERT(k >= 1);
  if (k == 1) {
    if (to != from[0]) __builtin_memcpy(to, from[0], count * Op::kBytes);
  } else if (k <= kFanIn) {
    const std::byte* const inputs[kFanIn] = {from[0], from[1], k > 2 ? from[2] : nullptr,
                                             k > 3 ? from[3] : nullptr};
    combine_few<Op, store>(to, inputs, k, count);
  } else {
    combine_many<Op, store>(to, from, k, count);
  }
}

// Long results of these are worth kernels of their own; the others are rare, or not bound by
// memory.
template <int op, esp_type type>
consteval bool stores_past() {
  constexpr std::size_t bytes = sizeof(Element<type>);
  const bool number =
      kTypeClass<type> == TypeClass::kInteger || kTypeClass<type> == TypeClass::kFloating;
  const bool simple = op == ESP_SUM || op == ESP_MIN || op == ESP_MAX;
  return kCanStorePast && number && simple && (bytes == 4 || bytes == 8);
}

template <int op, esp_type type, Store store>
consteval CombineKernel kernel() {
  if constexpr (op_applies(op, kTypeClass<type>)) {
    constexpr bool past = store == Store::kPastCaches && stores_past<op, type>();
    return &combine < decltype(operation_of<op, Element<type>>()),
           past ? Store::kPastCaches : Store::kCached > ;
  } else {
    return nullptr;
  }
}

template <Store store, std::size_t... i>
consteval KernelTable make_kernel_table(std::index_sequence<i...>) {
  return {kernel<static_cast<int>(i / ESP_TYPE_COUNT), static_cast<esp_type>(i % ESP_TYPE_COUNT),
                 store>()...};
}

consteval KernelTables make_kernel_tables() {
  constexpr auto all = std::make_index_sequence<std::tuple_size_v<KernelTable>>();
  return {make_kernel_table<Store::kCached>(all), make_kernel_table<Store::kPastCaches>(all)};
}

}  // namespace
}  // namespace espalier
