// The body of all reduction kernels: the work of one thread.
//
// Vectors of 16 bytes where all pointers are equally far from alignment, else and at the ends
// single elements, by bytes where even these are not aligned. A thread reads all sources of what it
// writes before it writes, so that the destination may be one of them. All is inlined, and loops
// over the elements of a vector are unrolled: nothing but registers holds them. Included by ptx.cpp
// and host_kernels.cpp only. Threads: any. path: data
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/device/kernels/parameters.hpp"
#include "core/kernels/operations.hpp"

#if defined(__clang__)
#define ESP_UNROLLED _Pragma("clang loop unroll(full)")
#define ESP_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define ESP_UNROLLED _Pragma("GCC unroll 16")
#define ESP_ROLLED
#endif

namespace espalier::device {
namespace {

// What an operation reads and writes, as an integer: an element, if it is not larger than a word.
template <std::size_t bytes>
struct WordOf {
  using Type = std::uint64_t;
};
template <>
struct WordOf<1> {
  using Type = std::uint8_t;
};
template <>
struct WordOf<2> {
  using Type = std::uint16_t;
};
template <>
struct WordOf<4> {
  using Type = std::uint32_t;
};

// Sixteen bytes, moved at once. As words of which elements are taken by shifts: as an array of
// elements clang would move them one by one.
template <typename Op>
struct Vector {
  using Word = typename WordOf<(Op::kBytes < 4 ? 4 : Op::kBytes)>::Type;
  using Part = typename WordOf<Op::kBytes>::Type;
  static constexpr std::size_t kLanes = kVectorBytes / Op::kBytes;
  static constexpr std::size_t kWords = kVectorBytes / sizeof(Word);
  static constexpr std::size_t kOfWord = Op::kBytes < sizeof(Word) ? sizeof(Word) / Op::kBytes : 1;
  // So many words of an element.
  static constexpr std::size_t kOfElement = Op::kBytes / sizeof(Part);
  using Accumulator = typename Op::Accumulator;
  using Memory [[gnu::vector_size(kVectorBytes), gnu::may_alias]] = Word;

  Memory words;

  [[gnu::always_inline]] static Vector load(const void* from, std::uint64_t offset) {
    return {*reinterpret_cast<const Memory*>(static_cast<const std::byte*>(from) + offset)};
  }
  [[gnu::always_inline]] void store(void* to, std::uint64_t offset) const {
    *reinterpret_cast<Memory*>(static_cast<std::byte*>(to) + offset) = words;
  }
  [[gnu::always_inline]] Accumulator read(std::size_t lane) const {
    Part parts[kOfElement];
    ESP_UNROLLED
    for (std::size_t i = 0; i < kOfElement; ++i) {
      const std::size_t word = lane * kOfElement / kOfWord + i;
      parts[i] = static_cast<Part>(words[word] >> (lane % kOfWord * 8 * sizeof(Part)));
    }
    return Op::read(reinterpret_cast<const std::byte*>(parts));
  }
  // Lanes in ascending order, into zeros.
  [[gnu::always_inline]] void write(std::size_t lane, const Accumulator& value) {
    Part parts[kOfElement];
    Op::write(reinterpret_cast<std::byte*>(parts), value);
    ESP_UNROLLED
    for (std::size_t i = 0; i < kOfElement; ++i) {
      const std::size_t word = lane * kOfElement / kOfWord + i;
      words[word] |= static_cast<Word>(parts[i]) << (lane % kOfWord * 8 * sizeof(Part));
    }
  }
};

// One element.
template <typename Op, std::size_t alignment>
struct Single {
  static constexpr std::size_t kLanes = 1;
  using Part = typename WordOf<Op::kBytes>::Type;
  using Accumulator = typename Op::Accumulator;

  Part parts[Op::kBytes / sizeof(Part)];

