// The one clock of the measurements: CLOCK_MONOTONIC, which all processes of a machine share; and
// processor time.
//
// Through the vDSO a read costs about 20 ns, so nothing shorter than a microsecond is timed alone
// (see measure.hpp). path: short
#pragma once

#include <time.h>

#include <cstdint>

namespace espalier::bench {

inline std::int64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// What this process has computed, and the kernel for it.
inline std::int64_t process_time_ns() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

}  // namespace espalier::bench
