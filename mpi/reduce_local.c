/* MPI_Reduce_local: the predefined operators on the program's memory, which the C API does not
 * offer. What is computed is what docs/datatypes.md says of reductions. path: data
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "espalier/devices.h"
#include "mpi/datatype.h"

/* inout[i] = in[i] op inout[i]. 0: not defined for the type. */
typedef int Combine(esp_op op, const void* in, void* inout, size_t count);

#define EACH(expression)               \
  for (size_t i = 0; i < count; ++i) { \
    y[i] = (expression);               \
  }                                    \
  return 1

/* Sums and products wrap around: in the unsigned type of 64 bits, then cut off. */
#define INTEGER(NAME, TYPE)                                               \
  static int NAME(esp_op op, const void* in, void* inout, size_t count) { \
    const TYPE* x = in;                                                   \
    TYPE* y = inout;                                                      \
    switch (op) {                                                         \
      case ESP_SUM:                                                       \
        EACH((TYPE)((uint64_t)x[i] + (uint64_t)y[i]));                    \
      case ESP_PROD:                                                      \
        EACH((TYPE)((uint64_t)x[i] * (uint64_t)y[i]));                    \
      case ESP_MIN:                                                       \
        EACH(x[i] < y[i] ? x[i] : y[i]);                                  \
      case ESP_MAX:                                                       \
        EACH(x[i] > y[i] ? x[i] : y[i]);                                  \
      case ESP_LAND:                                                      \
        EACH((TYPE)(x[i] && y[i]));                                       \
      case ESP_LOR:                                                       \
        EACH((TYPE)(x[i] || y[i]));                                       \
      case ESP_LXOR:                                                      \
        EACH((TYPE)(!x[i] != !y[i]));                                     \
      case ESP_BAND:                                                      \
        EACH((TYPE)(x[i] & y[i]));                                        \
      case ESP_BOR:                                                       \
        EACH((TYPE)(x[i] | y[i]));                                        \
      case ESP_BXOR:                                                      \
        EACH((TYPE)(x[i] ^ y[i]));                                        \
      default:                                                            \
        return 0;                                                         \
    }                                                                     \
  }

INTEGER(int8, int8_t)
INTEGER(int16, int16_t)
INTEGER(int32, int32_t)
INTEGER(int64, int64_t)
INTEGER(uint8, uint8_t)
INTEGER(uint16, uint16_t)
INTEGER(uint32, uint32_t)
INTEGER(uint64, uint64_t)

/* A NaN wins over every number, and -0 is less than +0. */
#define FIRST_OF_REALS(a, b, before) \
  (isnan(a) ||                       \
   (!isnan(b) && ((a)before(b) || ((a) == (b) && (0 before 1 ? signbit(a) : signbit(b))))))

#define REAL(NAME, TYPE)                                                            \
  static int NAME(esp_op op, const void* in, void* inout, size_t count) {           \
    const TYPE* x = in;                                                             \
    TYPE* y = inout;                                                                \
    switch (op) {                                                                   \
      case ESP_SUM:                                                                 \
        EACH(x[i] + y[i]);                                                          \
      case ESP_PROD:                                                                \
        EACH(x[i] * y[i]);                                                          \
      case ESP_MIN:                                                                 \
        EACH(FIRST_OF_REALS(x[i], y[i], <) ? x[i] : y[i]);                          \
      case ESP_MAX:                                                                 \
        EACH(FIRST_OF_REALS(x[i], y[i], >) ? x[i] : y[i]);                          \
      default:                                                                      \
        return 0;                                                                   \
    }                                                                               \
  }                                                                                 \
  static int NAME##_complex(esp_op op, const void* in, void* inout, size_t count) { \
    const TYPE* x = in;                                                             \
    TYPE* y = inout;                                                                \
    if (op != ESP_SUM && op != ESP_PROD) return 0;                                  \
    if (op == ESP_SUM) return NAME(op, in, inout, 2 * count);                       \
    for (size_t i = 0; i < 2 * count; i += 2) {                                     \
      const TYPE a = x[i], b = x[i + 1], c = y[i], d = y[i + 1];                    \
      y[i] = a * c - b * d;                                                         \
      y[i + 1] = a * d + b * c;                                                     \
    }                                                                               \
    return 1;                                                                       \
  }

