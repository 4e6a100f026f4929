// One reduce-scatter with its check. Called by all members of the team; checks this rank's part.
// path: setup
#pragma once

#include <fmt/ranges.h>

#include "tests/support/gathers.hpp"
#include "tests/support/rooted.hpp"

namespace test {

struct Parts {
  std::vector<std::size_t> counts;  // of each member; not irregular: all the same
  esp_type type = ESP_INT32;
  esp_op op = ESP_SUM;
  bool irregular = true;
  bool in_place = false;
};

// The first `count` elements of a table that repeats, from element `begin` on.
inline std::vector<unsigned char> repeat(const std::vector<unsigned char>& table,
                                         std::size_t element, std::size_t begin,
                                         std::size_t count) {
  std::vector<unsigned char> all(count * element);
  for (std::size_t i = 0; i < count; ++i) {
    std::copy_n(&table[(begin + i) % kPeriod * element], element, &all[i * element]);
  }
  return all;
}

inline void check_reduce_scatter(esp_team* team, const Parts& p, const Way& way) {
  const auto me = static_cast<std::size_t>(esp_team_rank(team));
  const Layout blocks = packed(p.counts);
  const std::size_t all = blocks.extent(), count = p.counts[me], begin = blocks.begin(me);
  const Typed type = builtin(p.type);
  const auto mine =
      repeat(contribution_table(p.type, p.op, static_cast<int>(me)), type.element(), 0, all);
  Memory input(p.in_place ? 0 : type.reach(all)), output(type.reach(p.in_place ? all : count));
  (p.in_place ? output : input).put(0, type, all, mine);
  const void* source = p.in_place ? ESP_IN_PLACE : input.data();
  void* target = output.data();
  const esp_status status =
      p.irregular ? run(
                        team, way, {&input, &output},
                        [&](auto* f, auto... how) {
                          return f(team, source, target, p.counts.data(), p.type, p.op, how...);
                        },
                        esp_reduce_scatter, esp_reduce_scatter_start, esp_reduce_scatter_init)
                  : run(
                        team, way, {&input, &output},
                        [&](auto* f, auto... how) {
                          return f(team, source, target, count, p.type, p.op, how...);
                        },
                        esp_reduce_scatter_block, esp_reduce_scatter_block_start,
                        esp_reduce_scatter_block_init);
  const std::string text =
      fmt::format("reduce-scatter{} of {} {} {}{} at {}, {}", p.irregular ? "" : "-block",
                  fmt::join(p.counts, ","), esp_type_name(p.type), esp_op_name(p.op),
                  p.in_place ? " in place" : "", me, describe(way));
  if (!has_result(status, way, team, text)) return;
  // By value, then as it is: padding does not count.
  const auto table = result_table(p.type, p.op, esp_team_size(team));
  const auto expected = repeat(table, type.element(), begin, kPeriod);
  CHECK_EQ(first_difference(p.type, target, count, expected), count, "{}", text);
  output.ignore(0, type.reach(p.in_place ? all : count));
  output.check(text);
  input.check("input of " + text);
}

}  // namespace test
