/* What a status says: how much was received, and by what it was named. path: setup */
#include <limits.h>

#include "mpi/datatype.h"

static int check(const char* function, const MPI_Status* status, MPI_Datatype handle,
                 const void* result, const Datatype** type) {
  int code;
  *type = datatype_check(function, handle, status != MPI_STATUS_IGNORE ? result : NULL, &code);
  return code;
}

/* Whole elements, or MPI_UNDEFINED where something is left over. */
static MPI_Count whole_elements(const MPI_Status* status, const Datatype* type) {
  const uint64_t bytes = status_bytes(status);
  if (type->size == 0) return bytes == 0 ? 0 : MPI_UNDEFINED;
  return bytes % type->size == 0 ? (MPI_Count)(bytes / type->size) : MPI_UNDEFINED;
}

/* Those of predefined types in so many bytes of elements; what is left over stays there. */
static uint64_t elements_in(const Datatype* type, size_t count, uint64_t* bytes) {
  if (type->size == 0) return 0;
  const uint64_t held = *bytes / type->size, whole = held < count ? held : count;
  uint64_t elements = whole * type->elements;
  *bytes -= whole * type->size;
  if (whole == count || *bytes == 0) return elements;
  for (size_t i = 0; i<type->part_count&& * bytes> 0; ++i) {
    const Part* part = &type->parts[i];
    const uint64_t before = *bytes, in_part = part->count * part->of->size;
    elements += elements_in(part->of, part->count, bytes);
    if (before - *bytes != in_part) break;
  }
  return elements;
}

static MPI_Count all_elements(const MPI_Status* status, const Datatype* type) {
  uint64_t bytes = status_bytes(status);
  if (type->size == 0) return bytes == 0 ? 0 : MPI_UNDEFINED;
  const uint64_t elements = elements_in(type, SIZE_MAX, &bytes);
  return bytes == 0 ? (MPI_Count)elements : MPI_UNDEFINED;
}

#define COUNT_FORM(NAME, COUNT, MOST, FUNCTION)                           \
  int NAME(const MPI_Status* status, MPI_Datatype handle, COUNT* count) { \
    const Datatype* type;                                                 \
    const int code = check(__func__, status, handle, count, &type);       \
    if (type == NULL) return code;                                        \
    const MPI_Count found = FUNCTION(status, type);                       \
    *count = found <= MOST ? (COUNT)found : MPI_UNDEFINED;                \
    return MPI_SUCCESS;                                                   \
  }

COUNT_FORM(MPI_Get_count, int, INT_MAX, whole_elements)
COUNT_FORM(MPI_Get_count_c, MPI_Count, INT64_MAX, whole_elements)
COUNT_FORM(MPI_Get_elements, int, INT_MAX, all_elements)
COUNT_FORM(MPI_Get_elements_c, MPI_Count, INT64_MAX, all_elements)
COUNT_FORM(MPI_Get_elements_x, MPI_Count, INT64_MAX, all_elements)

/* ---- setting them ---- */

/* The bytes of so many predefined elements at the beginning of elements of a type. */
static uint64_t bytes_of(const Datatype* type, uint64_t elements) {
  if (type->elements == 0) return 0;
  uint64_t bytes = elements / type->elements * type->size;
  elements %= type->elements;
  for (size_t i = 0; i < type->part_count && elements > 0; ++i) {
    const Datatype* of = type->parts[i].of;
    const uint64_t in_part = type->parts[i].count * of->elements;
    const uint64_t taken = elements < in_part ? elements : in_part;
    bytes += bytes_of(of, taken);
    elements -= taken;
  }
  return bytes;
}

static int set_elements(const char* function, MPI_Status* status, MPI_Datatype handle,
                        MPI_Count count) {
  const Datatype* type;
  const int code = check(function, status, handle, status, &type);
  if (type == NULL) return code;
  if (count < 0) return raise_error(function, NULL, MPI_ERR_COUNT, "negative count");
  status_set_bytes(status, bytes_of(type, (uint64_t)count));
  return MPI_SUCCESS;
}

int MPI_Status_set_elements(MPI_Status* status, MPI_Datatype handle, int count) {
  return set_elements(__func__, status, handle, count);
}
int MPI_Status_set_elements_c(MPI_Status* status, MPI_Datatype handle, MPI_Count count) {
  return set_elements(__func__, status, handle, count);
}
int MPI_Status_set_elements_x(MPI_Status* status, MPI_Datatype handle, MPI_Count count) {
  return set_elements(__func__, status, handle, count);
}

static int no_status(const char* function) {
  return raise_error(function, NULL, MPI_ERR_ARG, "null status or result");
}

int MPI_Status_set_cancelled(MPI_Status* status, int flag) {
  if (status == MPI_STATUS_IGNORE) return no_status(__func__);
  status->MPI_internal[2] = flag != 0;
  return MPI_SUCCESS;
}

int MPI_Test_cancelled(const MPI_Status* status, int* flag) {
  if (status == MPI_STATUS_IGNORE || flag == NULL) return no_status(__func__);
  *flag = status->MPI_internal[2] != 0;
  return MPI_SUCCESS;
}

#define FIELD_FORMS(GET, SET, FIELD)                                              \
  int GET(const MPI_Status* status, int* value) {                                 \
    if (status == MPI_STATUS_IGNORE || value == NULL) return no_status(__func__); \
    *value = status->FIELD;                                                       \
    return MPI_SUCCESS;                                                           \
  }                                                                               \
  int SET(MPI_Status* status, int value) {                                        \
    if (status == MPI_STATUS_IGNORE) return no_status(__func__);                  \
    status->FIELD = value;                                                        \
    return MPI_SUCCESS;                                                           \
  }

FIELD_FORMS(MPI_Status_get_source, MPI_Status_set_source, MPI_SOURCE)
FIELD_FORMS(MPI_Status_get_tag, MPI_Status_set_tag, MPI_TAG)
FIELD_FORMS(MPI_Status_get_error, MPI_Status_set_error, MPI_ERROR)
