#include "spawn.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "exit_codes.hpp"

namespace esp_run {
namespace {

// From here to exec the child of a process with threads: async-signal-safe calls only.

void say(std::initializer_list<const char*> parts) {
  std::array<char, 1024> line;
  std::size_t length = 0;
  for (const char* part : parts) {
    const std::size_t bytes = std::min(std::strlen(part), line.size() - length);
    std::memcpy(line.data() + length, part, bytes);
    length += bytes;
  }
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), length);
}

// dup2 clears close-on-exec, except when both are the same.
void put_at(int fd, int target) {
  if (fd != target) dup2(fd, target);
}

[[noreturn]] void run_child(const ChildSpec& spec, const Inherited& inherited, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kLauncherFailed);  // It died before PDEATHSIG was set.
  if (spec.mask != nullptr) {
    const auto* set = reinterpret_cast<const cpu_set_t*>(spec.mask->data());
    if (sched_setaffinity(0, spec.mask->size() * sizeof(unsigned long), set) != 0) {
      say({"esp-run: cannot bind ", spec.label, ": ", strerrordesc_np(errno), "\n"});
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
    say({"esp-run: ", spec.label, " cannot start in ", spec.directory, ": ", strerrordesc_np(errno),
         "\n"});
    _exit(kLauncherFailed);
  }
  execvpe(spec.program, spec.arguments, spec.environment);
  const int failure = errno;
  // The program itself was found before: what is missing is what it names.
  const char* hint = failure == ENOENT ? " (is the interpreter it names installed?)" : "";
  say({"esp-run: ", spec.label, " cannot execute ", spec.program, ": ", strerrordesc_np(failure),
       hint, "\n"});
  _exit(failure == ENOENT ? kNotFound : kCannotExecute);
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
