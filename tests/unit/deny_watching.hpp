// The kernel no longer answers a MemoryWatch: filters that a process cannot take back, so for
// children (child.hpp).
#pragma once

#include <linux/userfaultfd.h>
#include <seccomp.h>
#include <sys/ioctl.h>

#include <cerrno>

namespace espalier::test {

// The owner's question. False: there can be no filter here.
inline bool deny_watching() {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  const bool made = filter != nullptr &&
                    seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
                                     SCMP_A1(SCMP_CMP_EQ, UFFDIO_WRITEPROTECT, 0)) == 0 &&
                    seccomp_load(filter) == 0;
  seccomp_release(filter);
  return made;
}

// Reading of this descriptor, by all threads.
inline bool deny_reading(int descriptor) {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  const bool made =
      filter != nullptr && seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1) == 0 &&
      seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(read), 1,
                       SCMP_A0(SCMP_CMP_EQ, static_cast<unsigned>(descriptor), 0)) == 0 &&
      seccomp_load(filter) == 0;
  seccomp_release(filter);
  return made;
}

}  // namespace espalier::test
