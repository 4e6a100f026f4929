/* The predefined datatypes and operators, MPI's names against the library's, and what all types
 * have: references and handles. path: short (the look-ups), setup (the rest)
 */
#include <complex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "mpi/datatype.h"

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

enum { kUnknown = -1, kFirstOp = 0x20, kOps = 0x20 };

/* What a number is made of: its bytes are swapped as those of so many parts. */
typedef struct Row {
  uint8_t index; /* the handle's low byte */
  uint8_t size, alignment;
  int8_t type;  /* the library's, or kUnknown */
  uint8_t wide; /* bytes in external32 */
  char kind;    /* i(nteger), r(eal), c(omplex), l(ogical), b(ytes), x: an integer without class */
  const char* name;
} Row;

#define ROW(index, name, c_type, type, wide, kind) \
  { index, sizeof(c_type), _Alignof(c_type), type, wide, kind, "MPI_" name }
#define INTEGER(index, name, c_type, wide, kind) \
  ROW(index, name, c_type, SIGNED_OF(c_type), wide, kind)
#define NATURAL(index, name, c_type, wide, kind) \
  ROW(index, name, c_type, UNSIGNED_OF(c_type), wide, kind)

static const Row kRows[] = {
    INTEGER(0x01, "AINT", MPI_Aint, 8, 'x'),
    INTEGER(0x02, "COUNT", MPI_Count, 8, 'x'),
    INTEGER(0x03, "OFFSET", MPI_Offset, 8, 'x'),
    ROW(0x07, "PACKED", char, ESP_BYTE, 1, 'b'),
    INTEGER(0x08, "SHORT", short, 2, 'i'),
    INTEGER(0x09, "INT", int, 4, 'i'),
    INTEGER(0x0a, "LONG", long, 4, 'i'),
    INTEGER(0x0b, "LONG_LONG", long long, 8, 'i'),
    NATURAL(0x0c, "UNSIGNED_SHORT", short, 2, 'i'),
    NATURAL(0x0d, "UNSIGNED", int, 4, 'i'),
    NATURAL(0x0e, "UNSIGNED_LONG", long, 4, 'i'),
    NATURAL(0x0f, "UNSIGNED_LONG_LONG", long long, 8, 'i'),
    ROW(0x10, "FLOAT", float, ESP_FLOAT, 4, 'r'),
    ROW(0x12, "C_FLOAT_COMPLEX", float _Complex, ESP_COMPLEX_FLOAT, 8, 'c'),
    ROW(0x13, "CXX_FLOAT_COMPLEX", float _Complex, ESP_COMPLEX_FLOAT, 8, 'c'),
    ROW(0x14, "DOUBLE", double, ESP_DOUBLE, 8, 'r'),
    ROW(0x16, "C_DOUBLE_COMPLEX", double _Complex, ESP_COMPLEX_DOUBLE, 16, 'c'),
    ROW(0x17, "CXX_DOUBLE_COMPLEX", double _Complex, ESP_COMPLEX_DOUBLE, 16, 'c'),
    INTEGER(0x18, "LOGICAL", int32_t, 4, 'l'),
    INTEGER(0x19, "INTEGER", int32_t, 4, 'i'),
    ROW(0x1a, "REAL", float, ESP_FLOAT, 4, 'r'),
    ROW(0x1b, "COMPLEX", float _Complex, ESP_COMPLEX_FLOAT, 8, 'c'),
    ROW(0x1c, "DOUBLE_PRECISION", double, ESP_DOUBLE, 8, 'r'),
    ROW(0x1d, "DOUBLE_COMPLEX", double _Complex, ESP_COMPLEX_DOUBLE, 16, 'c'),
    ROW(0x1e, "CHARACTER", char, kUnknown, 1, 'b'),
    ROW(0x20, "LONG_DOUBLE", long double, ESP_LONG_DOUBLE, 16, 'r'),
    ROW(0x24, "C_LONG_DOUBLE_COMPLEX", long double _Complex, ESP_COMPLEX_LONG_DOUBLE, 32, 'c'),
    ROW(0x25, "CXX_LONG_DOUBLE_COMPLEX", long double _Complex, ESP_COMPLEX_LONG_DOUBLE, 32, 'c'),
    ROW(0x38, "C_BOOL", _Bool, ESP_BOOL, 1, 'b'),
    ROW(0x39, "CXX_BOOL", _Bool, ESP_BOOL, 1, 'b'),
    INTEGER(0x3c, "WCHAR", wchar_t, 2, 'x'),
    INTEGER(0x40, "INT8_T", int8_t, 1, 'i'),
    NATURAL(0x41, "UINT8_T", int8_t, 1, 'i'),
    ROW(0x43, "CHAR", char, ((char)-1 < 0 ? ESP_INT8 : ESP_UINT8), 1, 'b'),
    INTEGER(0x44, "SIGNED_CHAR", char, 1, 'i'),
    NATURAL(0x45, "UNSIGNED_CHAR", char, 1, 'i'),
    ROW(0x47, "BYTE", char, ESP_BYTE, 1, 'b'),
    INTEGER(0x48, "INT16_T", int16_t, 2, 'i'),
    NATURAL(0x49, "UINT16_T", int16_t, 2, 'i'),
    INTEGER(0x50, "INT32_T", int32_t, 4, 'i'),
    NATURAL(0x51, "UINT32_T", int32_t, 4, 'i'),
    INTEGER(0x58, "INT64_T", int64_t, 8, 'i'),
    NATURAL(0x59, "UINT64_T", int64_t, 8, 'i'),
    INTEGER(0xc0, "LOGICAL1", int8_t, 1, 'l'),
    INTEGER(0xc1, "INTEGER1", int8_t, 1, 'i'),
    INTEGER(0xc8, "LOGICAL2", int16_t, 2, 'l'),
    INTEGER(0xc9, "INTEGER2", int16_t, 2, 'i'),
    ROW(0xca, "REAL2", int16_t, ESP_HALF, 2, 'r'),
    INTEGER(0xd0, "LOGICAL4", int32_t, 4, 'l'),
    INTEGER(0xd1, "INTEGER4", int32_t, 4, 'i'),
    ROW(0xd2, "REAL4", float, ESP_FLOAT, 4, 'r'),
    {0xd3, 4, 2, kUnknown, 4, 'c', "MPI_COMPLEX4"},
    INTEGER(0xd8, "LOGICAL8", int64_t, 8, 'l'),
    INTEGER(0xd9, "INTEGER8", int64_t, 8, 'i'),
    ROW(0xda, "REAL8", double, ESP_DOUBLE, 8, 'r'),
    ROW(0xdb, "COMPLEX8", float _Complex, ESP_COMPLEX_FLOAT, 8, 'c'),
    {0xe0, 16, 16, kUnknown, 16, 'l', "MPI_LOGICAL16"},
    {0xe1, 16, 16, kUnknown, 16, 'i', "MPI_INTEGER16"},
    {0xe2, 16, 16, kUnknown, 16, 'r', "MPI_REAL16"},
    ROW(0xe3, "COMPLEX16", double _Complex, ESP_COMPLEX_DOUBLE, 16, 'c'),
    {0xeb, 32, 16, kUnknown, 32, 'c', "MPI_COMPLEX32"},
};

