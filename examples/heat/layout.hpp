// Who has which cells: ranks on a grid have tiles of the plate, threads have stripes of columns of
// their tile. Cells that need a neighbor's halo are those of the boundary, all others are inner
// ones. Pure. path: setup
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "plate.hpp"

namespace heat {

struct Share {
  std::size_t begin, end;
  std::size_t size() const { return end - begin; }
};
// Nearly equal: the first are longer by one.
Share share(std::size_t total, std::size_t parts, std::size_t index);

struct Grid {
  std::size_t rows, columns;
};
// As square as the number allows.
Grid square_grid(std::size_t ranks);
// The part of the plate that a rank has; ranks are in row-major order.
Rect part_of(const Plate& plate, const Grid& grid, std::size_t rank);

// Of one rank's tile, in its coordinates (Tile).
class Layout {
 public:
  // `neighbors`: which edges have one.
  Layout(const Tile& tile, std::array<bool, kEdges> neighbors, int threads);

  std::size_t threads() const { return stripes_.size(); }
  bool has_neighbor(Edge edge) const { return neighbors_[edge]; }
  // Cells along an edge.
  std::size_t length(Edge edge) const { return edge < kWest ? columns_ : rows_; }
  // The cells along an edge, counted from 0, that a thread sends and receives: of rows its stripe,
  // of columns all for the thread that is there.
  Share part(Edge edge, std::size_t thread) const;

  Rect inner(std::size_t thread) const;
  // Up to four rectangles, some of them empty.
  std::array<Rect, 4> boundary(std::size_t thread) const;
  // How many edges of neighbors touch the cell.
  int needs(Cell cell) const;

 private:
  std::size_t rows_, columns_;
  std::array<bool, kEdges> neighbors_;
  std::vector<Rect> stripes_;
  Rect inner_;
};

}  // namespace heat
