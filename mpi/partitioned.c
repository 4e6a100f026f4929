/* Messages in partitions, as of MPI 4.0: persistent sends whose parts become ready one by one, and
 * receives that say which parts have arrived.
 *
 * The library's flows have channels and no tags. Until tags are matched, the messages of a tag have
 * kChannels in turn: the k-th init of a peer and tag takes number k % kChannels, on both sides.
 * path: setup (init), short (the rest)
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "mpi/call.h"

enum { kTags = 64, kChannels = 4, kDirections = 2 };

/* ---- init ---- */

static int check_data(Call* call, const void* buffer, int partitions, MPI_Count count,
                      MPI_Datatype datatype) {
  Data element;
  const int code = call_data(call, &element, 1, datatype);
  if (code != MPI_SUCCESS) return code;
  if (partitions < 0) {
    return raise_error(call->function, call->comm, MPI_ERR_ARG, "negative number of partitions");
  }
  if (count < 0) return raise_error(call->function, call->comm, MPI_ERR_COUNT, "negative count");
  if (!datatype_is_dense(element.type)) {
    return raise_error(call->function, call->comm, MPI_ERR_UNSUPPORTED_OPERATION,
                       "messages in partitions of elements with gaps are not supported yet");
  }
  size_t bytes;
  if (__builtin_mul_overflow((size_t)partitions, (size_t)count, &bytes) ||
      __builtin_mul_overflow(bytes, element.bytes, &bytes) || bytes > PTRDIFF_MAX) {
    return raise_error(call->function, call->comm, MPI_ERR_COUNT, "the message is too long");
  }
  call->count = bytes;
  if (bytes > 0 && call_is_null(&element, buffer)) {
    return raise_error(call->function, call->comm, MPI_ERR_BUFFER, "null buffer");
  }
  call->input = displaced(call->input, element.type->true_lb);
  call->output = displaced(call->output, element.type->true_lb);
  return MPI_SUCCESS;
}

static int check_peer(const Call* call, int peer, int tag) {
  if (tag < 0 || tag >= kTags) {
    return raise_error(call->function, call->comm, MPI_ERR_TAG,
                       "tags of messages in partitions are 0 to 63 here, without wildcards");
  }
  if (peer == MPI_PROC_NULL) return MPI_SUCCESS;
  if (peer < 0 || peer >= esp_team_size(call->comm->team)) {
    return raise_error(call->function, call->comm, MPI_ERR_RANK,
                       "the peer is not a rank of the communicator");
  }
  if (peer == esp_team_rank(call->comm->team)) {
    return raise_error(call->function, call->comm, MPI_ERR_UNSUPPORTED_OPERATION,
                       "a message in partitions to the rank itself is not supported yet");
  }
  return MPI_SUCCESS;
}

/* How many inits of a peer, tag and direction there were: of those that the system has written to
 * alone memory is used. NULL when there is none. */
static atomic_uchar* inits_of(Comm* comm, int peer, int tag, Kind kind) {
  atomic_uchar* inits = atomic_load(&comm->inits);
  if (inits == NULL) {
    const size_t peers = (size_t)esp_team_size(comm->team);
    atomic_uchar* made = calloc(peers, kDirections * kTags);
    if (made == NULL) return NULL;
    if (atomic_compare_exchange_strong(&comm->inits, &inits, made)) {
      inits = made;
    } else {
      free(made); /* another thread was first */
    }
  }
  return &inits[((size_t)peer * kDirections + (kind == kPartitionedSend)) * kTags + (size_t)tag];
}

static esp_status bind(const Call* call, Request* request, int peer, int tag) {
  atomic_uchar* inits = inits_of(call->comm, peer, tag, request->kind);
  if (inits == NULL) return ESP_ERR_NO_MEMORY;
  const int partitions = request->partitions;
  const unsigned channel = (unsigned)(tag * kChannels + atomic_fetch_add(inits, 1) % kChannels);
  esp_team* team = call->comm->team;
  esp_status status;
  if (request->kind == kPartitionedReceive) {
    status =
        esp_partitioned_recv_init(team, call->output, call->count, partitions > 0 ? partitions : 1,
                                  peer, channel, NULL, &request->handle);
  } else if (partitions > 0) {
    status = esp_partitioned_send_init(team, call->input, call->count, partitions, peer, channel,
                                       NULL, &request->handle);
  } else { /* there is nothing to be made ready */
    status = esp_send_init(team, call->input, call->count, peer, channel, NULL, &request->handle);
  }
  if (status != ESP_OK) atomic_fetch_sub(inits, 1);
  return status;
}

