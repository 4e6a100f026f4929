#include "signals.hpp"

#include <sys/signalfd.h>

#include "exit_codes.hpp"

namespace esp_run {
namespace {

bool is_ignored(int signal) {
  struct sigaction action;
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

SignalQueue::SignalQueue(const std::vector<int>& signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  fd_ = espalier::Descriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_.is_open()) fail_with_errno("signalfd");
}

std::vector<int> SignalQueue::take() {
  std::vector<int> signals;
  signalfd_siginfo info;
  while (::read(fd(), &info, sizeof(info)) == sizeof(info)) {
    signals.push_back(static_cast<int>(info.ssi_signo));
  }
  return signals;
}

std::vector<int> root_signals() {
  std::vector<int> signals{SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGCHLD};
  if (!is_ignored(SIGHUP)) signals.push_back(SIGHUP);
  return signals;
}

bool is_ending_signal(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGQUIT || signal == SIGHUP;
}

SignalDefaults::SignalDefaults() : is_hangup_ignored_(is_ignored(SIGHUP)) {
  sigprocmask(SIG_SETMASK, nullptr, &mask_);
}

void SignalDefaults::restore() const {
  for (const int signal : {SIGINT, SIGTERM, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2, SIGTSTP, SIGCHLD}) {
    ::signal(signal, SIG_DFL);
  }
  ::signal(SIGHUP, is_hangup_ignored_ ? SIG_IGN : SIG_DFL);
  sigprocmask(SIG_SETMASK, &mask_, nullptr);
}

}  // namespace esp_run
