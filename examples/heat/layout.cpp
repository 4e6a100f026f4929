#include "layout.hpp"

#include <algorithm>

namespace heat {

Share share(std::size_t total, std::size_t parts, std::size_t index) {
  const std::size_t least = total / parts, longer = total % parts;
  const std::size_t begin = least * index + std::min(index, longer);
  return {begin, begin + least + (index < longer ? 1 : 0)};
}

Grid square_grid(std::size_t ranks) {
  std::size_t rows = 1;
  for (std::size_t i = 1; i * i <= ranks; ++i) rows = ranks % i == 0 ? i : rows;
  return {rows, ranks / rows};
}

Rect part_of(const Plate& plate, const Grid& grid, std::size_t rank) {
  const Share rows = share(plate.rows, grid.rows, rank / grid.columns);
  const Share columns = share(plate.columns, grid.columns, rank % grid.columns);
  return {rows.begin, rows.end, columns.begin, columns.end};
}

Layout::Layout(const Tile& tile, std::array<bool, kEdges> neighbors, int threads)
    : rows_(tile.rows()), columns_(tile.columns()), neighbors_(neighbors) {
  const auto count = static_cast<std::size_t>(threads);
  for (std::size_t i = 0; i < count; ++i) {
    const Share columns = share(columns_, count, i);
    stripes_.push_back({1, rows_ + 1, 1 + columns.begin, 1 + columns.end});
  }
  const auto one = [&](Edge edge) { return std::size_t{neighbors_[edge] ? 1U : 0U}; };
  // Where two neighbors meet in one row or column there is nothing inside.
  inner_.top = 1 + one(kNorth);
  inner_.bottom = std::max(inner_.top, rows_ + 1 - one(kSouth));
  inner_.left = 1 + one(kWest);
  inner_.right = std::max(inner_.left, columns_ + 1 - one(kEast));
}

Share Layout::part(Edge edge, std::size_t thread) const {
  const Rect& stripe = stripes_[thread];
  if (edge == kNorth || edge == kSouth) return {stripe.left - 1, stripe.right - 1};
  const bool mine = thread == (edge == kWest ? 0 : stripes_.size() - 1);
  return {0, mine ? rows_ : 0};
}

Rect Layout::inner(std::size_t thread) const {
  const Rect& stripe = stripes_[thread];
  return {inner_.top, inner_.bottom, std::max(inner_.left, stripe.left),
          std::min(inner_.right, stripe.right)};
}

std::array<Rect, 4> Layout::boundary(std::size_t thread) const {
  const Rect& stripe = stripes_[thread];
  return {Rect{1, inner_.top, stripe.left, stripe.right},
          Rect{inner_.bottom, rows_ + 1, stripe.left, stripe.right},
          Rect{inner_.top, inner_.bottom, stripe.left, std::min(inner_.left, stripe.right)},
          Rect{inner_.top, inner_.bottom, std::max(inner_.right, stripe.left), stripe.right}};
}

int Layout::needs(Cell cell) const {
  const auto touches = [&](Edge edge, bool beside) { return neighbors_[edge] && beside ? 1 : 0; };
  return touches(kNorth, cell.row == 1) + touches(kSouth, cell.row == rows_) +
         touches(kWest, cell.column == 1) + touches(kEast, cell.column == columns_);
}

}  // namespace heat
