#include "coll/plan/collective.hpp"

#include <cstddef>

#include "core/assert.hpp"

namespace espalier {
namespace {

// A row: name, input, output, and the flags that hold.
#define ESP_ROW(NAME, IN, OUT, ...)                                                   \
  {                                                                                   \
    .name = #NAME, .function = "esp_" #NAME, .start_function = "esp_" #NAME "_start", \
    .input = Extent::IN, .output = Extent::OUT __VA_OPT__(, ) __VA_ARGS__             \
  }

// In the order of Collective.
constexpr CollectiveTraits kTraits[] = {
    ESP_ROW(barrier, kNone, kNone),
    ESP_ROW(bcast, kNone, kOne, .rooted = true, .root_sends = true),
    ESP_ROW(reduce, kOne, kOne, .rooted = true, .reduces = true, .root_gets = true),
    ESP_ROW(allreduce, kOne, kOne, .reduces = true),
    ESP_ROW(allgather, kOne, kPerMember),
    ESP_ROW(allgatherv, kOne, kCounts),
    ESP_ROW(alltoall, kPerMember, kPerMember),
    ESP_ROW(alltoallv, kCounts, kCounts),
    ESP_ROW(scan, kOne, kOne, .reduces = true),
    ESP_ROW(exscan, kOne, kOne, .reduces = true),
    {.name = "point-to-point",
     .function = "esp_send",
     .start_function = "esp_send_start",
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

}  // namespace espalier
