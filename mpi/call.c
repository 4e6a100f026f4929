/* The checks of arguments and the start of requests. path: short */
#include "mpi/call.h"

#include <stdio.h>

int call_comm(Call* call, MPI_Comm handle) {
  require_ready(call->function);
  call->comm = comm_of(handle);
  if (call->comm == NULL) {
    return raise_error(call->function, NULL, MPI_ERR_COMM, "null communicator");
  }
  return MPI_SUCCESS;
}

int call_data(Call* call, int count, MPI_Datatype datatype) {
  if (count < 0) return raise_error(call->function, call->comm, MPI_ERR_COUNT, "negative count");
  call->count = (size_t)count;
  if (!type_of(datatype, &call->type)) {
    return raise_error(call->function, call->comm, MPI_ERR_TYPE, "not a datatype");
  }
  return MPI_SUCCESS;
}

int call_block(Call* call, int count, MPI_Datatype datatype) {
  const int code = call_data(call, count, datatype);
  if (code != MPI_SUCCESS) return code;
  call->count *= esp_type_size(call->type);
  call->type = ESP_BYTE;
  return MPI_SUCCESS;
}

int call_one(Call* call, const void* buffer, int count, MPI_Datatype datatype) {
  const int code = call_block(call, count, datatype);
  if (code != MPI_SUCCESS || call->count == 0 || buffer != NULL) return code;
  return raise_error(call->function, call->comm, MPI_ERR_BUFFER, "null buffer");
}

int call_root(Call* call, int root) {
  if (root < 0 || root >= esp_team_size(call->comm->team)) {
    return raise_error(call->function, call->comm, MPI_ERR_ROOT,
                       "root is not a rank of the communicator");
  }
  return MPI_SUCCESS;
}

int call_op(Call* call, MPI_Op handle, MPI_Datatype datatype) {
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

int call_truncates(const Call* call, const char* what, Extent sent, Extent received) {
  char text[MPI_MAX_ERROR_STRING];
  snprintf(text, sizeof text, "%s: count %d, %zu bytes, is sent, count %d, %zu bytes, received",
           what, sent.count, sent.bytes, received.count, received.bytes);
  return raise_error(call->function, call->comm, MPI_ERR_TRUNCATE, text);
}

int call_buffers(Call* call, const void* sendbuf, void* recvbuf, int receives) {
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

Request* call_begin(const Call* call, size_t arrays, MPI_Request* handle, int* code) {
  if (handle == NULL) {
    *code = raise_error(call->function, call->comm, MPI_ERR_REQUEST, "null request");
    return NULL;
  }
  Request* request = request_create(call->function, call->comm, call->user_op, arrays);
  if (request == NULL) {
    *code = raise_error(call->function, call->comm, MPI_ERR_NO_MEM, "no memory");
    return NULL;
  }
  request->persistent = call->persistent;
  if (request->persistent) atomic_init(&request->progress, kInactive);
  const int blocks = atomic_load_explicit(&call->comm->delivered_blocks, memory_order_relaxed);
  if (blocks == 0 || (request->taken = taken_create(blocks)) != NULL) return request;
  *code = raise_error(call->function, call->comm, MPI_ERR_NO_MEM, "no memory");
  request_destroy(request);
  return NULL;
}

int call_end(const Call* call, Request* request, esp_status status, MPI_Request* handle) {
  if (status == ESP_OK) {
    *handle = request;
    return MPI_SUCCESS;
  }
  const int code = raise_status(call->function, call->comm, status);
  request_destroy(request);
  return code;
}
