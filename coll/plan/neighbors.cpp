#include "coll/plan/neighbors.hpp"

#include <map>

namespace espalier {

bool Neighbors::number(const std::vector<std::int32_t>& peers, std::vector<std::uint8_t>& edges) {
  std::map<std::int32_t, std::size_t> seen;
  edges.clear();
  for (const std::int32_t peer : peers) {
    const std::size_t before = peer == kNone ? 0 : seen[peer]++;
    if (before >= kEdgesMax) return false;
    edges.push_back(static_cast<std::uint8_t>(before));
  }
  return true;
}

}  // namespace espalier
