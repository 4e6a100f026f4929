// The reproducible sum is the same bits for the same values: dealt out to any number of ranks, by
// any algorithm and in any segments, in every collective that reduces, of every type; an ordinary
// sum is not.
#include <algorithm>
#include <cmath>

#include "tests/api/cases.hpp"
#include "tests/support/rooted.hpp"

namespace test {
namespace reproducible_cases {
namespace {

static_assert(esp::kSumReproducible.value == ESP_SUM_REPRODUCIBLE);

using Data = std::vector<unsigned char>;

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15u + b * 0xbf58476d1ce4e5b9u + 1;
  for (int i = 0; i < 3; ++i) x = (x ^ x >> 29) * 0x94d049bb133111ebu;
  return x ^ x >> 32;
}

// Of magnitudes so different that sums round in every step.
template <typename T>
T number_of(std::uint64_t seed) {
  if constexpr (kIsComplex<T>) {
    using Real = typename T::value_type;
    return {number_of<Real>(seed), number_of<Real>(~seed)};
  } else if constexpr (kIsShortFloat<T>) {
    return T{static_cast<std::uint16_t>(seed & 0xb3ff)};  // no large ones, nor special ones
  } else {
    const T fraction = std::ldexp(static_cast<T>(seed >> 12), -52) + 1;
    return std::ldexp((seed & 1) != 0 ? fraction : -fraction, static_cast<int>(seed >> 1) % 40);
  }
}

// Value j of each element; from `values` on there are zeros.
Data value_data(esp_type type, std::size_t elements, int j, int values) {
  Data data(elements * esp_type_size(type));
  with_type(type, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (kIsComplex<T> || kIsShortFloat<T> || std::is_floating_point_v<T>) {
      for (std::size_t i = 0; i < elements && j < values; ++i) {
        const T value = number_of<T>(mixed(static_cast<std::uint64_t>(j), i));
        // Padding stays zero, as it is in results.
        const std::size_t bytes = std::is_same_v<T, long double> ? 10 : sizeof(T);
        std::memcpy(&data[i * sizeof(T)], &value, bytes);
      }
    }
  });
  return data;
}

// A sum of `values` values for each element, and what it must be.
struct Sums {
  const Context& context;
  Typed type;
  std::size_t count;  // of each member, in elements of the type
  int values;
  esp_op op;
  Data expected;  // packed, of `count` for each rank of the job

  std::size_t each() const { return type.offsets.size(); }
  std::size_t all() const { return count * static_cast<std::size_t>(context.size); }
  Data slice(std::size_t begin, std::size_t elements) const {
    const auto at = expected.begin() + static_cast<std::ptrdiff_t>(type.moved(begin));
    return Data(at, at + static_cast<std::ptrdiff_t>(type.moved(elements)));
  }
};

// One round on a team of the first ranks. Value j is that of member j + turn.
struct Turn {
  const Sums& sums;
  esp_team* team;
  int turn;
  Way way;

  int me() const { return esp_team_rank(team); }
  int size() const { return esp_team_size(team); }
  int value() const { return (me() - turn % size() + size()) % size(); }
  bool in_place() const { return turn % 2 != 0; }
  std::string text(const char* what) const {
    return fmt::format("{} of {} x {} {} of {}, turn {}, shape {}, {}", what, sums.values,
                       sums.count, esp_type_name(sums.type.base), size(), turn,
                       static_cast<int>(way.options.shape), describe(way));
  }