/* Pairs of a value and an index: which types these are of, and where the second lies. */
typedef struct Pair {
  uint8_t index, first, second, at;
  int8_t type;
  const char* name;
} Pair;

#define AFTER(c_type) (sizeof(c_type) > sizeof(int) ? sizeof(c_type) : sizeof(int))

static const Pair kPairs[] = {
    {0x28, 0x10, 0x09, AFTER(float), ESP_FLOAT_INT, "MPI_FLOAT_INT"},
    {0x29, 0x14, 0x09, AFTER(double), ESP_DOUBLE_INT, "MPI_DOUBLE_INT"},
    {0x2a, 0x0a, 0x09, AFTER(long), ESP_LONG_INT, "MPI_LONG_INT"},
    {0x2b, 0x09, 0x09, AFTER(int), ESP_2INT, "MPI_2INT"},
    {0x2c, 0x08, 0x09, AFTER(short), ESP_SHORT_INT, "MPI_SHORT_INT"},
    {0x2d, 0x20, 0x09, AFTER(long double), ESP_LONG_DOUBLE_INT, "MPI_LONG_DOUBLE_INT"},
    {0x30, 0x1a, 0x1a, sizeof(float), kUnknown, "MPI_2REAL"},
    {0x31, 0x1c, 0x1c, sizeof(double), kUnknown, "MPI_2DOUBLE_PRECISION"},
    {0x32, 0x19, 0x19, sizeof(int32_t), ESP_2INT, "MPI_2INTEGER"},
};

static const uint8_t kOpTable[kOps] = {
    [0x01] = ESP_SUM + 1,  [0x02] = ESP_MIN + 1,  [0x03] = ESP_MAX + 1,    [0x04] = ESP_PROD + 1,
    [0x08] = ESP_BAND + 1, [0x09] = ESP_BOR + 1,  [0x0a] = ESP_BXOR + 1,   [0x10] = ESP_LAND + 1,
    [0x11] = ESP_LOR + 1,  [0x12] = ESP_LXOR + 1, [0x18] = ESP_MINLOC + 1, [0x19] = ESP_MAXLOC + 1,
};

int builtin_op_of(MPI_Op handle, esp_op* op) {
  const uintptr_t index = (uintptr_t)handle - kFirstOp;
  if (index >= kOps || kOpTable[index] == 0) return 0;
  *op = kOpTable[index] - 1;
  return 1;
}

static int is_pair_of_reals(const Datatype* type) {
  const MPI_Datatype handle = datatype_handle(type);
  return handle == MPI_2REAL || handle == MPI_2DOUBLE_PRECISION;
}

Op* type_own_op(const Datatype* type, esp_op op) {
  if ((op != ESP_MINLOC && op != ESP_MAXLOC) || !is_pair_of_reals(type)) return NULL;
  return state_pair_ops()[op == ESP_MAXLOC];
}

