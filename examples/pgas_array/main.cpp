// A distributed array at work: a histogram, and a diffusion with halo exchange; both are computed
// again by one rank alone and compared, element by element.
// Run: esp-run -n 4 pgas_array
#include <iostream>
#include <vector>

#include "global_array.hpp"

namespace {

constexpr std::size_t kSamples = 20'000;  // in all
constexpr std::size_t kBins = 101, kCells = 1009;
constexpr int kSteps = 30;

// The same sample for everybody who asks.
std::uint64_t sample(std::uint64_t i) {
  i = (i + 1) * 0x9e3779b97f4a7c15ULL;
  i = (i ^ i >> 29) * 0xbf58476d1ce4e5b9ULL;
  return i ^ i >> 32;
}
std::size_t bin_of(std::size_t i) {
  return static_cast<std::size_t>(sample(i) % kBins * (sample(i) % 7) / 7);
}

// Each rank counts its share of the samples, wherever the bins are.
void count_samples(const esp::TeamRef& world, const GlobalArray& bins) {
  std::int64_t pending = 0;
  const auto n = static_cast<std::size_t>(world.size());
  for (auto i = static_cast<std::size_t>(world.rank()); i < kSamples; i += n) {
    bins.add(bin_of(i), 1, pending);
    if (pending > 1000) bins.wait(pending);  // Whoever counts all at once needs memory for all.
  }
  bins.wait(pending);
}

std::int64_t next_value(std::int64_t left, std::int64_t middle, std::int64_t right) {
  return (left + 2 * middle + right) / 4;
}

// One step: a rank reads one element beyond each end of its block.
void diffuse(const esp::TeamRef& world, const GlobalArray& from, const GlobalArray& to) {
  const std::size_t first = from.first(), last = from.last();
  if (first < last) {
    std::vector<std::int64_t> halo(last - first + 2, 0);
    const std::size_t begin = first == 0 ? 0 : first - 1;
    const std::size_t end = std::min(last + 1, from.size());
    from.read(begin, std::span(halo).subspan(first == 0 ? 1 : 0, end - begin));
    for (std::size_t i = 0; i < last - first; ++i) {
      to.local()[i] = next_value(halo[i], halo[i + 1], halo[i + 2]);
    }
  }
  world.barrier().check();
}

bool equal(const GlobalArray& array, const std::vector<std::int64_t>& expected) {
  std::vector<std::int64_t> values(array.size());
  array.read(0, values);
  return values == expected && array.read(array.size() / 2) == expected[expected.size() / 2];
}

std::vector<std::int64_t> histogram_alone() {
  std::vector<std::int64_t> bins(kBins, 0);
  for (std::size_t i = 0; i < kSamples; ++i) ++bins[bin_of(i)];
  return bins;
}

std::vector<std::int64_t> diffusion_alone() {
  std::vector<std::int64_t> cells(kCells + 2, 0), next(kCells + 2, 0);
  cells[1 + kCells / 3] = 1'000'000'000;
  for (int step = 0; step < kSteps; ++step) {
    for (std::size_t i = 1; i <= kCells; ++i) {
      next[i] = next_value(cells[i - 1], cells[i], cells[i + 1]);
    }
    std::swap(cells, next);
  }
  return {cells.begin() + 1, cells.end() - 1};
}

}  // namespace

int main() {
  auto job = esp::Job::init();
  if (!job.ok()) return std::cerr << job.error().text << '\n', 1;
  const esp::TeamRef world = job->world();
  bool right = true;
  {
    const GlobalArray bins(world, kBins), cells(world, kCells), others(world, kCells);
    count_samples(world, bins);
    // Who is last may set the scene; the barrier shows it to all.
    if (world.rank() == world.size() - 1) cells.write(kCells / 3, 1'000'000'000);
    world.barrier().check();
    for (int step = 0; step < kSteps; ++step) {
      diffuse(world, step % 2 == 0 ? cells : others, step % 2 == 0 ? others : cells);
    }
    if (world.rank() == 0) {
      right = equal(bins, histogram_alone()) && equal(cells, diffusion_alone());
      std::cout << (right ? "histogram and diffusion are right on " : "WRONG on ") << world.size()
                << " ranks\n";
    }
    world.barrier().check();
  }
  return right && job->finalize().ok() ? 0 : 1;
}
