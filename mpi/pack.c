/* Packing: the bytes of elements one after the other, whole or in part. path: data */
#include <limits.h>
#include <string.h>

#include "espalier/devices.h"
#include "mpi/datatype.h"

/* What is left of a copy. Addresses are numbers, because MPI_BOTTOM is no object. */
typedef struct Copy {
  char* packed;
  size_t left;
  int unpacks;
  int on_device; /* either side is */
  esp_status status;
} Copy;

static void copy_by_device(Copy* copy, uintptr_t at, size_t bytes) {
  void* to = copy->unpacks ? (void*)at : copy->packed;
  const void* from = copy->unpacks ? copy->packed : (const void*)at;
  if (copy->status == ESP_OK) copy->status = esp_memory_copy(state_job(), to, from, bytes);
}

static void copy_bytes(Copy* copy, uintptr_t at, size_t bytes) {
  if (copy->on_device) {
    copy_by_device(copy, at, bytes);
  } else if (copy->unpacks) {
    memcpy((void*)at, copy->packed, bytes);
  } else {
    memcpy(copy->packed, (const void*)at, bytes);
  }
  copy->packed += bytes;
  copy->left -= bytes;
}

/* Many pieces of a length that the compiler knows. */
#define COPY_PIECES(bytes)                                                        \
  for (size_t i = 0; i < pieces; ++i, at += (uintptr_t)stride, packed += bytes) { \
    if (copy->unpacks) {                                                          \
      memcpy((void*)at, packed, bytes);                                           \
    } else {                                                                      \
      memcpy(packed, (const void*)at, bytes);                                     \
    }                                                                             \
  }

static void copy_pieces(Copy* copy, uintptr_t at, size_t pieces, ptrdiff_t stride, size_t bytes) {
  char* packed = copy->packed;
  switch (bytes) {
    case 4:
      COPY_PIECES(4)
      break;
    case 8:
      COPY_PIECES(8)
      break;
    case 16:
      COPY_PIECES(16)
      break;
    default:
      COPY_PIECES(bytes)
  }
  copy->packed = packed;
  copy->left -= pieces * bytes;
}

static void copy_run(Copy* copy, const Run* run, uintptr_t base, size_t skipped);

/* Of an element, from a packed position on. */
static void copy_element(Copy* copy, const Datatype* type, uintptr_t base, size_t skipped) {
  size_t low = 0, high = type->run_count;
  while (high - low > 1) { /* the last run that begins at the position or before */
    const size_t middle = low + (high - low) / 2;
    if (type->runs[middle].begin <= skipped) {
      low = middle;
    } else {
      high = middle;
    }
  }
  skipped -= type->runs[low].begin;
  for (size_t i = low; i < type->run_count && copy->left > 0; ++i, skipped = 0) {
    copy_run(copy, &type->runs[i], base, skipped);
  }
}

static void copy_run(Copy* copy, const Run* run, uintptr_t base, size_t skipped) {
  size_t k = skipped / run->bytes;
  skipped %= run->bytes;
  uintptr_t at = base + (uintptr_t)run->at + k * (uintptr_t)run->stride;
  while (k < run->count && copy->left > 0) {
    const size_t in_piece = run->bytes - skipped;
    const size_t whole = copy->left / run->bytes;
    if (run->inside == NULL && skipped == 0 && whole > 1 && !copy->on_device) {
      const size_t pieces = whole < run->count - k ? whole : run->count - k;
      copy_pieces(copy, at, pieces, run->stride, run->bytes);
      k += pieces;
      at += pieces * (uintptr_t)run->stride;
      continue;
    }
    if (run->inside != NULL) {
      copy_element(copy, run->inside, at, skipped);
    } else {
      copy_bytes(copy, at + skipped, in_piece < copy->left ? in_piece : copy->left);
    }
    skipped = 0;
    ++k;
    at += (uintptr_t)run->stride;
  }
}

