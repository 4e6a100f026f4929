// What rank 0 prints: a table, or a line of JSON for each run. path: setup
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "options.hpp"
#include "sort.hpp"

namespace sorting {

// Of all ranks: of each phase the longest.
struct RunTimes {
  Seconds seconds{};
  double overlapped = 0, turn = 0;
  int rounds = 0;
};

// `total` keys, of which ranks have `counts` before and get `sizes`.
void print_header(const Options& options, std::span<const std::uint64_t> counts,
                  std::span<const std::uint64_t> sizes);
void print_row(Variant variant, const RunTimes& times);
void print_json(const Options& options, Variant variant, int repetition,
                std::span<const std::uint64_t> sizes, const RunTimes& times);

}  // namespace sorting