REAL(float_real, float)
REAL(double_real, double)
REAL(long_double_real, long double)

/* Of equal values the lower index counts. */
#define FIRST_OF_INTEGERS(a, b, before) ((a)before(b))
#define PAIR(NAME, TYPE, FIRST)                                           \
  typedef struct NAME##_of {                                              \
    TYPE value;                                                           \
    int index;                                                            \
  } NAME##_of;                                                            \
  static int NAME(esp_op op, const void* in, void* inout, size_t count) { \
    const NAME##_of* x = in;                                              \
    NAME##_of* y = inout;                                                 \
    if (op != ESP_MINLOC && op != ESP_MAXLOC) return 0;                   \
    for (size_t i = 0; i < count; ++i) {                                  \
      const TYPE a = x[i].value, b = y[i].value;                          \
      const int is_less = FIRST(a, b, <), is_more = FIRST(b, a, <);       \
      const int is_higher = FIRST(a, b, >), is_lower = FIRST(b, a, >);    \
      const int wins = op == ESP_MINLOC ? is_less : is_higher;            \
      const int loses = op == ESP_MINLOC ? is_more : is_lower;            \
      if (wins == loses ? x[i].index < y[i].index : wins) y[i] = x[i];    \
    }                                                                     \
    return 1;                                                             \
  }

PAIR(float_pair, float, FIRST_OF_REALS)
PAIR(double_pair, double, FIRST_OF_REALS)
PAIR(long_double_pair, long double, FIRST_OF_REALS)
PAIR(long_pair, long, FIRST_OF_INTEGERS)
PAIR(int_pair, int, FIRST_OF_INTEGERS)
PAIR(short_pair, short, FIRST_OF_INTEGERS)

static Combine* const kCombine[ESP_TYPE_COUNT] = {
    [ESP_BYTE] = uint8,
    [ESP_INT8] = int8,
    [ESP_INT16] = int16,
    [ESP_INT32] = int32,
    [ESP_INT64] = int64,
    [ESP_UINT8] = uint8,
    [ESP_UINT16] = uint16,
    [ESP_UINT32] = uint32,
    [ESP_UINT64] = uint64,
    [ESP_FLOAT] = float_real,
    [ESP_DOUBLE] = double_real,
    [ESP_LONG_DOUBLE] = long_double_real,
    [ESP_COMPLEX_FLOAT] = float_real_complex,
    [ESP_COMPLEX_DOUBLE] = double_real_complex,
    [ESP_COMPLEX_LONG_DOUBLE] = long_double_real_complex,
    [ESP_BOOL] = uint8,
    [ESP_FLOAT_INT] = float_pair,
    [ESP_DOUBLE_INT] = double_pair,
    [ESP_LONG_INT] = long_pair,
    [ESP_2INT] = int_pair,
    [ESP_SHORT_INT] = short_pair,
    [ESP_LONG_DOUBLE_INT] = long_double_pair,
};

/* Memory of the host in the place of elements on a device: all from the first byte to the last. */
typedef struct Mirror {
  void* at;   /* where elements begin; without a mirror those of the program */
  char* room; /* NULL: there is none */
  char *first, *mirrored;
  size_t bytes;
} Mirror;

