#include "tests/swarm/swarm.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstring>

#include "core/plant.hpp"

#ifdef ESPALIER_PLANTED_BUGS
namespace espalier {
int planted_bug = 0;
}
#endif

namespace espalier::swarm {
namespace {

constexpr int kSeedSeconds = 20;  // of this process's own time; far beyond any seed that ends

// Written by note_seed, read by the handler of the same thread.
char last_words[256];

void on_signal(int signal) {
  // Only what is safe here.
  const char* what = signal == SIGVTALRM ? "a seed does not end\n" : "a seed ends in a signal\n";
  (void)!::write(STDOUT_FILENO, what, std::strlen(what));
  (void)!::write(STDOUT_FILENO, last_words, std::strlen(last_words));
  ::_exit(3);
}

int current_bug() {
#ifdef ESPALIER_PLANTED_BUGS
  return planted_bug;
#else
  return 0;
#endif
}

}  // namespace

std::string replay_command(std::uint64_t seed, int bug) {
#ifdef ESPALIER_PLANTED_BUGS
  return bug == 0 ? fmt::format("build/bin/swarm_planted --seed {}", seed)
                  : fmt::format("build/bin/swarm_planted --bug {} --seed {}", bug, seed);
#else
  (void)bug;
  return fmt::format("build/bin/swarm --seed {}", seed);
#endif
}

void catch_signals() {
  for (const int signal : {SIGABRT, SIGVTALRM, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    (void)::signal(signal, on_signal);
  }
}

void note_seed(std::uint64_t seed) {
  const std::string words =
      fmt::format("seed {} failed; again: {}\n", seed, replay_command(seed, current_bug()));
  std::strncpy(last_words, words.c_str(), sizeof last_words - 1);
  const itimerval limit = {{0, 0}, {kSeedSeconds, 0}};
  (void)::setitimer(ITIMER_VIRTUAL, &limit, nullptr);
}

Report run_seed(std::uint64_t seed) {
  note_seed(seed);
  const Scenario scenario = draw_scenario(seed);
  auto job = std::make_unique<Job>(scenario);
  Report report = job->run();
  // What has failed cannot be taken down in order.
  if (!report.failure.empty()) (void)job.release();
  return report;
}

Report run_twice(std::uint64_t seed) {
  Report first = run_seed(seed);
  if (!first.failure.empty()) return first;
  const Report second = run_seed(seed);
  if (second.failure.empty() && second.unseed == first.unseed) return first;
  first.failure = fmt::format("the second run differs: unseed {:016x}, then {:016x} {}",
                              first.unseed, second.unseed, second.failure);
  return first;
}

}  // namespace espalier::swarm
