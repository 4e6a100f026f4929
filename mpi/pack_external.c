/* "external32": elements packed big-endian, in sizes that the standard fixes. path: setup */
#include <stdlib.h>
#include <string.h>

#include "espalier/devices.h"
#include "mpi/datatype.h"

/* What is left of a conversion. The size is known to be enough. */
typedef struct External {
  unsigned char* packed;
  int unpacks;
} External;

static const int kIsLittle = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

/* The part `i` bytes above the lowest one. */
static unsigned char* byte_of(unsigned char* number, size_t size, size_t i, int is_little) {
  return &number[is_little ? i : size - 1 - i];
}

/* Of an integer: what is missing above is its sign, what is too much there is lost. */
static void copy_number(unsigned char* to, size_t to_size, int to_little, unsigned char* from,
                        size_t from_size, int from_little, int is_signed) {
  const int is_negative =
      is_signed && (*byte_of(from, from_size, from_size - 1, from_little) & 0x80) != 0;
  for (size_t i = 0; i < to_size; ++i) {
    const unsigned char above = is_negative ? 0xff : 0;
    *byte_of(to, to_size, i, to_little) =
        i < from_size ? *byte_of(from, from_size, i, from_little) : above;
  }
}

/* x86's long double, 64 digits with the leading one, is the upper part of IEEE binary128 otherwise,
 * whose exponent is the same. Its lowest 49 bits are cut off. */
static void widen_real(unsigned char wide[16], const unsigned char* at) {
#if defined(__x86_64__)
  uint64_t digits;
  uint16_t exponent;
  memcpy(&digits, at, 8);
  memcpy(&exponent, at + 8, 2);
  const uint64_t fraction = digits << 1;
  const uint64_t high = (uint64_t)exponent << 48 | fraction >> 16, low = fraction << 48;
  memcpy(wide, &low, 8);
  memcpy(wide + 8, &high, 8);
#else
  memcpy(wide, at, 16);
#endif
}

static void narrow_real(unsigned char* at, const unsigned char wide[16]) {
#if defined(__x86_64__)
  uint64_t low, high;
  memcpy(&low, wide, 8);
  memcpy(&high, wide + 8, 8);
  const uint16_t exponent = (uint16_t)(high >> 48);
  const uint64_t fraction = (high << 16 | low >> 48) >> 1;
  const uint64_t leading = (exponent & 0x7fff) != 0 ? (uint64_t)1 << 63 : 0;
  const uint64_t digits = leading | fraction;
  memset(at, 0, 16);
  memcpy(at, &digits, 8);
  memcpy(at + 8, &exponent, 2);
#else
  memcpy(at, wide, 16);
#endif
}

static void convert_long_double(External* to, unsigned char* at) {
  unsigned char wide[16];
  if (to->unpacks) {
    copy_number(wide, 16, kIsLittle, to->packed, 16, 0, 0);
    narrow_real(at, wide);
  } else {
    widen_real(wide, at);
    copy_number(to->packed, 16, 0, wide, 16, kIsLittle, 0);
  }
}

static int is_long_double(const Datatype* type) {
  return type->type == ESP_LONG_DOUBLE || type->type == ESP_COMPLEX_LONG_DOUBLE;
}

static int is_signed(const Datatype* type) {
  return type->is_known && type->type >= ESP_INT8 && type->type <= ESP_INT64;
}

/* A number, or one of the two parts of a complex one. */
static void convert_number(External* to, const Datatype* type, unsigned char* at, size_t size,
                           size_t wide) {
  if (is_long_double(type)) {
    convert_long_double(to, at);
  } else if (to->unpacks) {
    copy_number(at, size, kIsLittle, to->packed, wide, 0, is_signed(type));
  } else {
    copy_number(to->packed, wide, 0, at, size, kIsLittle, is_signed(type));
  }
  to->packed += wide;
}

static void convert(External* to, const Datatype* type, uintptr_t at) {
  for (size_t i = 0; i < type->part_count; ++i) {
    const Part* part = &type->parts[i];
    for (size_t k = 0; k < part->count; ++k) {
      convert(to, part->of, at + (uintptr_t)part->at + k * (uintptr_t)part->stride);
    }
  }
  if (type->part_count > 0 || type->size == 0) return;
  unsigned char* number = (unsigned char*)at;
  const size_t parts = type->kind == 'c' ? 2 : 1;
  const size_t size = type->size / parts, wide = type->wide / parts;
  for (size_t i = 0; i < parts; ++i) convert_number(to, type, number + i * size, size, wide);
}

/* Bytes of an element. */
static size_t wide_size(const Datatype* type) {
  if (type->part_count == 0) return type->wide;
  size_t bytes = 0;
  for (size_t i = 0; i < type->part_count; ++i) {
    bytes += type->parts[i].count * wide_size(type->parts[i].of);
  }
  return bytes;
}

