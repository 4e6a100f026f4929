// The hunt for planted bugs: each in a process of its own, because most of them do not end well.
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>

#include "core/plant.hpp"
#include "tests/swarm/bugs.hpp"
#include "tests/swarm/swarm.hpp"

namespace espalier::swarm {
namespace {

// What the hunter leaves behind, however it ends.
struct Trail {
  std::uint64_t seed = 0;
  char failure[400] = {};
};

class SharedTrail {
 public:
  SharedTrail() {
    void* memory =
        ::mmap(nullptr, sizeof(Trail), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ESP_ASSERT(memory != MAP_FAILED);
    trail_ = new (memory) Trail;
  }
  ~SharedTrail() { ::munmap(trail_, sizeof(Trail)); }
  SharedTrail(const SharedTrail&) = delete;
  SharedTrail& operator=(const SharedTrail&) = delete;
  Trail& operator*() const noexcept { return *trail_; }
  Trail* operator->() const noexcept { return trail_; }

 private:
  Trail* trail_;
};

[[noreturn]] void follow(const Bug& bug, std::uint64_t seeds, Trail& trail) {
  planted_bug = bug.number;
  for (std::uint64_t seed = bug.before + 1; seed <= bug.before + seeds; ++seed) {
    if (bug.stage != StageKind::kSim && draw_scenario(seed).stage != bug.stage) continue;
    trail.seed = seed;
    const Report report = run_seed(seed);
    if (report.failure.empty()) continue;
    std::strncpy(trail.failure, report.failure.c_str(), sizeof trail.failure - 1);
    ::_exit(1);
  }
  ::_exit(0);
}

// How the hunter ended; empty: it found nothing.
std::string catch_of(const Trail& trail, int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  if (trail.failure[0] != '\0') return trail.failure;
  // Somebody else's doing: out of memory, say.
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return {};
  return "an assertion, a sanitizer or a signal ended the run (see above)";
}

bool hunt_one(const Bug& bug, std::uint64_t seeds) {
  const auto begin = std::chrono::steady_clock::now();
  SharedTrail trail;
  std::fflush(stdout);
  const pid_t child = ::fork();
  ESP_ASSERT(child >= 0);
  if (child == 0) follow(bug, seeds, *trail);
  int status = 0;
  ESP_ASSERT(::waitpid(child, &status, 0) == child);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  const std::string found = catch_of(*trail, status);
  if (found.empty()) {
    fmt::print("bug {} ({}: {}) was NOT found by {} seeds in {:.1f} s\n", bug.number, bug.kind,
               bug.what, seeds, seconds.count());
    return false;
  }
  fmt::print("bug {} ({}: {}) was found by seed {} in {:.1f} s: {}\n  again: {}\n", bug.number,
             bug.kind, bug.what, trail->seed, seconds.count(), found,
             replay_command(trail->seed, bug.number));
  return true;
}

}  // namespace

int hunt(int bug, std::uint64_t seeds) {
  std::size_t hunted = 0, found = 0;
  for (const Bug& planted : planted_bugs()) {
    if (bug != 0 && planted.number != bug) continue;
    ++hunted;
    if (hunt_one(planted, seeds)) ++found;
  }
  fmt::print("{} of {} planted bugs found\n", found, hunted);
  return hunted > 0 && found == hunted ? 0 : 1;
}

}  // namespace espalier::swarm
