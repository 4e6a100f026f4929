/* Communicators made of others, but for MPI_Comm_split. path: setup */
#include <stdlib.h>
#include <string.h>

#include "mpi/group.h"
#include "mpi/info.h"

/* ---- duplicates ---- */

/* With topology and attributes. Where a function of the program fails this rank has no duplicate,
 * others may have theirs. */
static int duplicate(const char* function, Comm* comm, MPI_Comm* newcomm) {
  esp_team* team = NULL;
  Topology* topology = NULL;
  esp_status status = esp_team_dup(comm->team, &team);
  if (status == ESP_OK) status = topology_copy(comm->topology, team, &topology);
  MPI_Comm made = MPI_COMM_NULL;
  int code =
      comm_create(function, comm, status, team, topology, "a duplicated communicator", &made);
  if (code != MPI_SUCCESS) return code;
  code = comm_copy_attributes(function, comm, made);
  if (code == MPI_SUCCESS) {
    *newcomm = made;
  } else {
    comm_release(made);
  }
  return code;
}

int MPI_Comm_dup(MPI_Comm handle, MPI_Comm* newcomm) {
  Comm* comm;
  const int code = comm_check(__func__, handle, newcomm, &comm);
  return code == MPI_SUCCESS ? duplicate(__func__, comm, newcomm) : code;
}

/* Hints are of the new communicator alone. */
static int duplicate_with(const char* function, Comm* comm, MPI_Info info, MPI_Comm* newcomm) {
  unsigned hints = 0;
  int code = comm_read_hints(function, comm, info, &hints);
  if (code == MPI_SUCCESS) code = duplicate(function, comm, newcomm);
  if (code == MPI_SUCCESS) atomic_store(&comm_of(*newcomm)->hints, hints);
  return code;
}

int MPI_Comm_dup_with_info(MPI_Comm handle, MPI_Info info, MPI_Comm* newcomm) {
  Comm* comm;
  const int code = comm_check(__func__, handle, newcomm, &comm);
  return code == MPI_SUCCESS ? duplicate_with(__func__, comm, info, newcomm) : code;
}

/* The work is done before the call returns, and the request is complete. */
static int start_duplicate(const char* function, MPI_Comm handle, MPI_Info info, MPI_Comm* newcomm,
                           MPI_Request* request) {
  Comm* comm;
  int code = comm_check(function, handle, newcomm, &comm);
  if (code != MPI_SUCCESS) return code;
  if (request == NULL) return raise_error(function, comm, MPI_ERR_REQUEST, "null request");
  Request* made = request_create(function, comm, NULL, 0);
  if (made == NULL) return raise_error(function, comm, MPI_ERR_NO_MEM, "no memory");
  code = duplicate_with(function, comm, info, newcomm);
  if (code != MPI_SUCCESS) {
    request_destroy(made);
    return code;
  }
  made->outcome = ESP_OK;
  atomic_init(&made->progress, kEnded);
  *request = made;
  return MPI_SUCCESS;
}

int MPI_Comm_idup(MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request) {
  return start_duplicate(__func__, comm, MPI_INFO_NULL, newcomm, request);
}

int MPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm, MPI_Request* request) {
  return start_duplicate(__func__, comm, info, newcomm, request);
}

/* ---- of a group ---- */

/* What tells the groups of one call apart, which have no member in common: the rank of the first
 * member in the communicator. `key` is this rank's place in the group. */
static int check_group(const char* function, Comm* comm, MPI_Group handle, int* color, int* key) {
  const Group* group = group_of(handle);
  *color = ESP_NO_TEAM;
  *key = 0;
  if (group == NULL) return raise_error(function, comm, MPI_ERR_GROUP, "null group");
  Group* all = group_of_team(comm->team);
  int* places = all != NULL ? group_places(all) : NULL;
  free(all);
  if (places == NULL) return raise_error(function, comm, MPI_ERR_NO_MEM, "no memory");
  int is_subset = 1;
  for (int i = 0; i < group->size; ++i) {
    const int place = places[group->ranks[i]];
    if (place == MPI_UNDEFINED) is_subset = 0;
    if (place == esp_team_rank(comm->team)) {
      *color = places[group->ranks[0]];
      *key = i;
    }
  }
  free(places);
  if (is_subset) return MPI_SUCCESS;
  return raise_error(function, comm, MPI_ERR_GROUP, "a member is not in the communicator");
}

int MPI_Comm_create(MPI_Comm handle, MPI_Group group, MPI_Comm* newcomm) {
  Comm* comm;
  int color, key;
  int code = comm_check(__func__, handle, newcomm, &comm);
  if (code == MPI_SUCCESS) code = check_group(__func__, comm, group, &color, &key);
  if (code != MPI_SUCCESS) return code;
  esp_team* team = NULL;
  const esp_status status = esp_team_split(comm->team, color, key, &team);
  if (status == ESP_OK && team != NULL && esp_team_size(team) != group_of(group)->size) {
    esp_team_free(team);
    return raise_error(__func__, comm, MPI_ERR_GROUP, "members have given different groups");
  }
  return comm_create(__func__, comm, status, team, NULL, "a communicator of a group", newcomm);
}

