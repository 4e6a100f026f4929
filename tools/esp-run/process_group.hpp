// The processes that a rank consists of, as its daemon sees them. path: slow
#pragma once

#include <sys/types.h>

namespace esp_run {

// The process of this group that is `inside` in the PID namespace that it runs in, another than the
// caller's (a container's, say). 0: there is none, or /proc does not tell. Reads all of /proc.
pid_t find_in_group(pid_t group, pid_t inside);

}  // namespace esp_run
