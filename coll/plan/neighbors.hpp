// Neighbors: from whom a member of a graph receives and to whom it sends.
//
// Two members may have several edges. An edge is known on both sides by its number among those from
// the one to the other. Values only; any thread. path: setup
#pragma once

#include <cstdint>
#include <vector>

namespace espalier {

struct Neighbors {
  static constexpr std::int32_t kNone = -1;      // stands for one that is not there
  static constexpr std::size_t kEdgesMax = 256;  // between two

  std::uint32_t id = 0;      // of the graph, in its job; no two have the same. Never 0
  std::uint32_t serial = 0;  // among the graphs of its team: equal on all members
  std::vector<std::int32_t> sources, destinations;            // team ranks
  std::vector<std::uint8_t> source_edges, destination_edges;  // numbers

  // Edges in the order of the lists. False: there are more than kEdgesMax between two.
  static bool number(const std::vector<std::int32_t>& peers, std::vector<std::uint8_t>& edges);
};

}  // namespace espalier
