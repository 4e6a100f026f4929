// The plate whose heat is computed, and the rectangle of it that a rank has, with a halo of one
// cell. Cells hold temperatures. No communication. path: data
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heat {

struct Cell {
  std::size_t row, column;
};

// Rows [top, bottom) and columns [left, right).
struct Rect {
  std::size_t top, bottom, left, right;
  bool empty() const { return top >= bottom || left >= right; }
  bool contains(Cell cell) const {
    return top <= cell.row && cell.row < bottom && left <= cell.column && cell.column < right;
  }
};

// All cells: `rows` x `columns` that change, and a border around them that does not.
struct Plate {
  static constexpr double kHottest = 100.0;  // The sources.
  static constexpr double kWarmest = 30.0;   // The border, at the lower end.

  std::size_t rows, columns;
  std::uint64_t seed;

  // Three cells, which are held.
  std::array<Cell, 3> sources() const {
    return {Cell{rows / 2, columns / 2}, Cell{rows / 3, columns / 3},
            Cell{4 * rows / 5, 8 * columns / 9}};
  }
  // Of a cell before the first step: no two are alike, so that none is taken for another.
  double initial(Cell cell) const;
  // `row` from 0 to rows + 1: it gets warmer downwards.
  double border(std::size_t row) const {
    return kWarmest * static_cast<double>(row) / static_cast<double>(rows + 1);
  }
};

enum Edge : std::size_t { kNorth, kSouth, kWest, kEast, kEdges };

// Cells of the tile are rows 1 to rows() and columns 1 to columns(); around them is the halo. Reads
// one field and writes another; threads update different cells at the same time.
class Tile {
 public:
  // `part` of the plate.
  Tile(const Plate& plate, const Rect& part);

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  double* at(Cell cell) { return &now_[cell.row * width_ + cell.column]; }
  const double* at(Cell cell) const { return &now_[cell.row * width_ + cell.column]; }

  // One step of Jacobi's method for these cells of the tile.
  void update(const Rect& cells);
  // What was computed is read from now on.
  void swap() { now_.swap(next_); }

  // `count` cells along an edge from the `first`, counted from 0: the tile's own out of the field,
  // and the neighbor's into the halo.
  void pack(Edge edge, std::size_t first, std::size_t count, double* to) const;
  void unpack(Edge edge, std::size_t first, std::size_t count, const double* from);

 private:
  std::size_t rows_, columns_, width_;
  std::vector<Cell> sources_;  // Those in this tile.
  std::vector<double> now_, next_;
};

// The cells of the whole plate after some steps, by one processor, in rows without a border.
std::vector<double> solve_alone(const Plate& plate, int steps);

}  // namespace heat
