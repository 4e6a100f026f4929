#include "tools/esp-tune/candidates.hpp"

#include <fmt/format.h>

#include "coll/algorithms/trees.hpp"
#include "core/config_value.hpp"

namespace esp_tune {
namespace {

using espalier::Collective;

constexpr std::uint64_t kSegments[] = {4096, 16384, 65536, 262144, 1048576};

esp_coll_options with(esp_algorithm algorithm, esp_shape shape = ESP_SHAPE_AUTO, int radix = 0) {
  esp_coll_options options = ESP_COLL_OPTIONS_INIT;
  options.algorithm = algorithm;
  options.shape = shape;
  options.radix = radix;
  return options;
}

// From so many ranks on each is another tree than those before.
struct Tree {
  int ranks;
  esp_shape shape;
  int radix;
};
constexpr Tree kTrees[] = {{2, ESP_SHAPE_FLAT, 0},     {3, ESP_SHAPE_CHAIN, 0},
                           {4, ESP_SHAPE_BINOMIAL, 0}, {5, ESP_SHAPE_BINARY, 0},
                           {5, ESP_SHAPE_TWO_TREE, 0}, {6, ESP_SHAPE_KNOMIAL, 4},
                           {6, ESP_SHAPE_KARY, 4}};

// Partners of an alltoall at a time, from so many ranks on another number than without.
struct Window {
  int ranks, partners;
};
constexpr Window kWindows[] = {{3, 1}, {6, 4}, {18, 64}};

bool has_segments(Collective collective, const esp_coll_options& options) {
  return collective != Collective::kBarrier && options.algorithm != ESP_ALGORITHM_BRUCK &&
         options.algorithm != ESP_ALGORITHM_DOUBLING;
}

}  // namespace

bool is_same(const esp_coll_options& a, const esp_coll_options& b) {
  return a.algorithm == b.algorithm && a.shape == b.shape && a.radix == b.radix &&
         a.segment_bytes == b.segment_bytes && a.window_send == b.window_send;
}

bool is_rules(const esp_coll_options& options) {
  return is_same(options, ESP_COLL_OPTIONS_INIT);
}

std::vector<esp_coll_options> first_candidates(Collective collective, int ranks) {
  std::vector<esp_coll_options> all = {ESP_COLL_OPTIONS_INIT};
  for (int k = ESP_ALGORITHM_TREE; k < ESP_ALGORITHM_COUNT; ++k) {
    const auto algorithm = static_cast<esp_algorithm>(k);
    if (!has_algorithm(collective, algorithm) || !fits_team(collective, algorithm, ranks)) continue;
    if (algorithm != ESP_ALGORITHM_TREE || !espalier::has_shapes(collective)) {
      all.push_back(with(algorithm));
      continue;
    }
    for (const Tree& tree : kTrees) {
      if (ranks >= tree.ranks) all.push_back(with(algorithm, tree.shape, tree.radix));
    }
  }
  if (has_algorithm(collective, ESP_ALGORITHM_BRUCK) && ranks > 4) {
    all.push_back(with(ESP_ALGORITHM_BRUCK, ESP_SHAPE_AUTO, 4));
  }
  return all;
}

std::vector<esp_coll_options> variations(Collective collective, int ranks, std::uint64_t bytes,
                                         const esp_coll_options& best) {
  std::vector<esp_coll_options> all;
  for (const std::uint64_t segment : kSegments) {
    if (!has_segments(collective, best) || bytes <= kSegments[0]) break;
    all.push_back(best);
    all.back().segment_bytes = segment;
    if (segment >= bytes) break;  // one segment
  }
  const bool rounds = collective == Collective::kAlltoall && best.algorithm != ESP_ALGORITHM_BRUCK;
  for (const Window& window : kWindows) {
    if (!rounds || ranks < window.ranks) break;
    all.push_back(best);
    all.back().window_send = window.partners;
  }
  return all;
}

std::string short_name(const esp_coll_options& options) {
  if (is_rules(options)) return "rules";
  std::string name = options.algorithm == ESP_ALGORITHM_AUTO
                         ? "rules"
                         : espalier::algorithm_name(options.algorithm);
  if (options.shape != ESP_SHAPE_AUTO) {
    name += fmt::format("/{}", espalier::shape_name(options.shape));
  }
  if (options.radix > 0) name += fmt::format("{}{}", options.shape == 0 ? "/" : "", options.radix);
  if (options.segment_bytes > 0) {
    name += fmt::format("/{}", espalier::format_size(options.segment_bytes));
  }
  if (options.window_send > 0) name += fmt::format("/w{}", options.window_send);
  return name;
}

}  // namespace esp_tune