static esp_status open_mirror(Mirror* mirror, const Datatype* type, size_t count,
                              const void* buffer) {
  ptrdiff_t lowest, highest;
  enum { kAlignment = 64 };
  *mirror = (Mirror){.at = displaced(buffer, 0)};
  if (!type_on_device(type, buffer)) return ESP_OK;
  if (!type_reach(type, count, &lowest, &highest)) return ESP_ERR_NO_MEMORY;
  mirror->bytes = (size_t)(highest - lowest);
  mirror->room = malloc(mirror->bytes + kAlignment);
  if (mirror->room == NULL) return ESP_ERR_NO_MEMORY;
  const uintptr_t begin = (uintptr_t)mirror->room - (uintptr_t)lowest + kAlignment - 1;
  mirror->at = (void*)(begin & ~(uintptr_t)(kAlignment - 1));
  mirror->first = displaced(buffer, lowest);
  mirror->mirrored = displaced(mirror->at, lowest);
  return esp_memory_copy(state_job(), mirror->mirrored, mirror->first, mirror->bytes);
}

static int reduce_local(const char* function, const void* inbuf, void* inoutbuf, MPI_Count count,
                        MPI_Datatype datatype, MPI_Op op);

static int reduce_mirrored(const char* function, const void* inbuf, void* inoutbuf, MPI_Count count,
                           MPI_Datatype datatype, MPI_Op op) {
  const Datatype* type = datatype_of(datatype);
  Mirror in, inout = {0};
  int code = MPI_SUCCESS;
  esp_status status = open_mirror(&in, type, (size_t)count, inbuf);
  if (status == ESP_OK) status = open_mirror(&inout, type, (size_t)count, inoutbuf);
  if (status == ESP_OK) code = reduce_local(function, in.at, inout.at, count, datatype, op);
  if (status == ESP_OK && code == MPI_SUCCESS && inout.room != NULL) {
    status = esp_memory_copy(state_job(), inout.first, inout.mirrored, inout.bytes);
  }
  free(in.room);
  free(inout.room);
  return code != MPI_SUCCESS ? code : raise_status(function, NULL, status);
}

static int reduce_local(const char* function, const void* inbuf, void* inoutbuf, MPI_Count count,
                        MPI_Datatype datatype, MPI_Op op) {
  require_ready(function);
  Payload payload;
  const char* problem = NULL;
  int error_class = type_payload(datatype, inbuf, count, &payload, &problem);
  if (error_class == MPI_SUCCESS) {
    error_class = type_payload(datatype, inoutbuf, count, &payload, &problem);
  }
  if (error_class != MPI_SUCCESS) return raise_error(function, NULL, error_class, problem);
  if (op_reduces_nothing(op)) {
    return raise_error(function, NULL, MPI_ERR_OP, "null operator, or one of windows");
  }
  const Datatype* type = payload.datatype;
  if (payload.bytes > 0 && (type_on_device(type, inbuf) || type_on_device(type, inoutbuf))) {
    return reduce_mirrored(function, inbuf, inoutbuf, count, datatype, op);
  }
  esp_op builtin;
  Op* own = builtin_op_of(op, &builtin) ? type_own_op(type, builtin) : NULL;
  if (own != NULL || !builtin_op_of(op, &builtin)) {
    if (own != NULL) op = own;
    if (count > 0) op_apply(op, inbuf, inoutbuf, (size_t)count, type);
    return MPI_SUCCESS;
  }
  if (!type_combines(type, builtin)) {
    return raise_error(function, NULL, MPI_ERR_OP, "the operator is not defined for the datatype");
  }
  Combine* combine = kCombine[type->type];
  if (combine == NULL || !combine(builtin, inbuf, inoutbuf, (size_t)count)) {
    return raise_error(function, NULL, MPI_ERR_UNSUPPORTED_OPERATION,
                       "16-bit floating-point numbers are combined in collectives alone");
  }
  return MPI_SUCCESS;
}

int MPI_Reduce_local(const void* inbuf, void* inoutbuf, int count, MPI_Datatype datatype,
                     MPI_Op op) {
  return reduce_local(__func__, inbuf, inoutbuf, count, datatype, op);
}

int MPI_Reduce_local_c(const void* inbuf, void* inoutbuf, MPI_Count count, MPI_Datatype datatype,
                       MPI_Op op) {
  return reduce_local(__func__, inbuf, inoutbuf, count, datatype, op);
}
