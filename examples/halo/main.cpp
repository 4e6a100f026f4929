// Heat spreads over a cylinder: Jacobi's method on a grid of ranks. Each has a tile of the surface
// with a halo of one cell; in every step it gets the edges of its neighbors' tiles there, rows as
// they lie and columns with a stride, by one request that is made once. The first dimension has
// borders, whose cells keep their heat, the second is closed. At the end each rank compares its
// tile with a computation of all cells. Run: esp-run -n 4 halo
#include <algorithm>
#include <array>
#include <cstdio>
#include <espalier/espalier.hpp>
#include <vector>

namespace {

constexpr std::size_t kRows = 12, kColumns = 10;  // of a tile
constexpr int kSteps = 200;

// A field of cells with one row and column more on each side.
struct Field {
  Field(std::size_t r, std::size_t c) : rows(r), columns(c), cells((r + 2) * (c + 2)) {}
  std::size_t at(std::size_t row, std::size_t column) const { return row * (columns + 2) + column; }
  double operator()(std::size_t row, std::size_t column) const { return cells[at(row, column)]; }

  std::size_t rows, columns;
  std::vector<double> cells;
};

// Row 0 of the whole surface is hot here and there.
double border(std::size_t column) {
  return column % 7 < 3 ? 100.0 : 20.0;
}

void step(const Field& from, Field& to) {
  for (std::size_t r = 1; r <= from.rows; ++r) {
    for (std::size_t c = 1; c <= from.columns; ++c) {
      to.cells[to.at(r, c)] =
          0.25 * (from(r - 1, c) + from(r + 1, c) + from(r, c - 1) + from(r, c + 1));
    }
  }
}

// All cells by one rank.
Field alone(std::size_t rows, std::size_t columns) {
  Field now(rows, columns);
  for (std::size_t c = 1; c <= columns; ++c) now.cells[c] = border(c - 1);
  Field next = now;
  for (int i = 0; i < kSteps; ++i) {
    for (std::size_t r = 1; r <= rows; ++r) {
      now.cells[now.at(r, 0)] = now(r, columns);
      now.cells[now.at(r, columns + 1)] = now(r, 1);
    }
    step(now, next);
    std::swap(now.cells, next.cells);
  }
  return now;
}

// Fills the halo of a field. To and from: the row above, that below, the column before, that after.
esp::Result<esp::PersistentRequest> exchange(const esp::Graph& grid, Field& field,
                                             const esp::Pattern<double>& column) {
  const auto bytes = [&](std::size_t r, std::size_t c) { return field.at(r, c) * sizeof(double); };
  const std::array<std::size_t, 4> counts{kColumns, kColumns, 1, 1};
  const std::array types{ESP_DOUBLE, ESP_DOUBLE, column.get(), column.get()};
  const std::array edges{bytes(0, 0), bytes(kRows - 1, 0), bytes(0, 0), bytes(0, kColumns - 1)};
  const std::array halo{bytes(0, 1), bytes(kRows + 1, 1), bytes(1, 0), bytes(1, kColumns + 1)};
  const auto inner = std::span(field.cells).subspan(field.at(1, 1));
  return grid.alltoallw_init(inner, {counts, edges, types}, field.cells, {counts, halo, types});
}

}  // namespace

int main() {
  auto job = esp::Job::init();
  if (!job.ok()) return std::fprintf(stderr, "%s\n", job.error().text.c_str()), 1;
  const esp::TeamRef world = job->world();
  int high = 1;  // the grid is as square as the number of ranks allows
  for (int i = 1; i * i <= world.size(); ++i) high = world.size() % i == 0 ? i : high;
  const int wide = world.size() / high;
  const auto down = static_cast<std::size_t>(world.rank() / wide) * kRows;
  const auto right = static_cast<std::size_t>(world.rank() % wide) * kColumns;

  const auto grid = world.grid(std::array{high, wide}, std::array{0, 1}).value();
  const auto column = job->strided<double>({.blocks = kRows, .stride = kColumns + 2}).value();
  Field now(kRows, kColumns);
  for (std::size_t c = 1; down == 0 && c <= kColumns; ++c) now.cells[c] = border(right + c - 1);
  Field next = now;
  std::array halos{exchange(grid, now, column).value(), exchange(grid, next, column).value()};
  for (int i = 0; i < kSteps; ++i) {
    halos[static_cast<std::size_t>(i % 2)].start().check();
    halos[static_cast<std::size_t>(i % 2)].wait().check();
    i % 2 == 0 ? step(now, next) : step(next, now);
  }

  const Field all =
      alone(kRows * static_cast<std::size_t>(high), kColumns * static_cast<std::size_t>(wide));
  std::array<long, 1> wrong{0};
  double hottest = 0;
  for (std::size_t r = 1; r <= kRows; ++r) {
    for (std::size_t c = 1; c <= kColumns; ++c) {
      if (now(r, c) != all(down + r, right + c)) ++wrong[0];
      hottest = std::max(hottest, now(r, c));
    }
  }
  world.allreduce_in_place(wrong, esp::kSum).check();
  world.allreduce_in_place(esp::one(hottest), esp::kMax).check();
  if (world.rank() == 0) {
    std::printf("%d x %d tiles, %d steps: %ld cells differ, the hottest has %.3f\n", high, wide,
                kSteps, wrong[0], hottest);
  }
  return wrong[0] == 0 ? 0 : 1;
}
