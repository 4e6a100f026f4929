// Alltoalls with a type of its own for each block: built-in ones and such whose elements lie apart,
// of other kinds on both sides.
#include "tests/api/cases.hpp"
#include "tests/support/rooted.hpp"

namespace test {
namespace alltoallw_cases {
namespace {

// The types that members choose from; each has 24 bytes in some number of elements.
struct Menu {
  explicit Menu(esp_job* on)
      : job(on),
        types{builtin(ESP_BYTE),
              builtin(ESP_DOUBLE),
              builtin(ESP_INT16),
              strided(on, ESP_INT32, 3, 2, 5),
              in_blocks(on, ESP_INT16, {4, 0, 8}, {11, 0, 1}),
              strided(on, ESP_DOUBLE, 3, 1, 2, 9)} {}
  ~Menu() {
    for (const Typed& type : types) {
      if (type.type == type.base) continue;
      CHECK_EQ(esp_type_free(job, type.type), ESP_OK, "{}", esp_job_error(job));
    }
  }
  esp_job* job;
  std::vector<Typed> types;
};

// One side of this rank: block r has units(r) times 24 bytes of type pick(r).
struct Side {
  void add(const Typed& type, std::size_t units, std::size_t gap) {
    counts.push_back(units * 24 / type.moved(1));
    types.push_back(type.type);
    typed.push_back(&type);
    bytes.push_back(end);
    const std::size_t align = 16;
    end = (end + type.reach(counts.back()) + gap + align - 1) / align * align;
  }
  std::vector<std::size_t> counts, bytes;
  std::vector<esp_type> types;
  std::vector<const Typed*> typed;
  std::size_t end = 16;
};

void exchange(const Context& context, const Menu& menu, std::size_t turn, std::size_t scale,
              const Way& way, bool in_place) {
  const auto n = menu.types.size();
  const auto units = [&](int from, int to) {
    const auto f = static_cast<std::size_t>(from), t = static_cast<std::size_t>(to);
    return in_place ? (f + t + turn) % 3 * scale : (f * 2 + t + turn) % 4 * scale;
  };
  Side in, out;
  for (int r = 0; r < context.size; ++r) {
    const auto other = static_cast<std::size_t>(r), me = static_cast<std::size_t>(context.rank);
    in.add(menu.types[(other + 2 * me + turn) % n], units(context.rank, r), 8);
    out.add(menu.types[(3 * other + me + turn) % n], units(r, context.rank), 24);
  }
  Memory input(in_place ? 0 : in.end), output(out.end);
  for (std::size_t r = 0; r < out.counts.size(); ++r) {
    const int other = static_cast<int>(r);
    Memory& from = in_place ? output : input;
    const Side& sent = in_place ? out : in;
    from.put(sent.bytes[r], *sent.typed[r], sent.counts[r],
             block_data(context.rank, other, sent.typed[r]->moved(sent.counts[r])));
    output.expect(out.bytes[r], *out.typed[r], out.counts[r],
                  block_data(other, context.rank, out.typed[r]->moved(out.counts[r])));
  }
  const void* source = in_place ? ESP_IN_PLACE : input.data();
  const esp_status status = run(
      context.world, way, {&input, &output},
      [&](auto* f, auto... how) {
        return f(context.world, source, in_place ? nullptr : in.counts.data(),
                 in_place ? nullptr : in.bytes.data(), in_place ? nullptr : in.types.data(),
                 output.data(), out.counts.data(), out.bytes.data(), out.types.data(), how...);
      },
      esp_alltoallw, esp_alltoallw_start, esp_alltoallw_init);
  const std::string text = fmt::format("alltoallw{} of turn {} times {}, {}",
                                       in_place ? " in place" : "", turn, scale, describe(way));
  if (!has_result(status, way, context.world, text)) return;
  output.check(text);
  input.check("input of " + text);
}

}  // namespace
}  // namespace alltoallw_cases

void alltoallw(const Context& context) {
  using namespace alltoallw_cases;
  const Menu menu(context.job);
  for (const bool in_place : {false, true}) {
    for (const Form form : kAllForms) {
      for (std::size_t turn = 0; turn < menu.types.size(); ++turn) {
        for (const std::size_t scale : {0u, 1u, 5u, 900u}) {
          exchange(context, menu, turn, scale, {.form = form}, in_place);
        }
      }
    }
    for (int algorithm = 0; algorithm < ESP_ALGORITHM_COUNT; ++algorithm) {
      Way way{.form = Form::kRequest};
      way.options.algorithm = static_cast<esp_algorithm>(algorithm);
      way.options.segment_bytes = algorithm % 2 == 0 ? 0 : 480;
      exchange(context, menu, 1, 300, way, in_place);
    }
    exchange(context, menu, 2, (std::size_t{4} << 20) / 24 / static_cast<std::size_t>(context.size),
             {}, in_place);
  }
}

}  // namespace test
