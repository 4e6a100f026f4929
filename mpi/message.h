/* Messages: what the files of point-to-point communication share.
 *
 * MPI's tags are the lower 32 bits of the library's, and each communicator has a team of its own,
 * so nothing else tells messages apart. path: short
 */
#ifndef ESPALIER_MPI_MESSAGE_H
#define ESPALIER_MPI_MESSAGE_H

#include "mpi/stage.h"

typedef enum Mode { kStandard, kSynchronous, kBuffered, kReceives } Mode;

/* The arguments of a message, checked. */
typedef struct Message {
  const char* function;
  Comm* comm;
  Payload payload;
  MPI_Count count;
  int peer, tag;
  Mode mode;
} Message;

/* Raises what is wrong and returns the code of it. `peer` may be MPI_PROC_NULL. */
int message_peer(Message* message, int peer, int tag, MPI_Comm comm);
int message_data(Message* message, const void* buffer, MPI_Count count, MPI_Datatype datatype);

/* The upper 32 bits are 0 of all messages of the program: those of the facade's own have others
 * (partitioned.h). */
static inline uint64_t message_mask(int tag) {
  return tag == MPI_ANY_TAG ? ~(uint64_t)UINT32_MAX : ESP_TAG_EXACT;
}
static inline uint64_t message_tag(int tag) {
  return tag == MPI_ANY_TAG ? 0 : (uint64_t)(uint32_t)tag;
}
static inline int message_source(int peer) {
  return peer == MPI_ANY_SOURCE ? ESP_ANY_SOURCE : peer;
}

/* Both. */
int message_check(Message* message, const void* buffer, MPI_Count count, MPI_Datatype datatype,
                  int peer, int tag, MPI_Comm comm);
/* Gives a request to the program, started unless it is persistent. */
int message_begin(const Message* message, int persistent, MPI_Request* handle);
/* Until its buffer may be used again. */
int message_send(const Message* message);

/* A request for it, not started. NULL after raising (the code is in *code). */
Request* message_request(const Message* message, int persistent, int* code);
/* Starts a round. */
esp_status message_start(Request* request);

/* ---- status ---- */

void status_set(MPI_Status* status, int source, int tag, uint64_t bytes);
static inline void status_set_info(MPI_Status* status, const esp_tag_info* info) {
  status_set(status, info->source, (int)info->tag, info->bytes);
}
static inline void status_set_nobody(MPI_Status* status) {
  status_set(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
}

/* ---- buffered.c ---- */

/* Copies and sends it. ESP_ERR_ARGUMENT: there is no room. */
esp_status buffered_send(const Message* message);
/* Why there is no room for a message on the communicator. */
const char* buffered_problem(const Comm* comm);
/* Until all have been sent. */
void buffered_flush(void);
int buffered_is_flushed(const Request* request);
/* Of a communicator that nothing names any more. */
void buffered_forget(Comm* comm);

#endif /* ESPALIER_MPI_MESSAGE_H */
