// Gathers to a root and scatters from it: every root, form, type, layout and algorithm.
#include "tests/api/cases.hpp"
#include "tests/support/rooted.hpp"

namespace test {
namespace rooted_cases {
namespace {

void both(const Context& context, ToRoot g, const Way& way) {
  for (const bool in_place : {false, true}) {
    g.in_place = in_place;
    (void)check_gather(context.world, g, way);
    (void)check_scatter(context.world, g, way);
  }
}

Layout equal(const Context& context, std::size_t count) {
  return packed(std::vector<std::size_t>(static_cast<std::size_t>(context.size), count));
}

void every_root(const Context& context) {
  for (int root = 0; root < context.size; ++root) {
    for (const std::size_t count : {0u, 1u, 40u, 5000u}) {
      both(context, {.layout = equal(context, count), .root = root, .irregular = false}, {});
    }
    for (const auto& counts : unequal_counts(context.size)) {
      both(context, {.layout = packed(counts), .root = root}, {});
      both(context, {.layout = scattered(counts, 3), .root = root}, {});
    }
  }
}

void every_form(const Context& context) {
  const int root = context.size / 2;
  for (const Form form : kAllForms) {
    for (const std::size_t count : {0u, 1u, 8u, 600u, 20'000u}) {
      both(context, {.layout = equal(context, count), .root = root, .irregular = false},
           {.form = form});
    }
    for (const auto& counts : unequal_counts(context.size)) {
      both(context, {.layout = scattered(counts, 2), .root = root}, {.form = form});
    }
  }
}

void every_type(const Context& context) {
  for (int t = 0; t < ESP_TYPE_COUNT; ++t) {
    const Typed type = builtin(static_cast<esp_type>(t));
    const int root = t % context.size;
    both(context,
         {.layout = equal(context, 17),
          .root_type = type,
          .type = type,
          .root = root,
          .irregular = false},
         {});
    both(context,
         {.layout = scattered(unequal_counts(context.size)[0], 1),
          .root_type = type,
          .type = type,
          .root = root},
         {});
  }
}

void every_algorithm(const Context& context) {
  for (int algorithm = 0; algorithm < ESP_ALGORITHM_COUNT; ++algorithm) {
    Way way{.form = Form::kRequest};
    way.options.algorithm = static_cast<esp_algorithm>(algorithm);
    for (const int root : {0, context.size - 1}) {
      for (const std::size_t count : {0u, 1u, 1000u, 30'000u}) {
        both(context, {.layout = equal(context, count), .root = root, .irregular = false}, way);
      }
      both(context, {.layout = scattered(unequal_counts(context.size)[3], 4), .root = root}, way);
    }
  }
}

// Many small segments, narrow windows, trees of many shapes.
void segments_and_shapes(const Context& context) {
  for (const int window : {1, 2, 64}) {
    Way way{.form = Form::kCounter};
    way.options.window_send = way.options.window_recv = window;
    way.options.segment_bytes = 256;
    both(context, {.layout = equal(context, 3001), .root = context.size - 1, .irregular = false},
         way);
    both(context, {.layout = scattered(unequal_counts(context.size)[3], 1), .root = 0}, way);
  }
  for (int shape = 0; shape < ESP_SHAPE_COUNT; ++shape) {
    Way way{.form = Form::kRequest};
    way.options.shape = static_cast<esp_shape>(shape);
    both(context, {.layout = equal(context, 50), .root = context.size / 3, .irregular = false},
         way);
  }
}

// The same counts in all, in other places and of other members from call to call.
void other_places(const Context& context) {
  const auto members = static_cast<std::size_t>(context.size);
  for (std::size_t turn = 0; turn < 12; ++turn) {
    std::vector<std::size_t> counts(members, 10);
    counts[turn % members] -= turn % 11;
    counts[(turn + 1) % members] += turn % 11;
    both(context,
         {.layout = turn % 2 == 0 ? packed(counts) : scattered(counts, turn),
          .root = static_cast<int>(turn) % context.size},
         {});
  }
}

void large(const Context& context) {
  const std::size_t share = (std::size_t{8} << 20) / static_cast<std::size_t>(context.size);
  std::vector<std::size_t> counts(static_cast<std::size_t>(context.size), share / 4);
  counts.back() += 5;
  both(context, {.layout = equal(context, share / 4 + 1), .root = 0, .irregular = false}, {});
  both(context, {.layout = scattered(counts, 7), .root = context.size - 1}, {});
}

// Halves of the job whose members stand in reverse, and each alone.
void on_teams(const Context& context) {
  for (const int color : {context.rank % 2, context.rank}) {
    esp_team* team = nullptr;
    CHECK_OK(esp_team_split(context.world, color, -context.rank, &team), context.world, "");
    if (team == nullptr) return;
    const auto members = static_cast<std::size_t>(esp_team_size(team));
    for (const std::size_t count : {0u, 1u, 5000u}) {
      const std::vector<std::size_t> counts(members, count);
      for (const bool irregular : {false, true}) {
        const ToRoot g{
            .layout = packed(counts), .root = esp_team_size(team) - 1, .irregular = irregular};
        (void)check_gather(team, g, {});
        (void)check_scatter(team, g, {});
      }
    }
    CHECK_OK(esp_team_free(team), context.world, "");
  }
}

}  // namespace
}  // namespace rooted_cases

void rooted(const Context& context) {
  rooted_cases::every_root(context);
  rooted_cases::every_form(context);
  rooted_cases::every_type(context);
  rooted_cases::every_algorithm(context);
  rooted_cases::segments_and_shapes(context);
  rooted_cases::other_places(context);
  rooted_cases::large(context);
  rooted_cases::on_teams(context);
}

}  // namespace test
