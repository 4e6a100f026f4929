// Child: the program under noise, as its parent process holds it: started, stopped, continued,
// signalled, and never outliving the parent (the kernel kills it when esp-noise dies).
//
// Ownership: owns the process until it has ended. Threads: one.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <optional>

#include "core/status.hpp"

namespace esp_noise {

// How a process ended: an exit code, or the signal that killed it.
struct End {
  int code = 0;
  int signal = 0;
};

class Child {
 public:
  // Starts `arguments` (the program, looked up in PATH, its arguments, a null pointer). Blocks all
  // signals that can be handed on, so that await() sees them; the program starts with them as they
  // were. An error says why it could not be executed.
  static espalier::Result<Child> start(char* const* arguments);

  // Hands signals on to the program until `deadline_ns` (CLOCK_MONOTONIC), or the program's end.
  std::optional<End> await(std::uint64_t deadline_ns);
  // Stops the program and waits until the kernel says that it stands still.
  std::optional<End> stop();
  void resume();

 private:
  Child(pid_t pid, sigset_t signals) : pid_(pid), signals_(signals) {}
  std::optional<End> end_of(int wait_options);

  pid_t pid_;
  sigset_t signals_;
};

std::uint64_t monotonic_ns();

}  // namespace esp_noise
