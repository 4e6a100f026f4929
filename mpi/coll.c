/* The collectives: MPI's argument rules, then one call of the library.
 *
 * Each function fills a Call, which prepare_*() checks in the order in which the standard lists the
 * arguments, so that blocking and non-blocking forms cannot differ. path: short
 */
#include "mpi/facade.h"

typedef struct Call {
  const char* function;
  Comm* comm;
  const void* input;
  void* output;
  size_t count;
  esp_type type;
  esp_op op;
  Op* user_op; /* NULL for predefined operators */
  int root;
} Call;

static int prepare_comm(Call* call, MPI_Comm handle) {
  require_ready(call->function);
  call->comm = comm_of(handle);
  if (call->comm == NULL) {
    return raise_error(call->function, NULL, MPI_ERR_COMM, "null communicator");
  }
  return MPI_SUCCESS;
}

static int prepare_data(Call* call, int count, MPI_Datatype datatype) {
  if (count < 0) return raise_error(call->function, call->comm, MPI_ERR_COUNT, "negative count");
  call->count = (size_t)count;
  if (!type_of(datatype, &call->type)) {
    return raise_error(call->function, call->comm, MPI_ERR_TYPE, "not a datatype");
  }
  return MPI_SUCCESS;
}

static int prepare_root(Call* call, int root) {
  call->root = root;
  if (root < 0 || root >= esp_team_size(call->comm->team)) {
    return raise_error(call->function, call->comm, MPI_ERR_ROOT,
                       "root is not a rank of the communicator");
  }
  return MPI_SUCCESS;
}

static int prepare_op(Call* call, MPI_Op handle, MPI_Datatype datatype) {
  if (handle == NULL || handle == MPI_OP_NULL) {
    return raise_error(call->function, call->comm, MPI_ERR_OP, "null operator");
  }
  if (builtin_op_of(handle, &call->op)) {
    if (esp_op_defined(call->op, call->type)) return MPI_SUCCESS;
    return raise_error(call->function, call->comm, MPI_ERR_OP,
                       "the operator is not defined for the datatype");
  }
  call->user_op = handle;
  return raise_status(call->function, call->comm, op_bind(handle, datatype, &call->op));
}

/* `receives`: this rank gets the result, so that both buffers count. */
static int prepare_buffers(Call* call, const void* sendbuf, void* recvbuf, int receives) {
  call->input = sendbuf == MPI_IN_PLACE ? ESP_IN_PLACE : sendbuf;
  call->output = recvbuf;
  const char* problem = NULL;
  if (sendbuf == MPI_IN_PLACE && !receives) {
    problem = "MPI_IN_PLACE is for the root alone";
  } else if (recvbuf == MPI_IN_PLACE && receives) {
    problem = "MPI_IN_PLACE as receive buffer";
  } else if (call->count > 0 && (sendbuf == NULL || (receives && recvbuf == NULL))) {
    problem = "null buffer";
  } else if (call->count > 0 && receives && sendbuf == recvbuf) {
    problem = "send and receive buffer are the same; use MPI_IN_PLACE";
  }
  if (problem == NULL) return MPI_SUCCESS;
  return raise_error(call->function, call->comm, MPI_ERR_BUFFER, problem);
}

static int prepare_bcast(Call* call, void* buffer, int count, MPI_Datatype datatype, int root,
                         MPI_Comm comm) {
  int code = prepare_comm(call, comm);
  if (code == MPI_SUCCESS) code = prepare_data(call, count, datatype);
  if (code == MPI_SUCCESS) code = prepare_root(call, root);
  if (code == MPI_SUCCESS && count > 0 && (buffer == NULL || buffer == MPI_IN_PLACE)) {
    code = raise_error(call->function, call->comm, MPI_ERR_BUFFER, "null buffer");
  }
  call->output = buffer;
  return code;
}

static int prepare_reduce(Call* call, const void* sendbuf, void* recvbuf, int count,
                          MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm) {
  int code = prepare_comm(call, comm);
  if (code == MPI_SUCCESS) code = prepare_data(call, count, datatype);
  if (code == MPI_SUCCESS) code = prepare_root(call, root);
  if (code == MPI_SUCCESS) {
    code = prepare_buffers(call, sendbuf, recvbuf, esp_team_rank(call->comm->team) == root);
  }
  if (code == MPI_SUCCESS) code = prepare_op(call, op, datatype);
  return code;
}

