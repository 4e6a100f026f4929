/* Espalier, the public C API: operations whose data is used before they are complete, or is given
 * to them bit by bit. espalier.h includes it, and says what holds for all.
 *
 *   esp_partial segments = ESP_PARTIAL_INIT;
 *   segments.flags = ESP_PARTIAL_DELIVER;
 *   esp_coll_options options = ESP_COLL_OPTIONS_INIT;
 *   options.partial = &segments;
 *   esp_alltoallv_start(team, ..., &options, NULL, &request);
 *   esp_segment one;
 *   int taken;
 *   while (esp_segment_wait(request, &one, &taken) == ESP_OK && taken) {
 *     merge(one.address, one.bytes);
 *   }
 *   esp_request_wait(&request);
 *
 * All of this is one member's own affair: the others may call the same operation without it, or
 * with something else, except for ESP_PARTIAL_SEPARATE. An operation of which nobody asks anything
 * pays nothing for it. The source of the idea is R. Kowalewski, Partial Aggregation for Collective
 * Communication (LMU Munich 2021), chapters 5 and 6; that of partitions is MPI 4.0, chapter 4.
 *
 * Delivery. What a member receives is handed out block by block as it lands, each block once,
 * before the operation is complete where the algorithm allows it. The bytes are final: reading them
 * is allowed from then on, everything else when the operation is complete. Of exchanges, gathers
 * and scatters a block is one member's (of graphs: one neighbour's), its own included where it gets
 * one; of one message (bcast, reduce, allreduce, scans, reduce-scatters) it is one of `blocks`
 * nearly equal parts (the first are longer by one element) in the order of the message; a root's
 * broadcast delivers them at once. Blocks without elements are not delivered. Who receives nothing
 * (a barrier's member, one that is not the root) is delivered nothing. In any order, but for what
 * algorithms say (docs/partial.md). When the operation fails, what has landed before is true and
 * may still be taken; a function is not called any more.
 *
 * Readiness. With ESP_PARTIAL_AWAIT the input is not there at the start: it is cut into partitions
 * that become ready one by one (esp_ready, or by another operation: `after`). What travels together
 * waits until all of it is ready, and the operation ends when all partitions were, not before. One
 * whose partitions never become ready ends with the job's limit: the text says which one was not.
 * Who has no input there (a broadcast's reader) has no partitions. Not in place for exchanges and
 * exscans (ESP_ERR_UNSUPPORTED).
 */
#ifndef ESPALIER_PARTIAL_H
#define ESPALIER_PARTIAL_H

#include "espalier/espalier.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What has landed. */
typedef struct esp_segment {
  int source;    /* whose block it is: a rank in the team; -1: made of several members' */
  int block;     /* its number in the output; of one message: of its `blocks` */
  size_t offset; /* of the segment in its block, in bytes of elements without gaps */
  void* address; /* where it lies; of elements that lie apart: where their block begins */
  size_t bytes;  /* of its elements */
} esp_segment;

/* Runs on the thread that drives progress, never inside a call that starts something. It may start
 * operations, but not block. `segment` ends with the call. */
typedef void (*esp_segment_function)(void* context, const esp_segment* segment);

enum {
  /* Delivery: to `function`, or, if that is NULL, to whoever calls esp_segment_take. */
  ESP_PARTIAL_DELIVER = 1,
  /* Deliver parts of blocks, as they land; none reaches over the end of its block. */
  ESP_PARTIAL_SEGMENTS = 2,
  /* Placement in order of arrival, with ESP_PARTIAL_DELIVER, of operations that deliver members'
   * blocks (but scatters): they lie one after the other without gaps in the output, in an order
   * that only the segments tell. Direct exchanges fill it from its beginning to its end as blocks
   * come; others may place blocks in an order of their own. Displacements of the output are not
   * read. ESP_ERR_UNSUPPORTED in place, and of types whose elements lie apart. */
  ESP_PARTIAL_UNORDERED = 4,
  /* Readiness. */
  ESP_PARTIAL_AWAIT = 8,
  /* With ESP_PARTIAL_AWAIT, of persistent neighbor_alltoall(v): each partition is a message of its
   * own. Else those of a neighbour are one (unless they are longer than a segment). Both ends of
   * each edge must say so, with the same number of partitions: this member's for edges to
   * destination i by block_partitions[i], for those from source i by source_partitions[i]. At most
   * 256 messages between two. */
  ESP_PARTIAL_SEPARATE = 16
};

