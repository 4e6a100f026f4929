#include "tools/esp-sim/grid.hpp"

#include "core/assert.hpp"

namespace espalier::sim {
namespace {

// Of the shorter side: the greatest divisor up to the square root.
std::uint32_t rows_of(std::uint32_t ranks) noexcept {
  std::uint32_t rows = 1;
  for (std::uint32_t d = 2; std::uint64_t{d} * d <= ranks; ++d) {
    if (ranks % d == 0) rows = d;
  }
  return rows;
}

}  // namespace

Neighbors grid_neighbors(Rank rank, std::uint32_t ranks) {
  const std::uint32_t rows = rows_of(ranks), columns = ranks / rows;
  const auto at = static_cast<std::uint32_t>(rank);
  const std::uint32_t row = at / columns, column = at % columns;
  const auto member = [&](std::uint32_t r, std::uint32_t c) {
    return static_cast<std::int32_t>(r % rows * columns + c % columns);
  };
  Neighbors near;
  near.id = 1;
  near.destinations = {member(row + rows - 1, column), member(row + 1, column),
                       member(row, column + columns - 1), member(row, column + 1)};
  near.sources = near.destinations;
  const bool numbered = Neighbors::number(near.destinations, near.destination_edges) &&
                        Neighbors::number(near.sources, near.source_edges);
  ESP_ASSERT(numbered);
  return near;
}

}  // namespace espalier::sim
