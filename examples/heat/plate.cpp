#include "plate.hpp"

#include <algorithm>

namespace heat {

double Plate::initial(Cell cell) const {
  constexpr double kRange = 10.0;
  std::uint64_t x = seed + (cell.row * columns + cell.column + 1) * 0x9e3779b97f4a7c15ULL;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
  return static_cast<double>((x ^ x >> 31) >> 11) * 0x1p-53 * kRange;
}

Tile::Tile(const Plate& plate, const Rect& part)
    : rows_(part.bottom - part.top),
      columns_(part.right - part.left),
      width_(columns_ + 2),
      now_((rows_ + 2) * width_) {
  const auto inside = [](std::size_t i, std::size_t size) { return 1 <= i && i <= size; };
  for (std::size_t r = 0; r < rows_ + 2; ++r) {
    for (std::size_t c = 0; c < width_; ++c) {
      // Of the plate with its border. What of the halo is a neighbor's is replaced in each step.
      const Cell cell{part.top + r, part.left + c};
      const bool changes = inside(cell.row, plate.rows) && inside(cell.column, plate.columns);
      *at({r, c}) =
          changes ? plate.initial({cell.row - 1, cell.column - 1}) : plate.border(cell.row);
    }
  }
  for (const Cell& source : plate.sources()) {
    if (!part.contains(source)) continue;
    sources_.push_back({source.row - part.top + 1, source.column - part.left + 1});
    *at(sources_.back()) = Plate::kHottest;
  }
  next_ = now_;
}

void Tile::update(const Rect& cells) {
  for (std::size_t r = cells.top; r < cells.bottom; ++r) {
    const double* here = &now_[r * width_];
    const double* north = here - width_;
    const double* south = here + width_;
    double* out = &next_[r * width_];
    for (std::size_t c = cells.left; c < cells.right; ++c) {
      out[c] = 0.25 * (north[c] + south[c] + here[c + 1] + here[c - 1]);
    }
  }
  for (const Cell& source : sources_) {
    if (cells.contains(source)) next_[source.row * width_ + source.column] = Plate::kHottest;
  }
}

void Tile::pack(Edge edge, std::size_t first, std::size_t count, double* to) const {
  if (edge == kNorth || edge == kSouth) {
    const double* row = at({edge == kNorth ? 1 : rows_, 1 + first});
    std::copy(row, row + count, to);
    return;
  }
  const std::size_t column = edge == kWest ? 1 : columns_;
  for (std::size_t i = 0; i < count; ++i) to[i] = *at({1 + first + i, column});
}

void Tile::unpack(Edge edge, std::size_t first, std::size_t count, const double* from) {
  if (edge == kNorth || edge == kSouth) {
    std::copy(from, from + count, at({edge == kNorth ? 0 : rows_ + 1, 1 + first}));
    return;
  }
  const std::size_t column = edge == kWest ? 0 : columns_ + 1;
  for (std::size_t i = 0; i < count; ++i) *at({1 + first + i, column}) = from[i];
}

std::vector<double> solve_alone(const Plate& plate, int steps) {
  Tile tile(plate, {0, plate.rows, 0, plate.columns});
  for (int step = 0; step < steps; ++step) {
    tile.update({1, plate.rows + 1, 1, plate.columns + 1});
    tile.swap();
  }
  std::vector<double> cells;
  cells.reserve(plate.rows * plate.columns);
  for (std::size_t r = 1; r <= plate.rows; ++r) {
    const double* row = tile.at({r, 1});
    cells.insert(cells.end(), row, row + plate.columns);
  }
  return cells;
}

}  // namespace heat
