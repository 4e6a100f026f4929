// The command line of esp-run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace esp_run {

enum class Binding { kNone, kCore, kNuma };
// How ranks are dealt out to nodes.
enum class Placement { kBlock, kRound, kRandom };

struct Options {
  int ranks = 1;
  int nodes = 1;
  Placement placement = Placement::kBlock;
  std::uint64_t placement_seed = 0;
  Binding binding = Binding::kNone;
  bool tag_output = false;
  bool keep_going = false;
  bool stacks = false;
  std::optional<double> time_limit_seconds;
  std::vector<std::string> command;  // Program and its arguments.
};

struct ParsedOptions {
  std::optional<Options> options;  // Nothing: help was printed, or an error; exit with `exit_code`.
  int exit_code = 0;
};

ParsedOptions parse_options(int argc, const char* const* argv);

}  // namespace esp_run
