// heat: the heat of a plate by Jacobi's method, on a grid of ranks with several threads each.
//
// Every cell becomes the mean of its four neighbors, step by step; the border and three sources are
// held. What the variants differ in is how halos are exchanged, and which threads wait for which of
// them (exchange.hpp). All give the same bits as one processor alone.
// Run: esp-run -n 4 heat --threads 2 --steps 500 --self-check --picture heat.png
#include <algorithm>
#include <memory>

#include "options.hpp"
#include "picture.hpp"
#include "report.hpp"
#include "solver.hpp"

namespace heat {
namespace {

using examples::Session;

// Why the plate cannot be computed by these ranks; "": it can.
std::string misfit(const Options& options, const Grid& grid, int ranks) {
  if (grid.rows * grid.columns != static_cast<std::size_t>(ranks)) {
    return fmt::format("--grid {}x{} is not for {} ranks", grid.rows, grid.columns, ranks);
  }
  const auto threads = static_cast<std::size_t>(options.threads);
  if (options.plate.rows < grid.rows || options.plate.columns / grid.columns < threads) {
    return fmt::format(
        "a plate of {} x {} cells is too small for {} x {} ranks with {} threads, of which each "
        "has a column or more",
        options.plate.rows, options.plate.columns, grid.rows, grid.columns, threads);
  }
  return "";
}

// What differs from a serial run, at rank 0; "": nothing.
std::string difference(const Plate& plate, const std::vector<double>& cells,
                       const std::vector<double>& alone) {
  for (std::size_t i = 0; i < alone.size(); ++i) {
    if (std::bit_cast<std::uint64_t>(cells[i]) != std::bit_cast<std::uint64_t>(alone[i])) {
      return fmt::format("row {}, column {}: {}, but a serial run has {}", i / plate.columns,
                         i % plate.columns, cells[i], alone[i]);
    }
  }
  return "";
}

// Collective.
RunFacts facts_of(esp::TeamRef world, const Outcome& outcome, int steps) {
  std::array most{outcome.seconds, static_cast<double>(outcome.messages)};
  world.allreduce_in_place(most, esp::kMax).check();
  return {most[0], steps > 0 ? most[1] / steps : 0};
}

class Program {
 public:
  Program(Session& session, const Options& options, const Grid& grid)
      : session_(session), options_(options), grid_(grid), root_(session.rank() == 0) {
    const auto runs = static_cast<int>(options.variants.size()) * options.repeat;
    progress_ = std::make_unique<examples::ProgressBar>(
        root_ ? options.progress : examples::ProgressMode::kOff, runs * options.steps, esp_time());
  }

  int run() {
    if (root_ && options_.self_check) alone_ = solve_alone(options_.plate, options_.steps);
    if (root_ && !options_.json) print_header(options_, grid_);
    double first = 0;
    for (const Variant variant : options_.variants) {
      std::vector<RunFacts> all;
      for (int repetition = 0; repetition < options_.repeat; ++repetition) {
        if (!run_once(variant, repetition, all)) return examples::kFailure;
      }
      const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
      std::nth_element(all.begin(), middle, all.end(),
                       [](const RunFacts& a, const RunFacts& b) { return a.seconds < b.seconds; });
      if (first == 0) first = middle->seconds;
      if (root_ && !options_.json) print_row(options_, variant, *middle, first);
    }
    progress_.reset();
    if (root_ && !options_.json && options_.self_check) {
      fmt::print("self-check   passed: all cells of all variants equal those of a serial run\n");
    }
    const bool picture = root_ && !options_.picture.empty();
    return session_.any_complains(picture ? write_picture(options_.picture, options_.plate, cells_)
                                          : "")
               ? examples::kFailure
               : 0;
  }

 private:
  // Collective; false when the result is wrong, which has been said then.
  bool run_once(Variant variant, int repetition, std::vector<RunFacts>& all) {
    const esp::Job& job = variant == Variant::kFunnel ? session_.own() : session_.threaded();
    const Outcome outcome = solve(job, variant, options_, grid_, *progress_, steps_done_);
    steps_done_ += options_.steps;
    all.push_back(facts_of(job.world(), outcome, options_.steps));
    cells_ = gather_cells(job.world(), options_.plate, grid_, outcome.cells);
    const std::string wrong = difference(options_.plate, cells_, alone_);
    if (session_.any_complains(wrong.empty() ? "" : name_of(variant) + (": " + wrong))) {
      return false;
    }
    if (root_ && options_.json) {
      print_json(options_, grid_, variant, repetition, all.back(), options_.self_check);
    }
    return true;
  }

  Session& session_;
  const Options& options_;
  Grid grid_;
  bool root_;
  std::unique_ptr<examples::ProgressBar> progress_;
  int steps_done_ = 0;
  std::vector<double> alone_, cells_;  // At rank 0.
};

int run(Session& session, const Options& options) {
  const Grid grid = options.grid.value_or(square_grid(static_cast<std::size_t>(session.size())));
  if (session.any_complains(misfit(options, grid, session.size()))) return examples::kFailure;
  return Program(session, options, grid).run();
}

}  // namespace
}  // namespace heat

int main(int argc, char** argv) {
  return examples::run_program("heat", heat::parse_command_line(argc, argv), heat::run);
}
