/* The buffered mode: messages are copied and sent by the library, as many as the attached buffer
 * has room for. The copies stand in memory of their own: what a program can see of its buffer is
 * its size alone. A communicator may have a buffer of its own; the process's serves the others.
 * path: data
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "espalier/devices.h"
#include "mpi/message.h"

/* Keeps its communicator. */
typedef struct Copy {
  struct Copy* next;
  Comm* comm;
  esp_request* request;
  uint64_t number;
  size_t cost;
  char bytes[];
} Copy;

/* Guarded by state_lock(). */
typedef struct Buffer {
  struct Buffer* next; /* of another communicator */
  Comm* comm;          /* not kept; NULL: of the process */
  void* memory;
  int is_attached;
  int is_automatic; /* there is always room */
  size_t size, used;
  uint64_t numbers; /* given to copies so far */
  Copy* first;
} Buffer;

static Buffer of_process; /* and the list of the others */

/* ---- copies ---- */

/* Takes out what has been sent. Locked. */
static Copy* reap(Buffer* buffer) {
  Copy* ended = NULL;
  for (Copy** link = &buffer->first; *link != NULL;) {
    Copy* copy = *link;
    int done = 1;
    if (copy->request != NULL) (void)esp_request_test(&copy->request, &done);
    if (!done) {
      link = &copy->next;
      continue;
    }
    *link = copy->next;
    buffer->used -= copy->cost;
    copy->next = ended;
    ended = copy;
  }
  return ended;
}

/* Not locked: a communicator may go with its last copy. */
static void discard(Copy* ended) {
  while (ended != NULL) {
    Copy* copy = ended;
    ended = copy->next;
    comm_release(copy->comm);
    free(copy);
  }
}

/* Locked. What has been sent meanwhile goes to `ended`. */
static esp_status take_room(Buffer* buffer, Comm* comm, size_t bytes, Copy** ended, Copy** taken) {
  const size_t cost = bytes + MPI_BSEND_OVERHEAD;
  if (buffer->is_automatic || buffer->used + cost > buffer->size) *ended = reap(buffer);
  if (!buffer->is_automatic && buffer->used + cost > buffer->size) return ESP_ERR_ARGUMENT;
  Copy* copy = malloc(sizeof *copy + bytes);
  if (copy == NULL) return ESP_ERR_NO_MEMORY;
  *copy = (Copy){.next = buffer->first, .comm = comm, .number = ++buffer->numbers, .cost = cost};
  comm_retain(comm);
  buffer->first = copy;
  buffer->used += cost;
  *taken = copy;
  return ESP_OK;
}

/* The one that serves it. Locked. */
static Buffer* serving(const Comm* comm) {
  Buffer* own = comm->buffer;
  return own != NULL && own->is_attached ? own : &of_process;
}

const char* buffered_problem(const Comm* comm) {
  state_lock();
  const int is_attached = serving(comm)->is_attached;
  state_unlock();
  return is_attached ? "no room in the attached buffer" : "no buffer is attached";
}

/* It is copied to the host first: the lock is not held while a device is waited for. */
static esp_status send_from_device(const Message* message) {
  const Payload* p = &message->payload;
  char* host = malloc(p->bytes);
  if (host == NULL) return ESP_ERR_NO_MEMORY;
  esp_status status = p->form == kPayloadLayout
                          ? type_pack(p->datatype, displaced(p->base, -p->datatype->true_lb),
                                      p->count, 0, p->bytes, host)
                          : esp_memory_copy(state_job(), host, p->base, p->bytes);
  if (status == ESP_OK) {
    Message copied = *message;
    copied.payload.form = kPayloadBytes;
    copied.payload.base = host;
    status = buffered_send(&copied);
  }
  free(host);
  return status;
}

esp_status buffered_send(const Message* message) {
  const Payload* p = &message->payload;
  Copy *copy = NULL, *ended = NULL;
  if (p->bytes > 0 && esp_memory_is_device(state_job(), p->base)) return send_from_device(message);
  state_lock();
  esp_status status = take_room(serving(message->comm), message->comm, p->bytes, &ended, &copy);
  if (status == ESP_OK) {
    if (p->form == kPayloadLayout) {
      (void)type_pack(p->datatype, displaced(p->base, -p->datatype->true_lb), p->count, 0, p->bytes,
                      copy->bytes);
    } else {
      memcpy(copy->bytes, p->base, p->bytes);
    }
    status = esp_tag_send_start(message->comm->team, copy->bytes, p->bytes, ESP_BYTE, message->peer,
                                message_tag(message->tag), NULL, &copy->request);
  }
  state_unlock();
  discard(ended);
  return status;
}

