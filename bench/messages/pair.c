/* Two processes by fork, and what they write and read. path: setup */
#define _GNU_SOURCE
#include "pair.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

void pair_fail(const char* what) {
  perror(what);
  exit(1);
}

static void bind_to_own(int rank) {
  const char* text = getenv("MESSAGES_CPUS");
  int cpus[2];
  cpu_set_t own;
  if (text == NULL) return;
  if (sscanf(text, "%d,%d", &cpus[0], &cpus[1]) != 2) {
    fprintf(stderr, "MESSAGES_CPUS: what is '%s'?\n", text);
    exit(2);
  }
  CPU_ZERO(&own);
  CPU_SET(cpus[rank], &own);
  if (sched_setaffinity(0, sizeof own, &own) != 0) pair_fail("MESSAGES_CPUS");
}

struct pair pair_begin(void) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) pair_fail("socketpair");
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) pair_fail("fork");
  const struct pair pair = {.rank = child == 0, .channel = ends[child == 0]};
  close(ends[child != 0]);
  /* A child of one that has failed would wait for it for ever. */
  if (child == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) pair_fail("prctl");
  if (child == 0 && getppid() != parent) exit(1);
  bind_to_own(pair.rank);
  return pair;
}

int pair_end(const struct pair* pair, int result) {
  int status = 0;
  close(pair->channel);
  if (pair->rank != 0) exit(result);
  if (wait(&status) < 0) pair_fail("wait");
  if (result != 0) return result;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

void pair_write(int fd, const void* buffer, size_t bytes) {
  const char* at = buffer;
  while (bytes > 0) {
    const ssize_t part = write(fd, at, bytes);
    if (part < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (part < 0) pair_fail("write");
    at += part;
    bytes -= (size_t)part;
  }
}

void pair_read(int fd, void* buffer, size_t bytes) {
  char* at = buffer;
  while (bytes > 0) {
    const ssize_t part = read(fd, at, bytes);
    if (part < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (part < 0) pair_fail("read");
    if (part == 0) {
      fprintf(stderr, "read: the other process has gone\n");
      exit(1);
    }
    at += part;
    bytes -= (size_t)part;
  }
}
