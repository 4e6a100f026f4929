// The programs of a job: `esp-run -n 1 a : -n 2 b` starts two, whose ranks follow each other.
//
// What stands between two `:` is a program with its arguments, and before it the options that hold
// for its ranks alone (-n, -x, --wdir). Options of the whole job stand before the first program.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace esp_run {

struct Program {
  int ranks = 1;
  std::vector<std::string> command;    // Program and its arguments.
  std::vector<std::string> variables;  // "NAME=value" for its ranks, of -x.
  std::string directory;               // Of --wdir; empty: the launcher's.
};

// The command line, cut at each `:`. After a `--` in front of a program's name everything is this
// program's, a `:`, too. `on_option` sees each option, may change it, and says how many of the next
// arguments are its values.
std::vector<std::vector<std::string>> split_into_programs(
    std::vector<std::string> arguments, const std::function<int(std::string&)>& on_option);

// -x: "NAME=value" as it is, or "NAME" with the value that it has here. Throws LaunchError.
void add_variable(Program& program, const std::string& text);

// What its ranks find under this name in their environment.
std::optional<std::string> value_for(const Program& program, const std::string& name);

// --wdir: why a rank cannot go there, or nothing.
std::string is_directory(const std::string& path);

}  // namespace esp_run
