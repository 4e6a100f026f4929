// How the larger examples begin and end: every rank reads the command line, rank 0 alone complains
// or helps, and what one rank cannot go on with ends the job. path: setup
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <optional>
#include <string>

#include "session.hpp"

namespace examples {

constexpr int kFailure = 1;
constexpr int kUsageError = 2;

// Either options, or a text for the user and the exit code (0 after --help).
template <typename Options>
struct CommandLine {
  std::optional<Options> options;
  std::string text;
  int exit_code = 0;
};

// The exit code of the program `name`; run(Session&, const Options&) gives it where all is well,
// equal on all ranks.
template <typename Options, typename Run>
int run_program(const std::string& name, const CommandLine<Options>& line, Run run) {
  auto job = esp::Job::init();
  if (!job.ok()) {
    fmt::print(stderr, "{}{}: cannot join the job: {}\n", line.text, name, job.error().text);
    return kFailure;
  }
  Session session(name, std::move(job).value());
  int exit_code = line.exit_code;
  if (line.options.has_value()) {
    try {
      exit_code = run(session, *line.options);
    } catch (const std::exception& error) {
      session.fail(error.what());
    }
  } else if (session.rank() == 0) {
    fmt::print(exit_code == 0 ? stdout : stderr, "{}", line.text);
  }
  std::fflush(nullptr);
  return session.finalize() || exit_code != 0 ? exit_code : kFailure;
}

}  // namespace examples
