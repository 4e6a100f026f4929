#include "exchange.hpp"

#include <numeric>

#include "merge.hpp"
#include "session.hpp"

namespace sorting {
namespace {

using examples::require;

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

std::vector<Key> room_for(const Counts& counts) {
  return std::vector<Key>(
      std::accumulate(counts.received.begin(), counts.received.end(), std::size_t{0}));
}

void merge_blocks(const Options& options, std::span<const Key> blocks, const Counts& counts,
                  Key* out) {
  const std::size_t ranks = counts.received.size();
  GroupMerge groups(options.group_all ? options.group : ranks, ranks);
  std::size_t begin = 0;
  for (const std::size_t count : counts.received) {
    groups.add(blocks.subspan(begin, count));
    begin += count;
  }
  groups.finish(out);
}

// All blocks, then the merge.
Exchanged in_turn(esp::TeamRef world, Variant variant, const Options& options,
                  std::span<const Key> sorted, const Counts& counts) {
  Exchanged result;
  const double begin = esp_time();
  std::vector<Key> blocks = room_for(counts);
  if (variant == Variant::kBlocking) {
    world.alltoallv(sorted, counts.sent, blocks, counts.received).check();
  } else {
    auto request = world.alltoallv_start(sorted, counts.sent, blocks, counts.received).value();
    request.wait().check();
  }
  const double landed = esp_time();
  result.keys.resize(blocks.size());
  merge_blocks(options, blocks, counts, result.keys.data());
  result.exchange = landed - begin;
  result.merge = esp_time() - landed;
  return result;
}

esp_request* start_delivery(esp::TeamRef world, const Options& options, std::span<const Key> sorted,
                            const Counts& counts, std::vector<Key>& blocks) {
  esp_partial partial = ESP_PARTIAL_INIT;
  partial.flags = ESP_PARTIAL_DELIVER;
  if (options.unordered) partial.flags |= ESP_PARTIAL_UNORDERED;
  esp_coll_options how = ESP_COLL_OPTIONS_INIT;
  how.partial = &partial;
  esp_request* request = nullptr;
  require(
      world.get(),
      esp_alltoallv_start(world.get(), sorted.data(), counts.sent.data(), nullptr, blocks.data(),
                          counts.received.data(), nullptr, ESP_UINT64, &how, nullptr, &request),
      "exchange");
  return request;
}

// Each block when it has landed, the own one among them. What is merged while others still come
// counts as merging, and the wait for them gets shorter by it.
Exchanged as_they_land(esp::TeamRef world, const Options& options, std::span<const Key> sorted,
                       const Counts& counts) {
  Exchanged result;
  const double begin = esp_time();
  std::vector<Key> blocks = room_for(counts);
  GroupMerge groups(options.group, counts.received.size());
  std::size_t to_come = blocks.size();
  esp_request* request = start_delivery(world, options, sorted, counts, blocks);
  esp_segment block;
  int taken = 0;
  while (esp_segment_wait(request, &block, &taken) == ESP_OK && taken != 0) {
    const double taking = esp_time();
    const Run run(static_cast<const Key*>(block.address), block.bytes / sizeof(Key));
    groups.add(run);
    to_come -= run.size();
    const double merging = esp_time() - taking;
    result.merge += merging;
    if (to_come > 0) result.overlapped += merging;
  }
  require(world.get(), esp_request_wait(&request), "exchange");
  const double landed = esp_time();
  result.keys.resize(blocks.size());
  groups.finish(result.keys.data());
  result.exchange = landed - begin - result.merge;
  result.merge += esp_time() - landed;
  return result;
}

}  // namespace

Exchanged exchange(esp::TeamRef world, Variant variant, const Options& options,
                   std::span<const Key> sorted, std::span<const std::size_t> cuts) {
  const double begin = esp_time();
  const Counts counts = agree(world, sorted.size(), cuts);
  const double agreed = esp_time();
  Exchanged result = variant == Variant::kPartial
                         ? as_they_land(world, options, sorted, counts)
                         : in_turn(world, variant, options, sorted, counts);
  result.exchange += agreed - begin;
  return result;
}

}  // namespace sorting
