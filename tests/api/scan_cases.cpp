// Scans and exscans: every type and operator, algorithm and form, and the order of combination.
#include <cmath>
#include <cstring>

#include "tests/api/cases.hpp"
#include "tests/support/compositions.hpp"
#include "tests/support/scans.hpp"

namespace test {
namespace scan_cases {
namespace {

constexpr esp_algorithm kAlgorithms[] = {ESP_ALGORITHM_AUTO, ESP_ALGORITHM_RING,
                                         ESP_ALGORITHM_DOUBLING};

Way way_of(esp_algorithm algorithm) {
  Way way{.form = Form::kRequest};
  way.options.algorithm = algorithm;
  return way;
}

// Both, in place and not.
void run(const Context& context, Shape s, const Way& way) {
  for (const bool in_place : {false, true}) {
    for (const bool exclusive : {false, true}) {
      s.in_place = in_place;
      check_prefix(context.world, s, exclusive, way);
    }
  }
}

void every_operator(const Context& context) {
  for (int t = 0; t < ESP_TYPE_COUNT; ++t) {
    const auto type = static_cast<esp_type>(t);
    for (esp_op op = 0; op < ESP_OP_BUILTIN_COUNT; ++op) {
      if (esp_op_defined(op, type) == 0) continue;
      const std::size_t count = 1 + static_cast<std::size_t>(t * 7 + op) % 100;
      run(context, {.type = type, .count = count, .op = op}, {});
    }
  }
}

void every_form(const Context& context) {
  for (const Form form : kForms) {
    for (const std::size_t count : {0u, 1u, 100u, 5000u}) {
      run(context, {.type = ESP_INT32, .count = count}, {.form = form});
    }
  }
}

void every_algorithm(const Context& context) {
  for (int algorithm = 0; algorithm < ESP_ALGORITHM_COUNT; ++algorithm) {
    for (const std::size_t count : {0u, 1u, 7u, 1000u, 40'000u}) {
      run(context, {.type = ESP_DOUBLE, .count = count},
          way_of(static_cast<esp_algorithm>(algorithm)));
    }
  }
}

// Many small segments, with narrow windows and wide ones.
void segments(const Context& context) {
  for (const esp_algorithm algorithm : kAlgorithms) {
    for (const int window : {1, 2, 64}) {
      Way way = way_of(algorithm);
      way.options.window_send = way.options.window_recv = window;
      way.options.segment_bytes = 512;
      run(context, {.type = ESP_INT64, .count = 3001, .op = ESP_BXOR}, way);
    }
  }
}

void large(const Context& context) {
  for (const esp_algorithm algorithm : kAlgorithms) {
    run(context, {.type = ESP_DOUBLE, .count = (3 << 20) / sizeof(double) + 5}, way_of(algorithm));
  }
}

// In the order of ranks, once each, and by no algorithm otherwise.
void non_commutative(const Context& context) {
  std::size_t combined = 0;
  esp_op op = -1;
  esp_team* world = context.world;
  CHECK_OK(esp_op_create(context.job, apply_compose, &combined, 0, &op), world, "create");
  for (const esp_algorithm algorithm : kAlgorithms) {
    for (const std::size_t count : {1u, 7u, 1000u, 30'000u}) {
      std::vector<std::uint64_t> mine(count), result(count, 99), before(count, 98);
      for (std::size_t i = 0; i < count; ++i) mine[i] = element_of(context.rank, i);
      const Way way = way_of(algorithm);
      const std::string text = fmt::format("{} elements, {}", count, describe(way));
      const auto scans = [&](const esp_coll_options* o, const esp_notify* n, esp_request** r) {
        return esp_scan_start(world, mine.data(), result.data(), count, ESP_UINT64, op, o, n, r);
      };
      const auto exscans = [&](const esp_coll_options* o, const esp_notify* n, esp_request** r) {
        return esp_exscan_start(world, mine.data(), before.data(), count, ESP_UINT64, op, o, n, r);
      };
      CHECK_OK(start_and_wait(world, way, scans), world, "{}", text);
      CHECK_OK(start_and_wait(world, way, exscans), world, "{}", text);
      check_composed(result, context.rank + 1, "scan of " + text);
      if (context.rank > 0) check_composed(before, context.rank, "exscan of " + text);
      if (context.rank == 0) CHECK_EQ(before.back(), 98u, "left alone");
    }
  }
  if (context.size == 1) CHECK_EQ(combined, 0u, "an operator ran without a second operand");
  CHECK_OK(esp_op_free(context.job, op), world, "free");
}

// Sums of numbers that round differently in every order, many times, with ranks arriving in
// changing order: always the same bits.
void floats_bit_identical(const Context& context) {
  constexpr std::size_t kCount = 3000;
  std::vector<float> mine(kCount), first(kCount), again(kCount);
  std::uint32_t state = 12345u + static_cast<std::uint32_t>(context.rank);
  for (float& x : mine) {
    state = state * 1664525u + 1013904223u;
    x = std::ldexp(static_cast<float>(state >> 8), static_cast<int>(state & 31) - 40);
  }
  for (const esp_algorithm algorithm : kAlgorithms) {
    for (int turn = 0; turn < 20; ++turn) {
      for (int i = 0; turn % context.size == context.rank && i < 50; ++i) {
        (void)esp_progress(context.job);
      }
      auto& result = turn == 0 ? first : again;
      const auto scans = [&](const esp_coll_options* o, const esp_notify* n, esp_request** r) {
        return esp_scan_start(context.world, mine.data(), result.data(), kCount, ESP_FLOAT, ESP_SUM,
                              o, n, r);
      };
      CHECK_OK(start_and_wait(context.world, way_of(algorithm), scans), context.world, "");
      const bool same =
          turn == 0 || std::memcmp(first.data(), again.data(), kCount * sizeof(float)) == 0;
      CHECK(same, "algorithm {} differs in turn {}", static_cast<int>(algorithm), turn);
    }
  }
}

}  // namespace
}  // namespace scan_cases

void scan(const Context& context) {
  scan_cases::every_operator(context);
  scan_cases::every_form(context);
  scan_cases::every_algorithm(context);
  scan_cases::segments(context);
  scan_cases::large(context);
  scan_cases::non_commutative(context);
  scan_cases::floats_bit_identical(context);
}

}  // namespace test