/* ---- flushing ---- */

/* A copy that is waited for is on no list. */
static void flush(Buffer* buffer) {
  for (;;) {
    state_lock();
    Copy* copy = buffer->first;
    if (copy != NULL) buffer->first = copy->next;
    state_unlock();
    if (copy == NULL) return;
    if (copy->request != NULL) (void)esp_request_wait(&copy->request);
    state_lock();
    buffer->used -= copy->cost;
    state_unlock();
    copy->next = NULL;
    discard(copy);
  }
}

/* A communicator that nothing else names goes with its last copy, and its buffer with it. */
void buffered_flush(void) {
  for (;;) {
    state_lock();
    Buffer* buffer = &of_process;
    while (buffer != NULL && buffer->first == NULL) buffer = buffer->next;
    Comm* comm = buffer != NULL ? buffer->comm : NULL;
    if (comm != NULL) comm_retain(comm);
    state_unlock();
    if (buffer == NULL) return;
    flush(buffer);
    if (comm != NULL) comm_release(comm);
  }
}

int buffered_is_flushed(const Request* request) {
  int is_sent = 1;
  state_lock();
  Copy* ended = reap(request->buffer);
  for (const Copy* copy = request->buffer->first; copy != NULL; copy = copy->next) {
    if (copy->number <= request->last) is_sent = 0;
  }
  state_unlock();
  discard(ended);
  return is_sent;
}

static int start_flush(const char* function, Comm* comm, Buffer* buffer, MPI_Request* handle) {
  if (handle == NULL) return raise_error(function, comm, MPI_ERR_REQUEST, "null request");
  Request* request = request_create(function, comm, NULL, 0);
  if (request == NULL) return raise_error(function, comm, MPI_ERR_NO_MEM, "no memory");
  request->kind = kFlush;
  request->buffer = buffer;
  state_lock();
  request->last = buffer->numbers;
  state_unlock();
  *handle = request;
  return MPI_SUCCESS;
}

/* ---- buffers ---- */

static int attach(const char* function, Comm* comm, Buffer* buffer, void* memory, MPI_Count size) {
  if (size < 0) return raise_error(function, comm, MPI_ERR_ARG, "negative size");
  state_lock();
  const int is_second = buffer->is_attached;
  if (!is_second) {
    buffer->memory = memory;
    buffer->is_automatic = memory == MPI_BUFFER_AUTOMATIC;
    buffer->size = buffer->is_automatic ? 0 : (size_t)size;
    buffer->is_attached = 1;
  }
  state_unlock();
  if (!is_second) return MPI_SUCCESS;
  return raise_error(function, comm, MPI_ERR_BUFFER, "a buffer is attached already");
}

static int detach(const char* function, Comm* comm, Buffer* buffer, void* address,
                  MPI_Count* size) {
  if (buffer != NULL) flush(buffer);
  state_lock();
  const int was_attached = buffer != NULL && buffer->is_attached;
  if (was_attached) {
    *(void**)address = buffer->memory;
    *size = (MPI_Count)buffer->size;
    buffer->memory = NULL;
    buffer->size = 0;
    buffer->is_attached = buffer->is_automatic = 0;
  }
  state_unlock();
  if (was_attached) return MPI_SUCCESS;
  return raise_error(function, comm, MPI_ERR_BUFFER, "no buffer is attached");
}

/* That of a communicator, made on first use. NULL: no memory. */
static Buffer* buffer_of(Comm* comm) {
  Buffer* made = calloc(1, sizeof *made);
  state_lock();
  if (comm->buffer == NULL && made != NULL) {
    made->comm = comm;
    made->next = of_process.next;
    of_process.next = comm->buffer = made;
    made = NULL;
  }
  Buffer* buffer = comm->buffer;
  state_unlock();
  free(made);
  return buffer;
}

