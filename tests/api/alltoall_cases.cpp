// Alltoalls, regular and not: every algorithm, form, layout and type.
#include <functional>

#include "tests/api/cases.hpp"
#include "tests/support/gathers.hpp"

namespace test {
namespace alltoall_cases {
namespace {

// Elements that one member sends to another.
using Matrix = std::function<std::size_t(int from, int to)>;

std::vector<Matrix> matrices(int size) {
  return {
      [](int, int) { return 1; },
      [](int from, int to) { return (from * 3 + to * 5) % 7; },
      [](int from, int to) { return (from + to) % 2 == 0 ? 0 : 400 + from * 10 + to; },
      [](int, int) { return 0; },
      [](int from, int to) { return from == 0 ? 1000 + to : 0; },
      [=](int from, int to) { return to == size - 1 ? 1000 + from : 0; },
      [=](int from, int to) { return to == (from + 1) % size ? 20'000 : 0; },
  };
}
// The same in both directions.
std::vector<Matrix> symmetric_matrices() {
  return {
      [](int from, int to) { return from + to; },
      [](int from, int to) { return from == to ? 0 : 300 * (from ^ to); },
      [](int from, int to) { return from * to % 3 == 0 ? 5000 : 0; },
  };
}

Exchange exchange(const Context& context, const Matrix& matrix, bool gaps) {
  std::vector<std::size_t> sent, received;
  for (int r = 0; r < context.size; ++r) {
    sent.push_back(matrix(context.rank, r));
    received.push_back(matrix(r, context.rank));
  }
  return {.sent = gaps ? scattered(sent, 5) : packed(sent),
          .received = gaps ? scattered(received, 2) : packed(received)};
}

void irregular(const Context& context, esp_type type, bool gaps, const Way& way) {
  for (const Matrix& matrix : matrices(context.size)) {
    Exchange all = exchange(context, matrix, gaps);
    all.type = type;
    check_alltoall(context.world, all, way);
  }
  for (const Matrix& matrix : symmetric_matrices()) {
    Exchange all = exchange(context, matrix, gaps);
    all.type = type;
    for (const bool in_place : {false, true}) {
      all.in_place = in_place;
      check_alltoall(context.world, all, way);
    }
  }
}

void regular(const Context& context, std::size_t count, esp_type type, const Way& way) {
  Exchange all = exchange(
      context, [=](int, int) { return count; }, false);
  all.type = type;
  all.irregular = false;
  for (const bool in_place : {false, true}) {
    all.in_place = in_place;
    check_alltoall(context.world, all, way);
  }
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
    for (const bool gaps : {false, true}) irregular(context, ESP_INT16, gaps, {.form = form});
  }
}

void every_algorithm(const Context& context) {
  for (int algorithm = 0; algorithm < ESP_ALGORITHM_COUNT; ++algorithm) {
    Way way{.form = Form::kRequest};
    way.options.algorithm = static_cast<esp_algorithm>(algorithm);
    for (const std::size_t count : {0u, 1u, 7u, 1000u, 10'000u}) {
      regular(context, count, ESP_INT32, way);
    }
    irregular(context, ESP_SHORT_INT, true, way);
  }
}

// Many small segments, more than are eager, with narrow windows, wide and unequal ones; more and
// fewer rounds.
void segments_and_radices(const Context& context) {
  for (const esp_algorithm algorithm :
       {ESP_ALGORITHM_TREE, ESP_ALGORITHM_RING, ESP_ALGORITHM_ONE_FACTOR, ESP_ALGORITHM_XOR,
        ESP_ALGORITHM_BRUCK}) {
    for (const auto& [sends, receives] :
         {std::pair{1, 1}, std::pair{1, 6}, std::pair{2, 2}, std::pair{64, 64}}) {
      Way way{.form = Form::kCounter};
      way.options.algorithm = algorithm;
      way.options.window_send = sends;
      way.options.window_recv = receives;
      way.options.segment_bytes = 256;
      regular(context, 601, ESP_DOUBLE, way);
      check_alltoall(context.world,
                     exchange(
                         context, [](int from, int to) { return 60 * from + 100 * to; }, true),
                     way);
    }
  }
  for (const int radix : {2, 3, 4, 7, 20}) {
    Way way{.form = Form::kRequest};
    way.options.algorithm = ESP_ALGORITHM_BRUCK;
    way.options.radix = radix;
    regular(context, 77, ESP_INT64, way);
  }
}

// Batches of steps, and one step after the other, on both sides of the eager segments.
void variants(const Context& context) {
  for (const esp_variant variant : {ESP_VARIANT_WAITALL, ESP_VARIANT_BLOCKING}) {
    for (const esp_algorithm algorithm :
         {ESP_ALGORITHM_AUTO, ESP_ALGORITHM_RING, ESP_ALGORITHM_ONE_FACTOR, ESP_ALGORITHM_XOR}) {
      for (const int window : {0, 2}) {
        Way way{.form = Form::kRequest};
        way.options.variant = variant;
        way.options.algorithm = algorithm;
        way.options.window_send = window;
        way.options.segment_bytes = 512;
        regular(context, 3, ESP_INT32, way);
        regular(context, 1501, ESP_DOUBLE, way);
        irregular(context, ESP_INT16, true, way);
      }
    }
  }
}

void large(const Context& context) {
  const std::size_t mib = context.size > 8 ? 1 : 4;  // where many ranks share cores
  const std::size_t share = (mib << 20) / static_cast<std::size_t>(context.size);
  const Matrix uneven = [=](int from, int to) {
    return (from + to) % 2 == 0 ? share + 5 : share / 7;
  };
  for (const esp_algorithm algorithm :
       {ESP_ALGORITHM_AUTO, ESP_ALGORITHM_TREE, ESP_ALGORITHM_RING, ESP_ALGORITHM_ONE_FACTOR,
        ESP_ALGORITHM_XOR, ESP_ALGORITHM_BRUCK}) {
    Way way{.form = Form::kRequest};
    way.options.algorithm = algorithm;
    regular(context, share + 1, ESP_BYTE, way);
    Exchange all = exchange(context, uneven, true);
    for (const bool in_place : {false, true}) {
      all.in_place = in_place;
      check_alltoall(context.world, all, way);
    }
  }
}

}  // namespace
}  // namespace alltoall_cases

void alltoall(const Context& context) {
  alltoall_cases::every_type(context);
  alltoall_cases::every_form(context);
  alltoall_cases::every_algorithm(context);
  alltoall_cases::segments_and_radices(context);
  alltoall_cases::variants(context);
  alltoall_cases::large(context);
}

}  // namespace test