/* ---- the functions ---- */

typedef struct Packing {
  const char* function;
  const Datatype* type;
  size_t count;
  size_t bytes;
} Packing;

static int wrong(const Packing* p, int error_class, const char* problem) {
  return raise_error(p->function, NULL, error_class, problem);
}

static int check(Packing* p, const char* datarep, MPI_Count count, MPI_Datatype datatype) {
  require_ready(p->function);
  if (datarep == NULL || strcmp(datarep, "external32") != 0) {
    return wrong(p, MPI_ERR_ARG, "the representation is not \"external32\"");
  }
  if (count < 0) return wrong(p, MPI_ERR_COUNT, "negative count");
  p->type = datatype_of(datatype);
  if (p->type == NULL) return wrong(p, MPI_ERR_TYPE, "not a datatype");
  /* No element is longer there than here. */
  if (__builtin_mul_overflow((size_t)count, p->type->size, &p->bytes) || p->bytes > PTRDIFF_MAX) {
    return wrong(p, MPI_ERR_COUNT, "more than 63 bits of bytes");
  }
  p->count = (size_t)count;
  p->bytes = p->count * wide_size(p->type);
  return MPI_SUCCESS;
}

static int convert_all(Packing* p, const void* buffer, void* packed, MPI_Count size,
                       MPI_Count* position, int unpacks) {
  if (!atomic_load(&p->type->is_committed)) return wrong(p, MPI_ERR_TYPE, "not committed");
  if (position == NULL) return wrong(p, MPI_ERR_ARG, "null position");
  if (size < 0 || *position < 0 || *position > size) {
    return wrong(p, MPI_ERR_ARG, "the position is not inside the packed buffer");
  }
  if (p->bytes > (size_t)(size - *position)) {
    return wrong(p, MPI_ERR_TRUNCATE, "the packed buffer is too small");
  }
  if (p->bytes == 0) return MPI_SUCCESS;
  if (packed == NULL || displaced(buffer, p->type->true_lb) == NULL) {
    return wrong(p, MPI_ERR_BUFFER, "null buffer");
  }
  if (type_on_device(p->type, buffer) || esp_memory_is_device(state_job(), packed)) {
    return wrong(p, MPI_ERR_UNSUPPORTED_OPERATION,
                 "numbers in memory of a device are not converted: copy them to the host");
  }
  External to = {(unsigned char*)packed + *position, unpacks};
  const uintptr_t extent = (uintptr_t)datatype_extent(p->type);
  for (size_t i = 0; i < p->count; ++i) convert(&to, p->type, (uintptr_t)buffer + i * extent);
  *position += (MPI_Count)p->bytes;
  return MPI_SUCCESS;
}

#define PACK_FORM(NAME, COUNT, PLACE)                                                         \
  int NAME(const char datarep[], const void* inbuf, COUNT incount, MPI_Datatype datatype,     \
           void* outbuf, PLACE outsize, PLACE* position) {                                    \
    Packing p = {.function = __func__};                                                       \
    const int code = check(&p, datarep, incount, datatype);                                   \
    return code == MPI_SUCCESS ? convert_all(&p, inbuf, outbuf, outsize, position, 0) : code; \
  }

#define UNPACK_FORM(NAME, COUNT, PLACE)                                                          \
  int NAME(const char datarep[], const void* inbuf, PLACE insize, PLACE* position, void* outbuf, \
           COUNT outcount, MPI_Datatype datatype) {                                              \
    Packing p = {.function = __func__};                                                          \
    const int code = check(&p, datarep, outcount, datatype);                                     \
    void* packed = (void*)(uintptr_t)inbuf;                                                      \
    return code == MPI_SUCCESS ? convert_all(&p, outbuf, packed, insize, position, 1) : code;    \
  }

#define SIZE_FORM(NAME, COUNT, PLACE)                                                      \
  int NAME(const char datarep[], COUNT incount, MPI_Datatype datatype, PLACE* size) {      \
    Packing p = {.function = __func__};                                                    \
    const int code = check(&p, datarep, incount, datatype);                                \
    if (code == MPI_SUCCESS && size == NULL) return wrong(&p, MPI_ERR_ARG, "null result"); \
    if (code == MPI_SUCCESS) *size = (PLACE)p.bytes;                                       \
    return code;                                                                           \
  }

PACK_FORM(MPI_Pack_external, int, MPI_Aint)
PACK_FORM(MPI_Pack_external_c, MPI_Count, MPI_Count)
UNPACK_FORM(MPI_Unpack_external, int, MPI_Aint)
UNPACK_FORM(MPI_Unpack_external_c, MPI_Count, MPI_Count)
SIZE_FORM(MPI_Pack_external_size, int, MPI_Aint)
SIZE_FORM(MPI_Pack_external_size_c, MPI_Count, MPI_Count)
