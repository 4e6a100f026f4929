// Starting one process: fork, the few settings a rank needs, exec.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <string>

#include "binding.hpp"
#include "signals.hpp"
#include "start_failure.hpp"

namespace esp_run {

// What every rank gets back as it was before the launcher changed it for itself.
struct Inherited {
  SignalDefaults signals;
  rlimit open_files{};  // The launcher raises its own limit.
};

struct ChildSpec {
  int rank = -1;  // Of the job; -1: something else.
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
  int failures_fd = -1;             // Where a StartFailure is told; -1: nowhere.
};

// -1 with errno. The child leads a process group of its own and dies with the calling *thread*
// (PDEATHSIG), so only a thread that lives as long as the launcher may call this. A child that
// cannot become its program tells a StartFailure and exits with its code.
pid_t spawn(const ChildSpec& spec, const Inherited& inherited);

}  // namespace esp_run
