/* The sides of calls with blocks that differ. path: short */
#include "mpi/blocks.h"

#include <stdint.h>

static int wrong(const VCall* v, int error_class, const char* problem) {
  return raise_error(v->call.function, v->call.comm, error_class, problem);
}

/* Without blocks nothing is looked at. */
static int check_side(VCall* v, Side* side, const void* buffer, MPI_Datatype datatype) {
  if (side->blocks == 0) return MPI_SUCCESS;
  if (numbers_are_null(side->counts)) return wrong(v, MPI_ERR_ARG, "null counts");
  if (numbers_are_null(side->displs)) {
    return wrong(v, MPI_ERR_ARG, "null displacements");
  }
  Call block = v->call;
  Data data;
  int code = MPI_SUCCESS;
  for (size_t i = 0; i < side->blocks && code == MPI_SUCCESS; ++i) {
    const MPI_Datatype type = side->block_types ? side->block_types[i] : datatype;
    code = call_data(&block, &data, number_at(side->counts, i), type);
    if (code != MPI_SUCCESS) return code;
    /* Wide displacements in bytes may be addresses. */
    const int has_addresses = side->block_types != NULL && side->displs.wide != NULL;
    const ptrdiff_t place = has_addresses ? side->displs.wide[i] : 0;
    if (call_is_null(&data, displaced(buffer, place)))
      return wrong(v, MPI_ERR_BUFFER, "null buffer");
  }
  side->type = side->block_types ? NULL : data.type;
  return code;
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

/* The type of a block. */
static const Datatype* type_at(const Side* side, size_t block) {
  return side->block_types != NULL ? datatype_of(side->block_types[block]) : side->type;
}

Extent blocks_extent(const Side* side, int block) {
  const MPI_Count count = number_at(side->counts, (size_t)block);
  return (Extent){count, (size_t)count * type_at(side, (size_t)block)->size};
}

int blocks_own(const VCall* v, Extent sent, Extent received) {
  if (sent.bytes == received.bytes) return MPI_SUCCESS;
  return call_truncates(&v->call, "what a rank sends to itself is not what it receives from itself",
                        sent, received);
}

/* ---- how the elements go to the library ---- */

/* Where a block begins, in bytes. Without displacements the library has none either. */
static ptrdiff_t place_of(const Side* side, size_t block) {
  if (numbers_are_null(side->displs)) return 0;
  return number_at(side->displs, block) *
         (side->block_types != NULL ? (ptrdiff_t)1 : datatype_extent(side->type));
}

/* Sides of one type, and sides whose blocks have types: which the library takes as they lie? */
static int is_plain(const Side* side) {
  if (side->blocks == 0) return 1;
  if (side->block_types == NULL) return side->type == NULL || datatype_is_dense(side->type);
  esp_type layout;
  for (size_t i = 0; i < side->blocks; ++i) {
    const Datatype* type = type_at(side, i);
    if (number_at(side->counts, i) > 0 && type->size > 0 && !datatype_is_dense(type) &&
        !datatype_layout(type, &layout)) {
      return 0;
    }
  }
  return 1;
}

/* Bytes of the program's memory; where blocks have types, displacements are bytes anyhow. */
static void tell_bytes(Side* side) {
  if (side->type == NULL) return;
  side->count_unit = side->type->size;
  side->displ_unit = 1;
  side->shift = side->type->true_lb;
}

/* Elements of the library's type, which have the same extent. */
static void tell_elements(Side* side) {
  if (side->type == NULL) return;
  side->count_unit = 1;
  side->displ_unit = (size_t)datatype_extent(side->type);
  side->shift = side->type->true_lb;
}

/* A side as one block would be, to be compared. */
static Data data_of(const Side* side, const Data* one) {
  return side->blocks > 0 ? (Data){.type = side->type} : *one;
}

static int has_layout(VCall* v) {
  Data in = data_of(&v->in, &v->call.in), out = data_of(&v->out, &v->call.out);
  if (v->in.block_types != NULL || v->out.block_types != NULL) return 0;
  in.count = out.count = 0; /* which may differ */
  return call_layout(&in, &out, &v->call.type);
}

/* Moves of a side: how many, and what they are. */
static size_t moves_of(const Side* side, const Data* one, int plain) {
  if (side->blocks == 0) return one->type != NULL;
  return plain && side->block_types == NULL ? 0 : side->blocks;
}

static void hold_types(const VCall* v, const Side* side) {
  for (size_t i = 0; i < side->blocks && side->block_types != NULL; ++i) {
    stage_hold(v->call.stage, type_at(side, i));
  }
}

/* Returns where the side begins among what is staged. */
static size_t stage_side(VCall* v, Side* side, const void* buffer, When when) {
  const size_t begin = v->call.stage->bytes;
  side->is_staged = 1;
  side->count_unit = side->displ_unit = 1;
  for (size_t i = 0; i < side->blocks; ++i) {
    (void)stage_add(v->call.stage, type_at(side, i), displaced(buffer, place_of(side, i)),
                    (size_t)number_at(side->counts, i), when);
  }
  return begin;
}

static size_t stage_one(VCall* v, const Data* one, const void* buffer, When when) {
  return stage_add(v->call.stage, one->type, displaced(buffer, 0), one->count, when);
}

/* What is not plain is staged, each direction by itself. */
static int fit_staged(VCall* v, int in_plain, int out_plain) {
  Call* call = &v->call;
  const int in_place = call->input == ESP_IN_PLACE;
  const When after = in_place || v->keeps ? kBoth : kAfter;
  size_t in = 0, out = 0;
  if (in_plain) {
    hold_types(v, &v->in);
  } else if (v->in.blocks > 0) {
    in = stage_side(v, &v->in, call->input, kBefore);
  } else {
    in = stage_one(v, &call->in, call->input, kBefore);
  }
  if (out_plain) {
    hold_types(v, &v->out);
  } else if (v->out.blocks > 0) {
    out = stage_side(v, &v->out, call->output, after);
  } else {
    out = stage_one(v, &call->out, call->output, after);
  }
  if (!stage_allocate(call->stage)) return call_no_memory(call);
  if (!in_plain) call->input = call->stage->memory + in;
  if (!out_plain) call->output = call->stage->memory + out;
  return MPI_SUCCESS;
}

/* Blocks of one direction that are one block are where their elements begin. */
static void shift_ones(Call* call) {
  const Data *in = &call->in, *out = &call->out;
  if (in->type != NULL && in->bytes > 0) call->input = displaced(call->input, in->type->true_lb);
  if (out->type != NULL && out->bytes > 0) {
    call->output = displaced(call->output, out->type->true_lb);
  }
}

int blocks_fit(VCall* v) {
  Call* call = &v->call;
  const int in_plain = is_plain(&v->in) && call_is_plain(&call->in);
  const int out_plain = is_plain(&v->out) && call_is_plain(&call->out);
  const int has_types = v->in.block_types != NULL || v->out.block_types != NULL;
  tell_bytes(&v->in);
  tell_bytes(&v->out);
  if (in_plain && out_plain && !has_types) {
    shift_ones(call);
    return MPI_SUCCESS;
  }
  call->stage = stage_create(moves_of(&v->in, &call->in, in_plain) +
                             moves_of(&v->out, &call->out, out_plain) + 1);
  if (call->stage == NULL) return call_no_memory(call);
  if (!has_types && has_layout(v)) {
    tell_elements(&v->in);
    tell_elements(&v->out);
    const Data* one = call->in.type != NULL ? &call->in : &call->out;
    if (one->type != NULL) call->count = one->count;
    if (one->type == NULL && v->own_count > 0) call->count = v->own_count;
    const Datatype* side = v->out.type != NULL ? v->out.type : v->in.type;
    stage_hold(call->stage, side != NULL ? side : one->type);
    shift_ones(call);
    return MPI_SUCCESS;
  }
  const void* input = call->input;
  void* output = call->output;
  shift_ones(call);
  if (!in_plain) call->input = input;
  if (!out_plain) call->output = output;
  return fit_staged(v, in_plain, out_plain);
}

/* ---- the library's arrays ---- */

static size_t entries_of(const Side* side) {
  return (side->block_types != NULL ? 3 : 2) * side->blocks;
}

/* One after the other, as they are staged. */
static void lay_out_staged(Side* side) {
  size_t at = 0;
  for (size_t i = 0; i < side->blocks; ++i) {
    const size_t bytes = (size_t)number_at(side->counts, i) * type_at(side, i)->size;
    side->to_counts[i] = bytes;
    side->to_displs[i] = at;
    if (side->block_types != NULL) side->to_types[i] = ESP_BYTE;
    at += bytes;
  }
}

/* Blocks with types: of each, where its elements begin, and what of them the library is told. */
static ptrdiff_t lay_out_types(Side* side) {
  ptrdiff_t lowest = PTRDIFF_MAX;
  for (size_t i = 0; i < side->blocks; ++i) {
    const Datatype* type = type_at(side, i);
    const ptrdiff_t place = place_of(side, i) + type->true_lb;
    side->to_types[i] = ESP_BYTE;
    side->to_counts[i] = (size_t)number_at(side->counts, i) * type->size;
    side->to_displs[i] = (size_t)place;
    if (side->to_counts[i] == 0) continue;
    if (place < lowest) lowest = place;
    if (!datatype_is_dense(type) && datatype_layout(type, &side->to_types[i])) {
      side->to_counts[i] = (size_t)number_at(side->counts, i);
    }
  }
  for (size_t i = 0; i < side->blocks; ++i) {
    side->to_displs[i] = side->to_counts[i] > 0 ? side->to_displs[i] - (size_t)lowest : 0;
  }
  return lowest == PTRDIFF_MAX ? 0 : lowest;
}

/* Returns where the lowest block begins, in bytes. Where an empty block stands does not matter. */
static ptrdiff_t lay_out_side(Side* side, size_t* room) {
  side->to_counts = room;
  side->to_displs = room + side->blocks;
  side->to_types = (esp_type*)(void*)(room + 2 * side->blocks);
  if (side->is_staged) {
    lay_out_staged(side);
    return 0;
  }
  if (side->block_types != NULL) return lay_out_types(side);
  ptrdiff_t lowest = PTRDIFF_MAX;
  for (size_t i = 0; i < side->blocks; ++i) {
    if (number_at(side->counts, i) > 0 && place_of(side, i) < lowest) lowest = place_of(side, i);
  }
  for (size_t i = 0; i < side->blocks; ++i) {
    const size_t behind = number_at(side->counts, i) > 0 ? (size_t)(place_of(side, i) - lowest) : 0;
    side->to_counts[i] = (size_t)number_at(side->counts, i) * side->count_unit;
    side->to_displs[i] = behind / side->displ_unit;
  }
  return lowest == PTRDIFF_MAX ? 0 : lowest + side->shift;
}

static void lay_out(VCall* v, size_t* room) {
  Call* call = &v->call;
  const ptrdiff_t in = lay_out_side(&v->in, room);
  const ptrdiff_t out = lay_out_side(&v->out, room + entries_of(&v->in));
  if (in != 0) call->input = displaced(call->input, in);
  if (out != 0) call->output = displaced(call->output, out);
}

static size_t entries(const VCall* v) {
  return entries_of(&v->in) + entries_of(&v->out);
}

int blocks_lay_out(VCall* v) {
  size_t* room = comm_arrays(v->call.comm, entries(v));
  if (room == NULL) return call_no_memory(&v->call);
  lay_out(v, room);
  return MPI_SUCCESS;
}

Request* blocks_begin(VCall* v, MPI_Request* handle, int* code) {
  Request* request = call_begin(&v->call, entries(v), handle, code);
  if (request != NULL) lay_out(v, request->arrays);
  return request;
}
