// Allgathers, regular and not: every algorithm, form, layout and type.
#include "tests/api/cases.hpp"
#include "tests/support/gathers.hpp"

namespace test {
namespace allgather_cases {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

// counts[r] = of(r).
template <typename Of>
std::vector<std::size_t> counts_of(int size, Of&& of) {
  std::vector<std::size_t> counts;
  for (int r = 0; r < size; ++r) counts.push_back(static_cast<std::size_t>(of(r)));
  return counts;
}

std::vector<std::vector<std::size_t>> irregular_counts(int size) {
  return {
      counts_of(size, [](int) { return 1; }),
      counts_of(size, [](int r) { return r + 1; }),
      counts_of(size, [](int r) { return r % 3 == 1 ? 0 : 700; }),
      counts_of(size, [](int) { return 0; }),
      counts_of(size, [&](int r) { return r == size - 1 ? 1111 : 0; }),
      counts_of(size, [](int r) { return r == 0 ? 33'333 : r % 2; }),
  };
}

void both_places(const Context& context, Gather gather, const Way& way) {
  for (const bool in_place : {false, true}) {
    gather.in_place = in_place;
    check_allgather(context.world, gather, way);
  }
}

void regular(const Context& context, std::size_t count, esp_type type, const Way& way) {
  const Layout layout = packed(counts_of(context.size, [=](int) { return count; }));
  both_places(context, {.layout = layout, .type = type, .irregular = false}, way);
}

void every_type(const Context& context) {
  for (int t = 0; t < ESP_TYPE_COUNT; ++t) {
    for (const std::size_t count : {1u, 17u}) {
      regular(context, count, static_cast<esp_type>(t), {});
    }
  }
}

void every_form(const Context& context) {
  for (const Form form : kForms) {
    for (const std::size_t count : {0u, 1u, 8u, 100u, 5000u}) {
      regular(context, count, ESP_INT32, {.form = form});
    }
    for (const auto& counts : irregular_counts(context.size)) {
      both_places(context, {.layout = packed(counts), .type = ESP_INT16}, {.form = form});
      both_places(context, {.layout = scattered(counts, 3), .type = ESP_INT16}, {.form = form});
    }
  }
}

void every_algorithm(const Context& context) {
  for (int algorithm = 0; algorithm < ESP_ALGORITHM_COUNT; ++algorithm) {
    Way way{.form = Form::kRequest};
    way.options.algorithm = static_cast<esp_algorithm>(algorithm);
    for (const std::size_t count : {0u, 1u, 7u, 1000u, 30'000u}) {
      regular(context, count, ESP_INT32, way);
    }
    for (const auto& counts : irregular_counts(context.size)) {
      both_places(context, {.layout = scattered(counts, 1), .type = ESP_SHORT_INT}, way);
    }
  }
}

// Many small segments, more than are eager, with narrow windows, wide and unequal ones; more and
// fewer rounds.
void segments_and_radices(const Context& context) {
  const Layout uneven =
      scattered(counts_of(context.size, [](int r) { return 800 - r % 5 * 100; }), 2);
  // More segments than may be sent at once unasked, then blocks of one each.
  const Layout one_long = packed(counts_of(context.size, [](int r) { return r == 0 ? 576 : 1; }));
  for (const esp_algorithm algorithm :
       {ESP_ALGORITHM_TREE, ESP_ALGORITHM_PUBLISH, ESP_ALGORITHM_RING, ESP_ALGORITHM_BRUCK,
        ESP_ALGORITHM_DOUBLING}) {
    for (const auto& [sends, receives] :
         {std::pair{1, 1}, std::pair{1, 6}, std::pair{2, 2}, std::pair{8, 8}, std::pair{64, 64}}) {
      Way way{.form = Form::kCounter};
      way.options.algorithm = algorithm;
      way.options.window_send = sends;
      way.options.window_recv = receives;
      way.options.segment_bytes = 256;
      regular(context, 601, ESP_DOUBLE, way);
      both_places(context, {.layout = uneven, .type = ESP_DOUBLE}, way);
      both_places(context, {.layout = one_long, .type = ESP_DOUBLE}, way);
    }
  }
  for (const int radix : {2, 3, 4, 7, 20}) {
    Way way{.form = Form::kRequest};
    way.options.algorithm = ESP_ALGORITHM_BRUCK;
    way.options.radix = radix;
    regular(context, 77, ESP_INT64, way);
    both_places(context, {.layout = uneven, .type = ESP_DOUBLE}, way);
  }
}

void large(const Context& context) {
  const std::size_t all = context.size > 8 ? kMiB : 4 * kMiB;  // where many ranks share cores
  const std::size_t share = all / static_cast<std::size_t>(context.size);
  const Layout uneven = scattered(
      counts_of(context.size, [&](int r) { return r % 2 == 0 ? share + 5 : share / 7; }), 64);
  for (const esp_algorithm algorithm :
       {ESP_ALGORITHM_AUTO, ESP_ALGORITHM_TREE, ESP_ALGORITHM_PUBLISH, ESP_ALGORITHM_RING,
        ESP_ALGORITHM_BRUCK, ESP_ALGORITHM_DOUBLING}) {
    Way way{.form = Form::kRequest};
    way.options.algorithm = algorithm;
    regular(context, share + 1, ESP_BYTE, way);
    both_places(context, {.layout = uneven}, way);
  }
}

}  // namespace
}  // namespace allgather_cases

void allgather(const Context& context) {
  allgather_cases::every_type(context);
  allgather_cases::every_form(context);
  allgather_cases::every_algorithm(context);
  allgather_cases::segments_and_radices(context);
  allgather_cases::large(context);
}

}  // namespace test
