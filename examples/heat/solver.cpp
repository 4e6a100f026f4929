#include "solver.hpp"

#include <algorithm>
#include <barrier>
#include <string_view>
#include <thread>

#include "exchange.hpp"
#include "session.hpp"

namespace heat {
namespace {

using examples::require;

// Messages that the rank has sent so far, long ones counted by segments.
std::uint64_t messages_of(const esp::Job& job) {
  for (const esp_counter_value& counter : job.counters()) {
    if (std::string_view(counter.name) == "segments_sent") return counter.value;
  }
  return 0;
}

std::unique_ptr<Exchange> make_exchange(Variant variant, const Rank& rank, bool separate) {
  switch (variant) {
    case Variant::kFunnel:
      return make_funnel(rank);
    case Variant::kMultiple:
      return make_multiple(rank);
    case Variant::kSync:
      return make_sync(rank, separate);
    case Variant::kPartial:
      return make_partial(rank, separate);
  }
  return nullptr;
}

// The threads of a rank.
class Workers {
 public:
  Workers(Tile& tile, const Layout& layout, Exchange& exchange, examples::ProgressBar& progress,
          int steps_done)
      : tile_(tile),
        layout_(layout),
        exchange_(exchange),
        progress_(progress),
        done_(steps_done),
        step_(static_cast<std::ptrdiff_t>(layout.threads()), EndOfStep{this}) {}

  void run(int steps) {
    std::vector<std::jthread> others;
    for (std::size_t thread = 1; thread < layout_.threads(); ++thread) {
      others.emplace_back([this, steps, thread] { work(steps, thread); });
    }
    work(steps, 0);
  }

 private:
  // By the last thread, while the others wait.
  struct EndOfStep {
    Workers* workers;
    void operator()() noexcept {
      workers->exchange_.end_step();
      workers->tile_.swap();
      workers->progress_.update(workers->done_++, esp_time());
    }
  };

  void work(int steps, std::size_t thread) {
    for (int step = 0; step < steps; ++step) {
      exchange_.begin(thread);
      const Rect inner = layout_.inner(thread);
      if (!inner.empty()) tile_.update(inner);
      exchange_.finish(thread);
      step_.arrive_and_wait();
    }
  }

  Tile& tile_;
  const Layout& layout_;
  Exchange& exchange_;
  examples::ProgressBar& progress_;
  int done_;
  std::barrier<EndOfStep> step_;
};

}  // namespace

Outcome solve(const esp::Job& job, Variant variant, const Options& options, const Grid& grid,
              examples::ProgressBar& progress, int steps_done) {
  const esp::TeamRef world = job.world();
  const std::array extents{static_cast<int>(grid.rows), static_cast<int>(grid.columns)};
  const esp::Graph graph = world.grid(extents, std::array{0, 0}).value();
  std::array<int, kEdges> neighbors{};
  std::array<bool, kEdges> there{};
  for (std::size_t edge = 0; edge < kEdges; ++edge) {
    neighbors[edge] = graph.sources()[edge];
    there[edge] = neighbors[edge] != esp::kNoNeighbor;
  }
  const Rect part = part_of(options.plate, grid, static_cast<std::size_t>(world.rank()));
  Tile tile(options.plate, part);
  const Layout layout(tile, there, options.threads);
  const auto exchange =
      make_exchange(variant, {world.get(), graph.get(), neighbors, tile, layout}, options.separate);
  Workers workers(tile, layout, *exchange, progress, steps_done);

  Outcome outcome;
  world.barrier().check();
  const std::uint64_t before = messages_of(job);
  const double begin = esp_time();
  workers.run(options.steps);
  outcome.seconds = esp_time() - begin;
  outcome.messages = messages_of(job) - before;
  for (std::size_t r = 1; r <= tile.rows(); ++r) {
    const double* row = tile.at({r, 1});
    outcome.cells.insert(outcome.cells.end(), row, row + tile.columns());
  }
  return outcome;
}

std::vector<double> gather_cells(esp::TeamRef world, const Plate& plate, const Grid& grid,
                                 const std::vector<double>& mine) {
  const auto ranks = static_cast<std::size_t>(world.size());
  std::vector<std::size_t> counts(ranks);
  std::vector<Rect> parts;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    parts.push_back(part_of(plate, grid, rank));
    counts[rank] = (parts[rank].bottom - parts[rank].top) * (parts[rank].right - parts[rank].left);
  }
  const bool root = world.rank() == 0;
  std::vector<double> tiles(root ? plate.rows * plate.columns : 0), cells(tiles.size());
  require(world.get(),
          esp_gatherv(world.get(), mine.data(), mine.size(), tiles.data(), counts.data(), nullptr,
                      ESP_DOUBLE, 0),
          "gather");
  auto next = tiles.begin();
  for (std::size_t rank = 0; root && rank < ranks; ++rank) {
    const Rect& part = parts[rank];
    const auto width = static_cast<std::ptrdiff_t>(part.right - part.left);
    for (std::size_t r = part.top; r < part.bottom; ++r, next += width) {
      std::copy(next, next + width,
                cells.begin() + static_cast<std::ptrdiff_t>(r * plate.columns + part.left));
    }
  }
  return cells;
}

}  // namespace heat
