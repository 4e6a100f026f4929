/* Groups of groups: sets, and members by their numbers. path: setup */
#include <stdlib.h>

#include "mpi/group.h"

/* ---- sets ---- */

typedef enum Set { kUnion, kIntersection, kDifference } Set;

/* In the order of the first; of a union those of the second that are not in it follow. */
static Group* combine(const Group* one, const Group* other, Set set) {
  int* of_one = group_places(one);
  int* of_other = group_places(other);
  Group* made = group_create(one->size + (set == kUnion ? other->size : 0));
  if (of_one == NULL || of_other == NULL || made == NULL) {
    free(made);
    made = NULL;
  } else {
    made->size = 0;
    for (int i = 0; i < one->size; ++i) {
      const int r = one->ranks[i], is_in_both = of_other[r] != MPI_UNDEFINED;
      if (set == kUnion || is_in_both == (set == kIntersection)) made->ranks[made->size++] = r;
    }
    for (int i = 0; set == kUnion && i < other->size; ++i) {
      const int r = other->ranks[i];
      if (of_one[r] == MPI_UNDEFINED) made->ranks[made->size++] = r;
    }
  }
  free(of_one);
  free(of_other);
  return made;
}

static int make_set(const char* function, MPI_Group handle1, MPI_Group handle2, Set set,
                    MPI_Group* newgroup) {
  require_ready(function);
  const Group *one = group_of(handle1), *other = group_of(handle2);
  if (one == NULL || other == NULL) {
    return raise_error(function, NULL, MPI_ERR_GROUP, "null group");
  }
  if (newgroup == NULL) return raise_error(function, NULL, MPI_ERR_ARG, "null result");
  return group_give(function, combine(one, other, set), newgroup);
}

int MPI_Group_union(MPI_Group group1, MPI_Group group2, MPI_Group* newgroup) {
  return make_set(__func__, group1, group2, kUnion, newgroup);
}

int MPI_Group_intersection(MPI_Group group1, MPI_Group group2, MPI_Group* newgroup) {
  return make_set(__func__, group1, group2, kIntersection, newgroup);
}

int MPI_Group_difference(MPI_Group group1, MPI_Group group2, MPI_Group* newgroup) {
  return make_set(__func__, group1, group2, kDifference, newgroup);
}

/* ---- members by their numbers ---- */

/* The numbers that a call names, in its order, and for each member whether it is among them. */
typedef struct Chosen {
  int count;
  int* order;
  char* is_in;
} Chosen;

static void chosen_free(Chosen* chosen) {
  free(chosen->order);
  free(chosen->is_in);
}

/* Checks what functions on chosen members share, and makes room for all members. */
static int begin(const char* function, MPI_Group handle, int n, const void* list,
                 const void* result, const Group** group, Chosen* chosen) {
  *chosen = (Chosen){0};
  require_ready(function);
  *group = group_of(handle);
  if (*group == NULL) return raise_error(function, NULL, MPI_ERR_GROUP, "null group");
  if (result == NULL) return raise_error(function, NULL, MPI_ERR_ARG, "null result");
  if (n < 0) return raise_error(function, NULL, MPI_ERR_ARG, "negative number of entries");
  if (n > 0 && list == NULL) return raise_error(function, NULL, MPI_ERR_ARG, "null list");
  const size_t size = (size_t)(*group)->size;
  chosen->order = malloc((size + 1) * sizeof *chosen->order);
  chosen->is_in = calloc(size + 1, 1);
  if (chosen->order != NULL && chosen->is_in != NULL) return MPI_SUCCESS;
  return raise_error(function, NULL, MPI_ERR_NO_MEM, "no memory");
}

static int add(const char* function, const Group* group, Chosen* chosen, long long number) {
  if (number < 0 || number >= group->size) {
    return raise_error(function, NULL, MPI_ERR_RANK, "not a rank of the group");
  }
  if (chosen->is_in[number]) {
    return raise_error(function, NULL, MPI_ERR_RANK, "a rank is named twice");
  }
  chosen->is_in[number] = 1;
  chosen->order[chosen->count++] = (int)number;
  return MPI_SUCCESS;
}

