#include "spawn.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "exit_codes.hpp"

namespace esp_run {
namespace {

// From here to exec the child of a process with threads: async-signal-safe calls only.

// dup2 clears close-on-exec, except when both are the same.
void put_at(int fd, int target) {
  if (fd != target) dup2(fd, target);
}

[[noreturn]] void give_up(int failures, const StartFailure& failure) {
  StartFailures::tell(failures, failure);
  _exit(failure.exit_code());
}

[[noreturn]] void run_child(const ChildSpec& spec, const Inherited& inherited, pid_t parent) {
  // Above the descriptors that are about to be put in place.
  const int failures = fcntl(spec.failures_fd, F_DUPFD_CLOEXEC, spec.first_own_fd + 1);
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kLauncherFailed);  // It died before PDEATHSIG was set.
  if (spec.mask != nullptr) {
    const auto* set = reinterpret_cast<const cpu_set_t*>(spec.mask->data());
    if (sched_setaffinity(0, spec.mask->size() * sizeof(unsigned long), set) != 0) {
      StartFailures::tell(failures, {spec.rank, StartStep::kBind, errno});
    }
  }
  put_at(spec.stdin_fd, STDIN_FILENO);
  put_at(spec.stdout_fd, STDOUT_FILENO);
  put_at(spec.stderr_fd, STDERR_FILENO);
  int first_closed = spec.first_own_fd;
  if (spec.state_fd >= 0) {
    if (spec.state_fd == first_closed) fcntl(first_closed, F_SETFD, 0);
    put_at(spec.state_fd, first_closed++);
  }
  // libpmix leaves sockets of its other clients open for exec.
  close_range(static_cast<unsigned>(first_closed), ~0U, CLOSE_RANGE_CLOEXEC);
  setrlimit(RLIMIT_NOFILE, &inherited.open_files);
  inherited.signals.restore();
  if (spec.directory != nullptr && chdir(spec.directory) != 0) {
    give_up(failures, {spec.rank, StartStep::kDirectory, errno});
  }
  execvpe(spec.program, spec.arguments, spec.environment);
  give_up(failures, {spec.rank, StartStep::kExecute, errno});
}

}  // namespace

pid_t spawn(const ChildSpec& spec, const Inherited& inherited) {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) run_child(spec, inherited, parent);
  // Also here: whoever comes first, the group exists before anybody signals it.
  if (child > 0) setpgid(child, child);
  return child;
}

}  // namespace esp_run
