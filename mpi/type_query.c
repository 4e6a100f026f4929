/* What a datatype says of itself: size, bounds, name; commit and free; addresses. path: setup */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "mpi/datatype.h"

int MPI_Type_commit(MPI_Datatype* handle) {
  int code;
  Datatype* type = datatype_check(__func__, handle != NULL ? *handle : NULL, handle, &code);
  if (type != NULL) atomic_store(&type->is_committed, 1);
  return code;
}

int MPI_Type_free(MPI_Datatype* handle) {
  int code;
  Datatype* type = datatype_check(__func__, handle != NULL ? *handle : NULL, handle, &code);
  if (type == NULL) return code;
  if (type->is_permanent) {
    return raise_error(__func__, NULL, MPI_ERR_TYPE, "a predefined datatype cannot be freed");
  }
  code = datatype_delete_attributes(__func__, type);
  if (code != MPI_SUCCESS) return code;
  datatype_release(type);
  *handle = MPI_DATATYPE_NULL;
  return MPI_SUCCESS;
}

/* ---- sizes ---- */

int MPI_Type_size(MPI_Datatype handle, int* size) {
  int code;
  const Datatype* type = datatype_check(__func__, handle, size, &code);
  if (type != NULL) *size = type->size <= INT_MAX ? (int)type->size : MPI_UNDEFINED;
  return code;
}

#define SIZE_FORM(NAME)                                                   \
  int NAME(MPI_Datatype handle, MPI_Count* size) {                        \
    int code;                                                             \
    const Datatype* type = datatype_check(__func__, handle, size, &code); \
    if (type != NULL) *size = (MPI_Count)type->size;                      \
    return code;                                                          \
  }

SIZE_FORM(MPI_Type_size_c)
SIZE_FORM(MPI_Type_size_x)

#define BOUNDS_FORM(NAME, BOUND, LOWER, UPPER)                              \
  int NAME(MPI_Datatype handle, BOUND* lb, BOUND* extent) {                 \
    int code;                                                               \
    const void* result = lb != NULL ? extent : NULL;                        \
    const Datatype* type = datatype_check(__func__, handle, result, &code); \
    if (type == NULL) return code;                                          \
    *lb = type->LOWER;                                                      \
    *extent = type->UPPER - type->LOWER;                                    \
    return MPI_SUCCESS;                                                     \
  }

BOUNDS_FORM(MPI_Type_get_extent, MPI_Aint, lb, ub)
BOUNDS_FORM(MPI_Type_get_extent_c, MPI_Count, lb, ub)
BOUNDS_FORM(MPI_Type_get_extent_x, MPI_Count, lb, ub)
BOUNDS_FORM(MPI_Type_get_true_extent, MPI_Aint, true_lb, true_ub)
BOUNDS_FORM(MPI_Type_get_true_extent_c, MPI_Count, true_lb, true_ub)
BOUNDS_FORM(MPI_Type_get_true_extent_x, MPI_Count, true_lb, true_ub)

/* ---- names ---- */

int MPI_Type_set_name(MPI_Datatype handle, const char* name) {
  int code;
  Datatype* type = datatype_check(__func__, handle, name, &code);
  if (type == NULL) return code;
  state_lock_types();
  snprintf(type->name, sizeof type->name, "%s", name);
  type->is_named = 1;
  state_unlock_types();
  return MPI_SUCCESS;
}

int MPI_Type_get_name(MPI_Datatype handle, char* name, int* resultlen) {
  int code;
  const void* result = name != NULL ? resultlen : NULL;
  /* The standard wants a name for the null type, too. */
  if (handle == MPI_DATATYPE_NULL && result != NULL) {
    require_ready(__func__);
    *resultlen = snprintf(name, MPI_MAX_OBJECT_NAME, "MPI_DATATYPE_NULL");
    return MPI_SUCCESS;
  }
  Datatype* type = datatype_check(__func__, handle, result, &code);
  if (type == NULL) return code;
  const char* predefined = type->default_name != NULL ? type->default_name : "";
  state_lock_types();
  snprintf(name, MPI_MAX_OBJECT_NAME, "%s", type->is_named ? type->name : predefined);
  state_unlock_types();
  *resultlen = (int)strlen(name);
  return MPI_SUCCESS;
}

/* ---- addresses ---- */

int MPI_Get_address(const void* location, MPI_Aint* address) {
  if (address == NULL) return raise_error(__func__, NULL, MPI_ERR_ARG, "null result");
  *address = (MPI_Aint)location;
  return MPI_SUCCESS;
}

/* Addresses are beyond what signed numbers hold: their sum may wrap. */
MPI_Aint MPI_Aint_add(MPI_Aint base, MPI_Aint displ) {
  return (MPI_Aint)((uintptr_t)base + (uintptr_t)displ);
}

MPI_Aint MPI_Aint_diff(MPI_Aint one, MPI_Aint other) {
  return (MPI_Aint)((uintptr_t)one - (uintptr_t)other);
}
