/* Point-to-point communication: each mode, blocking, started and persistent. path: short */
#include "mpi/message.h"

/* ---- arguments ---- */

int message_peer(Message* message, int peer, int tag, MPI_Comm handle) {
  require_ready(message->function);
  const int receives = message->mode == kReceives;
  message->comm = comm_of(handle);
  message->peer = peer;
  message->tag = tag;
  if (message->comm == NULL) {
    return raise_error(message->function, NULL, MPI_ERR_COMM, "null communicator");
  }
  const int any = receives && peer == MPI_ANY_SOURCE;
  if (peer != MPI_PROC_NULL && !any && (peer < 0 || peer >= esp_team_size(message->comm->team))) {
    return raise_not_a_rank(message->function, message->comm, MPI_ERR_RANK, "the peer", peer);
  }
  if (tag < 0 && !(receives && tag == MPI_ANY_TAG)) {
    return raise_values(message->function, message->comm, MPI_ERR_TAG, "negative tag: %d", tag);
  }
  return MPI_SUCCESS;
}

int message_data(Message* message, const void* buffer, MPI_Count count, MPI_Datatype datatype) {
  const char* problem = "";
  message->count = count;
  if (count < 0) {
    return raise_values(message->function, message->comm, MPI_ERR_COUNT, "negative count: %lld",
                        (long long)count);
  }
  const int error_class = type_payload(datatype, buffer, count, &message->payload, &problem);
  if (error_class == MPI_SUCCESS) return MPI_SUCCESS;
  return raise_error(message->function, message->comm, error_class, problem);
}

int message_check(Message* message, const void* buffer, MPI_Count count, MPI_Datatype datatype,
                  int peer, int tag, MPI_Comm comm) {
  const int code = message_peer(message, peer, tag, comm);
  return code == MPI_SUCCESS ? message_data(message, buffer, count, datatype) : code;
}

/* ---- requests ---- */

/* What the library takes, and a reference to the type as long as it does. 0: no memory. */
static int stage_message(const Message* message, Request* request) {
  const Payload* payload = &message->payload;
  request->payload = *payload;
  if (payload->datatype->is_predefined && payload->form != kPayloadPacked) return 1;
  request->stage = stage_create(1);
  if (request->stage == NULL) return 0;
  if (payload->form != kPayloadPacked) {
    stage_hold(request->stage, payload->datatype);
    return 1;
  }
  /* What does not come stays as it is. */
  (void)stage_add(request->stage, payload->datatype, payload->base, (size_t)message->count,
                  message->mode == kReceives ? kBoth : kBefore);
  if (!stage_allocate(request->stage)) return 0;
  request->payload.base = request->stage->memory;
  request->payload.type = ESP_BYTE;
  request->payload.count = payload->bytes;
  return 1;
}

Request* message_request(const Message* message, int persistent, int* code) {
  Request* request = request_create(message->function, message->comm, NULL, 0);
  if (request == NULL || !stage_message(message, request)) {
    if (request != NULL) request_destroy(request);
    *code = raise_error(message->function, message->comm, MPI_ERR_NO_MEM, "no memory");
    return NULL;
  }
  request->kind = kMessage;
  request->persistent = persistent;
  request->mode = (int)message->mode;
  request->peer = message->peer;
  request->peer_tag = message->tag;
  if (persistent) atomic_init(&request->progress, kInactive);
  return request;
}

esp_status message_start(Request* request) {
  const Payload* p = &request->payload;
  esp_team* team = request->comm->team;
  const uint64_t tag = message_tag(request->peer_tag);
  request->outcome = ESP_OK;
  request->is_canceled = request->is_unpacked = 0;
  request->handle = NULL;
  atomic_store_explicit(&request->progress, kUnderWay, memory_order_release);
  esp_status status = request->stage != NULL ? stage_begin(request->stage) : ESP_OK;
  if (status != ESP_OK) {
    request->outcome = status;
  } else if (request->peer == MPI_PROC_NULL) {
    request->info = (esp_tag_info){MPI_PROC_NULL, (uint32_t)MPI_ANY_TAG, 0};
  } else if (request->mode == kReceives) {
    request->info = (esp_tag_info){MPI_ANY_SOURCE, 0, 0};
    status =
        esp_tag_recv_start(team, p->base, p->count, p->type, message_source(request->peer), tag,
                           message_mask(request->peer_tag), &request->info, NULL, &request->handle);
  } else if (request->mode == kBuffered) {
    const Message message = {.comm = request->comm,
                             .payload = *p,
                             .peer = request->peer,
                             .tag = request->peer_tag,
                             .count = (MPI_Count)p->count};
    status = buffered_send(&message);
  } else {
    const int waits = request->mode == kSynchronous;
    status = waits ? esp_tag_send_synchronous_start(team, p->base, p->count, p->type, request->peer,
                                                    tag, NULL, &request->handle)
                   : esp_tag_send_start(team, p->base, p->count, p->type, request->peer, tag, NULL,
                                        &request->handle);
  }
  /* Nothing to be waited for: nobody is there, or the message has been copied. */
  if (request->handle == NULL) {
    atomic_store_explicit(&request->progress, kEnded, memory_order_release);
  }
  return status;
}

