#include "coll/plan/collective.hpp"

#include <cstddef>

#include "core/assert.hpp"

namespace espalier {
namespace {

constexpr std::uint32_t kTree = 1U << ESP_ALGORITHM_TREE;
constexpr std::uint32_t kPublish = 1U << ESP_ALGORITHM_PUBLISH;
constexpr std::uint32_t kSpread = 1U << ESP_ALGORITHM_SPREAD;
constexpr std::uint32_t kRing = 1U << ESP_ALGORITHM_RING;
constexpr std::uint32_t kBruck = 1U << ESP_ALGORITHM_BRUCK;
constexpr std::uint32_t kDoubling = 1U << ESP_ALGORITHM_DOUBLING;
constexpr std::uint32_t kHalving = 1U << ESP_ALGORITHM_HALVING;
constexpr std::uint32_t kLinear = 1U << ESP_ALGORITHM_LINEAR;
constexpr std::uint32_t kPairs = 1U << ESP_ALGORITHM_ONE_FACTOR | 1U << ESP_ALGORITHM_XOR;

// A row: name, input, output, algorithms, and the flags that hold.
#define ESP_ROW(NAME, IN, OUT, ALGORITHMS, ...)                                        \
  {                                                                                    \
    .name = #NAME, .function = "esp_" #NAME, .start_function = "esp_" #NAME "_start",  \
    .init_function = "esp_" #NAME "_init", .input = Extent::IN, .output = Extent::OUT, \
    .algorithms = ALGORITHMS __VA_OPT__(, ) __VA_ARGS__                                \
  }

// In the order of Collective.
constexpr CollectiveTraits kTraits[] = {
    ESP_ROW(barrier, kNone, kNone, kTree | kPublish),
    ESP_ROW(bcast, kNone, kOne, kTree | kPublish, .rooted = true, .root_sends = true),
    ESP_ROW(reduce, kOne, kOne, kTree, .rooted = true, .reduces = true, .root_gets = true),
    ESP_ROW(allreduce, kOne, kOne, kTree | kPublish | kSpread | kRing | kDoubling | kHalving,
            .reduces = true),
    ESP_ROW(allgather, kOne, kPerMember, kTree | kPublish | kRing | kBruck | kDoubling),
    ESP_ROW(allgatherv, kOne, kCounts, kTree | kPublish | kRing | kBruck | kDoubling),
    ESP_ROW(alltoall, kPerMember, kPerMember, kTree | kRing | kPairs | kBruck),
    ESP_ROW(alltoallv, kCounts, kCounts, kRing | kPairs),
    ESP_ROW(scan, kOne, kOne, kRing | kDoubling, .reduces = true),
    ESP_ROW(exscan, kOne, kOne, kRing | kDoubling, .reduces = true),
    ESP_ROW(gather, kOne, kPerMember, kTree | kLinear, .rooted = true, .root_gets = true),
    ESP_ROW(gatherv, kOne, kCounts, kLinear, .rooted = true, .root_gets = true),
    ESP_ROW(scatter, kPerMember, kOne, kTree | kLinear, .rooted = true, .root_sends = true),
    ESP_ROW(scatterv, kCounts, kOne, kLinear, .rooted = true, .root_sends = true),
    ESP_ROW(reduce_scatter_block, kPerMember, kOne, kTree | kSpread, .reduces = true),
    ESP_ROW(reduce_scatter, kCounts, kOne, kSpread, .reduces = true),
    ESP_ROW(alltoallw, kCounts, kCounts, kRing | kPairs, .types = true),
    ESP_ROW(neighbor_allgather, kOne, kPerMember, kPublish | kLinear, .neighbors = true),
    ESP_ROW(neighbor_allgatherv, kOne, kCounts, kPublish | kLinear, .neighbors = true),
    ESP_ROW(neighbor_alltoall, kPerMember, kPerMember, kLinear, .neighbors = true),
    ESP_ROW(neighbor_alltoallv, kCounts, kCounts, kLinear, .neighbors = true),
    ESP_ROW(neighbor_alltoallw, kCounts, kCounts, kLinear, .neighbors = true, .types = true),
    {.name = "point-to-point",
     .function = "esp_send",
     .start_function = "esp_send_start",
     .init_function = "esp_send_init",
     .input = Extent::kOne,
     .output = Extent::kOne},
};
static_assert(sizeof kTraits / sizeof kTraits[0] == kCollectives + 1);

#undef ESP_ROW

}  // namespace

const CollectiveTraits& traits_of(Collective collective) noexcept {
  const auto at = static_cast<std::size_t>(collective);
  ESP_ASSERT(at <= kCollectives);
  return kTraits[at];
}

const char* algorithm_name(esp_algorithm algorithm) noexcept {
  constexpr const char* kNames[] = {"auto",       "short", "tree",    "publish",
                                    "spread",     "ring",  "Bruck",   "doubling",
                                    "one-factor", "XOR",   "halving", "linear"};
  static_assert(sizeof kNames / sizeof kNames[0] == ESP_ALGORITHM_COUNT);
  return algorithm < ESP_ALGORITHM_COUNT ? kNames[algorithm] : "unknown";
}

}  // namespace espalier
