/* Groups: what they are, and what they can be asked. path: setup */
#include "mpi/group.h"

#include <stdlib.h>
#include <string.h>

static const Group kEmpty = {.size = 0};

const Group* group_of(MPI_Group handle) {
  if (handle == MPI_GROUP_EMPTY) return &kEmpty;
  return handle == MPI_GROUP_NULL ? NULL : handle;
}

Group* group_create(int size) {
  Group* group = malloc(sizeof *group + (size_t)size * sizeof *group->ranks);
  if (group == NULL) return NULL;
  atomic_init(&group->number, 0);
  group->size = size;
  return group;
}

Group* group_of_team(const esp_team* team) {
  Group* group = group_create(esp_team_size(team));
  for (int r = 0; group != NULL && r < group->size; ++r) {
    group->ranks[r] = esp_team_job_rank(team, r);
  }
  return group;
}

int* group_places(const Group* group) {
  const int size = esp_job_size(state_job());
  int* places = malloc((size_t)size * sizeof *places);
  for (int r = 0; places != NULL && r < size; ++r) places[r] = MPI_UNDEFINED;
  for (int i = 0; places != NULL && i < group->size; ++i) places[group->ranks[i]] = i;
  return places;
}

int group_give(const char* function, Group* group, MPI_Group* handle) {
  if (group == NULL) return raise_error(function, NULL, MPI_ERR_NO_MEM, "no memory");
  const int is_empty = group->size == 0;
  if (is_empty) free(group);
  *handle = is_empty ? MPI_GROUP_EMPTY : group;
  return MPI_SUCCESS;
}

int group_compare(const Group* one, const Group* other) {
  if (one->size != other->size) return MPI_UNEQUAL;
  if (memcmp(one->ranks, other->ranks, (size_t)one->size * sizeof *one->ranks) == 0) {
    return MPI_IDENT;
  }
  int* places = group_places(one);
  if (places == NULL) return -1;
  int found = MPI_SIMILAR;
  for (int i = 0; i < other->size; ++i) {
    if (places[other->ranks[i]] == MPI_UNDEFINED) found = MPI_UNEQUAL;
  }
  free(places);
  return found;
}

static int check_group(const char* function, MPI_Group handle, const void* result,
                       const Group** group) {
  require_ready(function);
  *group = group_of(handle);
  if (*group == NULL) return raise_error(function, NULL, MPI_ERR_GROUP, "null group");
  if (result == NULL) return raise_error(function, NULL, MPI_ERR_ARG, "null result");
  return MPI_SUCCESS;
}

int MPI_Comm_group(MPI_Comm handle, MPI_Group* group) {
  Comm* comm;
  const int code = comm_check(__func__, handle, group, &comm);
  return code == MPI_SUCCESS ? group_give(__func__, group_of_team(comm->team), group) : code;
}

int MPI_Group_size(MPI_Group handle, int* size) {
  const Group* group;
  const int code = check_group(__func__, handle, size, &group);
  if (code == MPI_SUCCESS) *size = group->size;
  return code;
}

int MPI_Group_rank(MPI_Group handle, int* rank) {
  const Group* group;
  const int code = check_group(__func__, handle, rank, &group);
  if (code != MPI_SUCCESS) return code;
  const int own = esp_job_rank(state_job());
  *rank = MPI_UNDEFINED;
  for (int i = 0; i < group->size; ++i) {
    if (group->ranks[i] == own) *rank = i;
  }
  return MPI_SUCCESS;
}

int MPI_Group_compare(MPI_Group handle1, MPI_Group handle2, int* result) {
  const Group *one, *other;
  int code = check_group(__func__, handle1, result, &one);
  if (code == MPI_SUCCESS) code = check_group(__func__, handle2, result, &other);
  if (code != MPI_SUCCESS) return code;
  const int found = group_compare(one, other);
  if (found < 0) return raise_error(__func__, NULL, MPI_ERR_NO_MEM, "no memory");
  *result = found;
  return MPI_SUCCESS;
}

int MPI_Group_translate_ranks(MPI_Group handle1, int n, const int ranks1[], MPI_Group handle2,
                              int ranks2[]) {
  const Group *from, *to;
  int code = check_group(__func__, handle1, "", &from);
  if (code == MPI_SUCCESS) code = check_group(__func__, handle2, "", &to);
  if (code != MPI_SUCCESS) return code;
  if (n < 0) return raise_error(__func__, NULL, MPI_ERR_ARG, "negative number of ranks");
  if (n > 0 && (ranks1 == NULL || ranks2 == NULL)) {
    return raise_error(__func__, NULL, MPI_ERR_ARG, "null ranks");
  }
  for (int i = 0; i < n; ++i) {
    if (ranks1[i] != MPI_PROC_NULL && (ranks1[i] < 0 || ranks1[i] >= from->size)) {
      return raise_error(__func__, NULL, MPI_ERR_RANK, "not a rank of the first group");
    }
  }
  int* places = group_places(to);
  if (places == NULL) return raise_error(__func__, NULL, MPI_ERR_NO_MEM, "no memory");
  for (int i = 0; i < n; ++i) {
    ranks2[i] = ranks1[i] == MPI_PROC_NULL ? MPI_PROC_NULL : places[from->ranks[ranks1[i]]];
  }
  free(places);
  return MPI_SUCCESS;
}

/* Also of MPI_GROUP_EMPTY, which functions give that make groups. */
int MPI_Group_free(MPI_Group* handle) {
  const Group* group;
  require_ready(__func__);
  if (handle == NULL) return raise_error(__func__, NULL, MPI_ERR_ARG, "null handle");
  const int code = check_group(__func__, *handle, handle, &group);
  if (code != MPI_SUCCESS) return code;
  if (*handle != MPI_GROUP_EMPTY) {
    number_forget(&(*handle)->number);
    free(*handle);
  }
  *handle = MPI_GROUP_NULL;
  return MPI_SUCCESS;
}
