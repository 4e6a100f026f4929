// esp-noise: runs a program under operating system noise, the same that the simulator knows.
//
//   esp-run -n 4 esp-noise --spec uniform:10hz:0-10ms --seed 1 -- program arguments
//
// Ends as the program ends: with its exit code, or by the same signal.
#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "espalier/espalier.h"
#include "tools/esp-noise/injector.hpp"

namespace {

struct Options {
  std::string spec;
  std::uint64_t seed = 1;
  std::int64_t rank = -1;
  std::string record;
  bool summary = false;
  std::vector<std::string> program;
};

int fail(const std::string& text, int code) {
  fmt::print(stderr, "esp-noise: {}\n", text);
  return code;
}

// The rank that the launcher gave to this process; 0 without a launcher.
std::uint32_t launched_rank() {
  for (const char* name : {"PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    const char* text = std::getenv(name);
    if (text == nullptr) continue;
    char* end = nullptr;
    const unsigned long rank = std::strtoul(text, &end, 10);
    if (end != text && *end == '\0') return static_cast<std::uint32_t>(rank);
  }
  return 0;
}

// Wakes this process when a detour begins and ends, not when the scheduler finds it convenient:
// first among equals where that is allowed, else as it is. After the start of the program, which
// must not inherit it.
void hurry() {
  prctl(PR_SET_TIMERSLACK, 1UL);
  const sched_param parameters{.sched_priority = 1};
  if (sched_setscheduler(0, SCHED_FIFO, &parameters) != 0) setpriority(PRIO_PROCESS, 0, -20);
}

// "%r" becomes the rank.
std::string record_path(const std::string& pattern, std::uint32_t rank) {
  const std::size_t at = pattern.find("%r");
  if (at == std::string::npos) return pattern;
  return pattern.substr(0, at) + std::to_string(rank) + pattern.substr(at + 2);
}

// Ends as the program ended.
int end_like(const esp_noise::End& end) {
  if (end.signal == 0) return end.code;
  const rlimit no_core{.rlim_cur = 0, .rlim_max = 0};
  setrlimit(RLIMIT_CORE, &no_core);  // the program has left one, if it wanted to
  std::signal(end.signal, SIG_DFL);
  sigset_t unblocked;
  sigemptyset(&unblocked);
  sigprocmask(SIG_SETMASK, &unblocked, nullptr);
  raise(end.signal);
  return 128 + end.signal;
}

int run(const Options& options) {
  const auto spec = espalier::sim::parse_noise(options.spec);
  if (!spec) return fail(spec.error().text, 2);
  const std::uint32_t rank =
      options.rank >= 0 ? static_cast<std::uint32_t>(options.rank) : launched_rank();
  // Opened before the program runs: a wrong path must not cost a run.
  const std::string path = record_path(options.record, rank);
  std::ofstream record_file;
  if (!path.empty()) {
    record_file.open(path);
    if (!record_file)
      return fail(fmt::format("cannot write {}: {}", path, std::strerror(errno)), 2);
  }

  std::vector<char*> arguments;
  for (const std::string& argument : options.program) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  auto child = esp_noise::Child::start(arguments.data());
  if (!child) return fail(child.error().text, 127);
  hurry();
  espalier::sim::Noise noise(spec.value(), options.seed, rank);
  esp_noise::Record record;
  const esp_noise::End end = esp_noise::inject(
      child.value(), noise, spec.value().aligned ? spec.value().period() : 0, record);

  if (!path.empty()) {
    record_file << esp_noise::trace_text(
        record, fmt::format("{} seed {} rank {}", options.spec, options.seed, rank));
    record_file.close();
    if (!record_file) return fail("cannot write " + path, 2);
  }
  if (options.summary) {
    const double run_ms = static_cast<double>(record.run_ns) / 1e6;
    const double taken_ms = static_cast<double>(record.taken_ns()) / 1e6;
    fmt::print(stderr, "esp-noise: rank {}: {} detours, {:.1f} ms of {:.1f} ms ({:.2f} %)\n", rank,
               record.detours.size(), taken_ms, run_ms, 100.0 * taken_ms / run_ms);
  }
  return end_like(end);
}

}  // namespace

int main(int argc, char** argv) try {
  Options options;
  CLI::App app{
      "Runs a program under operating system noise: stops it now and then, as described, each\n"
      "rank at times of its own. Ends as the program ends.",
      "esp-noise"};
  app.add_option(
         "--spec", options.spec,
         "uniform:10hz:0-10ms, fixed:1000hz:25us, exponential:10hz:2.5ms, each with :aligned "
         "(all begin together), trace:FILE, none")
      ->required();
  app.add_option("--seed", options.seed, "of the times and lengths")->capture_default_str();
  app.add_option("--rank", options.rank, "instead of the launcher's (PMIX_RANK or the like)")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{0x7fffffff}));
  app.add_option("--record", options.record,
                 "file for what was done, itself a trace; %r stands for the rank");
  app.add_flag("--summary", options.summary, "one line on the standard error at the end");
  app.footer("Then `--`, the program and its arguments.");
  app.prefix_command();
  app.set_version_flag("--version", fmt::format("espalier {}.{}.{}", ESP_VERSION_MAJOR,
                                                ESP_VERSION_MINOR, ESP_VERSION_PATCH));
  app.failure_message([](const CLI::App*, const CLI::Error& wrong) {
    return fmt::format("esp-noise: {}\nRun with --help for all options.\n", wrong.what());
  });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& parse_error) {
    return app.exit(parse_error) == 0 ? 0 : 2;  // 0: --help and --version
  }
  options.program = app.remaining();
  if (!options.program.empty() && options.program[0] == "--") {
    options.program.erase(options.program.begin());
  } else if (!options.program.empty() && options.program[0].starts_with('-')) {
    // It would be taken for the program.
    return fail(fmt::format("unknown option {}: esp-noise --help tells more", options.program[0]),
                2);
  }
  if (options.program.empty()) return fail("which program? esp-noise --help tells more", 2);
  return run(options);
} catch (const std::exception& exception) {
  return fail(exception.what(), 2);
}
