// Signals as a file descriptor, and what each one means to a launcher.
#pragma once

#include <csignal>
#include <vector>

#include "core/descriptor.hpp"

namespace esp_run {

// Blocks the signals in this thread (and those it starts) for good and reads them from fd().
class SignalQueue {
 public:
  explicit SignalQueue(const std::vector<int>& signals);

  int fd() const { return fd_.fd(); }
  std::vector<int> take();

 private:
  espalier::Descriptor fd_;
};

// What the root listens to. SIGHUP is not among them under nohup.
std::vector<int> root_signals();
// Those that end a job.
bool is_ending_signal(int signal);

// The state that programs expect at their start, recorded before it is changed.
class SignalDefaults {
 public:
  SignalDefaults();
  // In a forked child, just before exec; async-signal-safe. Undoes masks and dispositions: a shell
  // starts background jobs with SIGINT ignored, and ranks that cannot be interrupted are a
  // nuisance.
  void restore() const;

 private:
  sigset_t mask_;
  bool is_hangup_ignored_;
};

}  // namespace esp_run
