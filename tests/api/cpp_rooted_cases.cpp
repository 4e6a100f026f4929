// The C++ layer of gathers to a root, scatters, reduce-scatters, alltoallw and patterns: every
// function in its forms, in place and not, and what it says of ranges that do not fit together.
#include <fmt/ranges.h>

#include <array>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "tests/api/cases.hpp"
#include "tests/support/cpp_forms.hpp"

namespace test {
namespace cpp_rooted_cases {
namespace {

static_assert(sizeof(esp::TeamRef) == sizeof(void*));
static_assert(esp::Writable<esp::Patterned<int>> && esp::ReadableLater<esp::Patterned<const int>>);
static_assert(!esp::Writable<esp::Patterned<const int>>);
static_assert(!std::is_copy_constructible_v<esp::Pattern<int>>);
static_assert(!std::is_convertible_v<std::vector<std::size_t>, esp::Blocks>);

std::size_t count_of(esp::TeamRef world) {
  return static_cast<std::size_t>(world.size());
}
// The ranks' numbers, each `each` times; and rank r's r + 1 times.
std::vector<int> ranks_of(esp::TeamRef world, std::size_t each) {
  std::vector<int> all;
  for (int r = 0; r < world.size(); ++r) {
    all.insert(all.end(), each > 0 ? each : static_cast<std::size_t>(r) + 1, r);
  }
  return all;
}

void regular(esp::TeamRef world, int form) {
  const int root = world.size() - 1;
  const bool at_root = world.rank() == root;
  const std::vector<int> mine(3, world.rank()), expected = ranks_of(world, 3);
  std::vector<int> all(at_root ? expected.size() : 0, -1), back(3, -1);
  RUN(form, gather, mine, all, root);
  if (at_root) CHECK_EQ(all, expected, "gather");
  RUN(form, scatter, all, back, root);
  CHECK_EQ(back, mine, "scatter");
  std::vector<int> buffer = at_root ? std::vector<int>(expected.size(), -1) : mine;
  if (at_root) std::fill_n(buffer.end() - 3, 3, root);
  RUN(form, gather_in_place, buffer, root);
  CHECK_EQ(buffer, at_root ? expected : mine, "gather in place");
  if (!at_root) buffer.assign(3, -1);
  RUN(form, scatter_in_place, std::span(buffer), root);
  CHECK_EQ(buffer, at_root ? expected : mine, "scatter in place");
}

void irregular(esp::TeamRef world, int form) {
  const bool at_root = world.rank() == 0;
  const std::size_t members = count_of(world), me = static_cast<std::size_t>(world.rank());
  std::vector<std::size_t> counts(members), displs(members);
  std::iota(counts.begin(), counts.end(), 1u);
  for (std::size_t r = 0; r < members; ++r) displs[r] = r * (r + 1) / 2 + r + 1;
  const esp::Blocks apart = at_root ? esp::Blocks(counts, displs) : esp::Blocks();
  const std::vector<int> mine(me + 1, world.rank()), expected = ranks_of(world, 0);
  std::vector<int> all(at_root ? expected.size() : 0, -1), back(mine.size(), -1);
  std::vector<int> spread(at_root ? expected.size() + members : 0, -1);
  RUN(form, gatherv, mine, all, counts, 0);
  RUN(form, gatherv, mine, spread, apart, 0);
  if (at_root) {
    CHECK_EQ(all, expected, "gatherv");
    for (std::size_t r = 0; r < members; ++r) {
      CHECK_EQ(spread[displs[r] - 1], -1, "before block {}", r);
      CHECK_EQ(spread[displs[r] + r], static_cast<int>(r), "block {}", r);
    }
  }
  RUN(form, scatterv, spread, apart, back, 0);
  CHECK_EQ(back, mine, "scatterv");
  std::vector<int> buffer = at_root ? spread : mine;
  if (at_root) std::fill(buffer.begin() + 2, buffer.end(), -1);
  RUN(form, gatherv_in_place, buffer, apart, 0);
  CHECK_EQ(buffer, at_root ? spread : mine, "gatherv in place");
  if (!at_root) buffer.assign(mine.size(), -1);
  RUN(form, scatterv_in_place, buffer, apart, 0);
  CHECK_EQ(buffer, at_root ? spread : mine, "scatterv in place");
}

void reduce_scatters(esp::TeamRef world, int form) {
  const std::size_t members = count_of(world), me = static_cast<std::size_t>(world.rank());
  const std::vector<int> input = ranks_of(world, 2);
  std::vector<int> part(2, -1);
  RUN(form, reduce_scatter_block, input, part, esp::kSum);
  CHECK_EQ(part, std::vector<int>(2, world.rank() * world.size()), "reduce_scatter_block");
  const std::vector<int> uneven = ranks_of(world, 0);
  std::vector<std::size_t> counts(members);
  std::iota(counts.begin(), counts.end(), 1u);
  std::vector<int> mine(me + 1, -1);
  RUN(form, reduce_scatter, uneven, mine, counts, esp::kSum);
  CHECK_EQ(mine, std::vector<int>(me + 1, world.rank() * world.size()), "reduce_scatter");
  // Largest, so that a second round gives the same.
  std::vector<int> buffer = input;
  RUN(form, reduce_scatter_block_in_place, buffer, esp::kMax);
  if (form < kStartingForms) CHECK_EQ(buffer[1], world.rank(), "in place");
  buffer = uneven;
  RUN(form, reduce_scatter_in_place, buffer, counts, esp::kMax);
  if (form < kStartingForms) CHECK_EQ(buffer[me], world.rank(), "in place");
}

// Patterns go where ranges go.
void patterns(const Context& context, esp::TeamRef world, int form) {
  esp_job* const job = context.job;
  constexpr std::size_t kRows = 4, kColumns = 6;
  auto column = esp::Pattern<int>::strided(
      job, {.blocks = kRows, .length = 1, .stride = kColumns, .extent = 1});
  CHECK(column.ok(), "{}", esp_job_error(job));
  if (!column.ok()) return;
  std::vector<int> matrix(kRows * kColumns, -1);
  const auto third = column->in(std::span(matrix).subspan(2));
  for (std::size_t r = 0; world.rank() == 0 && r < kRows; ++r) matrix[r * kColumns + 2] = 5;
  RUN(form, bcast, third, 0);
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    CHECK_EQ(matrix[i], i % kColumns == 2 ? 5 : -1, "element {} of a bcast", i);
  }
  RUN(form, allreduce_in_place, column->in(matrix, 2), esp::kMax);
  std::vector<int> wide(kRows * count_of(world), -1);
  auto of_all = esp::Pattern<int>::strided(
      job, {.blocks = kRows, .length = 1, .stride = count_of(world), .extent = 1});
  CHECK(of_all.ok(), "{}", esp_job_error(job));
  if (!of_all.ok()) return;
  for (std::size_t r = 0; r < kRows; ++r) {
    wide[r * count_of(world) + static_cast<std::size_t>(world.rank())] = world.rank();
  }
  RUN(form, allgather_in_place, of_all->in(wide, count_of(world)));
  for (std::size_t i = 0; i < wide.size(); ++i) {
    CHECK_EQ(wide[i], static_cast<int>(i % count_of(world)), "element {} of an allgather", i);
  }
  // Of blocks, to a root.
  const std::array<std::size_t, 2> lengths{2, 1}, displs{3, 0};
  auto pieces = esp::Pattern<int>::blocks(job, lengths, displs);
  CHECK(pieces.ok(), "{}", esp_job_error(job));
  if (!pieces.ok()) return;
  CHECK_EQ(pieces->extent(), std::size_t{5}, "");
  std::vector<int> mine = {7, 0, 0, 8, 9}, all(5 * count_of(world), -1);
  RUN(form, gather, pieces->in(mine), pieces->in(all, count_of(world)), 0);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::array<int, 5> expected{7, -1, -1, 8, 9};
    CHECK_EQ(all[i], world.rank() == 0 ? expected[i % 5] : -1, "element {} of a gather", i);
  }
  // What does not fit.
  DOES_NOT_FIT("beyond", bcast, column->in(std::span(matrix).subspan(6)), 0);
  DOES_NOT_FIT("beyond", allreduce_in_place, column->in(matrix, 7), esp::kMax);
  DOES_NOT_FIT("pattern", allreduce, column->in(matrix, 1), pieces->in(all, 1), esp::kMax);
  DOES_NOT_FIT("pattern", scan, column->in(matrix, 1), std::span(all).first(1), esp::kMax);
  CHECK_EQ(esp::Pattern<int>::blocks(job, lengths, std::span(displs).first(1)).code(),
           ESP_ERR_ARGUMENT, "");
  CHECK_EQ(esp::Pattern<int>::strided(job, {}).code(), ESP_ERR_ARGUMENT, "elements of nothing");
}

// Rank r sends one pair of ints to each, which comes as a long.
void typed(esp::TeamRef world, int form) {
  const std::size_t members = count_of(world);
  std::vector<std::array<int, 2>> pairs(members);
  for (std::size_t r = 0; r < members; ++r) pairs[r] = {world.rank(), static_cast<int>(r)};
  std::vector<int> input;
  for (const auto& p : pairs) input.insert(input.end(), p.begin(), p.end());
  std::vector<long> output(members, -1);
  const std::vector<std::size_t> twos(members, 2), ones(members, 1);
  std::vector<std::size_t> bytes(members);
  for (std::size_t r = 0; r < members; ++r) bytes[r] = 8 * r;
  const std::vector<esp_type> ints(members, ESP_INT32), longs(members, ESP_INT64);
  const esp::TypedBlocks sent(twos, bytes, ints), received(ones, bytes, longs);
  RUN(form, alltoallw, input, sent, output, received);
  for (std::size_t r = 0; r < members; ++r) {
    CHECK_EQ(output[r], (static_cast<long>(world.rank()) << 32) + static_cast<long>(r), "{}", r);
  }
  RUN(form, alltoallw_in_place, input, sent);
  if (form < kStartingForms) CHECK_EQ(input[1], world.rank(), "in place");
}

void what_does_not_fit(esp::TeamRef world) {
  const std::size_t members = count_of(world);
  const int me = world.rank();
  if (members == 1) return;  // It is shared by no more than one.
  std::vector<int> mine(3), all(3 * members), more(3 * members + 1);
  const std::vector<std::size_t> threes(members, 3), fours(members, 4), missing(members - 1, 3);
  const std::vector<esp_type> types(members - 1, ESP_INT32);
  DOES_NOT_FIT("multiple", gather, mine, more, me);
  DOES_NOT_FIT("not that of all", gather, all, all, me);
  DOES_NOT_FIT("multiple", gather_in_place, more, me);
  DOES_NOT_FIT("entry for each member", gatherv, mine, all, missing, me);
  DOES_NOT_FIT("entry for each member", gatherv, mine, all, esp::Blocks(), me);
  DOES_NOT_FIT("outside", gatherv, mine, all, fours, me);
  DOES_NOT_FIT("not this rank's count", gatherv, all, more, threes, me);
  DOES_NOT_FIT("outside", gatherv_in_place, all, fours, me);
  DOES_NOT_FIT("multiple", scatter, more, mine, me);
  DOES_NOT_FIT("not that of all", scatter, all, more, me);
  DOES_NOT_FIT("outside", scatterv, all, fours, mine, me);
  DOES_NOT_FIT("not this rank's count", scatterv, all, threes, all, me);
  DOES_NOT_FIT("outside", scatterv_in_place, all, fours, me);
  DOES_NOT_FIT("not that of all", reduce_scatter_block, all, all, esp::kSum);
  DOES_NOT_FIT("multiple", reduce_scatter_block_in_place, more, esp::kSum);
  DOES_NOT_FIT("outside", reduce_scatter, all, mine, fours, esp::kSum);
  DOES_NOT_FIT("displacements", reduce_scatter, all, mine, esp::Blocks(threes, threes), esp::kSum);
  DOES_NOT_FIT("this rank's count", reduce_scatter, all, more, threes, esp::kSum);
  DOES_NOT_FIT("entry for each", alltoallw_in_place, all, esp::TypedBlocks(threes, threes, types));
}

}  // namespace
}  // namespace cpp_rooted_cases

void cpp_rooted(const Context& context) {
  const esp::TeamRef world(context.world);
  cpp_rooted_cases::what_does_not_fit(world);
  for (int form = 0; form < kCppForms; ++form) {
    cpp_rooted_cases::regular(world, form);
    cpp_rooted_cases::irregular(world, form);
    cpp_rooted_cases::reduce_scatters(world, form);
    cpp_rooted_cases::typed(world, form);
    cpp_rooted_cases::patterns(context, world, form);
  }
}

}  // namespace test
