// Starting one process: fork, the few settings a rank needs, exec.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <string>

#include "binding.hpp"
#include "signals.hpp"

namespace esp_run {

// What every rank gets back as it was before the launcher changed it for itself.
struct Inherited {
  SignalDefaults signals;
  rlimit open_files{};  // The launcher raises its own limit.
};

struct ChildSpec {
  const char* label;  // For messages: "rank 3".
  const char* program;
  char* const* arguments;
  char* const* environment;
  int stdin_fd;
  int stdout_fd;
  int stderr_fd;
  const CpuMask* mask;              // NULL: not bound.
  int first_own_fd;                 // Descriptors from here on are closed.
  int state_fd = -1;                // But this is there, as first_own_fd; -1: nothing is.
  const char* directory = nullptr;  // NULL: the caller's.
};

// -1 with errno. The child leads a process group of its own and dies with the calling *thread*
// (PDEATHSIG), so only a thread that lives as long as the launcher may call this. When the program
// cannot be executed the child says so on stderr and exits with 126 or 127.
pid_t spawn(const ChildSpec& spec, const Inherited& inherited);

}  // namespace esp_run