static int add_list(const char* function, const Group* group, Chosen* chosen, int n,
                    const int* numbers) {
  int code = MPI_SUCCESS;
  for (int i = 0; i < n && code == MPI_SUCCESS; ++i) {
    code = add(function, group, chosen, numbers[i]);
  }
  return code;
}

/* From the first to the last, which is not always reached. */
static int add_range(const char* function, const Group* group, Chosen* chosen, const int range[3]) {
  const long long first = range[0], last = range[1], stride = range[2];
  if (stride == 0) return raise_error(function, NULL, MPI_ERR_ARG, "a stride is 0");
  if ((stride > 0 && first > last) || (stride < 0 && first < last)) {
    return raise_error(function, NULL, MPI_ERR_ARG, "a stride leads away from the last rank");
  }
  int code = MPI_SUCCESS;
  for (long long r = first; code == MPI_SUCCESS && (stride > 0 ? r <= last : r >= last);
       r += stride) {
    code = add(function, group, chosen, r);
  }
  return code;
}

static int add_ranges(const char* function, const Group* group, Chosen* chosen, int n,
                      int ranges[][3]) {
  int code = MPI_SUCCESS;
  for (int i = 0; i < n && code == MPI_SUCCESS; ++i) {
    code = add_range(function, group, chosen, ranges[i]);
  }
  return code;
}

/* The chosen ones in their order, or the others in the group's. */
static Group* select_members(const Group* group, const Chosen* chosen, int excludes) {
  Group* made = group_create(excludes ? group->size - chosen->count : chosen->count);
  if (made == NULL) return NULL;
  for (int i = 0, at = 0; excludes && i < group->size; ++i) {
    if (!chosen->is_in[i]) made->ranks[at++] = group->ranks[i];
  }
  for (int i = 0; !excludes && i < chosen->count; ++i) {
    made->ranks[i] = group->ranks[chosen->order[i]];
  }
  return made;
}

static int by_list(const char* function, MPI_Group handle, int n, const int* ranks, int excludes,
                   MPI_Group* newgroup) {
  const Group* group;
  Chosen chosen;
  int code = begin(function, handle, n, ranks, newgroup, &group, &chosen);
  if (code == MPI_SUCCESS) code = add_list(function, group, &chosen, n, ranks);
  if (code == MPI_SUCCESS) {
    code = group_give(function, select_members(group, &chosen, excludes), newgroup);
  }
  chosen_free(&chosen);
  return code;
}

static int by_ranges(const char* function, MPI_Group handle, int n, int ranges[][3], int excludes,
                     MPI_Group* newgroup) {
  const Group* group;
  Chosen chosen;
  int code = begin(function, handle, n, ranges, newgroup, &group, &chosen);
  if (code == MPI_SUCCESS) code = add_ranges(function, group, &chosen, n, ranges);
  if (code == MPI_SUCCESS) {
    code = group_give(function, select_members(group, &chosen, excludes), newgroup);
  }
  chosen_free(&chosen);
  return code;
}

int MPI_Group_incl(MPI_Group group, int n, const int ranks[], MPI_Group* newgroup) {
  return by_list(__func__, group, n, ranks, 0, newgroup);
}

int MPI_Group_excl(MPI_Group group, int n, const int ranks[], MPI_Group* newgroup) {
  return by_list(__func__, group, n, ranks, 1, newgroup);
}

int MPI_Group_range_incl(MPI_Group group, int n, int ranges[][3], MPI_Group* newgroup) {
  return by_ranges(__func__, group, n, ranges, 0, newgroup);
}

int MPI_Group_range_excl(MPI_Group group, int n, int ranges[][3], MPI_Group* newgroup) {
  return by_ranges(__func__, group, n, ranges, 1, newgroup);
}
