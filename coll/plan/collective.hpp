// The collectives, a row each: what distinguishes one from another wherever they are treated alike
// (names, arguments, what members must agree on).
//
// A new collective is a row here and a maker (coll/algorithms/). Values only; any thread.
// path: setup
#pragma once

#include <cstddef>
#include <cstdint>

#include "espalier/espalier.h"

namespace espalier {

enum class Collective : std::uint8_t {
  kBarrier,
  kBcast,
  kReduce,
  kAllreduce,
  kAllgather,
  kAllgatherv,
  kAlltoall,
  kAlltoallv,
  kScan,
  kExscan,
  kGather,
  kGatherv,
  kScatter,
  kScatterv,
  kReduceScatterBlock,
  kReduceScatter,
  kAlltoallw,
  kNeighborAllgather,
  kNeighborAllgatherv,
  kNeighborAlltoall,
  kNeighborAlltoallv,
  kNeighborAlltoallw,
  kPointToPoint,  // no collective: a message between two members
};
inline constexpr std::size_t kCollectives = static_cast<std::size_t>(Collective::kPointToPoint);

// What a buffer holds, in units of the call's count.
enum class Extent : std::uint8_t {
  kNone,
  kOne,        // the count
  kPerMember,  // so much for each member, or neighbour
  kCounts,     // a count of its own for each member, or neighbour
};

struct CollectiveTraits {
  const char* name;      // "bcast"
  const char* function;  // of the C API
  const char* start_function;
  const char* init_function;
  Extent input, output;
  std::uint32_t algorithms = 0;  // bit: esp_algorithm
  bool rooted = false;           // the call names a root
  bool reduces = false;          // the call names an operator
  bool root_sends = false;       // only the root's input matters; if there is none, its output
  bool root_gets = false;        // only the root's output matters
  bool neighbors = false;        // blocks are those of neighbours (plan/neighbors.hpp)
  bool types = false;            // each block has a type of its own: elements are bytes
};
const CollectiveTraits& traits_of(Collective collective) noexcept;

// Do blocks differ in length? Then the layouts of its buffers come with each call.
inline bool is_irregular(Collective collective) noexcept {
  const CollectiveTraits& traits = traits_of(collective);
  return traits.output == Extent::kCounts || traits.input == Extent::kCounts;
}
// Irregular, and each member gives the lengths of everybody's blocks?
inline bool all_know_lengths(Collective collective) noexcept {
  return collective == Collective::kAllgatherv || collective == Collective::kReduceScatter;
}
// Is the plan another one where the call is in place: blocks of the output are read as input, or
// the root's stays in the input?
inline bool replaces_blocks(Collective collective) noexcept {
  const Extent input = traits_of(collective).input;
  return input == Extent::kPerMember || input == Extent::kCounts;
}
inline bool has_algorithm(Collective collective, esp_algorithm algorithm) noexcept {
  return (traits_of(collective).algorithms >> algorithm & 1) != 0;
}
// Are its trees of a shape? Those of allgathers and alltoalls are leaders of nodes.
inline bool has_shapes(Collective collective) noexcept {
  switch (collective) {
    case Collective::kAllgather:
    case Collective::kAllgatherv:
    case Collective::kAlltoall:
    case Collective::kReduceScatterBlock:
      return false;
    default:
      return has_algorithm(collective, ESP_ALGORITHM_TREE);
  }
}
// Some are for teams of 2^n members alone.
inline bool fits_team(Collective collective, esp_algorithm algorithm, std::int32_t size) noexcept {
  const bool pairs = algorithm == ESP_ALGORITHM_XOR ||
                     (algorithm == ESP_ALGORITHM_DOUBLING && !traits_of(collective).reduces);
  return !pairs || (size & (size - 1)) == 0;
}
const char* algorithm_name(esp_algorithm algorithm) noexcept;
inline const char* collective_name(Collective collective) noexcept {
  return traits_of(collective).name;
}

}  // namespace espalier
