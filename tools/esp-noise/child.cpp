#include "tools/esp-noise/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "core/clock.hpp"

namespace esp_noise {
namespace {

using espalier::kNanosecondsPerSecond;

// How signals were handled before: what the program starts with.
struct Before {
  sigset_t mask;
  struct sigaction on_child;
};

// In the new process. Reports through the pipe why the program cannot be executed; executing it
// closes the pipe.
[[noreturn]] void execute(char* const* arguments, const Before& before, pid_t parent,
                          int report_fd) {
  // A death of the parent before the call would go unnoticed: look whether it is still there.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent) {
    sigaction(SIGCHLD, &before.on_child, nullptr);
    sigprocmask(SIG_SETMASK, &before.mask, nullptr);
    execvp(arguments[0], arguments);
  }
  const int reason = errno;
  const ssize_t written = write(report_fd, &reason, sizeof reason);
  _exit(written > 0 ? 127 : 126);
}

}  // namespace

std::uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * kNanosecondsPerSecond +
         static_cast<std::uint64_t>(now.tv_nsec);
}

espalier::Result<Child> Child::start(char* const* arguments) {
  const auto failure = [](const char* what, int reason) {
    return espalier::error(ESP_ERR_SYSTEM, fmt::format("{}: {}", what, std::strerror(reason)),
                           espalier::kNoRank, reason);
  };
  sigset_t signals;
  sigfillset(&signals);
  // Faults of this program, and what the terminal wants of both processes alike.
  for (const int own :
       {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT}) {
    sigdelset(&signals, own);
  }
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) return failure("pipe", errno);
  Before before{};
  struct sigaction notice {};
  notice.sa_handler = SIG_DFL;  // where the ends of children are ignored, nobody learns of them
  sigaction(SIGCHLD, &notice, &before.on_child);
  sigprocmask(SIG_BLOCK, &signals, &before.mask);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return failure("fork", errno);
  if (pid == 0) execute(arguments, before, parent, report[1]);
  close(report[1]);
  int reason = 0;
  const ssize_t received = read(report[0], &reason, sizeof reason);
  close(report[0]);
  if (received > 0) {
    waitpid(pid, nullptr, 0);
    return failure(arguments[0], reason);
  }
  return Child(pid, signals);
}

std::optional<End> Child::end_of(int wait_options) {
  int status = 0;
  pid_t answer;
  do {
    answer = waitpid(pid_, &status, wait_options);
  } while (answer < 0 && errno == EINTR);
  if (answer != pid_ || WIFSTOPPED(status)) return std::nullopt;
  if (WIFSIGNALED(status)) return End{.code = 0, .signal = WTERMSIG(status)};
  return End{.code = WEXITSTATUS(status), .signal = 0};
}

std::optional<End> Child::await(std::uint64_t deadline_ns) {
  while (true) {
    const std::uint64_t now = monotonic_ns();
    const std::uint64_t rest = deadline_ns > now ? deadline_ns - now : 0;
    const std::uint64_t seconds = std::min<std::uint64_t>(rest / kNanosecondsPerSecond, 3600);
    const timespec timeout{.tv_sec = static_cast<time_t>(seconds),
                           .tv_nsec = static_cast<long>(rest % kNanosecondsPerSecond)};
    siginfo_t info{};
    const int signal = sigtimedwait(&signals_, &info, &timeout);
    if (signal == SIGCHLD) {
      if (const auto end = end_of(WNOHANG)) return end;
    } else if (signal > 0) {
      // What the terminal sends (Ctrl-C) the program has got itself.
      if (info.si_code <= 0) kill(pid_, signal);
    } else if (errno == EAGAIN && monotonic_ns() >= deadline_ns) {
      return std::nullopt;
    }
  }
}

std::optional<End> Child::stop() {
  kill(pid_, SIGSTOP);
  return end_of(WUNTRACED);
}

void Child::resume() {
  kill(pid_, SIGCONT);
}

}  // namespace esp_noise
