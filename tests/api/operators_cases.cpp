// Operators of the user, and the promise that the order of combination does not depend on arrival.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "tests/api/cases.hpp"
#include "tests/support/collectives.hpp"
#include "tests/support/compositions.hpp"

namespace test {
namespace {

void apply_xor(const void* in, void* inout, std::size_t count, esp_type, void*) {
  const auto* lower = static_cast<const std::uint64_t*>(in);
  auto* higher = static_cast<std::uint64_t*>(inout);
  for (std::size_t i = 0; i < count; ++i) higher[i] ^= lower[i];
}

void non_commutative(const Context& context) {
  std::size_t combined = 0;
  esp_op op = -1;
  CHECK_OK(esp_op_create(context.job, apply_compose, &combined, 0, &op), context.world, "create");
  CHECK(op >= ESP_OP_BUILTIN_COUNT, "{}", op);
  for (const std::size_t count : {1u, 7u, 1000u, 30'000u}) {
    std::vector<std::uint64_t> mine(count), result(count);
    for (std::size_t i = 0; i < count; ++i) mine[i] = element_of(context.rank, i);
    for (int root = 0; root < context.size; root += 2) {
      CHECK_OK(esp_reduce(context.world, mine.data(), result.data(), count, ESP_UINT64, op, root),
               context.world, "reduce {} to {}", count, root);
      if (root == context.rank) check_composed(result, context.size, "reduce");
    }
    CHECK_OK(esp_allreduce(context.world, mine.data(), result.data(), count, ESP_UINT64, op),
             context.world, "allreduce {}", count);
    check_composed(result, context.size, fmt::format("allreduce of {}", count));
    std::fill(result.begin(), result.end(), 0);
    result = mine;
    CHECK_OK(esp_allreduce(context.world, ESP_IN_PLACE, result.data(), count, ESP_UINT64, op),
             context.world, "allreduce {} in place", count);
    check_composed(result, context.size, fmt::format("allreduce of {} in place", count));
  }
  if (context.size == 1) CHECK_EQ(combined, 0u, "an operator ran without a second operand");
  CHECK_OK(esp_op_free(context.job, op), context.world, "free");
}

void non_commutative_in_every_shape(const Context& context) {
  std::size_t combined = 0;
  esp_op op = -1;
  CHECK_OK(esp_op_create(context.job, apply_compose, &combined, 0, &op), context.world, "create");
  std::vector<std::uint64_t> mine(500), result(500);
  for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = element_of(context.rank, i);
  for (int shape = ESP_SHAPE_AUTO; shape < ESP_SHAPE_COUNT; ++shape) {
    esp_coll_options options = ESP_COLL_OPTIONS_INIT;
    options.shape = static_cast<esp_shape>(shape);
    options.segment_bytes = 256;
    esp_request* request = nullptr;
    const int root = shape % context.size;
    const esp_status status =
        finish(esp_reduce_start(context.world, mine.data(), result.data(), mine.size(), ESP_UINT64,
                                op, root, &options, nullptr, &request),
               &request);
    CHECK_OK(status, context.world, "shape {}", shape);
    if (root == context.rank) check_composed(result, context.size, fmt::format("shape {}", shape));
  }
  CHECK_OK(esp_op_free(context.job, op), context.world, "free");
}

void commutative(const Context& context) {
  esp_op op = -1;
  CHECK_OK(esp_op_create(context.job, apply_xor, nullptr, 1, &op), context.world, "create");
  std::uint64_t value = std::uint64_t{1} << context.rank;
  CHECK_OK(esp_allreduce(context.world, ESP_IN_PLACE, &value, 1, ESP_UINT64, op), context.world,
           "xor");
  CHECK_EQ(value, (std::uint64_t{1} << context.size) - 1, "xor");
  CHECK_OK(esp_op_free(context.job, op), context.world, "free");
}

// An operator stays while an operation may call it, and may go as soon as that reports its end.
struct Freed {
  esp_job* job;
  esp_op op = -1;
  std::atomic<esp_status> status{ESP_IN_PROGRESS};
};

void free_at_the_end(void* context, esp_status) {
  auto& freed = *static_cast<Freed*>(context);
  freed.status = esp_op_free(freed.job, freed.op);
}

void freed_while_used(const Context& context) {
  esp_team* team = nullptr;
  CHECK_OK(esp_team_dup(context.world, &team), context.world, "");
  if (team == nullptr) return;
  Freed freed{context.job};
  CHECK_OK(esp_op_create(context.job, apply_xor, nullptr, 1, &freed.op), context.world, "create");
  const esp_notify notify{free_at_the_end, &freed, nullptr};
  std::uint64_t value = 1;
  // The others come when rank 0 has tried.
  if (context.rank != 0) CHECK_OK(esp_barrier(context.world), context.world, "");
  CHECK_OK(esp_allreduce_start(team, ESP_IN_PLACE, &value, 1, ESP_UINT64, freed.op, nullptr,
                               &notify, nullptr),
           team, "");
  if (context.rank == 0 && context.size > 1) {
    CHECK_STATUS(esp_op_free(context.job, freed.op), ESP_ERR_STATE, context.world, "in use");
  }
  if (context.rank == 0) CHECK_OK(esp_barrier(context.world), context.world, "");
  while (freed.status == ESP_IN_PROGRESS) {
    if (esp_progress(context.job) == 0) sched_yield();
  }
  CHECK_OK(freed.status, context.world, "at the end");
  CHECK_EQ(value, static_cast<std::uint64_t>(context.size % 2), "xor");
  CHECK_STATUS(esp_op_free(context.job, freed.op), ESP_ERR_ARGUMENT, context.world, "it is gone");
  CHECK_OK(esp_team_free(team), context.world, "");
}

// Sums of numbers that round differently in every order, many times, with ranks arriving in
// changing order: always the same bits, on every rank.
void floats_bit_identical(const Context& context) {
  for (const std::size_t count : {1u, 33u, 20'000u}) {
    std::vector<float> mine(count), first(count), again(count);
    std::uint32_t state = 12345u + static_cast<std::uint32_t>(context.rank);
    for (float& x : mine) {
      state = state * 1664525u + 1013904223u;
      x = std::ldexp(static_cast<float>(state >> 8), static_cast<int>(state & 31) - 40);
    }
    for (int turn = 0; turn < 20; ++turn) {
      if (turn % context.size == context.rank) (void)esp_progress(context.job);
      auto& result = turn == 0 ? first : again;
      CHECK_OK(esp_allreduce(context.world, mine.data(), result.data(), count, ESP_FLOAT, ESP_SUM),
               context.world, "turn {}", turn);
      if (turn == 0) continue;
      CHECK(std::memcmp(first.data(), again.data(), count * sizeof(float)) == 0,
            "{} floats differ in turn {}", count, turn);
    }
    std::vector<float> of_root = first;
    CHECK_OK(esp_bcast(context.world, of_root.data(), count, ESP_FLOAT, 0), context.world, "");
    CHECK(std::memcmp(first.data(), of_root.data(), count * sizeof(float)) == 0,
          "{} floats differ from rank 0's", count);
  }
}

// Long results are stored past the caches: by the root of a reduction only, wherever they begin.
void past_caches(const Context& context) {
  constexpr std::size_t kCount = (8 << 20) / sizeof(float);  // PAST_CACHE_BYTES
  const auto mine_of = [](int rank, std::size_t i) {
    return static_cast<float>((i * 7 + static_cast<std::size_t>(rank) * 13) % 1000);
  };
  std::vector<float> mine(kCount), result(kCount + 9);
  for (std::size_t i = 0; i < kCount; ++i) mine[i] = mine_of(context.rank, i);
  for (const std::size_t count : {kCount - 1, kCount}) {
    for (const std::size_t first : {0u, 1u, 9u}) {
      const int root = static_cast<int>(first) % context.size;
      std::fill(result.begin(), result.end(), -1.0F);
      const std::uint64_t before = counter(context, "past_cache_bytes");
      CHECK_OK(
          esp_reduce(context.world, mine.data(), &result[first], count, ESP_FLOAT, ESP_SUM, root),
          context.world, "{} floats", count);
      const bool past = count == kCount && context.rank == root && context.size > 1;
      CHECK_EQ(counter(context, "past_cache_bytes") - before,
               past ? count * sizeof(float) : std::uint64_t{0}, "{} floats", count);
      if (context.rank != root) continue;
      const auto step = [&](std::size_t i) {
        return i > 200 && i + 200 < result.size() ? 97u : 1u;
      };
      for (std::size_t i = 0; i < result.size(); i += step(i)) {
        float expected = i < first || i >= first + count ? -1.0F : 0.0F;
        for (int r = 0; expected >= 0 && r < context.size; ++r) expected += mine_of(r, i - first);
        CHECK_EQ(result[i], expected, "{} floats from {}, element {}", count, first, i);
        if (result[i] != expected) return;
      }
    }
  }
  // Not what is in the caches as an operand, what others read, or what no kernel stores so.
  const std::uint64_t before = counter(context, "past_cache_bytes");
  result.assign(kCount, 0);
  const bool root = context.rank == 0;
  CHECK_OK(esp_reduce(context.world, root ? ESP_IN_PLACE : mine.data(), result.data(), kCount,
                      ESP_FLOAT, ESP_SUM, 0),
           context.world, "in place");
  CHECK_OK(esp_reduce(context.world, mine.data(), result.data(), kCount, ESP_FLOAT, ESP_PROD, 0),
           context.world, "a product");
  CHECK_OK(esp_allreduce(context.world, mine.data(), result.data(), kCount, ESP_FLOAT, ESP_SUM),
           context.world, "");
  CHECK_EQ(counter(context, "past_cache_bytes"), before, "");
}

}  // namespace

void operators(const Context& context) {
  past_caches(context);
  non_commutative(context);
  non_commutative_in_every_shape(context);
  commutative(context);
  freed_while_used(context);
  floats_bit_identical(context);
}

}  // namespace test
