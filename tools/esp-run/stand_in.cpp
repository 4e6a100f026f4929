#include "stand_in.hpp"

#include <pmix.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "environment.hpp"

namespace esp_run {

pid_t start_stand_in(const std::vector<std::string>& environment, int null_fd, int first_own_fd,
                     const Inherited& inherited) {
  std::array<char*, 3> arguments{const_cast<char*>("esp-run"), const_cast<char*>(kStandInArgument),
                                 nullptr};
  const Environment variables(environment);
  const ChildSpec spec{.program = "/proc/self/exe",
                       .arguments = arguments.data(),
                       .environment = variables.data(),
                       .stdin_fd = null_fd,
                       .stdout_fd = null_fd,
                       .stderr_fd = null_fd,
                       .mask = nullptr,
                       .first_own_fd = first_own_fd};
  return spawn(spec, inherited);
}

void run_stand_in() {
  setenv("PMIX_MCA_gds", "hash", 0);
  pmix_proc_t self;
  PMIx_Init(&self, nullptr, 0);
  // Without PMIx_Finalize: that is the point.
  _exit(0);
}

}  // namespace esp_run
