/* The sides of calls with blocks that differ. path: short */
#include "mpi/blocks.h"

#include <stdint.h>

static int wrong(const VCall* v, int error_class, const char* problem) {
  return raise_error(v->call.function, v->call.comm, error_class, problem);
}

/* Without blocks nothing is looked at. */
static int check_side(VCall* v, Side* side, const void* buffer, MPI_Datatype datatype) {
  if (side->blocks == 0) return MPI_SUCCESS;
  if (side->counts == NULL) return wrong(v, MPI_ERR_ARG, "null counts");
  if (side->displs == NULL && side->byte_displs == NULL) {
    return wrong(v, MPI_ERR_ARG, "null displacements");
  }
  Call block = v->call;
  int largest = 0, code = MPI_SUCCESS;
  for (size_t i = 0; i < side->blocks && code == MPI_SUCCESS; ++i) {
    code = call_data(&block, side->counts[i], side->block_types ? side->block_types[i] : datatype);
    if (side->counts[i] > largest) largest = side->counts[i];
  }
  if (code != MPI_SUCCESS) return code;
  side->unit = side->block_types ? 1 : esp_type_size(block.type);
  if (buffer == NULL && largest > 0) return wrong(v, MPI_ERR_BUFFER, "null buffer");
  return MPI_SUCCESS;
}

int blocks_send(VCall* v, const void* buffer, MPI_Datatype datatype, Side side) {
  v->in = side;
  v->call.input = buffer;
  const int code = check_side(v, &v->in, buffer, datatype);
  if (code != MPI_SUCCESS || buffer != MPI_IN_PLACE) return code;
  return wrong(v, MPI_ERR_BUFFER, "MPI_IN_PLACE as send buffer");
}

int blocks_receive(VCall* v, void* buffer, MPI_Datatype datatype, Side side) {
  v->out = side;
  v->call.output = buffer;
  const int code = check_side(v, &v->out, buffer, datatype);
  if (code != MPI_SUCCESS || buffer != MPI_IN_PLACE) return code;
  return wrong(v, MPI_ERR_BUFFER, "MPI_IN_PLACE as receive buffer");
}

Extent blocks_extent(const Side* side, int block) {
  size_t element_bytes = side->unit;
  esp_type type;
  if (side->block_types != NULL && type_of(side->block_types[block], &type)) {
    element_bytes = esp_type_size(type);
  }
  const int count = side->counts[block];
  return (Extent){count, (size_t)count * element_bytes};
}

int blocks_own(const VCall* v, Extent sent, Extent received) {
  if (sent.bytes == received.bytes) return MPI_SUCCESS;
  return call_truncates(&v->call, "what a rank sends to itself is not what it receives from itself",
                        sent, received);
}

/* ---- the library's arrays ---- */

/* Where a block begins, in bytes. Without displacements the library has none either. */
static ptrdiff_t place_of(const Side* side, size_t block) {
  if (side->byte_displs != NULL) return side->byte_displs[block];
  return side->displs != NULL ? side->displs[block] * (ptrdiff_t)side->unit : 0;
}

static size_t entries_of(const Side* side) {
  return (side->block_types != NULL ? 3 : 2) * side->blocks;
}

/* Returns where the lowest block begins, in bytes. Where an empty block stands does not matter. */
static ptrdiff_t lay_out_side(Side* side, size_t* room) {
  side->to_counts = room;
  side->to_displs = room + side->blocks;
  side->to_types = (esp_type*)(void*)(room + 2 * side->blocks);
  ptrdiff_t lowest = PTRDIFF_MAX;
  for (size_t i = 0; i < side->blocks; ++i) {
    if (side->counts[i] > 0 && place_of(side, i) < lowest) lowest = place_of(side, i);
  }
  for (size_t i = 0; i < side->blocks; ++i) {
    side->to_counts[i] = (size_t)side->counts[i] * side->unit;
    side->to_displs[i] = side->counts[i] > 0 ? (size_t)(place_of(side, i) - lowest) : 0;
    if (side->block_types != NULL) (void)type_of(side->block_types[i], &side->to_types[i]);
  }
  return lowest == PTRDIFF_MAX ? 0 : lowest;
}

static void lay_out(VCall* v, size_t* room) {
  Call* call = &v->call;
  const ptrdiff_t in = lay_out_side(&v->in, room);
  const ptrdiff_t out = lay_out_side(&v->out, room + entries_of(&v->in));
  if (in != 0) call->input = (const char*)call->input + in;
  if (out != 0) call->output = (char*)call->output + out;
}

static size_t entries(const VCall* v) {
  return entries_of(&v->in) + entries_of(&v->out);
}

int blocks_lay_out(VCall* v) {
  size_t* room = comm_arrays(v->call.comm, entries(v));
  if (room == NULL) return wrong(v, MPI_ERR_NO_MEM, "no memory");
  lay_out(v, room);
  return MPI_SUCCESS;
}

Request* blocks_begin(VCall* v, MPI_Request* handle, int* code) {
  Request* request = call_begin(&v->call, entries(v), handle, code);
  if (request != NULL) lay_out(v, request->arrays);
  return request;
}
