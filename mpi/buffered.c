/* The buffered mode: messages are copied and sent by the library, as many as the attached buffer
 * has room for. The copies stand in memory of their own: what a program can see of its buffer is
 * its size alone. path: data
 */
#include <stdlib.h>
#include <string.h>

#include "mpi/message.h"

typedef struct Copy {
  struct Copy* next;
  esp_request* request;
  size_t cost;
  char bytes[];
} Copy;

/* Guarded by state_lock(). */
static struct {
  void* buffer;
  int is_attached;
  size_t size, used;
  Copy* first;
} attached;

/* Gives back what has been sent. Locked. */
static void reap(void) {
  for (Copy** link = &attached.first; *link != NULL;) {
    Copy* copy = *link;
    int done = 1;
    if (copy->request != NULL) (void)esp_request_test(&copy->request, &done);
    if (!done) {
      link = &copy->next;
      continue;
    }
    *link = copy->next;
    attached.used -= copy->cost;
    free(copy);
  }
}

static Copy* take_room(size_t bytes, const char** problem) {
  const size_t cost = bytes + MPI_BSEND_OVERHEAD;
  if (attached.used + cost > attached.size) reap();
  if (attached.used + cost > attached.size) {
    *problem = "no room in the attached buffer";
    return NULL;
  }
  Copy* copy = malloc(sizeof *copy + bytes);
  *problem = "no memory";
  if (copy == NULL) return NULL;
  *copy = (Copy){.next = attached.first, .cost = cost};
  attached.first = copy;
  attached.used += cost;
  return copy;
}

esp_status buffered_send(const Message* message, const char** problem) {
  const Payload* p = &message->payload;
  state_lock();
  Copy* copy = take_room(p->bytes, problem);
  esp_status status = copy != NULL ? ESP_OK : ESP_ERR_ARGUMENT;
  if (copy != NULL) {
    if (p->form == kPayloadLayout) {
      type_pack(p->datatype, displaced(p->base, -p->datatype->true_lb), p->count, 0, p->bytes,
                copy->bytes);
    } else {
      memcpy(copy->bytes, p->base, p->bytes);
    }
    status = esp_tag_send_start(message->comm->team, copy->bytes, p->bytes, ESP_BYTE, message->peer,
                                message_tag(message->tag), NULL, &copy->request);
  }
  state_unlock();
  return status;
}

void buffered_flush(void) {
  for (;;) {
    state_lock();
    reap();
    Copy* copy = attached.first;
    esp_request* request = copy != NULL ? copy->request : NULL;
    if (copy != NULL) copy->request = NULL;
    state_unlock();
    if (copy == NULL) return;
    (void)esp_request_wait(&request);
  }
}

int MPI_Buffer_attach(void* buffer, int size) {
  require_ready(__func__);
  if (size < 0) return raise_error(__func__, NULL, MPI_ERR_ARG, "negative size");
  state_lock();
  const int is_second = attached.is_attached;
  if (!is_second) {
    attached.buffer = buffer;
    attached.size = (size_t)size;
    attached.is_attached = 1;
  }
  state_unlock();
  if (!is_second) return MPI_SUCCESS;
  return raise_error(__func__, NULL, MPI_ERR_BUFFER, "a buffer is attached already");
}

int MPI_Buffer_flush(void) {
  require_ready(__func__);
  buffered_flush();
  return MPI_SUCCESS;
}

int MPI_Buffer_detach(void* buffer_addr, int* size) {
  require_ready(__func__);
  if (buffer_addr == NULL || size == NULL) {
    return raise_error(__func__, NULL, MPI_ERR_ARG, "null result");
  }
  buffered_flush();
  state_lock();
  const int was_attached = attached.is_attached;
  *(void**)buffer_addr = attached.buffer;
  *size = (int)attached.size;
  attached.buffer = NULL;
  attached.size = 0;
  attached.is_attached = 0;
  state_unlock();
  if (was_attached) return MPI_SUCCESS;
  return raise_error(__func__, NULL, MPI_ERR_BUFFER, "no buffer is attached");
}
