// The command line of asp.
#pragma once

#include <espalier/espalier.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "progress_bar.hpp"

namespace asp {

using examples::ProgressMode;

enum class DistanceType { kAuto, kInt32, kInt64 };

struct Options {
  std::string file;   // Empty: a synthetic graph.
  std::string names;  // Empty: FILE with extension .names, where that exists.
  double scale = 0;
  int synthetic_vertices = 0;
  int degree = 6;
  std::uint64_t seed = 1;
  DistanceType distance = DistanceType::kAuto;
  int lookahead = 1;
  esp_coll_options coll = ESP_COLL_OPTIONS_INIT;
  std::string unit;
  bool self_check = false;
  std::string timeline;  // Empty: none.
  ProgressMode progress = ProgressMode::kAuto;
  std::vector<std::pair<std::string, std::string>> queries;
};

// Either options, or a text for the user and the exit code (0 after --help).
struct CommandLine {
  std::optional<Options> options;
  std::string text;
  int exit_code = 0;
};

CommandLine parse_command_line(int argc, const char* const* argv);

}  // namespace asp
