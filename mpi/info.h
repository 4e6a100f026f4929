/* Info objects: keys and values, in the order in which the keys were first set.
 *
 * Threads: each has a lock. path: setup
 */
#ifndef ESPALIER_MPI_INFO_H
#define ESPALIER_MPI_INFO_H

#include <pthread.h>

#include "mpi/facade.h"

typedef struct Entry {
  char* key;
  char* value;
} Entry;

struct MPI_ABI_Info {
  Number number;
  pthread_mutex_t lock;
  size_t count, room;
  Entry* entries;
};

/* NULL: no info object, or MPI_INFO_NULL. */
Info* info_of(MPI_Info handle);
/* NULL when there is no memory. */
Info* info_create(void);
void info_free(Info* info);
/* 0 when there is no memory. */
int info_set(Info* info, const char* key, const char* value);
/* The value, of which `bytes` are copied at most, always terminated; returns how long it is, -1
 * when there is no such key. */
int info_get(Info* info, const char* key, char* value, size_t bytes);
/* What MPI_INFO_ENV tells. 0 when there is no memory. */
int info_fill_env(Info* info, int argc, char* const* argv);

#endif /* ESPALIER_MPI_INFO_H */
