#include "options.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <map>
#include <sstream>

namespace heat {
namespace {

const std::map<std::string, Variant> kVariants = {{"funnel", Variant::kFunnel},
                                                  {"multiple", Variant::kMultiple},
                                                  {"sync", Variant::kSync},
                                                  {"partial", Variant::kPartial}};
const std::map<std::string, bool> kReports = {{"text", false}, {"json", true}};
const std::map<std::string, examples::ProgressMode> kProgress = {
    {"auto", examples::ProgressMode::kAuto},
    {"on", examples::ProgressMode::kOn},
    {"off", examples::ProgressMode::kOff}};

// What was given on the command line; names are checked there.
struct Names {
  std::string report = "text", progress = "auto";
  std::vector<std::string> variants;
};

// "2x3"
Grid grid_of(const std::string& text) {
  Grid grid{0, 0};
  const char* end = text.data() + text.size();
  const auto rows = std::from_chars(text.data(), end, grid.rows);
  const bool cross = rows.ptr != end && *rows.ptr == 'x';
  const auto columns = std::from_chars(cross ? rows.ptr + 1 : end, end, grid.columns);
  if (rows.ec != std::errc() || columns.ec != std::errc() || columns.ptr != end || grid.rows == 0 ||
      grid.columns == 0) {
    throw CLI::ValidationError("--grid", "expected ROWSxCOLUMNS, found '" + text + "'");
  }
  return grid;
}

void add_options(CLI::App& app, Options& options, Names& names) {
  const auto sizes = CLI::Range(std::size_t{1}, std::size_t{1} << 24);
  app.add_option("--rows", options.plate.rows, "of the plate (256)")->check(sizes)->type_name("N");
  app.add_option("--columns", options.plate.columns, "of the plate (256)")
      ->check(sizes)
      ->type_name("N");
  app.add_option("--steps", options.steps, "of Jacobi's method (100)")
      ->check(CLI::Range(0, 1'000'000))
      ->type_name("N");
  app.add_option("--seed", options.plate.seed, "of the first temperatures (1)")->type_name("S");
  app.add_option_function<std::string>(
         "--grid", [&options](const std::string& text) { options.grid = grid_of(text); },
         "of ranks, for example 2x3 (as square as their number allows)")
      ->type_name("ROWSxCOLUMNS");
  app.add_option("--threads", options.threads, "of each rank; each has a stripe of columns (2)")
      ->check(CLI::Range(1, 256))
      ->type_name("T");
  app.add_option("--variant", names.variants, "which to run, in this order (all)")
      ->check(CLI::IsMember(kVariants))
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_flag("--separate", options.separate,
               "each thread's parts are messages of their own, also of sync and partial");
  app.add_option("--repeat", options.repeat, "runs of each variant, of which the median counts (1)")
      ->check(CLI::Range(1, 100))
      ->type_name("R");
  app.add_flag("--self-check", options.self_check,
               "compare every cell with a serial run; exit 1 if unequal");
  app.add_option("--picture", options.picture, "write the temperatures as PNG")->type_name("FILE");
  app.add_option("--report", names.report, "text, or a line of JSON for each run (text)")
      ->check(CLI::IsMember(kReports))
      ->type_name("NAME");
  app.add_option("--progress", names.progress, "progress bar (auto: on a terminal)")
      ->check(CLI::IsMember(kProgress))
      ->type_name("NAME");
}

}  // namespace

const char* name_of(Variant variant) {
  for (const auto& [name, value] : kVariants) {
    if (value == variant) return name.c_str();
  }
  return "";
}

examples::CommandLine<Options> parse_command_line(int argc, const char* const* argv) {
  Options options;
  Names names;
  CLI::App app(
      "Heat of a plate by Jacobi's method, on a grid of ranks with several threads each, in "
      "variants of the exchange of halos.",
      "heat");
  add_options(app, options, names);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    const bool failed = app.exit(error, out, out) != 0;
    return {std::nullopt, out.str(), failed ? examples::kUsageError : 0};
  }
  options.json = kReports.at(names.report);
  options.progress = kProgress.at(names.progress);
  for (const std::string& name : names.variants) options.variants.push_back(kVariants.at(name));
  if (names.variants.empty()) {
    options.variants = {Variant::kFunnel, Variant::kMultiple, Variant::kSync, Variant::kPartial};
  }
  return {options, "", 0};
}

}  // namespace heat
