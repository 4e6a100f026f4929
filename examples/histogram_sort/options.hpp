// The command line. path: setup
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "keys.hpp"
#include "program.hpp"
#include "progress_bar.hpp"

namespace sorting {

enum class Variant { kBlocking, kOffloaded, kPartial };
const char* name_of(Variant variant);

struct Options {
  std::string file;  // Empty: keys are made.
  std::uint64_t keys = 1 << 20;
  Recipe recipe;
  std::string kind_name = "uniform";
  Spread spread = Spread::kEven;
  bool keep_sizes = false;  // Else equal parts.
  std::vector<Variant> variants;
  std::size_t group = 4;   // Blocks that kPartial merges at once.
  bool group_all = false;  // The other variants, too.
  bool unordered = false;  // Where blocks lie there: in the order of their arrival.
  int repeat = 1, exchanges = 1;
  std::string output;  // Empty: none.
  bool json = false;
  examples::ProgressMode progress = examples::ProgressMode::kAuto;
};

examples::CommandLine<Options> parse_command_line(int argc, const char* const* argv);

}  // namespace sorting
