// The command line. path: setup
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layout.hpp"
#include "program.hpp"
#include "progress_bar.hpp"

namespace heat {

enum class Variant { kFunnel, kMultiple, kSync, kPartial };
const char* name_of(Variant variant);

struct Options {
  Plate plate{256, 256, 1};
  std::optional<Grid> grid;  // None: as square as the number of ranks allows.
  int threads = 2;
  int steps = 100;
  std::vector<Variant> variants;
  bool separate = false;  // Parts of kSync and kPartial are messages of their own.
  int repeat = 1;
  bool self_check = false;
  std::string picture;  // Empty: none.
  bool json = false;
  examples::ProgressMode progress = examples::ProgressMode::kAuto;
};

examples::CommandLine<Options> parse_command_line(int argc, const char* const* argv);

}  // namespace heat
