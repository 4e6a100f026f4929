// Gathers, scatters and reduce-scatters among other operations: between small blocking calls, in
// callbacks, from the library's own memory. Many at once: crowd_teams_cases.cpp.
#include <algorithm>
#include <numeric>

#include "tests/api/cases.hpp"

namespace test {
namespace crowd_cases {
namespace {

// Small ones between blocking calls that go the short way.
void between_small_calls(const Context& context) {
  const auto members = static_cast<std::size_t>(context.size);
  std::vector<int> all(members), mine(members);
  for (int turn = 0; turn < 80; ++turn) {
    const int root = turn % context.size;
    int own = context.rank + turn, got = -1, sum = 0, part = -1;
    std::fill(all.begin(), all.end(), -1);
    CHECK_OK(esp_gather(context.world, &own, all.data(), 1, ESP_INT32, root), context.world, "");
    CHECK_OK(esp_allreduce(context.world, &own, &sum, 1, ESP_INT32, ESP_SUM), context.world, "");
    if (context.rank == root) CHECK_EQ(std::accumulate(all.begin(), all.end(), 0), sum, "{}", turn);
    CHECK_OK(esp_scatter(context.world, all.data(), &got, 1, ESP_INT32, root), context.world, "");
    CHECK_EQ(got, own, "what was gathered comes back in turn {}", turn);
    if (turn % 5 == 0) CHECK_OK(esp_barrier(context.world), context.world, "");
    std::fill(mine.begin(), mine.end(), own);
    CHECK_OK(esp_reduce_scatter_block(context.world, mine.data(), &part, 1, ESP_INT32, ESP_SUM),
             context.world, "");
    CHECK_EQ(part, sum, "turn {}", turn);
  }
}

// Each callback starts the next operation.
struct Chain {
  const Context* context = nullptr;
  int left = 100;
  int value = 0;
  std::vector<int> all;
  std::atomic<esp_status> ended{ESP_IN_PROGRESS};
};

void next_link(void* raw, esp_status status) {
  auto& chain = *static_cast<Chain*>(raw);
  esp_team* world = chain.context->world;
  const esp_notify notify{next_link, &chain, nullptr};
  if (status == ESP_OK && chain.left > 0) {
    const bool gathers = --chain.left % 2 != 0;
    if (gathers) {
      status = esp_gather_start(world, &chain.value, chain.all.data(), 1, ESP_INT32, 0, nullptr,
                                &notify, nullptr);
    } else {
      for (int& x : chain.all) ++x;
      status = esp_scatter_start(world, chain.all.data(), &chain.value, 1, ESP_INT32, 0, nullptr,
                                 &notify, nullptr);
    }
    if (status == ESP_OK) return;
  }
  chain.ended = status;
}

void in_callbacks(const Context& context) {
  Chain chain;
  chain.context = &context;
  chain.value = 100 * context.rank;
  chain.all.assign(static_cast<std::size_t>(context.size), -1);
  next_link(&chain, ESP_OK);
  while (chain.ended == ESP_IN_PROGRESS) {
    if (esp_progress(context.job) == 0) sched_yield();
  }
  CHECK_OK(chain.ended, context.world, "chain");
  CHECK_EQ(chain.value, 100 * context.rank + 50, "each turn adds one");
}

// Memory that others read in place.
void from_the_heap(const Context& context) {
  constexpr std::size_t kCount = 20'000;
  const auto members = static_cast<std::size_t>(context.size);
  const std::size_t bytes = kCount * sizeof(int);
  auto* mine = static_cast<int*>(esp_alloc(context.job, bytes));
  auto* all = static_cast<int*>(esp_alloc(context.job, members * bytes));
  CHECK(mine != nullptr && all != nullptr, "{}", esp_job_error(context.job));
  if (mine == nullptr || all == nullptr) return;
  std::iota(mine, mine + kCount, context.rank * 100'000);
  const int root = context.size - 1;
  CHECK_OK(esp_gather(context.world, mine, all, kCount, ESP_INT32, root), context.world, "");
  std::vector<int> back(kCount, -1);
  CHECK_OK(esp_scatter(context.world, all, back.data(), kCount, ESP_INT32, root), context.world,
           "");
  CHECK(std::equal(back.begin(), back.end(), mine), "what was gathered comes back");
  for (std::size_t r = 0; r < members; ++r) std::copy_n(mine, kCount, all + r * kCount);
  CHECK_OK(esp_reduce_scatter_block(context.world, all, back.data(), kCount, ESP_INT32, ESP_MAX),
           context.world, "");
  CHECK_EQ(back.back(), root * 100'000 + static_cast<int>(kCount) - 1, "the largest");
  esp_free(context.job, mine);
  esp_free(context.job, all);
}

}  // namespace
}  // namespace crowd_cases

void crowd(const Context& context) {
  crowd_cases::between_small_calls(context);
  crowd_cases::in_callbacks(context);
  crowd_cases::from_the_heap(context);
}

}  // namespace test
