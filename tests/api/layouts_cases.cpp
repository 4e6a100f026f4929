// Types whose elements lie apart, in every collective: against data that the test packs by hand.
// All members with one type, or some with elements side by side.
#include <fmt/ranges.h>

#include "tests/api/cases.hpp"
#include "tests/support/compositions.hpp"
#include "tests/support/rooted.hpp"

namespace test {
namespace layouts_cases {
namespace {

// A type with five built-in elements in each, and how this rank takes part.
struct Part {
  Typed type;
  std::size_t factor = 1;  // elements of this rank's type in one of the others'
};
constexpr std::size_t kEach = 5;

// A round of the tests.
struct Turn {
  const Context& context;
  Part mine;
  std::size_t count;
  Way way;
  bool in_place;
  std::string text;

  std::size_t members() const { return static_cast<std::size_t>(context.size); }
  std::size_t me() const { return static_cast<std::size_t>(context.rank); }
  // `n` of the round's elements: in this rank's, and where the k-th begins.
  std::size_t elements(std::size_t n) const { return n * mine.factor; }
  std::size_t at(std::size_t k) const { return elements(k) * mine.type.stride(); }
  Memory memory(std::size_t n) const { return Memory(mine.type.reach(elements(n))); }
  void put(Memory& m, std::size_t k, std::size_t n, const std::vector<unsigned char>& data) const {
    m.put(at(k), mine.type, elements(n), data);
  }
  void expect(Memory& m, std::size_t k, std::size_t n,
              const std::vector<unsigned char>& data) const {
    m.expect(at(k), mine.type, elements(n), data);
  }
  template <typename... Functions>
  void ok(std::initializer_list<Memory*> memories, auto&& apply, const char* what,
          Functions... functions) const {
    CHECK_OK(run(context.world, way, memories, apply, functions...), context.world, "{} {}", what,
             text);
    for (Memory* memory : memories) memory->check(fmt::format("{} {}", what, text));
  }
};

// Packed data: element i of what `f` says.
std::vector<unsigned char> packed_ints(std::size_t n, auto&& f) {
  std::vector<std::int32_t> values(n * kEach);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = f(static_cast<int>(i));
  std::vector<unsigned char> bytes(values.size() * sizeof values[0]);
  if (n != 0) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
std::vector<unsigned char> of_rank(int rank, int to, std::size_t n) {
  return packed_ints(n, [=](int i) { return rank * 1'000'000 + to * 10'000 + i; });
}
// The sum of what the first ranks bring, from position `begin` on.
std::vector<unsigned char> sum_of(int ranks, std::size_t n, std::size_t begin = 0) {
  return packed_ints(n, [=](int i) {
    const int at = i + static_cast<int>(begin * kEach);
    return ranks * (ranks - 1) / 2 * 1'000'000 + ranks * at;
  });
}

void rooted(const Turn& t, int root) {
  const bool at_root = t.context.rank == root;
  const std::size_t n = t.elements(t.count);
  const esp_type type = t.mine.type.type;
  Memory cast = t.memory(t.count);
  if (at_root) t.put(cast, 0, t.count, of_rank(root, 0, t.count));
  t.expect(cast, 0, t.count, of_rank(root, 0, t.count));
  t.ok(
      {&cast},
      [&](auto* f, auto... how) { return f(t.context.world, cast.data(), n, type, root, how...); },
      "bcast", esp_bcast, esp_bcast_start, esp_bcast_init);

  const bool in_place = t.in_place && at_root;
  Memory input = t.memory(in_place ? 0 : t.count), output = t.memory(at_root ? t.count : 0);
  t.put(in_place ? output : input, 0, t.count, of_rank(t.context.rank, 0, t.count));
  if (at_root) t.expect(output, 0, t.count, sum_of(t.context.size, t.count));
  const void* source = in_place ? ESP_IN_PLACE : input.data();
  t.ok(
      {&input, &output},
      [&](auto* f, auto... how) {
        return f(t.context.world, source, output.data(), n, type, ESP_SUM, root, how...);
      },
      "reduce", esp_reduce, esp_reduce_start, esp_reduce_init);
}

void reductions(const Turn& t) {
  const std::size_t n = t.elements(t.count);
  const esp_type type = t.mine.type.type;
  const auto one = [&](int ranks, const char* what, auto... functions) {
    Memory input = t.memory(t.in_place ? 0 : t.count), output = t.memory(t.count);
    t.put(t.in_place ? output : input, 0, t.count, of_rank(t.context.rank, 0, t.count));
    if (ranks > 0) t.expect(output, 0, t.count, sum_of(ranks, t.count));
    const void* source = t.in_place ? ESP_IN_PLACE : input.data();
    t.ok(
        {&input, &output},
        [&](auto* f, auto... how) {
          return f(t.context.world, source, output.data(), n, type, ESP_SUM, how...);
        },
        what, functions...);
  };
  one(t.context.size, "allreduce", esp_allreduce, esp_allreduce_start, esp_allreduce_init);
  one(t.context.rank + 1, "scan", esp_scan, esp_scan_start, esp_scan_init);
  one(t.context.rank, "exscan", esp_exscan, esp_exscan_start, esp_exscan_init);
}

void reduce_scatters(const Turn& t) {
  const esp_type type = t.mine.type.type;
  const std::size_t all = t.count * t.members();
  const auto one = [&](const char* what, auto&& call, auto... functions) {
    Memory input = t.memory(t.in_place ? 0 : all), output = t.memory(t.in_place ? all : t.count);
    t.put(t.in_place ? output : input, 0, all, of_rank(t.context.rank, 0, all));
    // In place the other blocks are lost.
    for (std::size_t k = t.elements(t.count); t.in_place && k < t.elements(all); ++k) {
      for (const std::size_t offset : t.mine.type.offsets) {
        const std::size_t element = t.mine.type.element();
        output.ignore((k * t.mine.type.extent + offset) * element, element);
      }
    }
    t.expect(output, 0, t.count, sum_of(t.context.size, t.count, t.me() * t.count));
    const void* source = t.in_place ? ESP_IN_PLACE : input.data();
    t.ok(
        {&input, &output},
        [&](auto* f, auto... how) { return call(f, source, output.data(), how...); }, what,
        functions...);
  };
  one(
      "reduce-scatter-block",
      [&](auto* f, const void* in, void* out, auto... how) {
        return f(t.context.world, in, out, t.elements(t.count), type, ESP_SUM, how...);
      },
      esp_reduce_scatter_block, esp_reduce_scatter_block_start, esp_reduce_scatter_block_init);
  const std::vector<std::size_t> counts(t.members(), t.elements(t.count));
  one(
      "reduce-scatter",
      [&](auto* f, const void* in, void* out, auto... how) {
        return f(t.context.world, in, out, counts.data(), type, ESP_SUM, how...);
      },
      esp_reduce_scatter, esp_reduce_scatter_start, esp_reduce_scatter_init);
}

// Of member r, count(r) elements with a gap of one between blocks where it is irregular.
void allgathers(const Turn& t, bool irregular) {
  const esp_type type = t.mine.type.type;
  const auto length = [&](std::size_t r) { return irregular ? t.count * (r % 3) : t.count; };
  std::vector<std::size_t> counts, displs, starts;
  std::size_t end = irregular ? 1 : 0;
  for (std::size_t r = 0; r < t.members(); ++r) {
    counts.push_back(t.elements(length(r)));
    starts.push_back(end);
    displs.push_back(t.elements(end));
    end += length(r) + (irregular ? 1 : 0);
  }
  const std::size_t mine = length(t.me());
  Memory input = t.memory(t.in_place ? 0 : mine), output = t.memory(end);
  if (!t.in_place) t.put(input, 0, mine, of_rank(t.context.rank, 0, mine));
  for (std::size_t r = 0; r < t.members(); ++r) {
    const auto block = of_rank(static_cast<int>(r), 0, length(r));
    if (t.in_place && r == t.me()) t.put(output, starts[r], length(r), block);
    t.expect(output, starts[r], length(r), block);
  }
  const void* source = t.in_place ? ESP_IN_PLACE : input.data();
  if (irregular) {
    t.ok(
        {&input, &output},
        [&](auto* f, auto... how) {
          return f(t.context.world, source, output.data(), counts.data(), displs.data(), type,
                   how...);
        },
        "allgatherv", esp_allgatherv, esp_allgatherv_start, esp_allgatherv_init);
  } else {
    t.ok(
        {&input, &output},
        [&](auto* f, auto... how) {
          return f(t.context.world, source, output.data(), counts[0], type, how...);
        },
        "allgather", esp_allgather, esp_allgather_start, esp_allgather_init);
  }
}

enum class Exchanges { kRegular, kIrregular, kTyped };

void alltoalls(const Turn& t, Exchanges kind) {
  const esp_type type = t.mine.type.type;
  // Two members exchange as much in both directions, as in place they must.
  const auto length = [&](std::size_t r) {
    return kind == Exchanges::kRegular ? t.count : t.count * ((r + t.me()) % 3);
  };
  std::vector<std::size_t> counts, displs, bytes, starts;
  std::size_t end = 0;
  for (std::size_t r = 0; r < t.members(); ++r) {
    counts.push_back(t.elements(length(r)));
    starts.push_back(end);
    displs.push_back(t.elements(end));
    bytes.push_back(t.at(end));
    end += length(r) + (kind == Exchanges::kRegular ? 0 : 1);
  }
  const std::vector<esp_type> types(t.members(), type);
  Memory input = t.memory(t.in_place ? 0 : end), output = t.memory(end);
  for (std::size_t r = 0; r < t.members(); ++r) {
    const int other = static_cast<int>(r);
    t.put(t.in_place ? output : input, starts[r], length(r),
          of_rank(t.context.rank, other, length(r)));
    t.expect(output, starts[r], length(r), of_rank(other, t.context.rank, length(r)));
  }
  const void* source = t.in_place ? ESP_IN_PLACE : input.data();
  esp_team* const world = t.context.world;
  void* const target = output.data();
  if (kind == Exchanges::kRegular) {
    t.ok(
        {&input, &output},
        [&](auto* f, auto... how) { return f(world, source, target, counts[0], type, how...); },
        "alltoall", esp_alltoall, esp_alltoall_start, esp_alltoall_init);
  } else if (kind == Exchanges::kIrregular) {
    t.ok(
        {&input, &output},
        [&](auto* f, auto... how) {
          return f(world, source, counts.data(), displs.data(), target, counts.data(),
                   displs.data(), type, how...);
        },
        "alltoallv", esp_alltoallv, esp_alltoallv_start, esp_alltoallv_init);
  } else {
    t.ok(
        {&input, &output},
        [&](auto* f, auto... how) {
          return f(world, source, counts.data(), bytes.data(), types.data(), target, counts.data(),
                   bytes.data(), types.data(), how...);
        },
        "alltoallw", esp_alltoallw, esp_alltoallw_start, esp_alltoallw_init);
  }
}

void everything(const Turn& t) {
  for (const int root : {0, t.context.size - 1}) rooted(t, root);
  reductions(t);
  reduce_scatters(t);
  for (const bool irregular : {false, true}) allgathers(t, irregular);
  for (const Exchanges kind : {Exchanges::kRegular, Exchanges::kIrregular, Exchanges::kTyped}) {
    alltoalls(t, kind);
  }
}

// Of gathers and scatters the root has another type than the others.
void to_roots(const Context& context, const Typed& type, const Way& way) {
  const Typed plain = builtin(ESP_INT32);
  std::vector<std::size_t> counts(static_cast<std::size_t>(context.size));
  for (std::size_t r = 0; r < counts.size(); ++r) counts[r] = r % 3 * 20;
  for (const auto& [at_root, elsewhere] :
       {std::pair{type, type}, std::pair{type, plain}, std::pair{plain, type}}) {
    for (const bool in_place : {false, true}) {
      ToRoot g{.layout = packed(std::vector<std::size_t>(counts.size(), 7)),
               .root_type = at_root,
               .type = elsewhere,
               .root = context.size - 1,
               .irregular = false,
               .in_place = in_place};
      (void)check_gather(context.world, g, way);
      (void)check_scatter(context.world, g, way);
      g.layout = scattered(counts, 2);
      g.irregular = true;
      (void)check_gather(context.world, g, way);
      (void)check_scatter(context.world, g, way);
    }
  }
}

// What overlaps itself can be sent alone.
void overlapping(const Context& context) {
  const Typed twice = in_blocks(context.job, ESP_INT32, {3, 3}, {0, 2}, 5);
  const Typed plain = builtin(ESP_INT32);
  esp_team* const world = context.world;
  std::vector<int> x(100, 1), y(100, 2);
  CHECK_STATUS(esp_allreduce(world, x.data(), y.data(), 2, twice.type, ESP_SUM), ESP_ERR_ARGUMENT,
               world, "received");
  CHECK_STATUS(esp_allreduce(world, ESP_IN_PLACE, y.data(), 2, twice.type, ESP_SUM),
               ESP_ERR_ARGUMENT, world, "received");
  CHECK_EQ(y, std::vector<int>(100, 2), "nothing was written");
  // Five elements in a row are six.
  for (std::size_t i = 0; i < 100; ++i) x[i] = 100 * context.rank + static_cast<int>(i);
  std::vector<int> all(12 * static_cast<std::size_t>(context.size), -1);
  const bool at_root = context.rank == 0;
  if (at_root) {
    for (std::size_t i = 0; i < 12; ++i) x[i] = static_cast<int>(i);
  }
  CHECK_OK(esp_gather(world, x.data(), all.data(), at_root ? 12 : 2,
                      at_root ? plain.type : twice.type, 0),
           world, "sent");
  for (std::size_t i = 12; at_root && i < all.size(); ++i) {
    const int sent[] = {0, 1, 2, 2, 3, 4, 5, 6, 7, 7, 8, 9};
    CHECK_EQ(all[i], 100 * static_cast<int>(i / 12) + sent[i % 12], "element {}", i);
  }
  CHECK_EQ(esp_type_free(context.job, twice.type), ESP_OK, "{}", esp_job_error(context.job));
}

// The user's function gets elements side by side, of the built-in type.
void user_operators(const Context& context) {
  std::size_t combined = 0;
  esp_op op = -1;
  CHECK_OK(esp_op_create(context.job, apply_compose, &combined, 0, &op), context.world, "");
  for (const std::size_t count : {1u, 40u, 3000u}) {
    const Typed type = strided(context.job, ESP_UINT64, 3, 2, 4, 13);
    Memory memory(type.reach(count));
    std::vector<std::uint64_t> mine(count * 6), all(count * 6);
    for (std::size_t i = 0; i < mine.size(); ++i) {
      mine[i] = element_of(context.rank, i);
      all[i] = element_of(0, i);
      for (int r = 1; r < context.size; ++r) all[i] = compose(all[i], element_of(r, i));
    }
    const auto bytes = [](const std::vector<std::uint64_t>& from) {
      std::vector<unsigned char> to(from.size() * 8);
      std::memcpy(to.data(), from.data(), to.size());
      return to;
    };
    memory.put(0, type, count, bytes(mine));
    memory.expect(0, type, count, bytes(all));
    CHECK_OK(esp_allreduce(context.world, ESP_IN_PLACE, memory.data(), count, type.type, op),
             context.world, "");
    memory.check(fmt::format("composition of {}", count));
    CHECK_EQ(esp_type_free(context.job, type.type), ESP_OK, "{}", esp_job_error(context.job));
  }
  CHECK_OK(esp_op_free(context.job, op), context.world, "");
}

}  // namespace
}  // namespace layouts_cases

void layouts(const Context& context) {
  using namespace layouts_cases;
  const std::vector<Typed> types = {
      strided(context.job, ESP_INT32, kEach, 1, 7),        // a column
      strided(context.job, ESP_INT32, kEach, 1, 9000, 1),  // columns side by side
      strided(context.job, ESP_INT32, 1, kEach, 5),        // no gaps at all
      in_blocks(context.job, ESP_INT32, {2, 0, 3}, {6, 1, 0}, 11),
  };
  std::size_t form = 0;
  for (const Typed& type : types) {
    for (const bool mixed : {false, true}) {
      const bool plain = mixed && context.rank % 2 == 1;
      const Part mine = plain ? Part{builtin(ESP_INT32), kEach} : Part{type, 1};
      for (const std::size_t count : {0u, 1u, 3u, 1500u}) {
        if (type.extent == 1 && count > 100) continue;  // as long as they do not meet
        for (const bool in_place : {false, true}) {
          const Way way{.form = kAllForms[form++ % std::size(kAllForms)]};
          const std::string text =
              fmt::format("{} elements of extent {}{}{}, {}", count, type.extent,
                          mixed ? " mixed" : "", in_place ? " in place" : "", describe(way));
          everything({context, mine, count, way, in_place, text});
        }
      }
    }
    if (type.extent != 1) {
      for (const Form each : kAllForms) to_roots(context, type, {.form = each});
    }
  }
  overlapping(context);
  user_operators(context);
  for (const Typed& type : types) {
    CHECK_EQ(esp_type_free(context.job, type.type), ESP_OK, "{}", esp_job_error(context.job));
  }
}

}  // namespace test
