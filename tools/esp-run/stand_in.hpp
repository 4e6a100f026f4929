// A process that joins the job in the place of a rank that died before it joined, and dies too.
//
// libpmix waits in a fence for every rank that was announced to it, and takes away only those whose
// connection breaks. A rank that never connected would be waited for for ever. There is no call to
// say so; but this program in another role can connect under the dead rank's name and go.
#pragma once

#include <string>
#include <vector>

#include "job_plan.hpp"
#include "spawn.hpp"

namespace esp_run {

inline constexpr const char* kStandInArgument = "--stand-in-for-a-rank-that-never-joined";

// In the node daemon. `environment`: of the dead rank. -1 with errno.
pid_t start_stand_in(const std::vector<std::string>& environment, int null_fd, int first_own_fd,
                     const Inherited& inherited);
// In the process that was started.
[[noreturn]] void run_stand_in();

}  // namespace esp_run
