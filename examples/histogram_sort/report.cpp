#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace sorting {
namespace {

constexpr std::array<const char*, kPhaseCount> kNames = {"sort", "splitters", "exchange", "merge",
                                                         "total"};

const char* type_name(Type type) {
  return type == Type::kInt64 ? "int64" : "double";
}

std::string extent(std::span<const std::uint64_t> counts) {
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  return *least == *most ? fmt::format("{}", *least) : fmt::format("{} to {}", *least, *most);
}

std::string source(const Options& options) {
  return options.file.empty() ? fmt::format("{}, seed {}", options.kind_name, options.recipe.seed)
                              : options.file;
}

std::uint64_t sum(std::span<const std::uint64_t> counts) {
  return before(counts, static_cast<int>(counts.size()));
}

}  // namespace

void print_header(const Options& options, std::span<const std::uint64_t> counts,
                  std::span<const std::uint64_t> sizes) {
  fmt::print("keys         {} {} ({})\n", sum(counts), type_name(options.recipe.type),
             source(options));
  fmt::print("ranks        {}, each with {} before and {} after\n", counts.size(), extent(counts),
             extent(sizes));
  fmt::print("{:<12} {:>12}", "variant", kNames[kTotal]);
  for (int phase = 0; phase < kTotal; ++phase) {
    fmt::print(" {:>18}", kNames[static_cast<std::size_t>(phase)]);
  }
  fmt::print(" {:>12}   histograms\n", "overlapped");
  std::fflush(stdout);
}

void print_row(Variant variant, const RunTimes& times) {
  constexpr double kMilliseconds = 1e3, kPercent = 100;
  const double total = times.seconds[kTotal];
  fmt::print("{:<12} {:>9.3f} ms", name_of(variant), total * kMilliseconds);
  for (std::size_t phase = 0; phase < kTotal; ++phase) {
    const double share = total > 0 ? kPercent * times.seconds[phase] / total : 0;
    fmt::print(" {:>9.3f} ms {:>3.0f} %", times.seconds[phase] * kMilliseconds, share);
  }
  fmt::print(" {:>9.3f} ms   {}\n", times.overlapped * kMilliseconds, times.rounds);
  std::fflush(stdout);
}

void print_json(const Options& options, Variant variant, int repetition,
                std::span<const std::uint64_t> sizes, const RunTimes& times) {
  fmt::print(R"({{"program":"histogram_sort","variant":"{}","repetition":{},"ranks":{},"keys":{},)",
             name_of(variant), repetition, sizes.size(), sum(sizes));
  fmt::print(R"("type":"{}","generate":"{}","histograms":{})", type_name(options.recipe.type),
             options.file.empty() ? options.kind_name : "file", times.rounds);
  for (std::size_t phase = 0; phase < kPhaseCount; ++phase) {
    fmt::print(R"(,"{}_s":{:.9f})", kNames[phase], times.seconds[phase]);
  }
  fmt::print(R"(,"overlapped_s":{:.9f},"exchange_and_merge_s":{:.9f})", times.overlapped,
             times.turn);
  fmt::print(R"(,"check":"passed"}})"
             "\n");
  std::fflush(stdout);
}

}  // namespace sorting
