/* Attributes of communicators: those of the program, and those that the standard defines.
 * path: setup */
#include "mpi/attributes.h"

static Holder holder_of(Comm* comm) {
  return (Holder){kOfComms, comm_handle(comm), &comm->attributes};
}

int comm_copy_attributes(const char* function, Comm* from, Comm* to) {
  return attributes_copy_all(function, from, holder_of(from), holder_of(to));
}

int comm_delete_attributes(const char* function, Comm* comm) {
  return attributes_delete_all(function, comm, holder_of(comm));
}

/* ---- those that the standard defines ---- */

/* Of these nothing but the number of ranks and of codes is known before MPI_Init. Clocks of
 * different nodes are not compared, every rank can do input and output, and there is no host. */
static const int kTagUb = 2147483647, kHost = MPI_PROC_NULL, kIo = MPI_ANY_SOURCE,
                 kWtimeIsGlobal = 0;

/* NULL: no such key. MPI_APPNUM is one that is not set. */
static const int* predefined(int keyval, int* is_key) {
  *is_key = 1;
  switch (keyval) {
    case MPI_TAG_UB:
      return &kTagUb;
    case MPI_HOST:
      return &kHost;
    case MPI_IO:
      return &kIo;
    case MPI_WTIME_IS_GLOBAL:
      return &kWtimeIsGlobal;
    case MPI_UNIVERSE_SIZE:
      return state_universe_size();
    case MPI_LASTUSEDCODE:
      return &state_own_codes()->last_used;
    case MPI_APPNUM:
      return NULL;
    default:
      *is_key = 0;
      return NULL;
  }
}

static int check_own(const char* function, Comm* comm, int keyval) {
  int is_predefined;
  (void)predefined(keyval, &is_predefined);
  if (!is_predefined) return MPI_SUCCESS;
  return raise_error(function, comm, MPI_ERR_KEYVAL, "a predefined attribute cannot be changed");
}

/* ---- the functions, under both of their names ---- */

static int set_attr(const char* function, MPI_Comm handle, int keyval, void* value) {
  Comm* comm;
  int code = comm_check(function, handle, "", &comm);
  if (code == MPI_SUCCESS) code = check_own(function, comm, keyval);
  if (code != MPI_SUCCESS) return code;
  return attributes_set(function, comm, holder_of(comm), keyval, value);
}

static int get_attr(const char* function, MPI_Comm handle, int keyval, void* value, int* flag) {
  Comm* comm;
  const int code = comm_check(function, handle, value, &comm);
  if (code != MPI_SUCCESS) return code;
  int is_predefined;
  const int* found = predefined(keyval, &is_predefined);
  if (!is_predefined) return attributes_get(function, comm, holder_of(comm), keyval, value, flag);
  if (flag == NULL) return raise_error(function, comm, MPI_ERR_ARG, "null result");
  *flag = found != NULL;
  if (*flag) *(const void**)value = found;
  return MPI_SUCCESS;
}

static int delete_attr(const char* function, MPI_Comm handle, int keyval) {
  Comm* comm;
  int code = comm_check(function, handle, "", &comm);
  if (code == MPI_SUCCESS) code = check_own(function, comm, keyval);
  if (code != MPI_SUCCESS) return code;
  return attributes_delete(function, comm, holder_of(comm), keyval);
}

static int create_keyval(const char* function, MPI_Comm_copy_attr_function* copy,
                         MPI_Comm_delete_attr_function* gone, int* keyval, void* extra) {
  const KeyvalFunctions functions = {.copy_comm = copy, .delete_comm = gone};
  return keyval_create(function, kOfComms, functions, keyval, extra);
}

int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function* copy, MPI_Comm_delete_attr_function* gone,
                           int* keyval, void* extra) {
  return create_keyval(__func__, copy, gone, keyval, extra);
}

int MPI_Keyval_create(MPI_Copy_function* copy, MPI_Delete_function* gone, int* keyval,
                      void* extra) {
  return create_keyval(__func__, copy, gone, keyval, extra);
}

int MPI_Comm_free_keyval(int* keyval) {
  return keyval_free(__func__, kOfComms, keyval);
}

int MPI_Keyval_free(int* keyval) {
  return keyval_free(__func__, kOfComms, keyval);
}

int MPI_Comm_set_attr(MPI_Comm comm, int keyval, void* value) {
  return set_attr(__func__, comm, keyval, value);
}

int MPI_Attr_put(MPI_Comm comm, int keyval, void* value) {
  return set_attr(__func__, comm, keyval, value);
}

int MPI_Comm_get_attr(MPI_Comm comm, int keyval, void* value, int* flag) {
  return get_attr(__func__, comm, keyval, value, flag);
}

int MPI_Attr_get(MPI_Comm comm, int keyval, void* value, int* flag) {
  return get_attr(__func__, comm, keyval, value, flag);
}

int MPI_Comm_delete_attr(MPI_Comm comm, int keyval) {
  return delete_attr(__func__, comm, keyval);
}

int MPI_Attr_delete(MPI_Comm comm, int keyval) {
  return delete_attr(__func__, comm, keyval);
}
