/* Exchanges of blocks whose sizes and places differ from member to member. path: short
 *
 * MPI counts by ints, in elements of types that may differ from rank to rank; the library is asked
 * to move bytes, and takes arrays of size_t. Those of a blocking call stand with the communicator,
 * those of a call that starts with its request.
 */
#include <stdint.h>

#include "mpi/call.h"

/* What the program says of one direction. */
typedef struct Side {
  const int* counts;
  const int* displs;
  size_t element_bytes;
} Side;

typedef struct VCall {
  Call call;
  Side in; /* MPI_Alltoallv that is not in place; otherwise without arrays */
  Side out;
} VCall;

/* What the library is told of it, in bytes. */
typedef struct Arrays {
  size_t* in_counts;
  size_t* in_displs;
  size_t* out_counts;
  size_t* out_displs;
} Arrays;

static int members(const VCall* v) {
  return esp_team_size(v->call.comm->team);
}

static int wrong_buffer(const VCall* v, const char* problem) {
  return raise_error(v->call.function, v->call.comm, MPI_ERR_BUFFER, problem);
}

/* The buffer may be that of the other direction, as long as their blocks do not overlap. */
static int prepare_side(VCall* v, Side* side, const void* buffer, const int* counts,
                        const int* displs, MPI_Datatype datatype) {
  Call* call = &v->call;
  if (counts == NULL || displs == NULL) {
    const char* problem = counts == NULL ? "null counts" : "null displacements";
    return raise_error(call->function, call->comm, MPI_ERR_ARG, problem);
  }
  const int size = members(v);
  int largest = 0;
  for (int r = 0; r < size; ++r) {
    const int code = call_data(call, counts[r], datatype);
    if (code != MPI_SUCCESS) return code;
    if (counts[r] > largest) largest = counts[r];
  }
  if (buffer == MPI_IN_PLACE) return wrong_buffer(v, "MPI_IN_PLACE as receive buffer");
  if (buffer == NULL && largest > 0) return wrong_buffer(v, "null buffer");
  *side = (Side){counts, displs, esp_type_size(call->type)};
  return MPI_SUCCESS;
}

/* What a rank sends to itself is the one block of which it knows both sides. */
static int prepare_own_block(VCall* v, Extent sent) {
  const int own = esp_team_rank(v->call.comm->team);
  const int count = v->out.counts[own];
  const Extent received = {count, (size_t)count * v->out.element_bytes};
  if (sent.bytes == received.bytes) return MPI_SUCCESS;
  return call_truncates(&v->call, "what a rank sends to itself is not what it receives from itself",
                        sent, received);
}

static int prepare_allgatherv(VCall* v, const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                              void* recvbuf, const int* recvcounts, const int* displs,
                              MPI_Datatype recvtype, MPI_Comm comm) {
  const int in_place = sendbuf == MPI_IN_PLACE;
  int code = call_comm(&v->call, comm);
  if (code == MPI_SUCCESS && !in_place) code = call_block(&v->call, sendcount, sendtype);
  const size_t sent_bytes = v->call.count;
  if (code == MPI_SUCCESS && sendbuf == NULL && sent_bytes > 0) {
    code = wrong_buffer(v, "null buffer");
  }
  if (code == MPI_SUCCESS) {
    code = prepare_side(v, &v->out, recvbuf, recvcounts, displs, recvtype);
  }
  if (code == MPI_SUCCESS && !in_place)
    code = prepare_own_block(v, (Extent){sendcount, sent_bytes});
  v->call.input = in_place ? ESP_IN_PLACE : sendbuf;
  v->call.output = recvbuf;
  return code;
}

static int prepare_alltoallv(VCall* v, const void* sendbuf, const int* sendcounts,
                             const int* sdispls, MPI_Datatype sendtype, void* recvbuf,
                             const int* recvcounts, const int* rdispls, MPI_Datatype recvtype,
                             MPI_Comm comm) {
  const int in_place = sendbuf == MPI_IN_PLACE;
  int code = call_comm(&v->call, comm);
  if (code == MPI_SUCCESS && !in_place) {
    code = prepare_side(v, &v->in, sendbuf, sendcounts, sdispls, sendtype);
  }
  if (code == MPI_SUCCESS) {
    code = prepare_side(v, &v->out, recvbuf, recvcounts, rdispls, recvtype);
  }
  if (code == MPI_SUCCESS && !in_place) {
    const int own = esp_team_rank(v->call.comm->team);
    const size_t bytes = (size_t)sendcounts[own] * v->in.element_bytes;
    code = prepare_own_block(v, (Extent){sendcounts[own], bytes});
  }
  v->call.input = in_place ? ESP_IN_PLACE : sendbuf;
  v->call.output = recvbuf;
  return code;
}

/* Writes the library's arrays and returns the buffer that they start from, which is the lowest
 * block: displacements may be negative in MPI alone, and one buffer may serve both directions.
 * Where an empty block stands does not matter. */
static const void* lay_out_side(const Side* side, int size, const void* buffer, size_t* counts,
                                size_t* displs) {
  const ptrdiff_t element_bytes = (ptrdiff_t)side->element_bytes;
  ptrdiff_t lowest = PTRDIFF_MAX;
  for (int r = 0; r < size; ++r) {
    if (side->counts[r] > 0 && side->displs[r] < lowest) lowest = side->displs[r];
  }
  for (int r = 0; r < size; ++r) {
    counts[r] = (size_t)side->counts[r] * side->element_bytes;
    displs[r] = counts[r] > 0 ? (size_t)((side->displs[r] - lowest) * element_bytes) : 0;
  }
  return lowest == PTRDIFF_MAX ? buffer : (const char*)buffer + lowest * element_bytes;
}

