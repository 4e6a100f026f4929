/* Types by their size, and by the digits that Fortran asks for. path: setup */
#include <float.h>
#include <stdlib.h>

#include "mpi/datatype.h"

/* ---- MPI_Type_match_size ---- */

typedef struct Sized {
  int typeclass, size;
  MPI_Datatype type;
} Sized;

static MPI_Datatype sized(int typeclass, int size) {
  const Sized all[] = {
      {MPI_TYPECLASS_INTEGER, 1, MPI_INTEGER1},   {MPI_TYPECLASS_INTEGER, 2, MPI_INTEGER2},
      {MPI_TYPECLASS_INTEGER, 4, MPI_INTEGER4},   {MPI_TYPECLASS_INTEGER, 8, MPI_INTEGER8},
      {MPI_TYPECLASS_INTEGER, 16, MPI_INTEGER16}, {MPI_TYPECLASS_REAL, 2, MPI_REAL2},
      {MPI_TYPECLASS_REAL, 4, MPI_REAL4},         {MPI_TYPECLASS_REAL, 8, MPI_REAL8},
      {MPI_TYPECLASS_REAL, 16, MPI_REAL16},       {MPI_TYPECLASS_COMPLEX, 4, MPI_COMPLEX4},
      {MPI_TYPECLASS_COMPLEX, 8, MPI_COMPLEX8},   {MPI_TYPECLASS_COMPLEX, 16, MPI_COMPLEX16},
      {MPI_TYPECLASS_COMPLEX, 32, MPI_COMPLEX32},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    if (all[i].typeclass == typeclass && all[i].size == size) return all[i].type;
  }
  return MPI_DATATYPE_NULL;
}

int MPI_Type_match_size(int typeclass, int size, MPI_Datatype* datatype) {
  require_ready(__func__);
  if (datatype == NULL) return raise_error(__func__, NULL, MPI_ERR_ARG, "null result");
  const MPI_Datatype found = sized(typeclass, size);
  if (found == MPI_DATATYPE_NULL) {
    return raise_error(__func__, NULL, MPI_ERR_ARG, "no type of that class has that size");
  }
  *datatype = found;
  return MPI_SUCCESS;
}

/* ---- MPI_Type_create_f90_... ---- */

/* The bytes of a kind of real numbers, 0 when there is none. MPI_UNDEFINED: any. */
static int bytes_of_real(int precision, int range) {
  const int digits = precision == MPI_UNDEFINED ? 0 : precision;
  const int exponent = range == MPI_UNDEFINED ? 0 : range;
  if (digits <= FLT_DIG && exponent <= FLT_MAX_10_EXP - 1) return 4;
  if (digits <= DBL_DIG && exponent <= DBL_MAX_10_EXP - 1) return 8;
  return digits <= 33 && exponent <= 4931 ? 16 : 0;
}

static int bytes_of_integer(int range) {
  return range <= 2 ? 1 : range <= 4 ? 2 : range <= 9 ? 4 : range <= 18 ? 8 : range <= 38 ? 16 : 0;
}

/* The type for these arguments: the same handle each time, which nobody frees. */
static int create(const char* function, int combiner, MPI_Datatype of, const int* arguments,
                  size_t count, MPI_Datatype* newtype) {
  if (newtype == NULL) return raise_error(function, NULL, MPI_ERR_ARG, "null result");
  const Datatype* base = datatype_of(of);
  if (base == NULL) return raise_error(function, NULL, MPI_ERR_ARG, "there is no such kind");
  state_lock_types();
  for (Datatype* made = *state_kinds(); made != NULL; made = made->next_kind) {
    const Contents* contents = made->contents;
    int same = contents->combiner == combiner;
    for (size_t i = 0; i < count && same; ++i) same = contents->integer[i] == arguments[i];
    if (!same) continue;
    state_unlock_types();
    *newtype = made;
    return MPI_SUCCESS;
  }
  int error_class;
  const Part part = {.count = 1, .of = (Datatype*)(uintptr_t)base};
  Datatype* type = datatype_compose(&part, 1, &error_class);
  Contents* contents = contents_create(combiner, 0, (Arguments){.integers = count});
  for (size_t i = 0; i < count && contents != NULL; ++i) {
    contents_put_integer(contents, arguments[i]);
  }
  if (type != NULL && contents != NULL) {
    type->contents = contents;
    type->is_permanent = 1;
    type->is_known = base->is_known;
    type->type = base->type;
    type->kind = base->kind;
    atomic_store(&type->is_committed, 1);
    type->next_kind = *state_kinds();
    *state_kinds() = type;
  }
  state_unlock_types();
  return datatype_give(function, type, error_class, contents, newtype);
}

int MPI_Type_create_f90_integer(int range, MPI_Datatype* newtype) {
  require_ready(__func__);
  const int bytes = bytes_of_integer(range);
  return create(__func__, MPI_COMBINER_F90_INTEGER, sized(MPI_TYPECLASS_INTEGER, bytes), &range, 1,
                newtype);
}

int MPI_Type_create_f90_real(int precision, int range, MPI_Datatype* newtype) {
  require_ready(__func__);
  const int bytes = bytes_of_real(precision, range), arguments[] = {precision, range};
  return create(__func__, MPI_COMBINER_F90_REAL, sized(MPI_TYPECLASS_REAL, bytes), arguments, 2,
                newtype);
}

int MPI_Type_create_f90_complex(int precision, int range, MPI_Datatype* newtype) {
  require_ready(__func__);
  const int bytes = bytes_of_real(precision, range), arguments[] = {precision, range};
  return create(__func__, MPI_COMBINER_F90_COMPLEX, sized(MPI_TYPECLASS_COMPLEX, 2 * bytes),
                arguments, 2, newtype);
}
