// Layout: where the blocks of a buffer lie and how long they are, in elements.
//
// A plan names buffers and blocks, never addresses or lengths. What a buffer of regular blocks
// looks like is part of the plan; that of irregular ones (the v-variants) comes with each call, so
// one plan serves calls with any counts. Values only; thread-safe to read. path: data
#pragma once

#include <cstddef>
#include <cstdint>

namespace espalier {

struct Layout {
  enum class Kind : std::uint8_t {
    kEven,     // `elements` in all, cut into `blocks` nearly equal blocks
    kUniform,  // `blocks` blocks of `elements` each
    kCounts,   // block b has counts[(first + b) % blocks] elements and begins at begins[b]
    kRing,     // no blocks: index i of a vertex uses slot i % blocks, of `elements` each
  };

  Kind kind = Kind::kEven;
  std::uint32_t blocks = 1;
  std::uint32_t first = 0;  // kCounts: a rotation
  // kCounts of a scratch buffer: block b is as long as the call's block number b of this table of
  // the plan; -1: as block b.
  std::int16_t order = -1;
  std::uint64_t elements = 0;
  // kCounts, borrowed from the call and its instance; nullptr in a plan.
  const std::size_t* counts = nullptr;
  const std::size_t* begins = nullptr;
  // kCounts, of flows that carry block after block: pieces of all blocks before this one, in the
  // order of the vertices' table if they have one, and at the end of all. Else nullptr.
  const std::uint32_t* pieces_before = nullptr;

  // kEven is balanced: the first (elements % blocks) blocks have one element more.
  std::uint64_t begin(std::uint64_t block) const noexcept {
    if (kind == Kind::kUniform) return block * elements;
    if (kind == Kind::kCounts) return begins[block];
    const std::uint64_t small = elements / blocks;
    const std::uint64_t extra = elements % blocks;
    return small * block + (block < extra ? block : extra);
  }
  std::uint64_t length(std::uint64_t block) const noexcept {
    if (kind == Kind::kUniform) return elements;
    if (kind == Kind::kCounts) {
      const std::uint64_t at = first + block;
      return counts[at < blocks ? at : at - blocks];
    }
    return elements / blocks + (block < elements % blocks ? 1 : 0);
  }
  // Of `run` blocks that lie one after the other.
  std::uint64_t length(std::uint64_t block, std::uint32_t run) const noexcept {
    if (run == 1) return length(block);
    const std::uint64_t last = block + run - 1;
    return begin(last) + length(last) - begin(block);
  }
  // All that it holds, from its first element on.
  std::uint64_t extent() const noexcept {
    switch (kind) {
      case Kind::kEven:
        return elements;
      case Kind::kCounts:
        return blocks > 0 ? length(0, blocks) : 0;
      default:
        return blocks * elements;
    }
  }
  friend bool operator==(const Layout&, const Layout&) = default;
};

}  // namespace espalier