/* `call` has the buffer. */
static int init(Call* call, Kind kind, int partitions, MPI_Count count, MPI_Datatype datatype,
                int peer, int tag, MPI_Comm comm, MPI_Request* handle) {
  const int sends = kind == kPartitionedSend;
  int code = call_comm(call, comm);
  if (code == MPI_SUCCESS) {
    code = check_data(call, sends ? call->input : call->output, partitions, count, datatype);
  }
  if (code == MPI_SUCCESS) code = check_peer(call, peer, tag);
  if (code != MPI_SUCCESS) return code;
  Request* request = call_begin(call, 0, handle, &code);
  if (request == NULL) return code;
  request->kind = kind;
  request->partitions = partitions;
  request->is_empty = peer == MPI_PROC_NULL;
  if (!sends) {
    request->source = peer;
    request->tag = peer == MPI_PROC_NULL ? MPI_ANY_TAG : tag;
  }
  if (request->taken != NULL) taken_free(request->taken); /* the collectives' */
  request->taken = sends ? NULL : taken_create(0);
  esp_status status = sends || request->taken != NULL ? ESP_OK : ESP_ERR_NO_MEMORY;
  if (status == ESP_OK && peer != MPI_PROC_NULL) status = bind(call, request, peer, tag);
  return call_end(call, request, status, handle);
}

int MPI_Psend_init(const void* buf, int partitions, MPI_Count count, MPI_Datatype datatype,
                   int dest, int tag, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  Call call = {.function = __func__, .input = buf, .persistent = persistent(info)};
  return init(&call, kPartitionedSend, partitions, count, datatype, dest, tag, comm, request);
}

int MPI_Precv_init(void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int source,
                   int tag, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  Call call = {.function = __func__, .output = buf, .persistent = persistent(info)};
  return init(&call, kPartitionedReceive, partitions, count, datatype, source, tag, comm, request);
}

/* ---- partitions ---- */

static int check_kind(const char* function, MPI_Request request, Kind kind) {
  require_ready(function);
  if (!request_is_null(request) && request->kind == kind) return MPI_SUCCESS;
  return raise_error(function, request_is_null(request) ? NULL : request->comm, MPI_ERR_REQUEST,
                     kind == kPartitionedSend ? "not a request of MPI_Psend_init"
                                              : "not a request of MPI_Precv_init");
}

static int check_partitions(const char* function, const Request* request, int low, int high) {
  if (low >= 0 && low <= high && high < request->partitions) return MPI_SUCCESS;
  char text[MPI_MAX_ERROR_STRING];
  snprintf(text, sizeof text, "partitions %d to %d of a message of %d", low, high,
           request->partitions);
  return raise_error(function, request->comm, MPI_ERR_ARG, text);
}

/* What has ended has had all its partitions. */
static int check_started(const char* function, MPI_Request request) {
  const int code = check_kind(function, request, kPartitionedSend);
  if (code != MPI_SUCCESS) return code;
  const Progress progress = request->progress;
  if (progress == kUnderWay || (request->is_empty && progress == kEnded)) return MPI_SUCCESS;
  return raise_error(function, request->comm, MPI_ERR_REQUEST, "the request is not started");
}

static int make_ready(const char* function, Request* request, int low, int high) {
  if (request->is_empty) return MPI_SUCCESS;
  const esp_status status = esp_ready_range(request->handle, low, high);
  if (status != ESP_ERR_STATE) return raise_status(function, request->comm, status);
  return raise_error(function, request->comm, MPI_ERR_ARG, esp_job_error(state_job()));
}

static int ready_range(const char* function, int low, int high, MPI_Request request) {
  int code = check_started(function, request);
  if (code == MPI_SUCCESS) code = check_partitions(function, request, low, high);
  return code == MPI_SUCCESS ? make_ready(function, request, low, high) : code;
}

int MPI_Pready(int partition, MPI_Request request) {
  return ready_range(__func__, partition, partition, request);
}

int MPI_Pready_range(int low, int high, MPI_Request request) {
  return ready_range(__func__, low, high, request);
}

int MPI_Pready_list(int length, const int partitions[], MPI_Request request) {
  int code = check_started(__func__, request);
  if (code != MPI_SUCCESS) return code;
  if (length < 0 || (length > 0 && partitions == NULL)) {
    return raise_error(__func__, request->comm, MPI_ERR_ARG, "negative length or null list");
  }
  for (int i = 0; i < length && code == MPI_SUCCESS; ++i) {
    code = check_partitions(__func__, request, partitions[i], partitions[i]);
  }
  for (int i = 0; i < length && code == MPI_SUCCESS; ++i) {
    code = make_ready(__func__, request, partitions[i], partitions[i]);
  }
  return code;
}

int MPI_Parrived(MPI_Request request, int partition, int* flag) {
  int code = check_kind(__func__, request, kPartitionedReceive);
  if (code == MPI_SUCCESS && flag == NULL) {
    code = raise_error(__func__, request->comm, MPI_ERR_ARG, "null result");
  }
  if (code == MPI_SUCCESS) code = check_partitions(__func__, request, partition, partition);
  return code == MPI_SUCCESS ? partial_arrived(__func__, request, partition, flag) : code;
}
