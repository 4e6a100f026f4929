#include "options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <string_view>

#include "espalier/espalier.h"
#include "exit_codes.hpp"
#include "say.hpp"
#include "usual_options.hpp"

namespace esp_run {
namespace {

constexpr int kRanksMax = 4096;
constexpr int kTimeLimitSecondsMax = 365 * 24 * 3600;  // As for the setting TIMEOUT.

constexpr const char* kFooter =
    R"(Exit code: that of the first rank that failed (128 + signal for a killed one), else 0;
124 time limit reached, 125 esp-run itself failed, 126 program cannot be executed, 127 not found.
SIGINT, SIGTERM and SIGHUP are passed on and end the job, after 2 s with SIGKILL.
SIGQUIT (Ctrl-\) says who waits for whom, in what call and since when, and the job goes on;
--timeout says so before it ends the job. A second signal, SIGQUIT included, kills at once.

Examples:
  esp-run -n 8 ./program input.dat
  esp-run -n 8 --nodes 2 --tag ./program    as if on two machines, output lines marked with ranks
  esp-run -n 1 ./lead : -n 7 ./work         several programs, ranks in their order)";

class UsageWithProgram final : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: esp-run [options] program [arguments] [: [-n, -x, --wdir] program ...]\n";
  }
};

// People come from launchers that write -np, or long options with one dash, which here would be
// -n with a strange value. How many of the next arguments are values of the option.
int mend_option(const CLI::App& app, std::string& option) {
  read_as_ours(option);
  const std::string name = option.substr(0, option.find('='));
  const bool one_dash = name.size() > 2 && name[1] != '-';
  if (one_dash && app.get_option_no_throw("-" + name) != nullptr) {
    throw LaunchError(kLauncherFailed,
                      fmt::format("unknown option '{}': is -{} meant?", name, name));
  }
  // Not -h, and then more letters.
  if (one_dash && option.starts_with("-h")) {
    throw LaunchError(kLauncherFailed, fmt::format("unknown option '{}'", option));
  }
  const CLI::Option* known = app.get_option_no_throw(option);
  const bool has_values = known != nullptr && known->get_items_expected_max() > 0;
  return has_values ? known->get_type_size_max() : 0;
}

template <typename Number>
std::optional<Number> number_in(const std::string& text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

// Checks of CLI11: they answer with what is wrong, or nothing.
std::string is_count(const std::string& text) {
  const auto number = number_in<int>(text);
  if (number && *number >= 1 && *number <= kRanksMax) return {};
  return fmt::format("'{}' is not a whole number from 1 to {}", text, kRanksMax);
}

std::string is_time_limit(const std::string& text) {
  const auto seconds = number_in<double>(text);
  if (seconds && *seconds > 0 && *seconds <= kTimeLimitSecondsMax) return {};
  return fmt::format("'{}' is not a number of seconds above 0 and up to {}", text,
                     kTimeLimitSecondsMax);
}

// "block", "round", "random" or "random:SEED".
bool read_placement(std::string_view text, Options& options) {
  constexpr std::string_view kRandom = "random:";
  if (text == "block") {
    options.placement = Placement::kBlock;
  } else if (text == "round") {
    options.placement = Placement::kRound;
  } else if (text == "random") {
    options.placement = Placement::kRandom;
  } else if (text.starts_with(kRandom)) {
    const auto seed = number_in<std::uint64_t>(std::string(text.substr(kRandom.size())));
    if (!seed) return false;
    options.placement = Placement::kRandom;
    options.placement_seed = *seed;
  } else {
    return false;
  }
  return true;
}

std::string is_placement(const std::string& text) {
  Options unused;
  if (read_placement(text, unused)) return {};
  return fmt::format("'{}' is not one of block, round, random and random:SEED", text);
}

std::string is_binding(const std::string& text) {
  if (binding_named(text)) return {};
  return fmt::format("'{}' is not one of {}", text, binding_names());
}

// What each program of a job has for itself.
void declare_of_program(CLI::App& app, Program& program) {
  app.add_option("-n,--ranks", program.ranks,
                 "Number of ranks (processes) to start; -np means the same")
      ->check(is_count)
      ->capture_default_str();
  app.add_option_function<std::vector<std::string>>(
         "-x",
         [&program](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) add_variable(program, text);
         },
         "Set a variable of the ranks' environment, which else is that of esp-run")
      ->allow_extra_args(false)
      ->type_name("NAME[=VALUE]");
  app.add_option("--wdir", program.directory, "Start the ranks in this directory")
      ->check(is_directory)
      ->type_name("DIR");
  declare_usual_of_program(app, program);
}

