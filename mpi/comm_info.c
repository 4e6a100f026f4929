/* Names and hints of communicators, and a question. path: setup */
#include <stdio.h>
#include <string.h>

#include "mpi/info.h"

void comm_name(Comm* comm, char* name) {
  state_lock();
  memcpy(name, comm->label, MPI_MAX_OBJECT_NAME);
  state_unlock();
  const int is_predefined = comm == state_world() || comm == state_self();
  if (name[0] == '\0' && is_predefined) snprintf(name, MPI_MAX_OBJECT_NAME, "%s", comm->name);
}

/* What is too long loses its end. */
int MPI_Comm_set_name(MPI_Comm handle, const char* name) {
  Comm* comm;
  const int code = comm_check(__func__, handle, name, &comm);
  if (code != MPI_SUCCESS) return code;
  state_lock();
  snprintf(comm->label, sizeof comm->label, "%s", name);
  state_unlock();
  return MPI_SUCCESS;
}

int MPI_Comm_get_name(MPI_Comm handle, char* name, int* resultlen) {
  Comm* comm;
  const int code = comm_check(__func__, handle, name, &comm);
  if (code != MPI_SUCCESS) return code;
  if (resultlen == NULL) return raise_error(__func__, comm, MPI_ERR_ARG, "null result");
  comm_name(comm, name);
  *resultlen = (int)strlen(name);
  return MPI_SUCCESS;
}

int MPI_Comm_get_parent(MPI_Comm* parent) {
  require_ready(__func__);
  if (parent == NULL) return raise_error(__func__, NULL, MPI_ERR_ARG, "null result");
  *parent = MPI_COMM_NULL;
  return MPI_SUCCESS;
}

/* ---- hints ---- */

/* Those of the standard, of which nothing is made: a bit of Comm.hints each. */
static const char* const kHints[] = {"mpi_assert_no_any_tag", "mpi_assert_no_any_source",
                                     "mpi_assert_exact_length", "mpi_assert_allow_overtaking"};
enum { kHintCount = sizeof kHints / sizeof *kHints };

/* Hints that are not in the info object stay as they are in *hints; other values than true and
 * false are no hints. */
int comm_read_hints(const char* function, Comm* comm, MPI_Info handle, unsigned* hints) {
  Info* info = info_of(handle);
  if (info == NULL && handle != MPI_INFO_NULL) {
    return raise_error(function, comm, MPI_ERR_INFO, "null info object");
  }
  for (unsigned i = 0; info != NULL && i < kHintCount; ++i) {
    char value[MPI_MAX_INFO_VAL];
    if (info_get(info, kHints[i], value, sizeof value) < 0) continue;
    if (strcmp(value, "true") == 0) *hints |= 1U << i;
    if (strcmp(value, "false") == 0) *hints &= ~(1U << i);
  }
  return MPI_SUCCESS;
}

int MPI_Comm_set_info(MPI_Comm handle, MPI_Info info) {
  Comm* comm;
  int code = comm_check(__func__, handle, "", &comm);
  if (code != MPI_SUCCESS) return code;
  unsigned hints = atomic_load(&comm->hints);
  code = comm_read_hints(__func__, comm, info, &hints);
  if (code == MPI_SUCCESS) atomic_store(&comm->hints, hints);
  return code;
}

int MPI_Comm_get_info(MPI_Comm handle, MPI_Info* info_used) {
  Comm* comm;
  const int code = comm_check(__func__, handle, info_used, &comm);
  if (code != MPI_SUCCESS) return code;
  const unsigned hints = atomic_load(&comm->hints);
  Info* info = info_create();
  int is_whole = info != NULL;
  for (unsigned i = 0; is_whole && i < kHintCount; ++i) {
    is_whole = info_set(info, kHints[i], (hints >> i & 1) != 0 ? "true" : "false");
  }
  if (!is_whole) {
    if (info != NULL) info_free(info);
    return raise_error(__func__, comm, MPI_ERR_NO_MEM, "no memory");
  }
  *info_used = info;
  return MPI_SUCCESS;
}
