// Reduce-scatters: every type and operator, form, layout and algorithm, and the order of
// combination.
#include <cmath>
#include <cstring>
#include <numeric>

#include "tests/api/cases.hpp"
#include "tests/support/compositions.hpp"
#include "tests/support/reduce_scatters.hpp"

namespace test {
namespace reduce_scatter_cases {
namespace {

void both(const Context& context, Parts p, const Way& way) {
  for (const bool in_place : {false, true}) {
    p.in_place = in_place;
    check_reduce_scatter(context.world, p, way);
  }
}
void regular(const Context& context, std::size_t count, const Way& way) {
  both(context,
       {.counts = std::vector<std::size_t>(static_cast<std::size_t>(context.size), count),
        .irregular = false},
       way);
}

void every_operator(const Context& context) {
  const auto members = static_cast<std::size_t>(context.size);
  for (int t = 0; t < ESP_TYPE_COUNT; ++t) {
    const auto type = static_cast<esp_type>(t);
    for (esp_op op = 0; op < ESP_OP_BUILTIN_COUNT; ++op) {
      if (esp_op_defined(op, type) == 0) continue;
      const std::size_t count = 1 + static_cast<std::size_t>(t * 7 + op) % 100;
      both(context,
           {.counts = std::vector<std::size_t>(members, count),
            .type = type,
            .op = op,
            .irregular = false},
           {});
      if ((t + op) % 3 != 0) continue;
      both(context, {.counts = unequal_counts(context.size)[0], .type = type, .op = op}, {});
    }
  }
}

void every_form(const Context& context) {
  for (const Form form : kAllForms) {
    for (const std::size_t count : {0u, 1u, 8u, 700u, 20'000u}) {
      regular(context, count, {.form = form});
    }
    for (const auto& counts : unequal_counts(context.size)) {
      both(context, {.counts = counts, .type = ESP_DOUBLE}, {.form = form});
    }
  }
}

void every_algorithm(const Context& context) {
  for (int algorithm = 0; algorithm < ESP_ALGORITHM_COUNT; ++algorithm) {
    Way way{.form = Form::kRequest};
    way.options.algorithm = static_cast<esp_algorithm>(algorithm);
    for (const std::size_t count : {0u, 1u, 1000u, 30'000u}) regular(context, count, way);
    for (const auto& counts : unequal_counts(context.size)) {
      both(context, {.counts = counts, .type = ESP_INT64, .op = ESP_BXOR}, way);
    }
  }
}

void segments(const Context& context) {
  for (const int window : {1, 2, 64}) {
    Way way{.form = Form::kCounter};
    way.options.window_send = way.options.window_recv = window;
    way.options.segment_bytes = 512;
    regular(context, 3001, way);
    both(context,
         {.counts = unequal_counts(context.size)[3], .type = ESP_SHORT_INT, .op = ESP_MINLOC}, way);
  }
}

void large(const Context& context) {
  const std::size_t share = (std::size_t{2} << 20) / static_cast<std::size_t>(context.size);
  regular(context, share + 1, {});
  auto counts = std::vector<std::size_t>(static_cast<std::size_t>(context.size), share / 2);
  counts.back() += 5;
  both(context, {.counts = counts, .type = ESP_FLOAT, .op = ESP_MAX}, {});
}

// In the order of ranks, once each.
void non_commutative(const Context& context) {
  std::size_t combined = 0;
  esp_op op = -1;
  esp_team* world = context.world;
  const auto members = static_cast<std::size_t>(context.size);
  const auto me = static_cast<std::size_t>(context.rank);
  CHECK_OK(esp_op_create(context.job, apply_compose, &combined, 0, &op), world, "create");
  for (const Form form : {Form::kBlocking, Form::kRequest, Form::kPersistent}) {
    for (const std::size_t count : {1u, 7u, 500u, 20'000u}) {
      std::vector<std::size_t> counts(members, count);
      counts[0] += 3;
      const Layout layout = packed(counts);
      const std::size_t begin = layout.begin(me);
      std::vector<std::uint64_t> mine(layout.extent()), result(counts[me], 99);
      for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = element_of(context.rank, i);
      const esp_status status = run(
          world, {.form = form}, {},
          [&](auto* f, auto... how) {
            return f(world, mine.data(), result.data(), counts.data(), ESP_UINT64, op, how...);
          },
          esp_reduce_scatter, esp_reduce_scatter_start, esp_reduce_scatter_init);
      CHECK_OK(status, world, "{} elements", count);
      for (std::size_t i = 0; i < result.size(); ++i) {
        std::uint64_t expected = element_of(0, begin + i);
        for (int r = 1; r < context.size; ++r) {
          expected = compose(expected, element_of(r, begin + i));
        }
        CHECK_EQ(result[i], expected, "element {} of {}", i, count);
        if (result[i] != expected) break;
      }
    }
  }
  if (context.size == 1) CHECK_EQ(combined, 0u, "an operator ran without a second operand");
  CHECK_OK(esp_op_free(context.job, op), world, "free");
}

// Sums that round differently in every order, with ranks arriving in changing order: always the
// same bits.
void floats_bit_identical(const Context& context) {
  for (const std::size_t count : {3u, 3000u}) {
    std::vector<float> mine(count * static_cast<std::size_t>(context.size));
    std::vector<float> first(count), again(count);
    std::uint32_t state = 12345u + static_cast<std::uint32_t>(context.rank);
    for (float& x : mine) {
      state = state * 1664525u + 1013904223u;
      x = std::ldexp(static_cast<float>(state >> 8), static_cast<int>(state & 31) - 40);
    }
    for (int turn = 0; turn < 30; ++turn) {
      for (int i = 0; turn % context.size == context.rank && i < 50; ++i) {
        (void)esp_progress(context.job);
      }
      auto& result = turn == 0 ? first : again;
      CHECK_OK(esp_reduce_scatter_block(context.world, mine.data(), result.data(), count, ESP_FLOAT,
                                        ESP_SUM),
               context.world, "");
      const bool same =
          turn == 0 || std::memcmp(first.data(), again.data(), count * sizeof(float)) == 0;
      CHECK(same, "{} elements differ in turn {}", count, turn);
    }
  }
}

}  // namespace
}  // namespace reduce_scatter_cases

void reduce_scatter(const Context& context) {
  reduce_scatter_cases::every_operator(context);
  reduce_scatter_cases::every_form(context);
  reduce_scatter_cases::every_algorithm(context);
  reduce_scatter_cases::segments(context);
  reduce_scatter_cases::large(context);
  reduce_scatter_cases::non_commutative(context);
  reduce_scatter_cases::floats_bit_identical(context);
}

}  // namespace test
