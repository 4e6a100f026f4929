/* deny_cma ERRNO PROGRAM ARGS...: runs the program, and what it starts, under a seccomp filter that
 * refuses process_vm_readv and process_vm_writev with that errno, as containers do. */
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 3) {
    fputs("usage: deny_cma EPERM|ENOSYS PROGRAM ARGS...\n", stderr);
    return 2;
  }
  const uint32_t refusal = SCMP_ACT_ERRNO(strcmp(argv[1], "ENOSYS") == 0 ? ENOSYS : EPERM);
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  if (filter == NULL || seccomp_rule_add(filter, refusal, SCMP_SYS(process_vm_readv), 0) != 0 ||
      seccomp_rule_add(filter, refusal, SCMP_SYS(process_vm_writev), 0) != 0 ||
      seccomp_load(filter) != 0) {
    fputs("deny_cma: no seccomp filter possible here\n", stderr);
    return 77;
  }
  execvp(argv[2], argv + 2);
  perror(argv[2]);
  return 127;
}
