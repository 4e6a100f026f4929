// The command line of esp-run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "binding.hpp"
#include "programs.hpp"

namespace esp_run {

// How ranks are dealt out to nodes.
enum class Placement { kBlock, kRound, kRandom };

struct Options {
  int ranks = 1;  // of all programs
  int nodes = 1;
  Placement placement = Placement::kBlock;
  std::uint64_t placement_seed = 0;
  Binding binding = Binding::kNone;
  bool report_bindings = false;
  bool tag_output = false;
  bool keep_going = false;
  bool stacks = false;
  std::optional<double> time_limit_seconds;
  std::vector<Program> programs;
};

struct ParsedOptions {
  std::optional<Options> options;  // Nothing: help was printed, or an error; exit with `exit_code`.
  int exit_code = 0;
};

ParsedOptions parse_options(int argc, const char* const* argv);

}  // namespace esp_run