void buffered_forget(Comm* comm) {
  if (comm->buffer == NULL) return;
  state_lock();
  Buffer* before = &of_process;
  while (before->next != comm->buffer) before = before->next;
  before->next = comm->buffer->next;
  state_unlock();
  free(comm->buffer);
}

/* Finds the buffer: of the process, or of a communicator. */
static int find(const char* function, MPI_Comm handle, const void* result, Comm** comm,
                Buffer** buffer) {
  const int code = comm_check(function, handle, result, comm);
  if (code != MPI_SUCCESS) return code;
  *buffer = buffer_of(*comm);
  if (*buffer != NULL) return MPI_SUCCESS;
  return raise_error(function, *comm, MPI_ERR_NO_MEM, "no memory");
}

static int no_result(const char* function, const void* address, const void* size) {
  require_ready(function);
  if (address != NULL && size != NULL) return MPI_SUCCESS;
  return raise_error(function, NULL, MPI_ERR_ARG, "null result");
}

#define BUFFER_FORMS(ATTACH, DETACH, COMM_ATTACH, COMM_DETACH, COUNT, MOST)               \
  int ATTACH(void* buffer, COUNT size) {                                                  \
    require_ready(__func__);                                                              \
    return attach(__func__, NULL, &of_process, buffer, size);                             \
  }                                                                                       \
  int DETACH(void* buffer_addr, COUNT* size) {                                            \
    MPI_Count found = 0;                                                                  \
    int code = no_result(__func__, buffer_addr, size);                                    \
    if (code != MPI_SUCCESS) return code;                                                 \
    code = detach(__func__, NULL, &of_process, buffer_addr, &found);                      \
    if (code == MPI_SUCCESS) *size = found <= MOST ? (COUNT)found : MPI_UNDEFINED;        \
    return code;                                                                          \
  }                                                                                       \
  int COMM_ATTACH(MPI_Comm handle, void* memory, COUNT size) {                            \
    Comm* comm;                                                                           \
    Buffer* buffer;                                                                       \
    const int code = find(__func__, handle, "", &comm, &buffer);                          \
    return code == MPI_SUCCESS ? attach(__func__, comm, buffer, memory, size) : code;     \
  }                                                                                       \
  int COMM_DETACH(MPI_Comm handle, void* buffer_addr, COUNT* size) {                      \
    Comm* comm;                                                                           \
    Buffer* buffer;                                                                       \
    MPI_Count found = 0;                                                                  \
    int code = find(__func__, handle, size != NULL ? buffer_addr : NULL, &comm, &buffer); \
    if (code != MPI_SUCCESS) return code;                                                 \
    code = detach(__func__, comm, buffer, buffer_addr, &found);                           \
    if (code == MPI_SUCCESS) *size = found <= MOST ? (COUNT)found : MPI_UNDEFINED;        \
    return code;                                                                          \
  }

BUFFER_FORMS(MPI_Buffer_attach, MPI_Buffer_detach, MPI_Comm_attach_buffer, MPI_Comm_detach_buffer,
             int, INT_MAX)
BUFFER_FORMS(MPI_Buffer_attach_c, MPI_Buffer_detach_c, MPI_Comm_attach_buffer_c,
             MPI_Comm_detach_buffer_c, MPI_Count, INT64_MAX)

int MPI_Buffer_flush(void) {
  require_ready(__func__);
  flush(&of_process);
  return MPI_SUCCESS;
}

int MPI_Buffer_iflush(MPI_Request* request) {
  require_ready(__func__);
  return start_flush(__func__, state_self(), &of_process, request);
}

int MPI_Comm_flush_buffer(MPI_Comm handle) {
  Comm* comm;
  Buffer* buffer;
  const int code = find(__func__, handle, "", &comm, &buffer);
  if (code == MPI_SUCCESS) flush(buffer);
  return code;
}

int MPI_Comm_iflush_buffer(MPI_Comm handle, MPI_Request* request) {
  Comm* comm;
  Buffer* buffer;
  const int code = find(__func__, handle, "", &comm, &buffer);
  return code == MPI_SUCCESS ? start_flush(__func__, comm, buffer, request) : code;
}