/* Zero is a good value of everything. Read by the call that it is passed to, with all that it
 * points to. */
typedef struct esp_partial {
  size_t struct_size; /* sizeof(esp_partial), for binary compatibility */
  unsigned flags;
  esp_segment_function function;
  void* context;
  int blocks; /* of a result that is one message: so many; 0: 1 */
  /* ESP_PARTIAL_AWAIT: nearly equal partitions of each block of the input (of one message: of all);
   * 0: 1. Those of block 0 come first, then those of block 1, ... */
  int partitions;
  const int* block_partitions;  /* or NULL, or of block i; each at least 1 */
  const int* source_partitions; /* ESP_PARTIAL_SEPARATE */
  /* ESP_PARTIAL_AWAIT: or NULL, or an operation that was started before with ESP_PARTIAL_DELIVER
   * and no function. What of the input lies where it delivers becomes ready with the delivery, all
   * else with its end; esp_ready is allowed besides. It may be one of another team of the same job,
   * must not have been collected when this one starts, and if it fails this one's team fails with
   * the same text. A persistent request takes what delivers in the round that is under way when its
   * own round starts, or else was the last; it is freed before the one that it follows. Both of
   * elements without gaps, the input in one run. */
  esp_request* after;
} esp_partial;

#define ESP_PARTIAL_INIT \
  { sizeof(esp_partial), 0, NULL, NULL, 0, 0, NULL, NULL, NULL }

/* Takes a segment that has landed and that nobody has taken: *taken = 1 and ESP_OK. Else *taken =
 * 0: ESP_IN_PROGRESS: there is none at the moment; ESP_OK: all have been taken, and the operation
 * has ended; any other status is the operation's, of which nothing is left to take. Any thread at
 * any time until the request is collected or freed; several may take, each segment goes to one of
 * them. Without a lock or a system call; drives no progress. ESP_ERR_ARGUMENT: the request does not
 * deliver, or to a function. */
ESP_API esp_status esp_segment_take(esp_request* request, esp_segment* segment, int* taken);
/* The same for who has nothing else to do: returns when a segment has been taken, or there is
 * nothing left to take. Drives progress while it waits, so without ESP_THREAD_PROGRESS it is the
 * owner's call; with that any number of threads may wait, asleep. ESP_ERR_STATE inside callbacks.
 */
ESP_API esp_status esp_segment_wait(esp_request* request, esp_segment* segment, int* taken);
/* 1: all of the block has landed, so that its bytes are there for the calling thread; 0: not yet;
 * -1: there is no such block, or the request does not deliver. Once 1, it stays 1 until the next
 * round. Any thread, as esp_segment_take. */
ESP_API int esp_arrived(const esp_request* request, int block);

/* This partition of the input is ready: the caller, or whoever it has synchronised with, has
 * written it. Any thread, without a lock; never blocks. Of a persistent request of which no round
 * is under way the first such call starts one (on the thread that drives progress, by which it is
 * one of the operations of the team in their order). Each partition once in a round; ESP_ERR_STATE:
 * it was ready before. ESP_ERR_ARGUMENT: there is no such partition, or the request awaits none. */
ESP_API esp_status esp_ready(esp_request* request, int partition);
/* Those from `first` to `last`, both included. */
ESP_API esp_status esp_ready_range(esp_request* request, int first, int last);

/* A message of one persistent send and one persistent receive in `partitions` nearly equal parts,
 * which may be of another number on the other side, or none (esp_recv_init). A send travels as its
 * partitions become ready: those that share a segment of the flow wait for each other. A receive
 * delivers as with ESP_PARTIAL_DELIVER and no function, a block being a partition. Else as
 * esp_send_init and esp_recv_init. */
ESP_API esp_status esp_partitioned_send_init(esp_team* team, const void* buffer, size_t bytes,
                                             int partitions, int peer, unsigned channel,
                                             const esp_notify* notify, esp_request** request);
ESP_API esp_status esp_partitioned_recv_init(esp_team* team, void* buffer, size_t bytes,
                                             int partitions, int peer, unsigned channel,
                                             const esp_notify* notify, esp_request** request);

#ifdef __cplusplus
}
#endif

#endif /* ESPALIER_PARTIAL_H */
