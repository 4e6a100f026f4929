// The parts of heat that need no communication: who has which cells, tiles that exchange halos
// within one process, pictures, the command line.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "layout.hpp"
#include "options.hpp"
#include "picture.hpp"

namespace heat {
namespace {

Tile tile_of(std::size_t rows, std::size_t columns) {
  return Tile({rows, columns, 1}, {0, rows, 0, columns});
}

TEST(Share, IsNearlyEqualAndLeavesNothing) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const Share part = share(11, 4, i);
    EXPECT_EQ(part.begin, end);
    EXPECT_EQ(part.size(), i < 3 ? 3U : 2U);
    end = part.end;
  }
  EXPECT_EQ(end, 11U);
}

TEST(Grid, IsAsSquareAsTheNumberAllows) {
  EXPECT_EQ(square_grid(12).rows, 3U);
  EXPECT_EQ(square_grid(12).columns, 4U);
  EXPECT_EQ(square_grid(7).rows, 1U);
}

// How often each cell is updated, and where: [0] inner, [1] boundary.
void count_updates(const Layout& layout, std::size_t width, std::vector<int> (&counts)[2]) {
  const auto count = [&](const Rect& cells, std::vector<int>& in) {
    for (std::size_t r = cells.top; r < cells.bottom; ++r) {
      for (std::size_t c = cells.left; c < cells.right; ++c) ++in[(r - 1) * width + c - 1];
    }
  };
  for (std::size_t thread = 0; thread < layout.threads(); ++thread) {
    count(layout.inner(thread), counts[0]);
    for (const Rect& cells : layout.boundary(thread)) count(cells, counts[1]);
  }
}

TEST(Layout, UpdatesEachCellOnceAndThoseThatNeedAHaloAtTheEnd) {
  for (std::size_t rows = 1; rows <= 4; ++rows) {
    for (std::size_t columns = 1; columns <= 5; ++columns) {
      for (unsigned bits = 0; bits < 16; ++bits) {
        for (int threads = 1; threads <= static_cast<int>(std::min<std::size_t>(columns, 3));
             ++threads) {
          const std::array neighbors{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0,
                                     (bits & 8) != 0};
          const Layout layout(tile_of(rows, columns), neighbors, threads);
          std::vector<int> counts[2] = {std::vector<int>(rows * columns),
                                        std::vector<int>(rows * columns)};
          count_updates(layout, columns, counts);
          for (std::size_t i = 0; i < rows * columns; ++i) {
            const bool waits = layout.needs({1 + i / columns, 1 + i % columns}) > 0;
            ASSERT_EQ(counts[waits ? 1 : 0][i], 1) << rows << " x " << columns << ": " << i;
            ASSERT_EQ(counts[waits ? 0 : 1][i], 0) << rows << " x " << columns << ": " << i;
          }
        }
      }
    }
  }
}

TEST(Layout, PartsOfThreadsMakeUpTheEdges) {
  const Layout layout(tile_of(3, 7), {true, true, true, true}, 3);
  for (const Edge edge : {kNorth, kSouth, kWest, kEast}) {
    std::size_t end = 0, messages = 0;
    for (std::size_t thread = 0; thread < 3; ++thread) {
      const Share part = layout.part(edge, thread);
      if (part.size() == 0) continue;
      EXPECT_EQ(part.begin, end);
      end = part.end;
      ++messages;
    }
    EXPECT_EQ(end, layout.length(edge));
    EXPECT_EQ(messages, edge < kWest ? 3U : 1U);
  }
}

TEST(Tile, ComputesWithHalosWhatThePlateDoes) {
  const Plate plate{7, 9, 5};
  const Grid grid{2, 3};
  std::vector<Tile> tiles;
  for (std::size_t rank = 0; rank < 6; ++rank)
    tiles.emplace_back(plate, part_of(plate, grid, rank));
  std::vector<double> edge(9);
  const auto copy = [&](Tile& from, Edge own, Tile& to, Edge halo, std::size_t count) {
    from.pack(own, 0, count, edge.data());
    to.unpack(halo, 0, count, edge.data());
  };
  for (int step = 0; step < 20; ++step) {
    for (std::size_t rank = 0; rank < 6; ++rank) {
      Tile& tile = tiles[rank];
      if (rank < 3) {
        copy(tile, kSouth, tiles[rank + 3], kNorth, tile.columns());
        copy(tiles[rank + 3], kNorth, tile, kSouth, tile.columns());
      }
      if (rank % 3 < 2) {
        copy(tile, kEast, tiles[rank + 1], kWest, tile.rows());
        copy(tiles[rank + 1], kWest, tile, kEast, tile.rows());
      }
    }
    for (Tile& tile : tiles) {
      tile.update({1, tile.rows() + 1, 1, tile.columns() + 1});
      tile.swap();
    }
  }
  const std::vector<double> alone = solve_alone(plate, 20);
  for (std::size_t rank = 0; rank < 6; ++rank) {
    const Rect part = part_of(plate, grid, rank);
    for (std::size_t r = part.top; r < part.bottom; ++r) {
      for (std::size_t c = part.left; c < part.right; ++c) {
        EXPECT_EQ(*tiles[rank].at({r - part.top + 1, c - part.left + 1}), alone[r * 9 + c]);
      }
    }
  }
  for (const Cell& source : plate.sources()) EXPECT_EQ(alone[source.row * 9 + source.column], 100);
}

TEST(Picture, OfALargePlateHasFewerPixels) {
  const Plate plate{2, 5000, 1};
  const std::string png = png_of(plate, std::vector<double>(10000, 25.0));
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  EXPECT_EQ(png.substr(16, 8), std::string("\0\0\x06\x83\0\0\0\x01", 8));  // 1667 x 1
}

TEST(CommandLine, ReadsAndRefusesGrids) {
  const auto parse = [](const char* grid) {
    const std::vector<const char*> words{"heat", "--grid", grid};
    return parse_command_line(3, words.data());
  };
  ASSERT_TRUE(parse("2x3").options.has_value());
  EXPECT_EQ(parse("2x3").options->grid->columns, 3U);
  for (const char* wrong : {"", "2", "x", "2x", "x2", "0x1", "2x3x1", "-1x2", "2 x 2"}) {
    EXPECT_EQ(parse(wrong).exit_code, 2) << wrong;
  }
}

}  // namespace
}  // namespace heat
