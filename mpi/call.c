/* The checks of arguments and the start of requests. path: short */
#include "mpi/call.h"

int call_comm(Call* call, MPI_Comm handle) {
  require_ready(call->function);
  call->comm = comm_of(handle);
  if (call->comm == NULL) {
    return raise_error(call->function, NULL, MPI_ERR_COMM, "null communicator");
  }
  return MPI_SUCCESS;
}

int call_data(Call* call, Data* side, MPI_Count count, MPI_Datatype datatype) {
  if (count < 0) {
    return raise_values(call->function, call->comm, MPI_ERR_COUNT, "negative count: %lld",
                        (long long)count);
  }
  const Datatype* type = datatype_of(datatype);
  if (type == NULL) return raise_error(call->function, call->comm, MPI_ERR_TYPE, "not a datatype");
  if (!atomic_load_explicit(&type->is_committed, memory_order_relaxed)) {
    return raise_error(call->function, call->comm, MPI_ERR_TYPE, "the datatype is not committed");
  }
  side->type = type;
  side->count = (size_t)count;
  if (__builtin_mul_overflow(side->count, type->size, &side->bytes) || side->bytes > PTRDIFF_MAX) {
    return raise_error(call->function, call->comm, MPI_ERR_COUNT, "more than 63 bits of bytes");
  }
  call->count = side->bytes;
  call->type = ESP_BYTE;
  return MPI_SUCCESS;
}

int call_one(Call* call, Data* side, const void* buffer, MPI_Count count, MPI_Datatype datatype) {
  const int code = call_data(call, side, count, datatype);
  if (code != MPI_SUCCESS || !call_is_null(side, buffer)) return code;
  return raise_error(call->function, call->comm, MPI_ERR_BUFFER, "null buffer");
}

int call_root(Call* call, int root) {
  if (root < 0 || root >= esp_team_size(call->comm->team)) {
    return raise_not_a_rank(call->function, call->comm, MPI_ERR_ROOT, "root", root);
  }
  return MPI_SUCCESS;
}

int call_truncates(const Call* call, const char* what, Extent sent, Extent received) {
  return raise_values(call->function, call->comm, MPI_ERR_TRUNCATE,
                      "%s: count %lld, %zu bytes, is sent, count %lld, %zu bytes, received", what,
                      (long long)sent.count, sent.bytes, (long long)received.count, received.bytes);
}

/* Do the elements of both sides begin at one address? */
static int is_same(const Call* call, const void* sendbuf, const void* recvbuf) {
  const Datatype *in = call->in.type, *out = call->out.type;
  if (sendbuf == MPI_IN_PLACE || in == NULL || out == NULL) return 0;
  return displaced(sendbuf, in->true_lb) == displaced(recvbuf, out->true_lb);
}

int call_buffers(Call* call, const void* sendbuf, void* recvbuf, int receives) {
  call->input = sendbuf == MPI_IN_PLACE ? ESP_IN_PLACE : sendbuf;
  call->output = recvbuf;
  const char* problem = NULL;
  if (sendbuf == MPI_IN_PLACE && !receives) {
    problem = "MPI_IN_PLACE is for the root alone";
  } else if (recvbuf == MPI_IN_PLACE && receives) {
    problem = "MPI_IN_PLACE as receive buffer";
  } else if ((sendbuf != MPI_IN_PLACE && call_is_null(&call->in, sendbuf)) ||
             (receives && call_is_null(&call->out, recvbuf))) {
    problem = "null buffer";
  } else if (call->count > 0 && receives && is_same(call, sendbuf, recvbuf)) {
    problem = "send and receive buffer are the same; use MPI_IN_PLACE";
  }
  if (problem == NULL) return MPI_SUCCESS;
  return raise_error(call->function, call->comm, MPI_ERR_BUFFER, problem);
}

/* ---- how the elements go to the library ---- */

int call_no_memory(Call* call) {
  if (call->stage != NULL) stage_free(call->stage);
  call->stage = NULL;
  return raise_error(call->function, call->comm, MPI_ERR_NO_MEM, "no memory");
}

int call_layout(const Data* in, const Data* out, esp_type* layout) {
  const Datatype* type = out->type != NULL ? out->type : in->type;
  if (in->type != NULL && (in->type != type || (out->type != NULL && in->count != out->count))) {
    return 0;
  }
  return datatype_layout(type, layout);
}

/* Where the library finds a side that is not staged. */
static void shift(Call* call) {
  const Datatype *in = call->in.type, *out = call->out.type;
  if (in != NULL && call->in.bytes > 0) call->input = displaced(call->input, in->true_lb);
  if (out != NULL && call->out.bytes > 0) call->output = displaced(call->output, out->true_lb);
}

static int fit_staged(Call* call, int in_plain, int out_plain) {
  Data *in = &call->in, *out = &call->out;
  const void* input = call->input;
  void* output = call->output;
  size_t in_at = 0, out_at = 0;
  if (!in_plain) {
    in_at =
        stage_add(call->stage, in->type, displaced(input, 0), stage_product(in->count, in->blocks),
                  in->when != kNever ? in->when : kBefore);
  }
  if (!out_plain) {
    out_at = stage_add(call->stage, out->type, output, stage_product(out->count, out->blocks),
                       out->when != kNever ? out->when : kAfter);
  }
  if (!stage_allocate(call->stage)) return call_no_memory(call);
  shift(call);
  if (!in_plain) call->input = call->stage->memory + in_at;
  if (!out_plain) call->output = call->stage->memory + out_at;
  return MPI_SUCCESS;
}

int call_fit(Call* call) {
  const int in_plain = call_is_plain(&call->in), out_plain = call_is_plain(&call->out);
  if (in_plain && out_plain) {
    shift(call);
    return MPI_SUCCESS;
  }
  call->stage = stage_create(2);
  if (call->stage == NULL) return call_no_memory(call);
  if (!call_layout(&call->in, &call->out, &call->type)) {
    return fit_staged(call, in_plain, out_plain);
  }
  const Data* side = call->out.type != NULL ? &call->out : &call->in;
  stage_hold(call->stage, side->type);
  call->count = side->count;
  shift(call);
  return MPI_SUCCESS;
}

int call_staged_done(const Call* call, esp_status status) {
  if (status == ESP_OK) status = stage_end(call->stage);
  stage_free(call->stage);
  return raise_status(call->function, call->comm, status);
}

/* ---- requests ---- */

/* Takes the stage over from the call, whatever comes. What is staged is not delivered: what has
 * come is not where the program expects it. */
Request* call_begin(const Call* call, size_t arrays, MPI_Request* handle, int* code) {
  if (handle == NULL) {
    *code = raise_error(call->function, call->comm, MPI_ERR_REQUEST, "null request");
    if (call->stage != NULL) stage_free(call->stage);
    return NULL;
  }
  Request* request = request_create(call->function, call->comm, call->user_op, arrays);
  if (request == NULL) {
    *code = raise_error(call->function, call->comm, MPI_ERR_NO_MEM, "no memory");
    if (call->stage != NULL) stage_free(call->stage);
    return NULL;
  }
  request->persistent = call->persistent;
  request->stage = call->stage;
  if (call->stage != NULL && !call->persistent) {
    const esp_status staged = stage_begin(call->stage);
    if (staged != ESP_OK) {
      *code = raise_status(call->function, call->comm, staged);
      request_destroy(request);
      return NULL;
    }
  }
  if (request->persistent) atomic_init(&request->progress, kInactive);
  int blocks = atomic_load_explicit(&call->comm->delivered_blocks, memory_order_relaxed);
  if (call->stage != NULL && call->stage->memory != NULL) blocks = 0;
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
