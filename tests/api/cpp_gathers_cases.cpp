// The C++ layer of gathers and scans: every function in its three forms, in place and not, and what
// it says of ranges that do not fit together.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "espalier/espalier.hpp"
#include "tests/api/cases.hpp"
#include "tests/support/cpp_forms.hpp"

namespace test {
namespace cpp_gathers_cases {
namespace {

static_assert(std::is_convertible_v<const std::vector<std::size_t>&, esp::Blocks>);
static_assert(std::is_convertible_v<std::span<const std::size_t>, esp::Blocks>);
static_assert(!std::is_convertible_v<std::vector<std::size_t>, esp::Blocks>);
static_assert(!std::is_convertible_v<std::vector<int>&, esp::Blocks>);
static_assert(sizeof(esp::TeamRef) == sizeof(void*));

std::size_t members_of(esp::TeamRef world) {
  return static_cast<std::size_t>(world.size());
}

// The ranks' numbers, each `each` times.
std::vector<int> ranks(esp::TeamRef world, std::size_t each) {
  std::vector<int> all;
  for (int r = 0; r < world.size(); ++r) all.insert(all.end(), each, r);
  return all;
}

void regular(esp::TeamRef world, int form) {
  const std::vector<int> mine(3, world.rank()), expected = ranks(world, 3);
  std::vector<int> all(expected.size(), -1), back(all);
  RUN(form, allgather, mine, all);
  CHECK_EQ(all, expected, "allgather");
  std::fill(all.begin(), all.end(), -1);
  std::fill_n(all.begin() + 3 * world.rank(), 3, world.rank());
  RUN(form, allgather_in_place, all);
  CHECK_EQ(all, expected, "allgather in place");
  RUN(form, alltoall, all, back);
  CHECK_EQ(back, std::vector<int>(all.size(), world.rank()), "alltoall");
  RUN(form, alltoall_in_place, std::span(back));
  CHECK_EQ(back, expected, "alltoall in place");
}

// Rank r has r + 1 elements. Displacements leave one element free before each block.
void irregular_gather(esp::TeamRef world, int form) {
  const std::size_t members = members_of(world), me = static_cast<std::size_t>(world.rank());
  std::vector<std::size_t> counts(members), displs(members);
  std::iota(counts.begin(), counts.end(), 1u);
  for (std::size_t r = 0; r < members; ++r) displs[r] = r * (r + 1) / 2 + r + 1;
  const std::vector<long> mine(me + 1, 5 * world.rank());
  std::vector<long> packed(members * (members + 1) / 2, -1), spread(packed.size() + members, -1);
  RUN(form, allgatherv, mine, packed, counts);
  RUN(form, allgatherv, mine, spread, esp::Blocks(counts, displs));
  std::vector<long> in_place(spread.size(), -1);
  std::copy(mine.begin(), mine.end(), in_place.begin() + static_cast<std::ptrdiff_t>(displs[me]));
  RUN(form, allgatherv_in_place, in_place, esp::Blocks(counts, std::span(displs)));
  CHECK_EQ(in_place, spread, "allgatherv in place");
  for (std::size_t r = 0, at = 0; r < members; ++r) {
    CHECK_EQ(spread[displs[r] - 1], -1L, "before the block of rank {}", r);
    for (std::size_t i = 0; i <= r; ++i, ++at) {
      CHECK_EQ(packed[at], 5L * static_cast<long>(r), "element {} of rank {}", i, r);
      CHECK_EQ(spread[displs[r] + i], packed[at], "element {} of rank {}", i, r);
    }
  }
}

// Rank r sends r + 1 elements to everybody, at displacements in reverse.
void irregular_exchange(esp::TeamRef world, int form) {
  const std::size_t members = members_of(world), mine = static_cast<std::size_t>(world.rank()) + 1;
  const std::vector<std::size_t> sent(members, mine);
  std::vector<std::size_t> received(members), backwards(members);
  std::iota(received.begin(), received.end(), 1u);
  for (std::size_t r = 0; r < members; ++r) backwards[r] = (members - 1 - r) * mine;
  std::vector<int> input = ranks(world, mine), output(members * (members + 1) / 2, -1);
  for (int& x : input) x = 100 * world.rank() + x;
  std::vector<int> reversed(input.size());
  for (std::size_t r = 0; r < members; ++r) {
    std::copy_n(&input[r * mine], mine, &reversed[backwards[r]]);
  }
  const auto check = [&](const char* what) {
    for (std::size_t r = 0, at = 0; r < members; ++r) {
      for (std::size_t i = 0; i <= r; ++i, ++at) {
        CHECK_EQ(output[at], 100 * static_cast<int>(r) + world.rank(), "{} from rank {}", what, r);
      }
    }
    std::fill(output.begin(), output.end(), -1);
  };
  RUN(form, alltoallv, input, sent, output, received);
  check("alltoallv");
  RUN(form, alltoallv, reversed, esp::Blocks(sent, backwards), output, received);
  check("alltoallv with displacements");
  const std::vector<std::size_t> twos(members, 2);
  std::vector<int> in_place = ranks(world, 2);
  for (int& x : in_place) x = 100 * world.rank() + x;
  RUN(form, alltoallv_in_place, in_place, twos);
  std::vector<int> expected = ranks(world, 2);
  for (int& x : expected) x = 100 * x + world.rank();
  CHECK_EQ(in_place, expected, "alltoallv in place");
}

void prefixes(esp::TeamRef world, int form) {
  const int me = world.rank(), before = me * (me - 1) / 2;
  const std::array<int, 2> mine{me, 10 * me};
  std::array<int, 2> sum{-1, -1}, up_to{-1, -1};
  RUN(form, scan, mine, sum, esp::kSum);
  RUN(form, exscan, mine, up_to, esp::kSum);
  CHECK_EQ(sum[1], 10 * (before + me), "scan");
  CHECK_EQ(up_to[1], me == 0 ? -1 : 10 * before, "exscan");
  long first = me + 1, second = me + 1;
  RUN(form, scan_in_place, esp::one(first), esp::kMax);
  RUN(form, exscan_in_place, esp::one(second), esp::kMax);
  CHECK_EQ(first, me + 1L, "scan in place");
  CHECK_EQ(second, me == 0 ? 1L : static_cast<long>(me), "exscan in place");
}

void what_does_not_fit(esp::TeamRef world) {
  const std::size_t members = members_of(world);
  if (members == 1) return;  // It is shared by no more than one.
  std::vector<int> mine(3), all(3 * members), other(3 * members), more(3 * members + 1);
  const std::vector<std::size_t> threes(members, 3), fours(members, 4), missing(members - 1, 3);
  std::vector<std::size_t> far(members, 0);
  far.back() = ~std::size_t{0};
  DOES_NOT_FIT("not that of all members", allgather, all, other);
  DOES_NOT_FIT("multiple", allgather, mine, more);
  DOES_NOT_FIT("multiple", allgather_in_place, more);
  DOES_NOT_FIT("multiple", alltoall, more, more);
  DOES_NOT_FIT("multiple", alltoall_in_place, more);
  DOES_NOT_FIT("differ in length", alltoall, all, more);
  DOES_NOT_FIT("entry for each member", allgatherv, mine, all, missing);
  DOES_NOT_FIT("entry for each member", allgatherv, mine, all, esp::Blocks(threes, missing));
  DOES_NOT_FIT("outside", allgatherv, mine, all, fours);
  DOES_NOT_FIT("outside", allgatherv_in_place, all, esp::Blocks(threes, far));
  DOES_NOT_FIT("not this rank's count", allgatherv, all, more, threes);
  DOES_NOT_FIT("outside", alltoallv, all, fours, more, threes);
  DOES_NOT_FIT("outside", alltoallv, all, threes, other, esp::Blocks(threes, far));
  DOES_NOT_FIT("outside", alltoallv_in_place, all, fours);
  DOES_NOT_FIT("differ in length", scan, mine, more, esp::kSum);
  DOES_NOT_FIT("differ in length", exscan, mine, more, esp::kSum);
}

}  // namespace
}  // namespace cpp_gathers_cases

void cpp_gathers(const Context& context) {
  const esp::TeamRef world(context.world);
  cpp_gathers_cases::what_does_not_fit(world);
  for (int form = 0; form < kStartingForms; ++form) {
    cpp_gathers_cases::regular(world, form);
    cpp_gathers_cases::irregular_gather(world, form);
    cpp_gathers_cases::irregular_exchange(world, form);
    cpp_gathers_cases::prefixes(world, form);
  }
}

}  // namespace test
