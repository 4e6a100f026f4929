// The compute part without any library: ranks are threads, rows travel through shared memory.
#include "floyd_warshall.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "evaluate.hpp"
#include "problem.hpp"
#include "reference.hpp"

namespace asp {
namespace {

// Published rows, readable by all ranks.
template <typename Distance>
class Board {
 public:
  void publish(int row, const Distance* values, std::size_t count) {
    const std::lock_guard lock(mutex_);
    rows_[row].assign(values, values + count);
    changed_.notify_all();
  }
  std::vector<Distance> wait(int row) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return rows_.contains(row); });
    return rows_[row];
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int, std::vector<Distance>> rows_;
};

// As strict as the contract in floyd_warshall.hpp: rows start in order, at most lookahead + 1 are
// under way, and an owner's row keeps its values until wait() has returned.
template <typename Distance>
class FakeBroadcast {
 public:
  FakeBroadcast(Board<Distance>& board, int lookahead, std::size_t columns)
      : board_(board), slots_(static_cast<std::size_t>(lookahead) + 1), columns_(columns) {}

  void start(int row, Distance* own) {
    ASSERT_EQ(row, started_);
    ASSERT_LT(row - steps_, static_cast<int>(slots_.size()));
    ++started_;
    Slot& slot = slots_[static_cast<std::size_t>(row) % slots_.size()];
    slot = {own, false, {}};
    if (own == nullptr) return;
    slot.values.assign(own, own + columns_);
    board_.publish(row, own, columns_);
  }

  const Distance* wait(int row) {
    EXPECT_LT(row, started_);
    Slot& slot = slots_[static_cast<std::size_t>(row) % slots_.size()];
    if (!slot.done) {
      if (slot.own == nullptr) slot.values = board_.wait(row);
      for (std::size_t j = 0; slot.own != nullptr && j < columns_; ++j) {
        EXPECT_EQ(slot.own[j], slot.values[j]) << "row " << row << " changed while under way";
      }
      slot.done = true;
    }
    return slot.own != nullptr ? slot.own : slot.values.data();
  }

  void step_done(int row) { steps_ = row + 1; }

 private:
  struct Slot {
    Distance* own = nullptr;
    bool done = false;
    std::vector<Distance> values;
  };
  Board<Distance>& board_;
  std::vector<Slot> slots_;
  std::size_t columns_;
  int started_ = 0;
  int steps_ = 0;
};

template <typename Distance>
std::vector<std::int64_t> solve(const Graph& graph, int ranks, int lookahead) {
  const RowLayout layout(graph.vertex_count, ranks);
  const auto n = static_cast<std::size_t>(graph.vertex_count);
  Board<Distance> board;
  std::vector<std::int64_t> result(n * n);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      RowBlock<Distance> block(layout, rank);
      for (const Arc& arc : graph.arcs) block.insert(arc);
      FakeBroadcast<Distance> broadcast(board, lookahead, n);
      FloydWarshall<Distance, FakeBroadcast<Distance>>(block, lookahead, broadcast).run();
      for (int row = block.first(); row < block.end(); ++row) {
        for (std::size_t j = 0; j < n; ++j) {
          result[static_cast<std::size_t>(row) * n + j] = widen(block.at(row)[j]);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return result;
}

TEST(RowLayout, BlocksAreConsecutiveBalancedAndComplete) {
  for (int rows = 1; rows <= 20; ++rows) {
    for (int ranks = 1; ranks <= 24; ++ranks) {
      const RowLayout layout(rows, ranks);
      int next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        ASSERT_EQ(layout.first_row(rank), next);
        ASSERT_GE(layout.rows_of(rank), rows / ranks);
        ASSERT_LE(layout.rows_of(rank), rows / ranks + 1);
        for (int i = 0; i < layout.rows_of(rank); ++i) ASSERT_EQ(layout.owner(next++), rank);
      }
      ASSERT_EQ(next, rows);
    }
  }
}

TEST(Relax, TakesTheMinimumAndInfinityStaysInfinity) {
  constexpr std::int32_t kFar = kInfinity<std::int32_t>;
  // Longer than a vector register, with a remainder.
  std::vector<std::int32_t> row(37, kFar);
  std::vector<std::int32_t> pivot(37, kFar);
  row[3] = 10;
  pivot[3] = 4;
  row[35] = 9;
  pivot[35] = 6;
  pivot[36] = 8;
  choose_relax<std::int32_t>()(row.data(), pivot.data(), 5, row.size());
  EXPECT_EQ(row[3], 9);
  EXPECT_EQ(row[35], 9);
  EXPECT_EQ(row[36], 13);
  EXPECT_EQ(row[0], kFar);
}

TEST(Relax, TwoInfinitiesDoNotOverflow) {
  std::vector<std::int64_t> row(9, kInfinity<std::int64_t>);
  const std::vector<std::int64_t> pivot = row;
  choose_relax<std::int64_t>()(row.data(), pivot.data(), kInfinity<std::int64_t>, row.size());
  EXPECT_EQ(row, pivot);
}

struct Case {
  int vertices;
  int degree;
  int ranks;
  int lookahead;
};

class AllPairs : public testing::TestWithParam<Case> {};

TEST_P(AllPairs, EqualTheSerialRun) {
  const Case& c = GetParam();
  const Graph graph = random_graph(c.vertices, c.degree, 7);
  const std::vector<std::int64_t> expected = serial_floyd_warshall(graph);
  EXPECT_EQ(solve<std::int32_t>(graph, c.ranks, c.lookahead), expected);
  EXPECT_EQ(solve<std::int64_t>(graph, c.ranks, c.lookahead), expected);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const int vertices : {1, 2, 5, 40}) {
    for (const int ranks : {1, 2, 3, 7}) {
      for (const int lookahead : {0, 1, 2, 5, 64}) all.push_back({vertices, 3, ranks, lookahead});
    }
  }
  all.push_back({30, 0, 4, 1});  // No arcs at all.
  return all;
}

INSTANTIATE_TEST_SUITE_P(Shapes, AllPairs, testing::ValuesIn(cases()), [](const auto& parameters) {
  const Case& c = parameters.param;
  return std::to_string(c.vertices) + "_vertices_" + std::to_string(c.degree) + "_degree_" +
         std::to_string(c.ranks) + "_ranks_" + std::to_string(c.lookahead) + "_ahead";
});

}  // namespace
}  // namespace asp
