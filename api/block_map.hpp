// BlockMap: the blocks of one of a call's buffers as one run of bytes without gaps, for those who
// treat parts of it: deliveries, and partitions that become ready.
//
// A position is counted in that run, in the form in which elements travel. Values only; thread-safe
// to read. path: setup (made with a request), data (find)
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "coll/engine/gate.hpp"
#include "coll/team/team.hpp"

namespace espalier::api {

struct BlockMap {
  std::vector<std::uint64_t> begins = {0};  // of block b, and at last the end of all
  bool is_message = false;                  // the plan knows one block, whatever is counted here
  // Where those of the plan begin, if it has others: the same bytes in more blocks.
  std::vector<std::uint64_t> plan_begins = {};

  int blocks() const noexcept { return static_cast<int>(begins.size()) - 1; }
  std::uint64_t bytes() const noexcept { return begins.back(); }
  std::uint64_t length(std::size_t block) const noexcept {
    return begins[block + 1] - begins[block];
  }
  std::uint64_t position(const Portion& portion) const noexcept {
    if (is_message) return portion.at;
    return (plan_begins.empty() ? begins : plan_begins)[portion.block] + portion.offset;
  }
  // The block that the byte at this position belongs to, which is one of them.
  std::size_t find(std::uint64_t position) const noexcept {
    const auto behind = std::upper_bound(begins.begin(), begins.end(), position);
    return static_cast<std::size_t>(behind - begins.begin()) - 1;
  }
  // visit(block, offset in it, bytes) for the parts of a range that lie in one block each.
  template <typename Visit>
  void for_each_part(std::uint64_t position, std::uint64_t bytes, Visit&& visit) const {
    for (std::size_t b = bytes > 0 ? find(position) : 0; bytes > 0; ++b) {
      const std::uint64_t offset = position - begins[b];
      const std::uint64_t part = std::min(bytes, length(b) - offset);
      if (part > 0) visit(b, offset, part);
      position += part;
      bytes -= part;
    }
  }
};

enum class Buffer : std::uint8_t { kInput, kOutput };

// Of a checked call on this team; `parts`: nearly equal blocks of what is one message. An empty
// map: there is nothing on that side.
BlockMap map_blocks(const Team& team, const Call& call, Buffer side, int parts);
// Bytes without gaps in so many nearly equal blocks.
BlockMap map_bytes(std::uint64_t bytes, int parts);
// The same with each block cut into parts[b] nearly equal ones of whole units, one after the other.
BlockMap cut(const BlockMap& map, std::span<const int> parts, std::uint64_t unit);
// Bytes of one of the caller's elements, in the form in which it travels.
std::uint64_t unit_of(const Call& call) noexcept;

}  // namespace espalier::api
