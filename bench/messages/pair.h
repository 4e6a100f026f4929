/* pair: two processes without a launcher, for what has none.
 * Ownership: the channel, to the end of the process. Threads: one. path: setup
 */
#ifndef BENCH_MESSAGES_PAIR_H
#define BENCH_MESSAGES_PAIR_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pair {
  int rank;
  int channel; /* a stream socket to the other process, for what is not measured */
};

/* Makes rank 1 of a child. Where $MESSAGES_CPUS is set (as 0,2) each is bound to its own. */
struct pair pair_begin(void);
/* The exit code of both together; the child does not return. */
int pair_end(const struct pair* pair, int result);

/* All of it, or the process ends. Of a socket that does not block they look again and again. */
void pair_write(int fd, const void* buffer, size_t bytes);
void pair_read(int fd, void* buffer, size_t bytes);
/* Explains itself by errno and ends the process. */
void pair_fail(const char* what);

#ifdef __cplusplus
}
#endif

#endif /* BENCH_MESSAGES_PAIR_H */