static int prepare_allreduce(Call* call, const void* sendbuf, void* recvbuf, int count,
                             MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  int code = prepare_comm(call, comm);
  if (code == MPI_SUCCESS) code = prepare_data(call, count, datatype);
  if (code == MPI_SUCCESS) code = prepare_buffers(call, sendbuf, recvbuf, 1);
  if (code == MPI_SUCCESS) code = prepare_op(call, op, datatype);
  return code;
}

/* ---- blocking ---- */

int MPI_Barrier(MPI_Comm comm) {
  Call call = {.function = __func__};
  const int code = prepare_comm(&call, comm);
  if (code != MPI_SUCCESS) return code;
  return raise_status(__func__, call.comm, esp_barrier(call.comm->team));
}

int MPI_Bcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm) {
  Call call = {.function = __func__};
  const int code = prepare_bcast(&call, buffer, count, datatype, root, comm);
  if (code != MPI_SUCCESS) return code;
  return raise_status(__func__, call.comm,
                      esp_bcast(call.comm->team, call.output, call.count, call.type, root));
}

int MPI_Reduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
               int root, MPI_Comm comm) {
  Call call = {.function = __func__};
  const int code = prepare_reduce(&call, sendbuf, recvbuf, count, datatype, op, root, comm);
  if (code != MPI_SUCCESS) return code;
  return raise_status(
      __func__, call.comm,
      esp_reduce(call.comm->team, call.input, call.output, call.count, call.type, call.op, root));
}

int MPI_Allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm) {
  Call call = {.function = __func__};
  const int code = prepare_allreduce(&call, sendbuf, recvbuf, count, datatype, op, comm);
  if (code != MPI_SUCCESS) return code;
  return raise_status(
      __func__, call.comm,
      esp_allreduce(call.comm->team, call.input, call.output, call.count, call.type, call.op));
}

/* ---- non-blocking ---- */

/* A request for the call, or NULL after raising (the code is in *code). */
static Request* begin(const Call* call, MPI_Request* handle, int* code) {
  if (handle == NULL) {
    *code = raise_error(call->function, call->comm, MPI_ERR_REQUEST, "null request");
    return NULL;
  }
  Request* request = request_create(call->function, call->comm, call->user_op);
  if (request == NULL) *code = raise_error(call->function, call->comm, MPI_ERR_NO_MEM, "no memory");
  return request;
}

static int end(const Call* call, Request* request, esp_status status, MPI_Request* handle) {
  if (status == ESP_OK) {
    *handle = request;
    return MPI_SUCCESS;
  }
  const int code = raise_status(call->function, call->comm, status);
  request_destroy(request);
  return code;
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request* handle) {
  Call call = {.function = __func__};
  int code = prepare_comm(&call, comm);
  if (code != MPI_SUCCESS) return code;
  Request* request = begin(&call, handle, &code);
  if (request == NULL) return code;
  const esp_status status = esp_barrier_start(call.comm->team, NULL, NULL, &request->handle);
  return end(&call, request, status, handle);
}

int MPI_Ibcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm,
               MPI_Request* handle) {
  Call call = {.function = __func__};
  int code = prepare_bcast(&call, buffer, count, datatype, root, comm);
  if (code != MPI_SUCCESS) return code;
  Request* request = begin(&call, handle, &code);
  if (request == NULL) return code;
  const esp_status status = esp_bcast_start(call.comm->team, call.output, call.count, call.type,
                                            root, NULL, NULL, &request->handle);
  return end(&call, request, status, handle);
}

int MPI_Ireduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                int root, MPI_Comm comm, MPI_Request* handle) {
  Call call = {.function = __func__};
  int code = prepare_reduce(&call, sendbuf, recvbuf, count, datatype, op, root, comm);
  if (code != MPI_SUCCESS) return code;
  Request* request = begin(&call, handle, &code);
  if (request == NULL) return code;
  const esp_status status =
      esp_reduce_start(call.comm->team, call.input, call.output, call.count, call.type, call.op,
                       root, NULL, NULL, &request->handle);
  return end(&call, request, status, handle);
}

int MPI_Iallreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                   MPI_Comm comm, MPI_Request* handle) {
  Call call = {.function = __func__};
  int code = prepare_allreduce(&call, sendbuf, recvbuf, count, datatype, op, comm);
  if (code != MPI_SUCCESS) return code;
  Request* request = begin(&call, handle, &code);
  if (request == NULL) return code;
  const esp_status status =
      esp_allreduce_start(call.comm->team, call.input, call.output, call.count, call.type, call.op,
                          NULL, NULL, &request->handle);
  return end(&call, request, status, handle);
}
