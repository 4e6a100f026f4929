/* Communicators: a team, an error handler, a reference count and arrays for its blocking call.
 * path: setup */
#include <stdlib.h>

#include "mpi/facade.h"

Comm* comm_of(MPI_Comm handle) {
  if (handle == MPI_COMM_WORLD) return state_world();
  if (handle == MPI_COMM_SELF) return state_self();
  return handle == MPI_COMM_NULL ? NULL : handle;
}

MPI_Comm comm_handle(Comm* comm) {
  if (comm == state_world()) return MPI_COMM_WORLD;
  return comm == state_self() ? MPI_COMM_SELF : comm;
}

void comm_retain(Comm* comm) {
  atomic_fetch_add_explicit(&comm->references, 1, memory_order_relaxed);
}

void comm_release(Comm* comm) {
  if (atomic_fetch_sub_explicit(&comm->references, 1, memory_order_acq_rel) != 1) return;
  esp_team_free(comm->team);
  errhandler_release(atomic_load(&comm->errhandler));
  free(comm->arrays);
  free(comm);
}

size_t comm_arrays_entries(const Comm* comm) {
  return 4 * (size_t)esp_team_size(comm->team);
}

size_t* comm_arrays(Comm* comm) {
  if (comm->arrays == NULL) comm->arrays = malloc(comm_arrays_entries(comm) * sizeof *comm->arrays);
  return comm->arrays;
}

/* Takes over the team; it inherits the parent's handler, as the standard says. */
static int wrap(const char* function, Comm* parent, esp_team* team, const char* name,
                MPI_Comm* newcomm) {
  Comm* comm = malloc(sizeof *comm);
  if (comm == NULL) {
    esp_team_free(team);
    return raise_error(function, parent, MPI_ERR_NO_MEM, "no memory");
  }
  comm->team = team;
  comm->name = name;
  comm->arrays = NULL;
  atomic_init(&comm->references, 1);
  atomic_init(&comm->errhandler, errhandler_retain(atomic_load(&parent->errhandler)));
  *newcomm = comm;
  return MPI_SUCCESS;
}

/* Checks what all functions here share. */
static int check(const char* function, MPI_Comm handle, const void* result, Comm** comm) {
  require_ready(function);
  *comm = comm_of(handle);
  if (*comm == NULL) return raise_error(function, NULL, MPI_ERR_COMM, "null communicator");
  if (result == NULL) return raise_error(function, *comm, MPI_ERR_ARG, "null result");
  return MPI_SUCCESS;
}

int MPI_Comm_rank(MPI_Comm handle, int* rank) {
  Comm* comm;
  const int code = check(__func__, handle, rank, &comm);
  if (code == MPI_SUCCESS) *rank = esp_team_rank(comm->team);
  return code;
}

int MPI_Comm_size(MPI_Comm handle, int* size) {
  Comm* comm;
  const int code = check(__func__, handle, size, &comm);
  if (code == MPI_SUCCESS) *size = esp_team_size(comm->team);
  return code;
}

int MPI_Comm_dup(MPI_Comm handle, MPI_Comm* newcomm) {
  Comm* comm;
  const int code = check(__func__, handle, newcomm, &comm);
  if (code != MPI_SUCCESS) return code;
  esp_team* team = NULL;
  const esp_status status = esp_team_dup(comm->team, &team);
  if (status != ESP_OK) return raise_status(__func__, comm, status);
  return wrap(__func__, comm, team, "a duplicated communicator", newcomm);
}

int MPI_Comm_split(MPI_Comm handle, int color, int key, MPI_Comm* newcomm) {
  Comm* comm;
  const int code = check(__func__, handle, newcomm, &comm);
  if (code != MPI_SUCCESS) return code;
  if (color < 0 && color != MPI_UNDEFINED) {
    return raise_error(__func__, comm, MPI_ERR_ARG, "color is negative and not MPI_UNDEFINED");
  }
  esp_team* team = NULL;
  const int esp_color = color == MPI_UNDEFINED ? ESP_NO_TEAM : color;
  const esp_status status = esp_team_split(comm->team, esp_color, key, &team);
  if (status != ESP_OK) return raise_status(__func__, comm, status);
  if (team == NULL) {
    *newcomm = MPI_COMM_NULL;
    return MPI_SUCCESS;
  }
  return wrap(__func__, comm, team, "a split communicator", newcomm);
}

int MPI_Comm_free(MPI_Comm* handle) {
  Comm* comm;
  if (handle == NULL) {
    require_ready(__func__);
    return raise_error(__func__, NULL, MPI_ERR_ARG, "null handle");
  }
  const int code = check(__func__, *handle, handle, &comm);
  if (code != MPI_SUCCESS) return code;
  if (comm == state_world() || comm == state_self()) {
    return raise_error(__func__, comm, MPI_ERR_COMM, "a predefined communicator cannot be freed");
  }
  comm_release(comm);
  *handle = MPI_COMM_NULL;
  return MPI_SUCCESS;
}
