#include "api/block_map.hpp"

#include "api/extents.hpp"
#include "coll/plan/has_result.hpp"

namespace espalier::api {
namespace {

void add_parts(BlockMap& map, std::uint64_t units, std::uint64_t parts, std::uint64_t unit) {
  for (std::uint64_t p = 0; p < parts; ++p) {
    const std::uint64_t more = units / parts + (p < units % parts ? 1 : 0);
    map.begins.push_back(map.begins.back() + more * unit);
  }
}

// Elements of the buffer that is one block, where blocks differ in length.
std::uint64_t own_elements(const Team& team, const Call& call, Extent other) noexcept {
  const CollectiveTraits& traits = traits_of(call.collective);
  if (!is_irregular(call.collective)) return call.count;
  if (traits.rooted || traits.neighbors || other != Extent::kCounts) return call.own_count;
  const std::size_t* counts = traits.input == Extent::kOne ? call.out_counts : call.in_counts;
  const std::uint64_t scale = call.pattern != nullptr ? call.pattern->elements() : 1;
  return counts[static_cast<std::size_t>(team.rank)] * scale;
}

std::size_t block_count(const Team& team, const Call& call, Buffer side) noexcept {
  if (call.neighbors == nullptr) return static_cast<std::size_t>(team.size());
  return side == Buffer::kInput ? call.neighbors->destinations.size()
                                : call.neighbors->sources.size();
}

std::uint64_t counted_bytes(const Call& call, Buffer side, std::size_t block) noexcept {
  const bool in = side == Buffer::kInput;
  const std::uint64_t count = (in ? call.in_counts : call.out_counts)[block];
  if (call.types == nullptr) return count * unit_of(call);
  const esp_type type = (in ? call.in_types : call.out_types)[block];
  return count * call.types->find(type)->packed_bytes();
}

}  // namespace

std::uint64_t unit_of(const Call& call) noexcept {
  return call.element_bytes * (call.pattern != nullptr ? call.pattern->elements() : 1);
}

BlockMap map_bytes(std::uint64_t bytes, int parts) {
  BlockMap map;
  map.is_message = true;
  add_parts(map, bytes, static_cast<std::uint64_t>(parts), 1);
  return map;
}

BlockMap map_blocks(const Team& team, const Call& call, Buffer side, int parts) {
  const CollectiveTraits& traits = traits_of(call.collective);
  const bool in = side == Buffer::kInput;
  const bool sends_output = in && traits.input == Extent::kNone && team.rank == call.root;
  const bool matters = in ? gives_input(team, call)
                          : has_result(call.collective, team.rank, call.root, call.in_place);
  const Extent extent = sends_output ? traits.output : in ? traits.input : traits.output;
  BlockMap map;
  if ((!matters && !sends_output) || call.collective == Collective::kBarrier) return map;
  const std::size_t blocks = block_count(team, call, side);
  switch (extent) {
    case Extent::kNone:
      break;
    case Extent::kOne: {
      map.is_message = true;
      const std::uint64_t bytes =
          own_elements(team, call, in ? traits.output : traits.input) * call.element_bytes;
      add_parts(map, bytes / unit_of(call), static_cast<std::uint64_t>(parts), unit_of(call));
      break;
    }
    case Extent::kPerMember:
      for (std::size_t b = 0; b < blocks; ++b) add_parts(map, call.bytes(), 1, 1);
      break;
    case Extent::kCounts:
      for (std::size_t b = 0; b < blocks; ++b) add_parts(map, counted_bytes(call, side, b), 1, 1);
      break;
  }
  return map;
}

BlockMap cut(const BlockMap& map, std::span<const int> parts, std::uint64_t unit) {
  BlockMap pieces;
  pieces.is_message = map.is_message;
  for (std::size_t b = 0; b < parts.size(); ++b) {
    add_parts(pieces, map.length(b) / unit, static_cast<std::uint64_t>(parts[b]), unit);
  }
  return pieces;
}

}  // namespace espalier::api