  // Of `elements` elements, of which `count` from `begin` on come to this member; nothing: what
  // comes does not matter. `apply(functions..., source, target, how...)`.
  template <typename Apply, typename... Functions>
  void run_one(const char* what, std::size_t elements, std::size_t begin, std::size_t count,
               bool matters, bool may_be_in_place, Apply&& apply, Functions... functions) const {
    const bool replaces = in_place() && may_be_in_place;
    const Typed& type = sums.type;
    Memory input(replaces ? 0 : type.reach(elements));
    Memory output(type.reach(replaces ? elements : count));
    (replaces ? output : input)
        .put(0, type, elements,
             value_data(type.base, elements * sums.each(), value(), sums.values));
    if (matters) {
      output.expect(0, type, count, sums.slice(begin, count));
    } else {
      output.ignore(0, type.reach(count));
    }
    if (replaces && elements > count) {  // What is left of the input there.
      output.ignore(count * type.stride(), (elements - count) * type.stride());
    }
    const void* source = replaces ? ESP_IN_PLACE : input.data();
    const esp_status status = run(
        team, way, {&input, &output},
        [&](auto* f, auto... how) { return apply(f, source, output.data(), how...); },
        functions...);
    if (!has_result(status, way, team, text(what))) return;
    output.check(text(what));
    input.check("input of " + text(what));
  }

  void reductions() const {
    const esp_type type = sums.type.type;
    const esp_op op = sums.op;
    const std::size_t n = sums.count;
    const auto to_all = [&](auto* f, const void* source, void* target, auto... how) {
      return f(team, source, target, n, type, op, how...);
    };
    run_one("allreduce", n, 0, n, true, true, to_all, esp_allreduce, esp_allreduce_start,
            esp_allreduce_init);
    const int root = turn % size();
    const bool is_root = me() == root;
    run_one(
        "reduce", n, 0, is_root ? n : 0, is_root, is_root,
        [&](auto* f, const void* source, void* target, auto... how) {
          return f(team, source, target, n, type, op, root, how...);
        },
        esp_reduce, esp_reduce_start, esp_reduce_init);
    const bool is_last = me() == size() - 1;
    run_one("scan", n, 0, n, is_last, true, to_all, esp_scan, esp_scan_start, esp_scan_init);
    run_one("exscan", n, 0, n, is_last && value() >= sums.values, true, to_all, esp_exscan,
            esp_exscan_start, esp_exscan_init);
  }

