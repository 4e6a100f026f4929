#include "options.hpp"

#include <CLI/CLI.hpp>
#include <map>
#include <sstream>

namespace sorting {
namespace {

const std::map<std::string, Kind> kKinds = {
    {"uniform", Kind::kUniform}, {"skewed", Kind::kSkewed}, {"equal", Kind::kEqual},
    {"few", Kind::kFew},         {"sorted", Kind::kSorted}, {"reversed", Kind::kReversed}};
const std::map<std::string, Type> kTypes = {{"int64", Type::kInt64}, {"double", Type::kDouble}};
const std::map<std::string, Spread> kSpreads = {
    {"even", Spread::kEven}, {"half", Spread::kHalf}, {"one", Spread::kOne}};
const std::map<std::string, Variant> kVariants = {{"blocking", Variant::kBlocking},
                                                  {"offloaded", Variant::kOffloaded},
                                                  {"partial", Variant::kPartial}};
const std::map<std::string, bool> kSizes = {{"equal", false}, {"same", true}};
const std::map<std::string, bool> kReports = {{"text", false}, {"json", true}};
const std::map<std::string, examples::ProgressMode> kProgress = {
    {"auto", examples::ProgressMode::kAuto},
    {"on", examples::ProgressMode::kOn},
    {"off", examples::ProgressMode::kOff}};

// What was given on the command line; names are checked there.
struct Names {
  std::string type = "int64", spread = "even", sizes = "equal", report = "text", progress = "auto";
  std::vector<std::string> variants;
};

template <typename T>
CLI::Option* add_named(CLI::App& app, const std::string& option, T& names, const auto& values,
                       const std::string& help) {
  return app.add_option(option, names, help)->check(CLI::IsMember(values))->type_name("NAME");
}

void add_options(CLI::App& app, Options& options, Names& names) {
  auto* file = app.add_option("FILE", options.file,
                              "any file, 8 bytes a key; without it keys are "
                              "made");
  app.add_option("--keys", options.keys, "to make, in all (1048576)")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 40))
      ->excludes(file)
      ->type_name("N");
  add_named(app, "--generate", options.kind_name, kKinds, "what keys are made (uniform)")
      ->excludes(file);
  app.add_option("--seed", options.recipe.seed, "of the keys (1)")->excludes(file)->type_name("S");
  add_named(app, "--type", names.type, kTypes, "of the keys (int64)");
  add_named(app, "--spread", names.spread, kSpreads,
            "keys before the sort: on all ranks, every second or one (even)");
  add_named(app, "--sizes", names.sizes, kSizes,
            "keys of each rank after the sort: equal numbers, or the same as before (equal)");
  add_named(app, "--variant", names.variants, kVariants, "which to run, in this order (all)")
      ->allow_extra_args(false);
  app.add_option("--group", options.group, "blocks that the partial variant merges at once (4)")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 20))
      ->type_name("K");
  app.add_flag("--group-all", options.group_all,
               "the other variants merge in such groups, too, when all blocks are there");
  app.add_flag("--unordered", options.unordered,
               "blocks of the partial variant lie in the order of their arrival");
  app.add_option("--repeat", options.repeat, "runs of each variant, of which the median counts (1)")
      ->check(CLI::Range(1, 100000))
      ->type_name("R");
  app.add_option("--exchanges", options.exchanges,
                 "turns of exchange and merge in each run, of which the median counts (1)")
      ->check(CLI::Range(1, 100000))
      ->type_name("N");
  app.add_option("--output", options.output, "write the sorted keys")->type_name("FILE");
  add_named(app, "--report", names.report, kReports, "text, or a line of JSON for each run (text)");
  add_named(app, "--progress", names.progress, kProgress, "progress bar (auto: on a terminal)");
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
      "Sorts keys of all ranks by histograms: local sort, exact splitters, exchange, merge. Checks "
      "itself.",
      "histogram_sort");
  add_options(app, options, names);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    const bool failed = app.exit(error, out, out) != 0;
    return {std::nullopt, out.str(), failed ? examples::kUsageError : 0};
  }
  options.recipe.kind = kKinds.at(options.kind_name);
  options.recipe.type = kTypes.at(names.type);
  options.spread = kSpreads.at(names.spread);
  options.keep_sizes = kSizes.at(names.sizes);
  options.json = kReports.at(names.report);
  options.progress = kProgress.at(names.progress);
  for (const std::string& name : names.variants) options.variants.push_back(kVariants.at(name));
  if (names.variants.empty()) {
    options.variants = {Variant::kBlocking, Variant::kOffloaded, Variant::kPartial};
  }
  return {options, "", 0};
}

}  // namespace sorting