static void copy_elements(Copy* copy, const Datatype* type, uintptr_t base, size_t count,
                          size_t first) {
  if (copy->left == 0) return;
  const ptrdiff_t extent = datatype_extent(type);
  const Run* run = type->runs;
  if (datatype_is_dense(type)) {
    copy_bytes(copy, base + (uintptr_t)type->true_lb + first, copy->left);
    return;
  }
  Run all = {.count = count, .stride = extent, .bytes = type->size, .inside = type};
  if (type->run_count == 1 && run->count == 1) {
    all.at = run->at;
    all.inside = run->inside;
  }
  copy_run(copy, &all, base, first);
}

int type_reach(const Datatype* type, size_t count, ptrdiff_t* lowest, ptrdiff_t* highest) {
  ptrdiff_t reach;
  *lowest = type->true_lb;
  *highest = type->true_ub;
  if (__builtin_mul_overflow((ptrdiff_t)count - 1, datatype_extent(type), &reach)) return 0;
  ptrdiff_t* end = reach < 0 ? lowest : highest;
  return !__builtin_add_overflow(*end, reach, end);
}

int type_on_device(const Datatype* type, const void* buffer) {
  return esp_memory_is_device(state_job(), displaced(buffer, type->true_lb));
}

static esp_status copy_all(const Datatype* type, const void* buffer, size_t count, size_t first,
                           Copy copy) {
  if (copy.left == 0) return ESP_OK;
  copy.on_device = type_on_device(type, buffer) || esp_memory_is_device(state_job(), copy.packed);
  copy_elements(&copy, type, (uintptr_t)buffer, count, first);
  return copy.status;
}

esp_status type_pack(const Datatype* type, const void* buffer, size_t count, size_t first,
                     size_t bytes, void* to) {
  return copy_all(type, buffer, count, first, (Copy){.packed = to, .left = bytes});
}

esp_status type_unpack(const Datatype* type, void* buffer, size_t count, size_t first, size_t bytes,
                       const void* from) {
  return copy_all(type, buffer, count, first,
                  (Copy){.packed = (char*)(uintptr_t)from, .left = bytes, .unpacks = 1});
}

/* ---- MPI_Pack and MPI_Unpack ---- */

/* The arguments that both check, and what they mean. */
typedef struct Packing {
  const char* function;
  Comm* comm;
  const Datatype* type;
  size_t bytes;
} Packing;

static int wrong(const Packing* p, int error_class, const char* problem) {
  return raise_error(p->function, p->comm, error_class, problem);
}

static int check(Packing* p, MPI_Comm comm, MPI_Count count, MPI_Datatype datatype) {
  require_ready(p->function);
  p->comm = comm_of(comm);
  if (p->comm == NULL) return wrong(p, MPI_ERR_COMM, "null communicator");
  if (count < 0) return wrong(p, MPI_ERR_COUNT, "negative count");
  p->type = datatype_of(datatype);
  if (p->type == NULL) return wrong(p, MPI_ERR_TYPE, "not a datatype");
  if (__builtin_mul_overflow((size_t)count, p->type->size, &p->bytes) || p->bytes > PTRDIFF_MAX) {
    return wrong(p, MPI_ERR_COUNT, "more than 63 bits of bytes");
  }
  return MPI_SUCCESS;
}

/* `packed` has room for `size` bytes, of which those before the position are not looked at. */
static int check_room(const Packing* p, const void* buffer, const void* packed, MPI_Count size,
                      const MPI_Count* position) {
  if (!atomic_load(&p->type->is_committed)) return wrong(p, MPI_ERR_TYPE, "not committed");
  if (position == NULL) return wrong(p, MPI_ERR_ARG, "null position");
  if (size < 0 || *position < 0 || *position > size) {
    return wrong(p, MPI_ERR_ARG, "the position is not inside the packed buffer");
  }
  if (p->bytes > (size_t)(size - *position)) {
    return wrong(p, MPI_ERR_TRUNCATE, "the packed buffer is too small");
  }
  if (p->bytes > 0 && (packed == NULL || displaced(buffer, p->type->true_lb) == NULL)) {
    return wrong(p, MPI_ERR_BUFFER, "null buffer");
  }
  return MPI_SUCCESS;
}

