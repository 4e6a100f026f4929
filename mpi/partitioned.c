/* Messages in partitions, as of MPI 4.0: persistent sends whose parts become ready one by one, and
 * receives that say which parts have arrived. path: setup (init), short (the rest)
 */
#include "mpi/partitioned.h"

#include <stdint.h>
#include <stdio.h>

#include "mpi/call.h"

/* ---- init ---- */

/* The whole message. */
static int check_data(Message* message, const void* buffer, int partitions, MPI_Count count,
                      MPI_Datatype datatype) {
  if (partitions < 0) {
    return raise_error(message->function, message->comm, MPI_ERR_ARG,
                       "negative number of partitions");
  }
  if (count < 0) {
    return raise_error(message->function, message->comm, MPI_ERR_COUNT, "negative count");
  }
  MPI_Count all;
  if (__builtin_mul_overflow((MPI_Count)partitions, count, &all)) {
    return raise_error(message->function, message->comm, MPI_ERR_COUNT, "the message is too long");
  }
  return message_data(message, buffer, all, datatype);
}

static int check_peer(const Message* message) {
  if (message->tag < 0) {
    return raise_error(message->function, message->comm, MPI_ERR_TAG,
                       "messages in partitions have no wildcards");
  }
  if (message->peer != MPI_ANY_SOURCE) return MPI_SUCCESS;
  return raise_error(message->function, message->comm, MPI_ERR_RANK,
                     "the peer is not a rank of the communicator");
}

/* What has gaps is unpacked in callbacks of the library, in which nobody waits for a device. */
static int check_place(const Message* message, const void* buffer) {
  const Payload* payload = &message->payload;
  if (payload->form == kPayloadBytes || payload->bytes == 0 ||
      !type_on_device(payload->datatype, buffer)) {
    return MPI_SUCCESS;
  }
  return raise_error(message->function, message->comm, MPI_ERR_UNSUPPORTED_OPERATION,
                     "partitions in memory of a device must lie in one piece");
}

/* What has gaps is packed and unpacked from the program's buffer, partition by partition. */
static Payload whole_of(const Message* message) {
  Payload payload = message->payload;
  if (payload.form == kPayloadLayout) {
    payload.base = displaced(payload.base, -payload.datatype->true_lb);
  }
  if (payload.form != kPayloadBytes) payload.count = (size_t)message->count;
  return payload;
}

static esp_status bind(const Message* message, Request* request, int partitions) {
  const Datatype* type = message->payload.datatype;
  esp_status status;
  const Partitioned model = {.comm = message->comm,
                             .sends = request->kind == kPartitionedSend,
                             .peer = message->peer,
                             .tag = message->tag,
                             .own_partitions = partitions,
                             .bytes = message->payload.bytes,
                             .payload = whole_of(message)};
  if (!type->is_predefined) {
    request->stage = stage_create(1);
    if (request->stage == NULL) return ESP_ERR_NO_MEMORY;
    stage_hold(request->stage, type);
  }
  request->partitioned = partitioned_create(model, &status);
  return status;
}

static int init(Message* message, Kind kind, const void* buffer, int partitions, MPI_Count count,
                MPI_Datatype datatype, MPI_Comm comm, MPI_Request* handle) {
  const int nobody = message->peer == MPI_PROC_NULL;
  int code = message_peer(message, message->peer, message->tag, comm);
  if (code == MPI_SUCCESS) code = check_data(message, buffer, partitions, count, datatype);
  if (code == MPI_SUCCESS) code = check_peer(message);
  if (code == MPI_SUCCESS) code = check_place(message, buffer);
  if (code != MPI_SUCCESS) return code;
  const Call call = {.function = message->function, .comm = message->comm, .persistent = 1};
  Request* request = call_begin(&call, 0, handle, &code);
  if (request == NULL) return code;
  request->kind = kind;
  request->partitions = partitions;
  request->is_empty = nobody;
  if (kind == kPartitionedReceive) {
    request->source = message->peer;
    request->tag = nobody ? MPI_ANY_TAG : message->tag;
  }
  if (request->taken != NULL) taken_free(request->taken); /* the collectives' */
  request->taken = NULL;
  return call_end(&call, request, nobody ? ESP_OK : bind(message, request, partitions), handle);
}

int MPI_Psend_init(const void* buf, int partitions, MPI_Count count, MPI_Datatype datatype,
                   int dest, int tag, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  Message message = {.function = __func__, .mode = kStandard, .peer = dest, .tag = tag};
  (void)info;
  return init(&message, kPartitionedSend, buf, partitions, count, datatype, comm, request);
}

int MPI_Precv_init(void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int source,
                   int tag, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  Message message = {.function = __func__, .mode = kReceives, .peer = source, .tag = tag};
  (void)info;
  return init(&message, kPartitionedReceive, buf, partitions, count, datatype, comm, request);
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
  for (int p = low; p <= high; ++p) {
    const esp_status status = partitioned_ready(request->partitioned, p);
    if (status == ESP_ERR_STATE) {
      char text[MPI_MAX_ERROR_STRING];
      snprintf(text, sizeof text, "partition %d was ready before", p);
      return raise_error(function, request->comm, MPI_ERR_ARG, text);
    }
    if (status != ESP_OK) return raise_status(function, request->comm, status);
  }
  return MPI_SUCCESS;
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

/* Of what has failed flag is 1, and the error is raised. */
static int arrived(Request* request, int partition, int* flag) {
  Partitioned* p = request->partitioned;
  *flag = 1;
  if (request->progress != kUnderWay) return MPI_SUCCESS;
  if (partitioned_arrived(p, partition)) return MPI_SUCCESS;
  (void)esp_progress(state_job());
  *flag = partitioned_arrived(p, partition);
  return MPI_SUCCESS;
}

int MPI_Parrived(MPI_Request request, int partition, int* flag) {
  int code = check_kind(__func__, request, kPartitionedReceive);
  if (code == MPI_SUCCESS && flag == NULL) {
    code = raise_error(__func__, request->comm, MPI_ERR_ARG, "null result");
  }
  if (code == MPI_SUCCESS) code = check_partitions(__func__, request, partition, partition);
  if (code == MPI_SUCCESS) code = arrived(request, partition, flag);
  if (code != MPI_SUCCESS || !*flag || request->partitioned == NULL) return code;
  const esp_status status = atomic_load(&request->partitioned->outcome);
  return request->progress == kUnderWay ? raise_status(__func__, request->comm, status) : code;
}
