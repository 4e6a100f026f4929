// esp-run: starts the ranks of a parallel job on this machine and serves them PMIx.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>

#include "binding_report.hpp"
#include "exit_codes.hpp"
#include "job_plan.hpp"
#include "options.hpp"
#include "root.hpp"
#include "say.hpp"
#include "settings_check.hpp"
#include "spawn.hpp"
#include "stand_in.hpp"
#include "traces.hpp"

namespace {

// However we were started. Ranks get the signals' defaults back, and keep these descriptors.
void mend_what_was_inherited() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // The lowest that is free. If it fails, make_job_plan() finds out, too.
    if (fcntl(fd, F_GETFD) < 0) (void)open("/dev/null", O_RDWR);
  }
  std::signal(SIGCHLD, SIG_DFL);  // Ignored, it would let no child be waited for.
  std::signal(SIGPIPE, SIG_IGN);  // Who reads our messages may go away.
}

// Each rank costs the node daemon a connection, and with --tag two pipes.
esp_run::Inherited record_and_raise_limits() {
  esp_run::Inherited inherited;
  if (getrlimit(RLIMIT_NOFILE, &inherited.open_files) != 0) {
    esp_run::fail_with_errno("getrlimit");
  }
  rlimit raised = inherited.open_files;
  raised.rlim_cur = raised.rlim_max;
  setrlimit(RLIMIT_NOFILE, &raised);  // If it fails the old limit stays, which mostly suffices.
  return inherited;
}

// Before it begins, because libpmix is silent about connections that it cannot accept.
void check_limits(const esp_run::JobPlan& plan) {
  rlimit open_files{};
  if (getrlimit(RLIMIT_NOFILE, &open_files) != 0) esp_run::fail_with_errno("getrlimit");
  const int needed = esp_run::descriptors_needed(plan);
  if (open_files.rlim_cur >= static_cast<rlim_t>(needed)) return;
  throw esp_run::LaunchError(
      esp_run::kLauncherFailed,
      fmt::format("{} ranks on {} nodes need {} open files, and the limit (ulimit -n) is {}",
                  plan.ranks(), plan.nodes(), needed, open_files.rlim_cur));
}

void report_bindings(const esp_run::JobPlan& plan) {
  if (plan.options.report_bindings) std::fputs(esp_run::binding_report(plan).c_str(), stderr);
  const std::string note = esp_run::crowding_note(plan);
  if (!note.empty()) esp_run::say("{}", note);
}

}  // namespace

int main(int argc, char** argv) {
  mend_what_was_inherited();
  if (argc == 2 && std::strcmp(argv[1], esp_run::kStandInArgument) == 0) esp_run::run_stand_in();
  const esp_run::ParsedOptions parsed = esp_run::parse_options(argc, argv);
  if (!parsed.options) return parsed.exit_code;
  try {
    const esp_run::Inherited inherited = record_and_raise_limits();
    esp_run::Options options = *parsed.options;
    for (const std::string& sentence : esp_run::check_settings(options.programs)) {
      esp_run::say("{}", sentence);
    }
    esp_run::JobPlan plan = esp_run::make_job_plan(options);
    check_limits(plan);
    report_bindings(plan);
    const esp_run::Traces traces(plan);
    const int code = esp_run::Root(plan, inherited).run();
    traces.join();
    return code;
  } catch (const esp_run::LaunchError& failure) {
    esp_run::say("{}", failure.what());
    return failure.code();
  } catch (const std::bad_alloc&) {
    std::fputs("esp-run: out of memory\n", stderr);
    return esp_run::kLauncherFailed;
  }
}
