// Every way to carry out a collective gives the same result.
#include "tests/api/cases.hpp"
#include "tests/support/collectives.hpp"

namespace test {
namespace {

// A count of doubles and the segments it is cut into.
struct Cut {
  std::size_t count;
  std::size_t segment_bytes;
};
constexpr Cut kCuts[] = {{0, 0},     {1, 0},       {1, 8},       {7, 20},     {1000, 0},
                         {1000, 64}, {1000, 1024}, {9999, 4096}, {40'000, 0}, {40'000, 1 << 16}};

void run(const Context& context, const esp_coll_options& options, std::size_t count, int root) {
  const Shape s{.type = ESP_DOUBLE, .count = count, .root = root, .options = &options};
  check_bcast(context.world, s);
  check_reduce(context.world, s);
  check_allreduce(context.world, s);
}

void shapes(const Context& context) {
  for (int shape = ESP_SHAPE_AUTO; shape < ESP_SHAPE_COUNT; ++shape) {
    for (int variant = 0; variant < ESP_VARIANT_COUNT; ++variant) {
      int turn = shape + variant;
      for (const Cut& cut : kCuts) {
        // Many ranks on few cores: every third cut, another one for each shape and variant.
        if (context.size > 8 && turn % 3 != 0) {
          ++turn;
          continue;
        }
        esp_coll_options options = ESP_COLL_OPTIONS_INIT;
        options.algorithm = ESP_ALGORITHM_TREE;
        options.shape = static_cast<esp_shape>(shape);
        options.variant = static_cast<esp_variant>(variant);
        options.segment_bytes = cut.segment_bytes;
        run(context, options, cut.count, (turn++ * 3) % context.size);
      }
    }
  }
}

void radices_and_windows(const Context& context) {
  for (const int radix : {2, 3, 4, 17}) {
    for (const esp_shape shape : {ESP_SHAPE_KARY, ESP_SHAPE_KNOMIAL}) {
      for (const int window : {1, 2, 64}) {
        if (context.size > 8 && window == 2) continue;
        esp_coll_options options = ESP_COLL_OPTIONS_INIT;
        options.algorithm = ESP_ALGORITHM_TREE;
        options.shape = shape;
        options.radix = radix;
        options.window_send = window;
        options.window_recv = window;
        options.segment_bytes = 512;
        run(context, options, 3000, context.size - 1);
      }
    }
  }
}

void algorithms(const Context& context) {
  for (int algorithm = 0; algorithm < ESP_ALGORITHM_COUNT; ++algorithm) {
    for (const std::size_t count : {0u, 1u, 7u, 100u, 1000u, 50'000u}) {
      for (const int root : {0, context.size - 1}) {
        esp_coll_options options = ESP_COLL_OPTIONS_INIT;
        options.algorithm = static_cast<esp_algorithm>(algorithm);
        run(context, options, count, root);
      }
    }
  }
}

void barriers(const Context& context) {
  for (int shape = ESP_SHAPE_AUTO; shape < ESP_SHAPE_COUNT; ++shape) {
    esp_coll_options options = ESP_COLL_OPTIONS_INIT;
    options.shape = static_cast<esp_shape>(shape);
    esp_request* request = nullptr;
    const esp_status started = esp_barrier_start(context.world, &options, nullptr, &request);
    CHECK_OK(finish(started, &request), context.world, "barrier shape {}", shape);
  }
}

}  // namespace

void options(const Context& context) {
  shapes(context);
  radices_and_windows(context);
  algorithms(context);
  barriers(context);
}

}  // namespace test