void declare_of_job(CLI::App& app, Options& options) {
  app.set_version_flag("--version", fmt::format("esp-run (espalier) {}.{}.{}", ESP_VERSION_MAJOR,
                                                ESP_VERSION_MINOR, ESP_VERSION_PATCH));
  app.add_option(
         "--nodes", options.nodes,
         "Emulated nodes on this machine, each with a PMIx server of its own; ranks of different "
         "nodes talk over the network")
      ->check(is_count)
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--map", [&options](const std::string& text) { read_placement(text, options); },
         "How ranks are dealt out to nodes: in 'block's (default), in turn ('round'), or 'random'")
      ->check(is_placement)
      ->type_name("block|round|random[:SEED]");
  app.add_option_function<std::string>(
         "--bind", [&options](const std::string& name) { options.binding = *binding_named(name); },
         "Bind rank after rank to the next of these parts of the machine, or 'none' (default)")
      ->check(is_binding)
      ->type_name("socket|l3|numa|core|hwthread|none");
  app.add_flag("--report-bindings", options.report_bindings,
               "Say for each rank on which node it is and where it is bound");
  app.add_flag("--tag", options.tag_output, "Mark every line of output with its rank");
  app.add_option("--timeout", options.time_limit_seconds, "End the job after this many seconds")
      ->check(is_time_limit)
      ->type_name("SECONDS");
  app.add_flag("--stacks", options.stacks,
               "Who waits for whom is said with the stack of every rank, read by eu-stack or gdb");
  app.add_flag("--keep-going", options.keep_going,
               "A failed rank does not end the job; the others are told by a PMIx event");
}

// What CLI11 leaves over: a program and its arguments, or an option it does not know. `where`: the
// place on the command line, for a message.
std::vector<std::string> command_of(const CLI::App& parsed, const CLI::App& of_job,
                                    const std::string& where) {
  std::vector<std::string> command = parsed.remaining();
  if (!command.empty() && command[0] == "--") command.erase(command.begin());
  if (command.empty()) throw LaunchError(kLauncherFailed, "which program? None was given" + where);
  const std::string name = command[0].substr(0, command[0].find('='));
  if (!name.starts_with('-')) return command;
  if (of_job.get_option_no_throw(name) != nullptr) {
    throw LaunchError(kLauncherFailed,
                      fmt::format("{} is for the whole job: before the first program", name));
  }
  throw LaunchError(kLauncherFailed, fmt::format("unknown option '{}'", command[0]));
}

void count_ranks(Options& options) {
  options.ranks = 0;
  for (const Program& program : options.programs) options.ranks += program.ranks;
  if (options.ranks > kRanksMax) {
    throw LaunchError(
        kLauncherFailed,
        fmt::format("{} ranks are more than the {} that are possible", options.ranks, kRanksMax));
  }
  if (options.nodes > options.ranks) {
    throw LaunchError(kLauncherFailed,
                      fmt::format("{} nodes need at least as many ranks, but -n is {}",
                                  options.nodes, options.ranks));
  }
}

void parse(CLI::App& app, std::vector<std::string> arguments) {
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back.
  app.parse(arguments);
}

// A program after the first. `of_job` knows all options.
void parse_further(const CLI::App& of_job, const std::vector<std::string>& arguments,
                   const std::string& where, Options& options) {
  Program& program = options.programs.emplace_back();
  CLI::App app;
  app.set_help_flag();  // None.
  app.prefix_command();
  declare_of_program(app, program);
  parse(app, arguments);
  program.command = command_of(app, of_job, where);
}

}  // namespace

ParsedOptions parse_options(int argc, const char* const* argv) {
  Options options;
  Program first, all_programs;
  CLI::App app("Starts the ranks of a parallel job on this machine.", "esp-run");
  app.formatter(std::make_shared<UsageWithProgram>());
  app.footer(kFooter);
  app.prefix_command();
  declare_of_program(app, first);
  declare_of_job(app, options);
  declare_usual_of_job(app, all_programs);
  try {
    const auto parts = split_into_programs(
        {argv + 1, argv + argc}, [&](std::string& option) { return mend_option(app, option); });
    parse(app, parts[0]);
    first.command = command_of(app, app, parts.size() > 1 ? " before the first ':'" : "");
    options.programs = {first};
    for (std::size_t i = 1; i < parts.size(); ++i) {
      const bool is_last = i + 1 == parts.size();
      parse_further(app, parts[i], is_last ? " after the last ':'" : " between two ':'", options);
    }
    for (Program& program : options.programs) {
      program.variables.insert(program.variables.begin(), all_programs.variables.begin(),
                               all_programs.variables.end());
    }
    count_ranks(options);
    return {std::move(options), 0};
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return {std::nullopt, 0};
  } catch (const CLI::CallForVersion& version) {
    std::puts(version.what());
    return {std::nullopt, 0};
  } catch (const std::runtime_error& failure) {  // CLI::ParseError and LaunchError.
    say("{}\nTry 'esp-run --help'.", failure.what());
    return {std::nullopt, kLauncherFailed};
  }
}

}  // namespace esp_run
