/* Handles and statuses as Fortran knows them. path: short */
#include <string.h>

#include "mpi/facade.h"

/* Where no Fortran program says otherwise (fortran/special.c). */
static MPI_Fint nobody[2][MPI_F_STATUS_SIZE];
MPI_Fint* MPI_F_STATUS_IGNORE = nobody[0];
MPI_Fint* MPI_F_STATUSES_IGNORE = nobody[1];

_Static_assert(sizeof(MPI_Status) == MPI_F_STATUS_SIZE * sizeof(MPI_Fint), "statuses are alike");
_Static_assert(offsetof(MPI_Status, MPI_SOURCE) == MPI_F_SOURCE * sizeof(MPI_Fint), "source");
_Static_assert(offsetof(MPI_Status, MPI_TAG) == MPI_F_TAG * sizeof(MPI_Fint), "tag");
_Static_assert(offsetof(MPI_Status, MPI_ERROR) == MPI_F_ERROR * sizeof(MPI_Fint), "error");

/* Of each kind the constants: the first one is the null handle. */
static const struct Constants {
  int first, last;
} kConstants[kNumberKinds] = {
    [kNumberOfComm] = {0x100, 0x102},    [kNumberOfGroup] = {0x108, 0x109},
    [kNumberOfType] = {0x200, 0x2ff},    [kNumberOfOp] = {0x20, 0x3f},
    [kNumberOfRequest] = {0x180, 0x180}, [kNumberOfErrhandler] = {0x140, 0x143},
    [kNumberOfInfo] = {0x130, 0x131},    [kNumberOfMessage] = {0x128, 0x129},
};

static int to_number(NumberKind kind, void* handle) {
  if ((uintptr_t)handle >= kFirstGiven) return number_of(kind, handle);
  return handle == NULL ? kConstants[kind].first : (int)(uintptr_t)handle;
}

static void* to_handle(NumberKind kind, int number) {
  const struct Constants* constants = &kConstants[kind];
  void* found = number >= kFirstGiven ? number_find(kind, number) : NULL;
  if (found != NULL) return found;
  const int is_one = number >= constants->first && number <= constants->last;
  return (void*)(uintptr_t)(is_one ? number : constants->first); /* NOLINT: a constant */
}

#define CONVERSIONS(name, handle, kind) \
  MPI_Fint name##_c2f(handle from) {    \
    return to_number(kind, from);       \
  }                                     \
  handle name##_f2c(MPI_Fint from) {    \
    return to_handle(kind, from);       \
  }                                     \
  int name##_toint(handle from) {       \
    return to_number(kind, from);       \
  }                                     \
  handle name##_fromint(int from) {     \
    return to_handle(kind, from);       \
  }

CONVERSIONS(MPI_Comm, MPI_Comm, kNumberOfComm)
CONVERSIONS(MPI_Group, MPI_Group, kNumberOfGroup)
CONVERSIONS(MPI_Type, MPI_Datatype, kNumberOfType)
CONVERSIONS(MPI_Request, MPI_Request, kNumberOfRequest)
CONVERSIONS(MPI_Errhandler, MPI_Errhandler, kNumberOfErrhandler)
CONVERSIONS(MPI_Info, MPI_Info, kNumberOfInfo)
CONVERSIONS(MPI_Message, MPI_Message, kNumberOfMessage)

/* Not all numbers between those of operators are operators. */
static MPI_Op op_handle(int number) {
  MPI_Op found = to_handle(kNumberOfOp, number);
  esp_op builtin;
  if ((uintptr_t)found >= kFirstGiven || builtin_op_of(found, &builtin)) return found;
  return MPI_OP_NULL;
}

MPI_Fint MPI_Op_c2f(MPI_Op op) {
  return to_number(kNumberOfOp, op);
}
MPI_Op MPI_Op_f2c(MPI_Fint op) {
  return op_handle(op);
}
int MPI_Op_toint(MPI_Op op) {
  return to_number(kNumberOfOp, op);
}
MPI_Op MPI_Op_fromint(int op) {
  return op_handle(op);
}

int MPI_Status_c2f(const MPI_Status* status, MPI_Fint* f_status) {
  require_ready(__func__);
  if (status == MPI_STATUS_IGNORE || f_status == NULL) {
    return raise_error(__func__, NULL, MPI_ERR_ARG, "no status");
  }
  memcpy(f_status, status, sizeof *status);
  return MPI_SUCCESS;
}

int MPI_Status_f2c(const MPI_Fint* f_status, MPI_Status* status) {
  require_ready(__func__);
  if (f_status == NULL || f_status == MPI_F_STATUS_IGNORE || f_status == MPI_F_STATUSES_IGNORE ||
      status == MPI_STATUS_IGNORE) {
    return raise_error(__func__, NULL, MPI_ERR_ARG, "no status");
  }
  memcpy(status, f_status, sizeof *status);
  return MPI_SUCCESS;
}
