/* Messages in partitions: the state of one behind its request, and the transfers that it is made
 * of. Each partition of the sender is a message by tag, so that the receiver knows of each whether
 * it has come. Their tags are none of the program's: bit 63, the number of the send among all of
 * its rank on the communicator, the partition. The receiver learns that number, and into how many
 * partitions the sender cuts how many bytes, from a *greeting*: a message that each init sends
 * under bit 62 and the program's tag, so that the inits of two ranks and a tag meet in their order.
 *
 * Ownership: of the request; while a greeting is under way it outlives that. Threads: any makes
 * partitions ready and asks whether they have arrived; what ends is told on the thread that drives
 * progress. path: short
 */
#ifndef ESPALIER_MPI_PARTITIONED_H
#define ESPALIER_MPI_PARTITIONED_H

#include "mpi/message.h"

typedef struct Greeting {
  uint64_t number, partitions, bytes;
} Greeting;

/* One partition of the sender. */
typedef struct Transfer {
  struct Partitioned* of;
  atomic_int is_ready; /* of a send: the program has said so */
  atomic_int is_done;  /* release: it is sent, or is where the program expects it */
} Transfer;

typedef struct Partitioned {
  Comm* comm; /* as long as the request lives */
  int sends, peer, tag;
  int own_partitions;
  uint64_t bytes; /* of the whole message here */
  Payload payload;
  char* packed; /* the whole, where the elements have gaps; else NULL */
  Greeting greeting;
  atomic_int state; /* kGreeted, kStarted, kFreed of partitioned.c */
  int64_t left;     /* what is to end before the round does; atomic */
  esp_status greeting_status;
  _Atomic(esp_status) outcome; /* of the round */
  size_t transfers;            /* 0 until a receive is greeted */
  Transfer* transfer;
} Partitioned;

/* ---- transfers.c ---- */

/* NULL: no memory. Greets, and so may fail. */
Partitioned* partitioned_create(Partitioned model, esp_status* status);
void partitioned_free(Partitioned* partitioned);
/* Begins a round. */
void partitioned_start(Partitioned* partitioned);
esp_status partitioned_ready(Partitioned* partitioned, int partition);
int partitioned_has_ended(const Partitioned* partitioned);
/* Waits for that and says how. */
esp_status partitioned_await(Partitioned* partitioned);
/* Has a partition of the receiver come? */
int partitioned_arrived(const Partitioned* partitioned, int partition);

#endif /* ESPALIER_MPI_PARTITIONED_H */