/* Where the members of the group are in the communicator, in the order of the group. NULL: there is
 * no memory. The caller has checked that all are there, and frees it. */
static int* ranks_inside(const Comm* comm, const Group* group) {
  Group* all = group_of_team(comm->team);
  int* places = all != NULL ? group_places(all) : NULL;
  int* ranks = places != NULL ? malloc((size_t)group->size * sizeof *ranks) : NULL;
  for (int i = 0; ranks != NULL && i < group->size; ++i) ranks[i] = places[group->ranks[i]];
  free(places);
  free(all);
  return ranks;
}

/* Members alone call it, so it goes by messages. Who is no member has nothing to wait for. */
int MPI_Comm_create_group(MPI_Comm handle, MPI_Group group, int tag, MPI_Comm* newcomm) {
  Comm* comm;
  int color, key;
  int code = comm_check(__func__, handle, newcomm, &comm);
  if (code == MPI_SUCCESS) code = check_group(__func__, comm, group, &color, &key);
  if (code != MPI_SUCCESS) return code;
  if (tag < 0) return raise_error(__func__, comm, MPI_ERR_TAG, "the tag is negative");
  *newcomm = MPI_COMM_NULL;
  if (color == ESP_NO_TEAM) return MPI_SUCCESS;
  int* ranks = ranks_inside(comm, group_of(group));
  if (ranks == NULL) return raise_error(__func__, comm, MPI_ERR_NO_MEM, "no memory");
  esp_team* team = NULL;
  const esp_status status =
      esp_team_create(comm->team, ranks, group_of(group)->size, (uint64_t)tag, &team);
  free(ranks);
  return comm_create(__func__, comm, status, team, NULL, "a communicator of its members", newcomm);
}

/* ---- by what the members share ---- */

static const char kResourceKey[] = "mpi_hw_resource_type";

/* Whether the members are on several nodes. */
static int spans_nodes(const Comm* comm) {
  const esp_job* job = state_job();
  const int own = esp_job_node(job, esp_job_rank(job)), size = esp_team_size(comm->team);
  for (int r = 0; r < size; ++r) {
    if (esp_job_node(job, esp_team_job_rank(comm->team, r)) != own) return 1;
  }
  return 0;
}

static int names_node(MPI_Info handle) {
  char value[MPI_MAX_INFO_VAL];
  Info* info = info_of(handle);
  return info != NULL && info_get(info, kResourceKey, value, sizeof value) >= 0 &&
         strcmp(value, "mpi_shared_memory") == 0;
}

/* Nodes are the one resource that is known, so parts of a node are not told apart. */
static int color_of(const Comm* comm, int split_type, MPI_Info info) {
  const int node = esp_job_node(state_job(), esp_job_rank(state_job()));
  switch (split_type) {
    case MPI_COMM_TYPE_SHARED:
      return node;
    case MPI_COMM_TYPE_HW_GUIDED:
    case MPI_COMM_TYPE_RESOURCE_GUIDED:
      return names_node(info) ? node : ESP_NO_TEAM;
    case MPI_COMM_TYPE_HW_UNGUIDED:
      return spans_nodes(comm) ? node : ESP_NO_TEAM;
    default:
      return ESP_NO_TEAM;
  }
}

int MPI_Comm_split_type(MPI_Comm handle, int split_type, int key, MPI_Info info,
                        MPI_Comm* newcomm) {
  Comm* comm;
  const int code = comm_check(__func__, handle, newcomm, &comm);
  if (code != MPI_SUCCESS) return code;
  const int is_known = split_type == MPI_UNDEFINED || (split_type >= MPI_COMM_TYPE_SHARED &&
                                                       split_type <= MPI_COMM_TYPE_RESOURCE_GUIDED);
  if (!is_known) return raise_error(__func__, comm, MPI_ERR_ARG, "not a split type");
  esp_team* team = NULL;
  const int color = color_of(comm, split_type, info);
  const esp_status status = esp_team_split(comm->team, color, key, &team);
  if (status == ESP_OK && team != NULL && split_type == MPI_COMM_TYPE_HW_UNGUIDED) {
    Info* told = info == MPI_INFO_ENV ? NULL : info_of(info);
    if (told != NULL) (void)info_set(told, kResourceKey, "mpi_shared_memory");
  }
  return comm_create(__func__, comm, status, team, NULL, "a split communicator", newcomm);
}

/* ---- comparison ---- */

int MPI_Comm_compare(MPI_Comm handle1, MPI_Comm handle2, int* result) {
  Comm *one, *other;
  int code = comm_check(__func__, handle1, result, &one);
  if (code == MPI_SUCCESS) code = comm_check(__func__, handle2, result, &other);
  if (code != MPI_SUCCESS) return code;
  if (one == other) {
    *result = MPI_IDENT;
    return MPI_SUCCESS;
  }
  Group* first = group_of_team(one->team);
  Group* second = group_of_team(other->team);
  const int found = first != NULL && second != NULL ? group_compare(first, second) : -1;
  free(first);
  free(second);
  if (found < 0) return raise_error(__func__, one, MPI_ERR_NO_MEM, "no memory");
  *result = found == MPI_IDENT ? MPI_CONGRUENT : found;
  return MPI_SUCCESS;
}
