/* Probes, and receives of messages that a probe has taken. path: short */
#include <stdlib.h>

#include "mpi/message.h"

struct MPI_ABI_Message {
  Number number;
  esp_tag_message* message;
  Comm* comm;
};

static int probe_for(Message* asked, MPI_Message* message, int* flag, MPI_Status* status) {
  esp_team* team = asked->comm->team;
  if (message != NULL) *message = MPI_MESSAGE_NULL;
  if (asked->peer == MPI_PROC_NULL) {
    if (message != NULL) *message = MPI_MESSAGE_NO_PROC;
    status_set_nobody(status);
    if (flag != NULL) *flag = 1;
    return MPI_SUCCESS;
  }
  MPI_Message made = NULL;
  if (message != NULL && (made = malloc(sizeof *made)) == NULL) {
    return raise_error(asked->function, asked->comm, MPI_ERR_NO_MEM, "no memory");
  }
  esp_tag_message** taken = made != NULL ? &made->message : NULL;
  esp_tag_info info;
  int found = 1;
  const int source = message_source(asked->peer);
  const uint64_t tag = message_tag(asked->tag), mask = message_mask(asked->tag);
  const esp_status ended = flag != NULL
                               ? esp_tag_probe_now(team, source, tag, mask, &found, &info, taken)
                               : esp_tag_probe(team, source, tag, mask, &info, taken);
  if (flag != NULL) *flag = ended == ESP_OK && found;
  if (ended != ESP_OK || !found) {
    free(made);
    return raise_status(asked->function, asked->comm, ended);
  }
  if (status != MPI_STATUS_IGNORE) status_set_info(status, &info);
  if (message != NULL) {
    atomic_init(&made->number, 0);
    made->comm = asked->comm;
    comm_retain(made->comm);
    *message = made;
  }
  return MPI_SUCCESS;
}

static int check_probe(Message* asked, int source, int tag, MPI_Comm comm, const void* result) {
  asked->mode = kReceives;
  const int code = message_peer(asked, source, tag, comm);
  if (code != MPI_SUCCESS || result != NULL) return code;
  return raise_error(asked->function, asked->comm, MPI_ERR_ARG, "null result");
}

int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
  Message asked = {.function = __func__};
  const int code = check_probe(&asked, source, tag, comm, "");
  return code == MPI_SUCCESS ? probe_for(&asked, NULL, NULL, status) : code;
}

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  Message asked = {.function = __func__};
  const int code = check_probe(&asked, source, tag, comm, flag);
  return code == MPI_SUCCESS ? probe_for(&asked, NULL, flag, status) : code;
}

int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  Message asked = {.function = __func__};
  const int code = check_probe(&asked, source, tag, comm, message);
  return code == MPI_SUCCESS ? probe_for(&asked, message, NULL, status) : code;
}

int MPI_Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
                MPI_Status* status) {
  Message asked = {.function = __func__};
  const int code = check_probe(&asked, source, tag, comm, flag != NULL ? (void*)message : NULL);
  return code == MPI_SUCCESS ? probe_for(&asked, message, flag, status) : code;
}

/* ---- receives of these ---- */

static esp_status start_taken(Request* request, MPI_Message taken) {
  const esp_status status = request->stage != NULL ? stage_begin(request->stage) : ESP_OK;
  if (status != ESP_OK) return status;
  const Payload* p = &request->payload;
  return esp_tag_message_recv_start(&taken->message, p->base, p->count, p->type, &request->info,
                                    NULL, &request->handle);
}

/* A request for a message, which is the program's no more. */
static int receive_taken(const char* function, void* buf, MPI_Count count, MPI_Datatype datatype,
                         MPI_Message* handle, MPI_Request* result) {
  require_ready(function);
  if (handle == NULL || *handle == NULL || *handle == MPI_MESSAGE_NULL) {
    return raise_error(function, NULL, MPI_ERR_REQUEST, "null message");
  }
  MPI_Message taken = *handle;
  const int nobody = taken == MPI_MESSAGE_NO_PROC;
  Message message = {.function = function,
                     .comm = nobody ? state_self() : taken->comm,
                     .peer = nobody ? MPI_PROC_NULL : MPI_ANY_SOURCE,
                     .mode = kReceives};
  int code = message_data(&message, buf, count, datatype);
  if (code != MPI_SUCCESS) return code;
  Request* request = message_request(&message, 0, &code);
  if (request == NULL) return code;
  *handle = MPI_MESSAGE_NULL;
  esp_status status = nobody ? message_start(request) : start_taken(request, taken);
  if (!nobody) {
    comm_release(taken->comm);
    number_forget(&taken->number);
    free(taken);
  }
  if (status == ESP_OK) {
    *result = request;
    return MPI_SUCCESS;
  }
  code = raise_status(function, message.comm, status);
  request_destroy(request);
  return code;
}

int MPI_Imrecv_c(void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message,
                 MPI_Request* request) {
  require_ready("MPI_Imrecv");
  if (request == NULL) return raise_error("MPI_Imrecv", NULL, MPI_ERR_REQUEST, "null request");
  return receive_taken("MPI_Imrecv", buf, count, datatype, message, request);
}

int MPI_Imrecv(void* buf, int count, MPI_Datatype datatype, MPI_Message* message,
               MPI_Request* request) {
  return MPI_Imrecv_c(buf, count, datatype, message, request);
}

int MPI_Mrecv_c(void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message,
                MPI_Status* status) {
  MPI_Request request;
  const int code = receive_taken("MPI_Mrecv", buf, count, datatype, message, &request);
  return code == MPI_SUCCESS ? MPI_Wait(&request, status) : code;
}

int MPI_Mrecv(void* buf, int count, MPI_Datatype datatype, MPI_Message* message,
              MPI_Status* status) {
  return MPI_Mrecv_c(buf, count, datatype, message, status);
}