/* `room`: comm_arrays_entries() of them. */
static Arrays lay_out(VCall* v, size_t* room) {
  const int size = members(v);
  Call* call = &v->call;
  Arrays a = {.out_counts = room, .out_displs = room + size};
  call->output =
      (void*)(uintptr_t)lay_out_side(&v->out, size, call->output, a.out_counts, a.out_displs);
  if (v->in.counts == NULL) return a;
  a.in_counts = room + 2 * size;
  a.in_displs = room + 3 * size;
  call->input = lay_out_side(&v->in, size, call->input, a.in_counts, a.in_displs);
  return a;
}

/* ---- blocking ---- */

int MPI_Allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                   const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                   MPI_Comm comm) {
  VCall v = {.call.function = __func__};
  const int code = prepare_allgatherv(&v, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                      recvtype, comm);
  if (code != MPI_SUCCESS) return code;
  const Call* call = &v.call;
  size_t* room = comm_arrays(call->comm);
  if (room == NULL) return raise_error(__func__, call->comm, MPI_ERR_NO_MEM, "no memory");
  const Arrays a = lay_out(&v, room);
  return raise_status(__func__, call->comm,
                      esp_allgatherv(call->comm->team, call->input, call->output, a.out_counts,
                                     a.out_displs, ESP_BYTE));
}

int MPI_Alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                  MPI_Datatype sendtype, void* recvbuf, const int recvcounts[], const int rdispls[],
                  MPI_Datatype recvtype, MPI_Comm comm) {
  VCall v = {.call.function = __func__};
  const int code = prepare_alltoallv(&v, sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                                     recvcounts, rdispls, recvtype, comm);
  if (code != MPI_SUCCESS) return code;
  const Call* call = &v.call;
  size_t* room = comm_arrays(call->comm);
  if (room == NULL) return raise_error(__func__, call->comm, MPI_ERR_NO_MEM, "no memory");
  const Arrays a = lay_out(&v, room);
  return raise_status(__func__, call->comm,
                      esp_alltoallv(call->comm->team, call->input, a.in_counts, a.in_displs,
                                    call->output, a.out_counts, a.out_displs, ESP_BYTE));
}

/* ---- non-blocking ---- */

typedef esp_status Allgatherv(esp_team*, const void*, void*, const size_t*, const size_t*, esp_type,
                              const esp_coll_options*, const esp_notify*, esp_request**);
typedef esp_status Alltoallv(esp_team*, const void*, const size_t*, const size_t*, void*,
                             const size_t*, const size_t*, esp_type, const esp_coll_options*,
                             const esp_notify*, esp_request**);

static Request* begin(VCall* v, Arrays* arrays, MPI_Request* handle, int* code) {
  Request* request = call_begin(&v->call, comm_arrays_entries(v->call.comm), handle, code);
  if (request != NULL) *arrays = lay_out(v, request->arrays);
  return request;
}

static int begin_allgatherv(VCall* v, Allgatherv* start, MPI_Request* handle) {
  const Call* call = &v->call;
  Arrays a;
  int code = MPI_SUCCESS;
  Request* request = begin(v, &a, handle, &code);
  if (request == NULL) return code;
  const esp_status status = start(call->comm->team, call->input, call->output, a.out_counts,
                                  a.out_displs, ESP_BYTE, NULL, NULL, &request->handle);
  return call_end(call, request, status, handle);
}

static int begin_alltoallv(VCall* v, Alltoallv* start, MPI_Request* handle) {
  const Call* call = &v->call;
  Arrays a;
  int code = MPI_SUCCESS;
  Request* request = begin(v, &a, handle, &code);
  if (request == NULL) return code;
  const esp_status status =
      start(call->comm->team, call->input, a.in_counts, a.in_displs, call->output, a.out_counts,
            a.out_displs, ESP_BYTE, NULL, NULL, &request->handle);
  return call_end(call, request, status, handle);
}

int MPI_Iallgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                    const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                    MPI_Comm comm, MPI_Request* handle) {
  VCall v = {.call.function = __func__};
  const int code = prepare_allgatherv(&v, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                      recvtype, comm);
  return code == MPI_SUCCESS ? begin_allgatherv(&v, esp_allgatherv_start, handle) : code;
}

int MPI_Allgatherv_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                        const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                        MPI_Comm comm, MPI_Info info, MPI_Request* handle) {
  VCall v = {.call.function = __func__, .call.persistent = persistent(info)};
  const int code = prepare_allgatherv(&v, sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                      recvtype, comm);
  return code == MPI_SUCCESS ? begin_allgatherv(&v, esp_allgatherv_init, handle) : code;
}

int MPI_Ialltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                   MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                   const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* handle) {
  VCall v = {.call.function = __func__};
  const int code = prepare_alltoallv(&v, sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                                     recvcounts, rdispls, recvtype, comm);
  return code == MPI_SUCCESS ? begin_alltoallv(&v, esp_alltoallv_start, handle) : code;
}

int MPI_Alltoallv_init(const void* sendbuf, const int sendcounts[], const int sdispls[],
                       MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                       const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                       MPI_Request* handle) {
  VCall v = {.call.function = __func__, .call.persistent = persistent(info)};
  const int code = prepare_alltoallv(&v, sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                                     recvcounts, rdispls, recvtype, comm);
  return code == MPI_SUCCESS ? begin_alltoallv(&v, esp_alltoallv_init, handle) : code;
}
