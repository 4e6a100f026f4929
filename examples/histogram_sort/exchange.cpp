#include "exchange.hpp"

#include <numeric>

#include "merge.hpp"

namespace sorting {
namespace {

struct Counts {
  std::vector<std::size_t> sent, received;
};

// Everybody tells the others how many keys they get.
Counts agree(esp::TeamRef world, std::size_t count, std::span<const std::size_t> cuts) {
  const auto ranks = static_cast<std::size_t>(world.size());
  Counts counts{std::vector<std::size_t>(ranks), std::vector<std::size_t>(ranks)};
  for (std::size_t i = 0; i < ranks; ++i) {
    const std::size_t begin = i == 0 ? 0 : cuts[i - 1];
    counts.sent[i] = (i + 1 == ranks ? count : cuts[i]) - begin;
  }
  world.alltoall(counts.sent, counts.received).check();
  return counts;
}

void merge_blocks(std::span<const Key> blocks, const Counts& counts, Key* out) {
  std::vector<Run> runs;
  std::size_t begin = 0;
  for (const std::size_t count : counts.received) {
    runs.push_back(blocks.subspan(begin, count));
    begin += count;
  }
  merge(runs, out);
}

}  // namespace

Exchanged exchange(esp::TeamRef world, Variant variant, std::span<const Key> sorted,
                   std::span<const std::size_t> cuts) {
  Exchanged result;
  const double begin = esp_time();
  const Counts counts = agree(world, sorted.size(), cuts);
  std::vector<Key> blocks(
      std::accumulate(counts.received.begin(), counts.received.end(), std::size_t{0}));
  if (variant == Variant::kBlocking) {
    world.alltoallv(sorted, counts.sent, blocks, counts.received).check();
  } else {
    auto request = world.alltoallv_start(sorted, counts.sent, blocks, counts.received).value();
    request.wait().check();
  }
  const double landed = esp_time();
  result.keys.resize(blocks.size());
  merge_blocks(blocks, counts, result.keys.data());
  result.exchange = landed - begin;
  result.merge = esp_time() - landed;
  return result;
}

}  // namespace sorting