  [[gnu::always_inline]] static Single load(const void* from, std::uint64_t offset) {
    Single element;
    const void* const begin = static_cast<const std::byte*>(from) + offset;
    __builtin_memcpy(element.parts, __builtin_assume_aligned(begin, alignment), Op::kBytes);
    return element;
  }
  [[gnu::always_inline]] void store(void* to, std::uint64_t offset) const {
    void* const begin = static_cast<std::byte*>(to) + offset;
    __builtin_memcpy(__builtin_assume_aligned(begin, alignment), parts, Op::kBytes);
  }
  [[gnu::always_inline]] Accumulator read(std::size_t) const {
    return Op::read(reinterpret_cast<const std::byte*>(parts));
  }
  [[gnu::always_inline]] void write(std::size_t, const Accumulator& value) {
    Op::write(reinterpret_cast<std::byte*>(parts), value);
  }
};

template <typename Op, typename Piece>
[[gnu::always_inline]] inline void combine_into(typename Op::Accumulator (&values)[Piece::kLanes],
                                                const Piece& piece) {
  ESP_UNROLLED
  for (std::size_t i = 0; i < Piece::kLanes; ++i) {
    values[i] = Op::combine(values[i], piece.read(i));
  }
}

// What lies `offset` bytes from the begin.
template <typename Op, typename Piece>
[[gnu::always_inline]] inline void reduce_piece(const ReduceParameters& p, std::uint64_t offset) {
  Piece piece = Piece::load(p.sources[0], offset);
  if (p.k > 1) {
    Piece next = Piece::load(p.sources[1], offset);
    typename Op::Accumulator values[Piece::kLanes];
    ESP_UNROLLED
    for (std::size_t i = 0; i < Piece::kLanes; ++i) values[i] = piece.read(i);
    ESP_ROLLED
    for (std::uint64_t j = 2; j < p.k; ++j) {
      // Under way while the one before it is combined.
      const Piece ahead = Piece::load(p.sources[j], offset);
      combine_into<Op>(values, next);
      next = ahead;
    }
    combine_into<Op>(values, next);
    piece = Piece{};
    ESP_UNROLLED
    for (std::size_t i = 0; i < Piece::kLanes; ++i) piece.write(i, values[i]);
  }
  piece.store(p.dst, offset);
}

// Bits of neighbours do not meet: as many at once as a word has.
template <typename Op>
struct OfVector {
  using Type = Op;
};
template <template <typename> typename Bits, typename T>
  requires std::is_same_v<Bits<Plain<T>>, And<Plain<T>>> ||
           std::is_same_v<Bits<Plain<T>>, Or<Plain<T>>> ||
           std::is_same_v<Bits<Plain<T>>, Xor<Plain<T>>>
struct OfVector<Bits<Plain<T>>> {
  using Type = Bits<Plain<std::uint64_t>>;
};

// How the elements are dealt out: `head` single ones, vectors, then single ones again.
struct Split {
  std::uint64_t head;
  std::uint64_t vectors;
  bool aligned;  // single elements are
};

template <typename Op, std::size_t alignment>
[[gnu::always_inline]] inline Split split(const ReduceParameters& p) {
  const auto dst = reinterpret_cast<std::uintptr_t>(p.dst);
  std::uintptr_t differing = 0;
  ESP_ROLLED
  for (std::uint64_t j = 0; j < p.k; ++j) {
    differing |= reinterpret_cast<std::uintptr_t>(p.sources[j]) ^ dst;
  }
  Split result{0, 0, (differing | dst) % alignment == 0};
  if (differing % kVectorBytes == 0 && dst % Op::kBytes == 0) {
    const std::uint64_t head = (std::uintptr_t{0} - dst) % kVectorBytes / Op::kBytes;
    result.head = head < p.count ? head : p.count;
    result.vectors = (p.count - result.head) / (kVectorBytes / Op::kBytes);
  }
  return result;
}

template <typename Op, std::size_t alignment>
[[gnu::always_inline]] inline void reduce_singly(const ReduceParameters& p, const Split& split,
                                                 Thread thread) {
  const std::uint64_t between = split.vectors * (kVectorBytes / Op::kBytes);
  ESP_ROLLED
  for (std::uint64_t i = thread.index; i < p.count - between; i += thread.number) {
    reduce_piece<Op, Single<Op, alignment>>(p, (i < split.head ? i : i + between) * Op::kBytes);
  }
}

// Op: one of core/kernels. alignment: that of its elements.
template <typename Op, std::size_t alignment>
[[gnu::always_inline]] inline void reduce(const ReduceParameters& p, Thread thread) {
  static_assert(kVectorBytes % Op::kBytes == 0 && Op::kBytes % alignment == 0);
  using VectorOp = typename OfVector<Op>::Type;
  const Split parts = split<Op, alignment>(p);
  const std::uint64_t first = parts.head * Op::kBytes;
  ESP_ROLLED
  for (std::uint64_t i = thread.index; i < parts.vectors; i += thread.number) {
    reduce_piece<VectorOp, Vector<VectorOp>>(p, first + i * kVectorBytes);
  }
  if (alignment == 1 || parts.aligned) {
    reduce_singly<Op, alignment>(p, parts, thread);
  } else {
    reduce_singly<Op, 1>(p, parts, thread);
  }
}

}  // namespace
}  // namespace espalier::device
