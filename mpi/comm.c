/* Communicators: a team, a topology, an error handler, a reference count and arrays for its
 * blocking call. path: setup */
#include <stdlib.h>

#include "mpi/message.h"

Comm* comm_of(MPI_Comm handle) {
  if (handle == MPI_COMM_WORLD) return state_world();
  if (handle == MPI_COMM_SELF) return state_self();
  return handle == MPI_COMM_NULL ? NULL : handle;
}

MPI_Comm comm_handle(Comm* comm) {
  if (comm == state_world()) return MPI_COMM_WORLD;
  return comm == state_self() ? MPI_COMM_SELF : comm;
}

void comm_open(Comm* comm, esp_team* team, Topology* topology, Errhandler* handler,
               const char* name) {
  *comm = (Comm){.team = team, .topology = topology, .name = name};
  atomic_init(&comm->references, 1);
  atomic_init(&comm->errhandler, handler);
}

void comm_close(Comm* comm) {
  errhandler_release(atomic_load(&comm->errhandler));
  free(comm->arrays);
  buffered_forget(comm);
}

void comm_retain(Comm* comm) {
  atomic_fetch_add_explicit(&comm->references, 1, memory_order_relaxed);
}

void comm_release(Comm* comm) {
  if (atomic_fetch_sub_explicit(&comm->references, 1, memory_order_acq_rel) != 1) return;
  topology_free(comm->topology);
  esp_team_free(comm->team);
  comm_close(comm);
  number_forget(&comm->number);
  free(comm);
}

size_t* comm_arrays(Comm* comm, size_t entries) {
  if (comm->arrays != NULL && entries <= comm->arrays_entries) return comm->arrays;
  free(comm->arrays);
  comm->arrays = malloc((entries + 1) * sizeof *comm->arrays);
  comm->arrays_entries = entries;
  return comm->arrays;
}

int comm_create(const char* function, Comm* parent, esp_status status, esp_team* team,
                Topology* topology, const char* name, MPI_Comm* newcomm) {
  Comm* comm = NULL;
  if (status == ESP_OK && team == NULL) {
    *newcomm = MPI_COMM_NULL;
    return MPI_SUCCESS;
  }
  if (status == ESP_OK && (comm = malloc(sizeof *comm)) == NULL) status = ESP_ERR_NO_MEMORY;
  if (status != ESP_OK) {
    const int code = raise_status(function, parent, status);
    topology_free(topology);
    if (team != NULL) esp_team_free(team);
    return code;
  }
  comm_open(comm, team, topology, errhandler_retain(atomic_load(&parent->errhandler)), name);
  *newcomm = comm;
  return MPI_SUCCESS;
}

int comm_check(const char* function, MPI_Comm handle, const void* result, Comm** comm) {
  require_ready(function);
  *comm = comm_of(handle);
  if (*comm == NULL) return raise_error(function, NULL, MPI_ERR_COMM, "null communicator");
  if (result == NULL) return raise_error(function, *comm, MPI_ERR_ARG, "null result");
  return MPI_SUCCESS;
}

int MPI_Comm_rank(MPI_Comm handle, int* rank) {
  Comm* comm;
  const int code = comm_check(__func__, handle, rank, &comm);
  if (code == MPI_SUCCESS) *rank = esp_team_rank(comm->team);
  return code;
}

int MPI_Comm_size(MPI_Comm handle, int* size) {
  Comm* comm;
  const int code = comm_check(__func__, handle, size, &comm);
  if (code == MPI_SUCCESS) *size = esp_team_size(comm->team);
  return code;
}

/* There are no intercommunicators. */
int MPI_Comm_test_inter(MPI_Comm handle, int* flag) {
  Comm* comm;
  const int code = comm_check(__func__, handle, flag, &comm);
  if (code == MPI_SUCCESS) *flag = 0;
  return code;
}

int MPI_Comm_split(MPI_Comm handle, int color, int key, MPI_Comm* newcomm) {
  Comm* comm;
  const int code = comm_check(__func__, handle, newcomm, &comm);
  if (code != MPI_SUCCESS) return code;
  if (color < 0 && color != MPI_UNDEFINED) {
    return raise_error(__func__, comm, MPI_ERR_ARG, "color is negative and not MPI_UNDEFINED");
  }
  esp_team* team = NULL;
  const int esp_color = color == MPI_UNDEFINED ? ESP_NO_TEAM : color;
  const esp_status status = esp_team_split(comm->team, esp_color, key, &team);
  return comm_create(__func__, comm, status, team, NULL, "a split communicator", newcomm);
}

static int no_inter(const char* function, MPI_Comm handle, const void* result) {
  Comm* comm;
  const int code = comm_check(function, handle, result, &comm);
  if (code != MPI_SUCCESS) return code;
  return raise_error(function, comm, MPI_ERR_COMM, "not an intercommunicator");
}

int MPI_Comm_remote_size(MPI_Comm comm, int* size) {
  return no_inter(__func__, comm, size);
}

int MPI_Comm_remote_group(MPI_Comm comm, MPI_Group* group) {
  return no_inter(__func__, comm, group);
}

static int free_comm(const char* function, MPI_Comm* handle) {
  Comm* comm;
  if (handle == NULL) {
    require_ready(function);
    return raise_error(function, NULL, MPI_ERR_ARG, "null handle");
  }
  int code = comm_check(function, *handle, handle, &comm);
  if (code != MPI_SUCCESS) return code;
  if (comm == state_world() || comm == state_self()) {
    return raise_error(function, comm, MPI_ERR_COMM, "a predefined communicator cannot be freed");
  }
  code = comm_delete_attributes(function, comm);
  if (code != MPI_SUCCESS) return code;
  comm_release(comm);
  *handle = MPI_COMM_NULL;
  return MPI_SUCCESS;
}

int MPI_Comm_free(MPI_Comm* handle) {
  return free_comm(__func__, handle);
}

/* What the program has no handle of any more has ended then. */
int MPI_Comm_disconnect(MPI_Comm* handle) {
  require_ready(__func__);
  buffered_flush();
  requests_await_abandoned();
  return free_comm(__func__, handle);
}
