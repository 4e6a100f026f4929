/* Datatypes and predefined operators: MPI's names against the library's.
 *
 * A handle is a small constant, so a look-up is an index into a table of bytes that the compiler
 * builds from the list below. path: short
 */
#include <stdint.h>
#include <wchar.h>

#include "mpi/facade.h"

/* The library's type of a C integer, by size and sign. */
#define SIGNED_OF(type)            \
  (sizeof(type) == 1   ? ESP_INT8  \
   : sizeof(type) == 2 ? ESP_INT16 \
   : sizeof(type) == 4 ? ESP_INT32 \
                       : ESP_INT64)
#define UNSIGNED_OF(type)           \
  (sizeof(type) == 1   ? ESP_UINT8  \
   : sizeof(type) == 2 ? ESP_UINT16 \
   : sizeof(type) == 4 ? ESP_UINT32 \
                       : ESP_UINT64)

enum { kFirstType = 0x200, kTypes = 0x60, kFirstOp = 0x20, kOps = 0x20 };

/* Entry = value + 1, so that the holes are 0. The indices are the handles' low bytes: a pointer
 * cannot be an index at compile time, types_test checks that they agree with mpi.h. */
static const uint8_t kTypeTable[kTypes] = {
    [0x01] = SIGNED_OF(MPI_Aint) + 1,
    [0x02] = SIGNED_OF(MPI_Count) + 1,
    [0x03] = SIGNED_OF(MPI_Offset) + 1,
    [0x07] = ESP_BYTE + 1,
    [0x08] = SIGNED_OF(short) + 1,
    [0x09] = SIGNED_OF(int) + 1,
    [0x0a] = SIGNED_OF(long) + 1,
    [0x0b] = SIGNED_OF(long long) + 1,
    [0x0c] = UNSIGNED_OF(short) + 1,
    [0x0d] = UNSIGNED_OF(int) + 1,
    [0x0e] = UNSIGNED_OF(long) + 1,
    [0x0f] = UNSIGNED_OF(long long) + 1,
    [0x10] = ESP_FLOAT + 1,
    [0x12] = ESP_COMPLEX_FLOAT + 1,
    [0x13] = ESP_COMPLEX_FLOAT + 1,
    [0x14] = ESP_DOUBLE + 1,
    [0x16] = ESP_COMPLEX_DOUBLE + 1,
    [0x17] = ESP_COMPLEX_DOUBLE + 1,
    [0x20] = ESP_LONG_DOUBLE + 1,
    [0x24] = ESP_COMPLEX_LONG_DOUBLE + 1,
    [0x25] = ESP_COMPLEX_LONG_DOUBLE + 1,
    [0x28] = ESP_FLOAT_INT + 1,
    [0x29] = ESP_DOUBLE_INT + 1,
    [0x2a] = ESP_LONG_INT + 1,
    [0x2b] = ESP_2INT + 1,
    [0x2c] = ESP_SHORT_INT + 1,
    [0x2d] = ESP_LONG_DOUBLE_INT + 1,
    [0x38] = ESP_BOOL + 1,
    [0x39] = ESP_BOOL + 1,
    [0x3c] = SIGNED_OF(wchar_t) + 1,
    [0x40] = ESP_INT8 + 1,
    [0x41] = ESP_UINT8 + 1,
    [0x43] = ((char)-1 < 0 ? ESP_INT8 : ESP_UINT8) + 1,
    [0x44] = ESP_INT8 + 1,
    [0x45] = ESP_UINT8 + 1,
    [0x47] = ESP_BYTE + 1,
    [0x48] = ESP_INT16 + 1,
    [0x49] = ESP_UINT16 + 1,
    [0x50] = ESP_INT32 + 1,
    [0x51] = ESP_UINT32 + 1,
    [0x58] = ESP_INT64 + 1,
    [0x59] = ESP_UINT64 + 1,
};

static const uint8_t kOpTable[kOps] = {
    [0x01] = ESP_SUM + 1,  [0x02] = ESP_MIN + 1,  [0x03] = ESP_MAX + 1,    [0x04] = ESP_PROD + 1,
    [0x08] = ESP_BAND + 1, [0x09] = ESP_BOR + 1,  [0x0a] = ESP_BXOR + 1,   [0x10] = ESP_LAND + 1,
    [0x11] = ESP_LOR + 1,  [0x12] = ESP_LXOR + 1, [0x18] = ESP_MINLOC + 1, [0x19] = ESP_MAXLOC + 1,
};

int type_of(MPI_Datatype datatype, esp_type* type) {
  const uintptr_t index = (uintptr_t)datatype - kFirstType;
  if (index >= kTypes || kTypeTable[index] == 0) return 0;
  *type = (esp_type)(kTypeTable[index] - 1);
  return 1;
}

int builtin_op_of(MPI_Op handle, esp_op* op) {
  const uintptr_t index = (uintptr_t)handle - kFirstOp;
  if (index >= kOps || kOpTable[index] == 0) return 0;
  *op = kOpTable[index] - 1;
  return 1;
}

int MPI_Type_size(MPI_Datatype datatype, int* size) {
  require_ready(__func__);
  esp_type type;
  if (!type_of(datatype, &type)) {
    return raise_error(__func__, NULL, MPI_ERR_TYPE, "not a datatype");
  }
  if (size == NULL) return raise_error(__func__, NULL, MPI_ERR_ARG, "null result");
  /* MPI's size of a pair counts the members alone, without the padding of the struct. */
  switch (type) {
    case ESP_DOUBLE_INT:
      *size = (int)(sizeof(double) + sizeof(int));
      break;
    case ESP_LONG_INT:
      *size = (int)(sizeof(long) + sizeof(int));
      break;
    case ESP_SHORT_INT:
      *size = (int)(sizeof(short) + sizeof(int));
      break;
    case ESP_LONG_DOUBLE_INT:
      *size = (int)(sizeof(long double) + sizeof(int));
      break;
    default:
      *size = (int)esp_type_size(type);
  }
  return MPI_SUCCESS;
}
