// histogram_sort: sorts the keys of all ranks, so that each has the part it wants, exactly.
//
// Every rank sorts what it has; histograms over all ranks find where to cut (splitters.hpp); blocks
// are exchanged and merged, in several variants (sort.hpp) that show what there is to gain.
// Run: esp-run -n 4 histogram_sort --keys 4000000 --repeat 5
#include <algorithm>
#include <memory>

#include "files.hpp"
#include "options.hpp"
#include "report.hpp"
#include "sort.hpp"

namespace sorting {
namespace {

using examples::Session;

struct Input {
  std::vector<std::uint64_t> counts, sizes;  // Of each rank: before and after.
  std::vector<Key> keys;                     // This rank's.
  Digest sum;
};

// This rank's keys. Throws FileError.
Input make_input(const Options& options, int ranks, int rank) {
  Input input;
  const std::uint64_t total = options.file.empty() ? options.keys : keys_in_file(options.file);
  input.counts = spread(total, ranks, options.spread);
  input.sizes = options.keep_sizes ? input.counts : spread(total, ranks, Spread::kEven);
  const std::uint64_t first = before(input.counts, rank);
  const std::uint64_t count = input.counts[static_cast<std::size_t>(rank)];
  if (options.file.empty()) {
    input.keys.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      input.keys.push_back(make_key(options.recipe, first + i, total));
    }
  } else {
    input.keys = read_keys(options.file, options.recipe.type, first, count);
  }
  input.sum = digest(input.keys);
  return input;
}

// What a call of files complains of; "": nothing.
template <typename Call>
std::string complaint_of(Call call) {
  try {
    call();
  } catch (const FileError& error) {
    return error.what();
  }
  return "";
}

// Collective; false after one rank has explained why it cannot be written.
bool write_output(const Session& session, const Options& options, const Input& input,
                  std::span<const Key> sorted) {
  const auto writes = [&](auto call) { return !session.any_complains(complaint_of(call)); };
  const std::uint64_t total = before(input.sizes, session.size());
  return writes([&] {
           if (session.rank() == 0) make_file(options.output, total);
         }) &&
         writes([&] {
           const std::uint64_t first = before(input.sizes, session.rank());
           write_keys(options.output, options.recipe.type, first, sorted);
         });
}

// Collective: of each phase the longest time over all ranks.
RunTimes longest(esp::TeamRef world, const Sorted& sorted) {
  RunTimes times{sorted.seconds, sorted.overlapped, sorted.turn, sorted.rounds};
  world.allreduce_in_place(times.seconds, esp::kMax).check();
  world.allreduce_in_place(esp::one(times.overlapped), esp::kMax).check();
  return times;
}

int run(Session& session, const Options& options) {
  Input input;
  if (session.any_complains(
          complaint_of([&] { input = make_input(options, session.size(), session.rank()); }))) {
    return examples::kFailure;
  }
  const bool root = session.rank() == 0;
  if (root && !options.json) print_header(options, input.counts, input.sizes);
  const auto runs = static_cast<int>(options.variants.size()) * options.repeat;
  auto progress = std::make_unique<examples::ProgressBar>(
      root ? options.progress : examples::ProgressMode::kOff, runs, esp_time());
  int done = 0;
  Sorted sorted;
  for (const Variant variant : options.variants) {
    const esp::Job& job = variant == Variant::kBlocking ? session.own() : session.threaded();
    std::vector<RunTimes> all;
    for (int repetition = 0; repetition < options.repeat; ++repetition) {
      sorted = sort_keys(job.world(), variant, options, input.keys, input.sizes);
      const std::string wrong = check_sorted(job.world(), input.sum, sorted.keys, input.sizes);
      if (!wrong.empty()) {
        (void)session.any_complains(fmt::format("{}: {}", name_of(variant), wrong));
        return examples::kFailure;
      }
      all.push_back(longest(job.world(), sorted));
      if (root && options.json) {
        print_json(options, variant, repetition, input.sizes, all.back());
      }
      progress->update(done++, esp_time());
    }
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end(), [](const RunTimes& a, const RunTimes& b) {
      return a.seconds[kTotal] < b.seconds[kTotal];
    });
    if (root && !options.json) print_row(variant, *middle);
  }
  progress.reset();
  if (root && !options.json) {
    fmt::print(
        "check        passed: sorted, in order over the ranks, a permutation, sizes exact\n");
  }
  if (options.output.empty()) return 0;
  return write_output(session, options, input, sorted.keys) ? 0 : examples::kFailure;
}

}  // namespace
}  // namespace sorting

int main(int argc, char** argv) {
  return examples::run_program("histogram_sort", sorting::parse_command_line(argc, argv),
                               sorting::run);
}
