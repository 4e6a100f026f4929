// The C++ layer of graphs: what they say of themselves, every function in its forms, and what it
// says of ranges that do not fit together.
#include <fmt/ranges.h>

#include <array>
#include <span>
#include <string>
#include <vector>

#include "tests/api/cases.hpp"
#include "tests/support/cpp_forms.hpp"

namespace test {
namespace cpp_graph_cases {
namespace {

static_assert(std::is_move_constructible_v<esp::Graph> && std::is_move_assignable_v<esp::Graph>);
static_assert(!std::is_copy_constructible_v<esp::Graph>);

// A ring: what comes from before, and goes to the next.
struct Ring {
  explicit Ring(esp::TeamRef world)
      : me(world.rank()),
        before((me + world.size() - 1) % world.size()),
        next((me + 1) % world.size()) {}
  int me, before, next;
};

void exchanges(esp::TeamRef world, const esp::Graph& grid, int form) {
  const Ring ring(world);
  const std::vector<int> mine(2, ring.me), pair = {10 * ring.me, 10 * ring.me + 1};
  std::vector<int> all(4, -1), halo(2, -1), apart(7, -1);
  RUN_ON(grid, form, allgather, mine, all);
  CHECK_EQ(all, (std::vector<int>{ring.before, ring.before, ring.next, ring.next}), "allgather");
  RUN_ON(grid, form, alltoall, pair, halo);
  // What came from below was sent to above, and the other way round.
  CHECK_EQ(halo, (std::vector<int>{10 * ring.before + 1, 10 * ring.next}), "alltoall");
  const std::vector<std::size_t> twos(2, 2), ones(2, 1), places = {4, 1}, bytes = {0, 4};
  RUN_ON(grid, form, allgatherv, mine, apart, esp::Blocks(twos, places));
  CHECK_EQ(apart, (std::vector<int>{-1, ring.next, ring.next, -1, ring.before, ring.before, -1}),
           "allgatherv");
  halo.assign(2, -1);
  RUN_ON(grid, form, alltoallv, pair, ones, halo, ones);
  CHECK_EQ(halo, (std::vector<int>{10 * ring.before + 1, 10 * ring.next}), "alltoallv");
  const std::vector<esp_type> ints(2, ESP_INT32), unsigned_ints(2, ESP_UINT32);
  halo.assign(2, -1);
  RUN_ON(grid, form, alltoallw, pair, esp::TypedBlocks(ones, bytes, ints), halo,
         esp::TypedBlocks(ones, bytes, unsigned_ints));
  CHECK_EQ(halo, (std::vector<int>{10 * ring.before + 1, 10 * ring.next}), "alltoallw");
}

void what_does_not_fit(const esp::Graph& grid) {
  std::vector<int> two(2), three(3), four(4);
  const std::vector<std::size_t> twos(2, 2), threes(3, 1);
  const std::vector<esp_type> types(3, ESP_INT32);
  DOES_NOT_FIT_ON(grid, "for each source", allgather, two, three);
  DOES_NOT_FIT_ON(grid, "one length", alltoall, three, three);
  DOES_NOT_FIT_ON(grid, "one length", alltoall, two, four);
  DOES_NOT_FIT_ON(grid, "entry for each", allgatherv, two, four, threes);
  DOES_NOT_FIT_ON(grid, "outside", allgatherv, two, three, twos);
  DOES_NOT_FIT_ON(grid, "outside", alltoallv, three, twos, four, twos);
  DOES_NOT_FIT_ON(grid, "entry for each", alltoallv, four, threes, four, twos);
  DOES_NOT_FIT_ON(grid, "entry for each", alltoallw, four, esp::TypedBlocks(threes, threes, types),
                  four, esp::TypedBlocks());
}

void life(esp::TeamRef world) {
  const Ring ring(world);
  const std::array sources{ring.before, esp::kNoNeighbor};
  const std::array destinations{ring.next};
  auto made = world.graph(sources, std::span(destinations).first(1));
  CHECK(made.ok(), "{}", world.error());
  if (!made.ok()) return;
  esp::Graph graph = std::move(made).value();
  CHECK_EQ(graph.sources().size(), std::size_t{2}, "");
  CHECK_EQ(graph.sources()[0], ring.before, "");
  CHECK_EQ(graph.sources()[1], esp::kNoNeighbor, "");
  CHECK_EQ(graph.destinations()[0], ring.next, "");
  std::array<int, 2> got{-1, -1};
  const int mine = 7 + ring.me;
  CHECK_S(graph.alltoall(esp::one(mine), got));
  CHECK_EQ(got[0], 7 + ring.before, "");
  CHECK_EQ(got[1], -1, "of nobody comes nothing");
  esp::Graph other = std::move(graph);
  CHECK(graph.get() == nullptr && other.get() != nullptr, "moved");
  graph = std::move(other);
  CHECK_S(graph.free());
  CHECK(graph.get() == nullptr, "freed");
  CHECK_EQ(world.grid(std::array{1, 2}, std::array{1}).code(), ESP_ERR_ARGUMENT, "");
  CHECK_EQ(world.grid(std::array{-1}, std::array{1}).code(), ESP_ERR_ARGUMENT, "");
  CHECK_EQ(world.graph(std::array{world.size()}, {}).code(), ESP_ERR_ARGUMENT, "");
}

}  // namespace
}  // namespace cpp_graph_cases

void cpp_graph(const Context& context) {
  const esp::TeamRef world(context.world);
  cpp_graph_cases::life(world);
  auto grid = world.grid(std::array{world.size()}, std::array{1});
  CHECK(grid.ok(), "{}", world.error());
  if (!grid.ok()) return;
  cpp_graph_cases::what_does_not_fit(*grid);
  for (int form = 0; form < kCppForms; ++form) cpp_graph_cases::exchanges(world, *grid, form);
}

}  // namespace test
