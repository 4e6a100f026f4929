#include "options.hpp"

#include <CLI/CLI.hpp>
#include <map>
#include <sstream>

namespace asp {
namespace {

constexpr int kUsageError = 2;

const std::map<std::string, DistanceType> kDistances = {{"auto", DistanceType::kAuto},
                                                        {"int32", DistanceType::kInt32},
                                                        {"int64", DistanceType::kInt64}};
const std::map<std::string, ProgressMode> kProgressModes = {
    {"auto", ProgressMode::kAuto}, {"on", ProgressMode::kOn}, {"off", ProgressMode::kOff}};
const std::map<std::string, esp_algorithm> kAlgorithms = {{"auto", ESP_ALGORITHM_AUTO},
                                                          {"short", ESP_ALGORITHM_SHORT},
                                                          {"tree", ESP_ALGORITHM_TREE},
                                                          {"publish", ESP_ALGORITHM_PUBLISH}};
const std::map<std::string, esp_shape> kShapes = {{"auto", ESP_SHAPE_AUTO},
                                                  {"flat", ESP_SHAPE_FLAT},
                                                  {"chain", ESP_SHAPE_CHAIN},
                                                  {"binary", ESP_SHAPE_BINARY},
                                                  {"binomial", ESP_SHAPE_BINOMIAL},
                                                  {"kary", ESP_SHAPE_KARY},
                                                  {"knomial", ESP_SHAPE_KNOMIAL},
                                                  {"two-tree", ESP_SHAPE_TWO_TREE},
                                                  {"double-leader", ESP_SHAPE_DOUBLE_LEADER}};
const std::map<std::string, esp_variant> kVariants = {{"event", ESP_VARIANT_EVENT},
                                                      {"waitall", ESP_VARIANT_WAITALL},
                                                      {"blocking", ESP_VARIANT_BLOCKING}};

// An option whose values have names; the help lists the names.
template <typename T>
void add_named(CLI::App& app, const std::string& option, T& value,
               const std::map<std::string, T>& names, const std::string& help) {
  std::string list;
  for (const auto& [name, ignored] : names) list += (list.empty() ? "" : "|") + name;
  app.add_option_function<std::string>(
         option,
         [&value, &names, option, list](const std::string& text) {
           const auto found = names.find(text);
           if (found == names.end()) {
             throw CLI::ValidationError(option, "expected " + list + ", found '" + text + "'");
           }
           value = found->second;
         },
         help + " (" + list + ")")
      ->type_name("NAME");
}

void add_input(CLI::App& app, Options& options) {
  auto* file = app.add_option("FILE", options.file, "graph: DIMACS .gr or Matrix Market .mtx");
  app.add_option("--names", options.names, "names of the vertices (default: FILE as .names)")
      ->needs(file)
      ->type_name("FILE");
  app.add_option("--scale", options.scale, "multiply real weights by F and round")
      ->check(CLI::PositiveNumber)
      ->type_name("F");
  auto* synthetic =
      app.add_option("--synthetic", options.synthetic_vertices, "random graph of N vertices")
          ->check(CLI::Range(1, 65536))
          ->excludes(file)
          ->type_name("N");
  app.add_option("--degree", options.degree, "arcs per vertex of the random graph (6)")
      ->check(CLI::Range(0, 1000))
      ->needs(synthetic)
      ->type_name("D");
  app.add_option("--seed", options.seed, "of the random graph (1)")
      ->needs(synthetic)
      ->type_name("S");
}

void add_run(CLI::App& app, Options& options) {
  add_named(app, "--distance", options.distance, kDistances, "type of distances");
  app.add_option("--lookahead", options.lookahead, "rows broadcast ahead of their step (1)")
      ->check(CLI::Range(0, 64))
      ->type_name("D");
  add_named(app, "--algorithm", options.coll.algorithm, kAlgorithms, "broadcast algorithm");
  add_named(app, "--shape", options.coll.shape, kShapes, "tree of the broadcasts");
  app.add_option("--radix", options.coll.radix, "of the shapes kary and knomial")
      ->check(CLI::Range(1, 1024))
      ->type_name("K");
  add_named(app, "--variant", options.coll.variant, kVariants, "dependencies between segments");
  app.add_option("--segment", options.coll.segment_bytes, "segment of the broadcasts")
      ->check(CLI::PositiveNumber)
      ->type_name("BYTES");
}

void add_output(CLI::App& app, Options& options) {
  app.add_flag("--self-check", options.self_check, "compare with a serial run; exit 1 if unequal");
  app.add_option("--query", options.queries, "print the shortest route between two vertices")
      ->type_name("FROM TO");
  app.add_option("--timeline", options.timeline, "write a Chrome/Perfetto trace of all ranks")
      ->type_name("FILE");
  app.add_option("--unit", options.unit, "of the weights, for the output")->type_name("TEXT");
  add_named(app, "--progress", options.progress, kProgressModes, "progress bar");
}

}  // namespace

CommandLine parse_command_line(int argc, const char* const* argv) {
  Options options;
  CLI::App app(
      "All-pairs shortest paths by parallel Floyd-Warshall: every rank holds a block of rows, one "
      "row is broadcast per step.",
      "asp");
  add_input(app, options);
  add_run(app, options);
  add_output(app, options);
  try {
    app.parse(argc, argv);
    if (options.file.empty() && options.synthetic_vertices == 0) {
      throw CLI::RequiredError("FILE or --synthetic N");
    }
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    const bool failed = app.exit(error, out, out) != 0;
    return {std::nullopt, out.str(), failed ? kUsageError : 0};
  }
  return {options, "", 0};
}

}  // namespace asp