static int pack(const char* function, const void* inbuf, MPI_Count count, MPI_Datatype datatype,
                void* outbuf, MPI_Count size, MPI_Count* position, MPI_Comm comm) {
  Packing p = {.function = function};
  int code = check(&p, comm, count, datatype);
  if (code == MPI_SUCCESS) code = check_room(&p, inbuf, outbuf, size, position);
  if (code != MPI_SUCCESS || p.bytes == 0) return code;
  const esp_status status =
      type_pack(p.type, inbuf, (size_t)count, 0, p.bytes, (char*)outbuf + *position);
  if (status == ESP_OK) *position += (MPI_Count)p.bytes;
  return raise_status(function, p.comm, status);
}

static int unpack(const char* function, const void* inbuf, MPI_Count size, MPI_Count* position,
                  void* outbuf, MPI_Count count, MPI_Datatype datatype, MPI_Comm comm) {
  Packing p = {.function = function};
  int code = check(&p, comm, count, datatype);
  if (code == MPI_SUCCESS) code = check_room(&p, outbuf, inbuf, size, position);
  if (code != MPI_SUCCESS || p.bytes == 0) return code;
  const esp_status status =
      type_unpack(p.type, outbuf, (size_t)count, 0, p.bytes, (const char*)inbuf + *position);
  if (status == ESP_OK) *position += (MPI_Count)p.bytes;
  return raise_status(function, p.comm, status);
}

/* Positions of ints stay ints, because they do not leave the buffer. */
int MPI_Pack(const void* inbuf, int incount, MPI_Datatype datatype, void* outbuf, int outsize,
             int* position, MPI_Comm comm) {
  MPI_Count at = position != NULL ? *position : 0;
  const int code = pack(__func__, inbuf, incount, datatype, outbuf, outsize,
                        position != NULL ? &at : NULL, comm);
  if (code == MPI_SUCCESS) *position = (int)at;
  return code;
}

int MPI_Pack_c(const void* inbuf, MPI_Count incount, MPI_Datatype datatype, void* outbuf,
               MPI_Count outsize, MPI_Count* position, MPI_Comm comm) {
  return pack(__func__, inbuf, incount, datatype, outbuf, outsize, position, comm);
}

int MPI_Unpack(const void* inbuf, int insize, int* position, void* outbuf, int outcount,
               MPI_Datatype datatype, MPI_Comm comm) {
  MPI_Count at = position != NULL ? *position : 0;
  const int code = unpack(__func__, inbuf, insize, position != NULL ? &at : NULL, outbuf, outcount,
                          datatype, comm);
  if (code == MPI_SUCCESS) *position = (int)at;
  return code;
}

int MPI_Unpack_c(const void* inbuf, MPI_Count insize, MPI_Count* position, void* outbuf,
                 MPI_Count outcount, MPI_Datatype datatype, MPI_Comm comm) {
  return unpack(__func__, inbuf, insize, position, outbuf, outcount, datatype, comm);
}

static int pack_size(const char* function, MPI_Count count, MPI_Datatype datatype, MPI_Comm comm,
                     const void* result, size_t most, size_t* bytes) {
  Packing p = {.function = function};
  const int code = check(&p, comm, count, datatype);
  if (code != MPI_SUCCESS) return code;
  if (result == NULL) return wrong(&p, MPI_ERR_ARG, "null result");
  if (p.bytes > most) return wrong(&p, MPI_ERR_COUNT, "an int does not hold the size");
  *bytes = p.bytes;
  return MPI_SUCCESS;
}

int MPI_Pack_size(int incount, MPI_Datatype datatype, MPI_Comm comm, int* size) {
  size_t bytes = 0;
  const int code = pack_size(__func__, incount, datatype, comm, size, INT_MAX, &bytes);
  if (code == MPI_SUCCESS) *size = (int)bytes;
  return code;
}

int MPI_Pack_size_c(MPI_Count incount, MPI_Datatype datatype, MPI_Comm comm, MPI_Count* size) {
  size_t bytes = 0;
  const int code = pack_size(__func__, incount, datatype, comm, size, PTRDIFF_MAX, &bytes);
  if (code == MPI_SUCCESS) *size = (MPI_Count)bytes;
  return code;
}