int message_begin(const Message* message, int persistent, MPI_Request* handle) {
  int code;
  if (handle == NULL) {
    return raise_error(message->function, message->comm, MPI_ERR_REQUEST, "null request");
  }
  Request* request = message_request(message, persistent, &code);
  if (request == NULL) return code;
  const esp_status status = persistent ? ESP_OK : message_start(request);
  if (status == ESP_OK) {
    *handle = request;
    return MPI_SUCCESS;
  }
  code = message->mode == kBuffered && status == ESP_ERR_ARGUMENT
             ? raise_error(message->function, message->comm, MPI_ERR_BUFFER,
                           buffered_problem(message->comm))
             : raise_status(message->function, message->comm, status);
  request_destroy(request);
  return code;
}

/* ---- blocking ---- */

static int wait_for_message(const Message* message, MPI_Status* status) {
  MPI_Request request;
  const int code = message_begin(message, 0, &request);
  return code == MPI_SUCCESS ? MPI_Wait(&request, status) : code;
}

int message_send(const Message* message) {
  const Payload* p = &message->payload;
  if (message->peer == MPI_PROC_NULL) return MPI_SUCCESS;
  if (p->form == kPayloadPacked || message->mode == kBuffered) {
    return wait_for_message(message, MPI_STATUS_IGNORE);
  }
  const uint64_t tag = message_tag(message->tag);
  const esp_status status =
      message->mode == kSynchronous
          ? esp_tag_send_synchronous(message->comm->team, p->base, p->count, p->type, message->peer,
                                     tag)
          : esp_tag_send(message->comm->team, p->base, p->count, p->type, message->peer, tag);
  return raise_status(message->function, message->comm, status);
}

static int receive_now(const Message* message, MPI_Status* status) {
  const Payload* p = &message->payload;
  if (message->peer == MPI_PROC_NULL) {
    status_set_nobody(status);
    return MPI_SUCCESS;
  }
  if (p->form == kPayloadPacked) return wait_for_message(message, status);
  esp_tag_info info = {MPI_ANY_SOURCE, 0, 0};
  const esp_status ended =
      esp_tag_recv(message->comm->team, p->base, p->count, p->type, message_source(message->peer),
                   message_tag(message->tag), message_mask(message->tag), &info);
  if (status != MPI_STATUS_IGNORE) status_set_info(status, &info);
  return raise_status(message->function, message->comm, ended);
}

#define SEND_FORM(NAME, COUNT, MODE)                                                 \
  int NAME(const void* buf, COUNT count, MPI_Datatype datatype, int dest, int tag,   \
           MPI_Comm comm) {                                                          \
    Message message = {.function = __func__, .mode = MODE};                          \
    const int code = message_check(&message, buf, count, datatype, dest, tag, comm); \
    return code == MPI_SUCCESS ? message_send(&message) : code;                      \
  }
#define START_FORM(NAME, CONST, COUNT, MODE, PERSISTENT)                                          \
  int NAME(CONST void* buf, COUNT count, MPI_Datatype datatype, int peer, int tag, MPI_Comm comm, \
           MPI_Request* request) {                                                                \
    Message message = {.function = __func__, .mode = MODE};                                       \
    const int code = message_check(&message, buf, count, datatype, peer, tag, comm);              \
    return code == MPI_SUCCESS ? message_begin(&message, PERSISTENT, request) : code;             \
  }
/* Both sizes of counts; the started and the persistent form. */
#define SEND_FORMS(SMALL, INIT, MODE)                     \
  SEND_FORM(MPI_##INIT, int, MODE)                        \
  SEND_FORM(MPI_##INIT##_c, MPI_Count, MODE)              \
  START_FORM(MPI_I##SMALL, const, int, MODE, 0)           \
  START_FORM(MPI_I##SMALL##_c, const, MPI_Count, MODE, 0) \
  START_FORM(MPI_##INIT##_init, const, int, MODE, 1)      \
  START_FORM(MPI_##INIT##_init_c, const, MPI_Count, MODE, 1)

SEND_FORMS(send, Send, kStandard)
SEND_FORMS(ssend, Ssend, kSynchronous)
SEND_FORMS(rsend, Rsend, kStandard)
SEND_FORMS(bsend, Bsend, kBuffered)
#define NOT_CONST
START_FORM(MPI_Irecv, NOT_CONST, int, kReceives, 0)
START_FORM(MPI_Irecv_c, NOT_CONST, MPI_Count, kReceives, 0)
START_FORM(MPI_Recv_init, NOT_CONST, int, kReceives, 1)
START_FORM(MPI_Recv_init_c, NOT_CONST, MPI_Count, kReceives, 1)

int MPI_Recv_c(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
               MPI_Comm comm, MPI_Status* status) {
  Message message = {.function = "MPI_Recv", .mode = kReceives};
  const int code = message_check(&message, buf, count, datatype, source, tag, comm);
  return code == MPI_SUCCESS ? receive_now(&message, status) : code;
}

int MPI_Recv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
             MPI_Status* status) {
  return MPI_Recv_c(buf, count, datatype, source, tag, comm, status);
}