int type_combines(const Datatype* type, esp_op op) {
  if (!type->is_known) return 0;
  if (type->kind == 'l') return op == ESP_LAND || op == ESP_LOR || op == ESP_LXOR;
  return esp_op_defined(op, type->type);
}

/* ---- the table ---- */

static void open_type(Datatype* type, int esp, const char* name) {
  type->is_predefined = type->is_permanent = 1;
  atomic_init(&type->is_committed, 1);
  type->is_known = esp != kUnknown;
  type->type = esp != kUnknown ? (esp_type)esp : ESP_BYTE;
  type->default_name = name;
}

static void open_row(Datatype* table, const Row* row) {
  Datatype* type = &table[row->index];
  open_type(type, row->type, row->name);
  type->size = row->size;
  type->alignment = row->alignment;
  type->elements = 1;
  type->ub = type->true_ub = row->size;
  type->basic = type;
  type->kind = row->kind;
  type->wide = row->wide;
  type->own_run = (Run){.count = 1, .bytes = row->size};
  type->runs = &type->own_run;
  type->run_count = 1;
}

/* A pair is made as a struct is, and then taken apart for the table. */
static int open_pair(Datatype* table, const Pair* pair) {
  const Part parts[] = {{.count = 1, .of = &table[pair->first]},
                        {.at = pair->at, .count = 1, .of = &table[pair->second]}};
  int error_class;
  Datatype* made = datatype_compose(parts, 2, &error_class);
  if (made == NULL) return 0;
  Datatype* type = &table[pair->index];
  memcpy(type, made, sizeof *type);
  free(made);
  type->basic = type;
  open_type(type, pair->type, pair->name);
  return 1;
}

int types_open(Datatype* table) {
  for (size_t i = 0; i < sizeof kRows / sizeof *kRows; ++i) open_row(table, &kRows[i]);
  int opened = 1;
  for (size_t i = 0; i < sizeof kPairs / sizeof *kPairs; ++i) {
    opened = opened && open_pair(table, &kPairs[i]);
  }
  return opened;
}

void types_close(Datatype* table) {
  for (size_t i = 0; i < sizeof kPairs / sizeof *kPairs; ++i) {
    free(table[kPairs[i].index].parts);
    free(table[kPairs[i].index].runs);
  }
  memset((void*)table, 0, kDatatypes * sizeof *table);
}

int MPI_Type_get_value_index(MPI_Datatype value_type, MPI_Datatype index_type,
                             MPI_Datatype* pair_type) {
  int code;
  const Datatype* value = datatype_check(__func__, value_type, pair_type, &code);
  const Datatype* index = value != NULL ? datatype_check(__func__, index_type, "", &code) : NULL;
  if (index == NULL) return code;
  *pair_type = MPI_DATATYPE_NULL;
  const Datatype* table = state_types();
  for (size_t i = 0; i < sizeof kPairs / sizeof *kPairs; ++i) {
    const Pair* pair = &kPairs[i];
    if (value == &table[pair->first] && index == &table[pair->second]) {
      *pair_type = datatype_handle(&table[pair->index]);
    }
  }
  return MPI_SUCCESS;
}

/* ---- handles ---- */

/* Small numbers are no pointers. */
enum { kLastConstant = 0xfff };

Datatype* datatype_of(MPI_Datatype handle) {
  const uintptr_t index = (uintptr_t)handle - kFirstDatatype;
  if (index < kDatatypes) {
    Datatype* type = &state_types()[index];
    return type->is_predefined ? type : NULL;
  }
  return (uintptr_t)handle <= kLastConstant ? NULL : handle;
}

MPI_Datatype datatype_handle(const Datatype* type) {
  if (!type->is_predefined) return (MPI_Datatype)(uintptr_t)type;
  const ptrdiff_t index = type - state_types();
  return (MPI_Datatype)(uintptr_t)(kFirstDatatype + index); /* NOLINT: a constant */
}

void datatype_retain(const Datatype* type) {
  if (type->is_predefined) return;
  Datatype* shared = (Datatype*)(uintptr_t)type;
  atomic_fetch_add_explicit(&shared->references, 1, memory_order_relaxed);
}

void datatype_release(const Datatype* type) {
  if (type->is_predefined) return;
  Datatype* last = (Datatype*)(uintptr_t)type;
  if (atomic_fetch_sub_explicit(&last->references, 1, memory_order_acq_rel) != 1) return;
  number_forget(&last->number);
  datatype_forget_layout(last);
  for (size_t i = 0; i < last->part_count; ++i) datatype_release(last->parts[i].of);
  if (last->contents != NULL) contents_free(last->contents);
  free(last->parts);
  free(last->runs);
  free(last);
}

Datatype* datatype_check(const char* function, MPI_Datatype handle, const void* result, int* code) {
  require_ready(function);
  Datatype* type = datatype_of(handle);
  *code = MPI_SUCCESS;
  if (type == NULL) {
    *code = raise_error(function, NULL, MPI_ERR_TYPE, "not a datatype");
  } else if (result == NULL) {
    *code = raise_error(function, NULL, MPI_ERR_ARG, "null result");
  }
  return *code == MPI_SUCCESS ? type : NULL;
}