  void reduce_scatters() const {
    const esp_type type = sums.type.type;
    const auto members = static_cast<std::size_t>(size()), mine = static_cast<std::size_t>(me());
    const std::size_t n = sums.count;
    run_one(
        "reduce-scatter-block", n * members, mine * n, n, true, true,
        [&](auto* f, const void* source, void* target, auto... how) {
          return f(team, source, target, n, type, sums.op, how...);
        },
        esp_reduce_scatter_block, esp_reduce_scatter_block_start, esp_reduce_scatter_block_init);
    std::vector<std::size_t> counts(members);
    for (std::size_t r = 0; r < members; ++r) counts[r] = (r + 1) % 3 * n / 2;
    const auto here = counts.begin() + static_cast<std::ptrdiff_t>(mine);
    const std::size_t begin = std::accumulate(counts.begin(), here, std::size_t{0});
    const std::size_t all = std::accumulate(here, counts.end(), begin);
    run_one(
        "reduce-scatter", all, begin, counts[mine], true, true,
        [&](auto* f, const void* source, void* target, auto... how) {
          return f(team, source, target, counts.data(), type, sums.op, how...);
        },
        esp_reduce_scatter, esp_reduce_scatter_start, esp_reduce_scatter_init);
  }
};

std::vector<Way> few_ways() {
  return {Way{}, Way{.form = Form::kRequest}, Way{.form = Form::kPersistent}};
}

std::vector<Way> all_ways() {
  std::vector<Way> ways = few_ways();
  for (const std::size_t segment : {std::size_t{0}, std::size_t{1}, std::size_t{1500}}) {
    Way way{.form = Form::kRequest};
    way.options.segment_bytes = segment;
    for (const esp_algorithm algorithm :
         {ESP_ALGORITHM_PUBLISH, ESP_ALGORITHM_SPREAD, ESP_ALGORITHM_RING, ESP_ALGORITHM_DOUBLING,
          ESP_ALGORITHM_HALVING, ESP_ALGORITHM_BRUCK}) {
      way.options.algorithm = algorithm;
      ways.push_back(way);
    }
    way.options.algorithm = ESP_ALGORITHM_TREE;
    for (const esp_shape shape : {ESP_SHAPE_FLAT, ESP_SHAPE_CHAIN, ESP_SHAPE_BINARY,
                                  ESP_SHAPE_KNOMIAL, ESP_SHAPE_TWO_TREE}) {
      way.options.shape = shape;
      ways.push_back(way);
    }
  }
  return ways;
}

// The first ranks of the job, so many of them; NULL on the others.
esp_team* first_ranks(const Context& context, int members) {
  std::vector<int> ranks(static_cast<std::size_t>(members));
  std::iota(ranks.begin(), ranks.end(), 0);
  esp_team* team = nullptr;
  CHECK_OK(esp_team_include(context.world, ranks.data(), members, &team), context.world, "");
  return team;
}

// What the smallest team gets goes to everybody.
Data sum_of_few(const Sums& sums, esp_team* team) {
  const std::size_t elements = sums.all() * sums.each();
  Data result = value_data(sums.type.base, elements, sums.context.rank, sums.values);
  if (team != nullptr) {
    CHECK_OK(esp_allreduce(team, ESP_IN_PLACE, result.data(), elements, sums.type.base, sums.op),
             team, "");
  }
  CHECK_OK(esp_bcast(sums.context.world, result.data(), result.size(), ESP_BYTE, 0),
           sums.context.world, "");
  return result;
}

// It is the sum, not something else.
void check_double(const Sums& sums) {
  const std::size_t elements = sums.all() * sums.each();
  std::vector<long double> exact(elements);
  long double largest = 0;
  for (int j = 0; j < sums.values; ++j) {
    const Data data = value_data(ESP_DOUBLE, elements, j, sums.values);
    for (std::size_t i = 0; i < elements; ++i) {
      double x = 0;
      std::memcpy(&x, &data[i * sizeof x], sizeof x);
      exact[i] += x;
      largest = std::max(largest, std::fabs(static_cast<long double>(x)));
    }
  }
  for (std::size_t i = 0; i < elements; ++i) {
    double x = 0;
    std::memcpy(&x, &sums.expected[i * sizeof x], sizeof x);
    CHECK(std::fabs(x - exact[i]) <= std::ldexp(largest, -52), "{} is not {}", x,
          static_cast<double>(exact[i]));
  }
}

using Teams = std::vector<esp_team*>;  // by size

void every_way(const Teams& teams, Sums sums, const std::vector<Way>& ways) {
  const auto least = static_cast<std::size_t>(sums.values);
  if (teams.size() <= least) return;
  sums.expected = sum_of_few(sums, teams[least]);
  if (sums.type.base == ESP_DOUBLE) check_double(sums);
  for (std::size_t members = least; members < teams.size(); ++members) {
    // Many ways: on the smallest teams and the largest.
    if (ways.size() > 8 && members > least + 1 && members + 1 < teams.size()) continue;
    for (std::size_t w = 0; w < ways.size() && teams[members] != nullptr; ++w) {
      const Turn turn{sums, teams[members], static_cast<int>(w + members), ways[w]};
      turn.reductions();
      if ((w + members) % 3 == 0) turn.reduce_scatters();
    }
  }
}

// How many of these sums differ from that of the smallest team, on all ranks.
std::int64_t differences(const Context& context, const Teams& teams, esp_op op) {
  std::int64_t different = 0;
  for (const std::size_t count : {1u, 500u}) {
    Sums sums{context, builtin(ESP_DOUBLE), count, 3, op, {}};
    if (teams.size() <= 3) break;
    sums.expected = sum_of_few(sums, teams[3]);
    for (std::size_t members = 3; members < teams.size(); ++members) {
      for (int turn = 0; turn < 4 && teams[members] != nullptr; ++turn) {
        const int value = Turn{sums, teams[members], turn, {}}.value();
        Data data = value_data(ESP_DOUBLE, count, value, 3);
        CHECK_OK(esp_allreduce(teams[members], ESP_IN_PLACE, data.data(), count, ESP_DOUBLE, op),
                 teams[members], "");
        different += data == sums.slice(0, count) ? 0 : 1;
      }
    }
  }
  CHECK_OK(esp_allreduce(context.world, ESP_IN_PLACE, &different, 1, ESP_INT64, ESP_SUM),
           context.world, "");
  return different;
}

Teams make_teams(const Context& context) {
  Teams teams = {nullptr};
  for (int p = 1; p <= context.size; ++p) teams.push_back(first_ranks(context, p));
  return teams;
}
void free_teams(const Context& context, const Teams& teams) {
  for (esp_team* team : teams) {
    if (team != nullptr) CHECK_OK(esp_team_free(team), context.world, "");
  }
}

void special_values(const Context& context, esp_op op) {
  const double infinity = std::numeric_limits<double>::infinity();
  const bool first = context.rank == 0, last = context.rank == context.size - 1;
  double values[] = {-0.0, first ? infinity : 1.0, first ? infinity : -infinity,
                     last ? std::nan("5") : -infinity, last ? -1e308 : 1e308};
  CHECK_OK(esp_allreduce(context.world, ESP_IN_PLACE, values, 5, ESP_DOUBLE, op), context.world,
           "");
  std::uint64_t bits[5];
  std::memcpy(bits, values, sizeof bits);
  const std::uint64_t infinite = 0x7ff0000000000000, nan = 0x7ff8000000000000;
  CHECK_EQ(bits[0], std::uint64_t{0}, "of zeros");
  CHECK_EQ(bits[1], infinite, "");
  CHECK_EQ(bits[2], context.size > 1 ? nan : infinite, "of infinities of both signs");
  CHECK_EQ(bits[3], nan, "whichever it was");
  if (context.size == 3) CHECK_EQ(values[4], 1e308, "no overflow on the way");
}

void run_all(const Context& context, esp_op op) {
  const Teams teams = make_teams(context);
  const auto all = all_ways(), few = few_ways();
  every_way(teams, {context, builtin(ESP_DOUBLE), 1, 1, op, {}}, few);
  every_way(teams, {context, builtin(ESP_DOUBLE), 5, 2, op, {}}, few);
  every_way(teams, {context, builtin(ESP_DOUBLE), 1, 3, op, {}}, all);
  every_way(teams, {context, builtin(ESP_DOUBLE), 300, 3, op, {}}, all);
  every_way(teams, {context, builtin(ESP_FLOAT), 6000, 3, op, {}}, few);
  for (const esp_type type : {ESP_HALF, ESP_BFLOAT16, ESP_FLOAT, ESP_LONG_DOUBLE, ESP_COMPLEX_FLOAT,
                              ESP_COMPLEX_DOUBLE}) {
    if (esp_op_defined(ESP_SUM_REPRODUCIBLE, type) == 0) continue;
    for (const std::size_t count : {2u, 150u}) {
      every_way(teams, {context, builtin(type), count, 3, op, {}}, few);
    }
  }
  Typed apart = strided(context.job, ESP_DOUBLE, 3, 2, 4);
  for (const std::size_t count : {1u, 200u}) {
    every_way(teams, {context, apart, count, 2, op, {}}, few);
  }
  CHECK_OK(esp_type_free(context.job, apart.type), context.world, "");
  special_values(context, op);
  CHECK_EQ(differences(context, teams, op), std::int64_t{0}, "");
  free_teams(context, teams);
}

}  // namespace
}  // namespace reproducible_cases

void reproducible(const Context& context) {
  using namespace reproducible_cases;
  run_all(context, ESP_SUM_REPRODUCIBLE);
  const Teams teams = make_teams(context);
  const std::int64_t ordinary = differences(context, teams, ESP_SUM);
  CHECK(context.size < 4 || ordinary > 0, "an ordinary sum does not depend on the order either");
  free_teams(context, teams);
}

// With REPRODUCIBLE=1.
void reproducible_setting(const Context& context) {
  reproducible_cases::run_all(context, ESP_SUM);
}

}  // namespace test
