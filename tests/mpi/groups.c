/* groups: groups of processes, as one C program that knows nothing but <mpi.h>; see conformance.c.
 * Any number of processes.
 */
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

static MPI_Group world;
static int* numbers; /* room for all ranks, twice */

static int size_of(MPI_Group group) {
  int n = -1;
  CHECK_OK(MPI_Group_size(group, &n));
  return n;
}

static int compared(MPI_Group one, MPI_Group other) {
  int result = -1;
  CHECK_OK(MPI_Group_compare(one, other, &result));
  return result;
}

/* The rank in the world of a member of a group. */
static int world_rank(MPI_Group group, int member) {
  int found = -7;
  CHECK_OK(MPI_Group_translate_ranks(group, 1, &member, world, &found));
  return found;
}

static int own_rank(MPI_Group group) {
  int found = -7;
  CHECK_OK(MPI_Group_rank(group, &found));
  return found;
}

/* The ranks from first to before the end. */
static MPI_Group range(int first, int end) {
  MPI_Group made;
  for (int r = first; r < end; ++r) numbers[r - first] = r;
  CHECK_OK(MPI_Group_incl(world, end > first ? end - first : 0, numbers, &made));
  return made;
}

static void discard(MPI_Group* group) {
  CHECK_OK(MPI_Group_free(group));
  CHECK(*group == MPI_GROUP_NULL);
}

static void asking(void) {
  CHECK(size_of(world) == size && own_rank(world) == rank);
  CHECK(size_of(MPI_GROUP_EMPTY) == 0 && own_rank(MPI_GROUP_EMPTY) == MPI_UNDEFINED);
  CHECK(compared(world, world) == MPI_IDENT);
  CHECK(compared(MPI_GROUP_EMPTY, MPI_GROUP_EMPTY) == MPI_IDENT);
  CHECK(compared(world, MPI_GROUP_EMPTY) == MPI_UNEQUAL);
  MPI_Group again, reversed, without_first = range(1, size);
  CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &again));
  CHECK(compared(world, again) == MPI_IDENT);
  for (int r = 0; r < size; ++r) numbers[r] = size - 1 - r;
  CHECK_OK(MPI_Group_incl(world, size, numbers, &reversed));
  CHECK(compared(world, reversed) == (size > 1 ? MPI_SIMILAR : MPI_IDENT));
  CHECK(own_rank(reversed) == size - 1 - rank);
  CHECK(compared(world, without_first) == MPI_UNEQUAL);
  discard(&again);
  discard(&reversed);
  discard(&without_first);
}

static void translating(void) {
  MPI_Group without_first = range(1, size);
  int* found = numbers + size;
  for (int r = 0; r < size; ++r) numbers[r] = r;
  CHECK_OK(MPI_Group_translate_ranks(world, size, numbers, without_first, found));
  for (int r = 0; r < size; ++r) CHECK(found[r] == (r > 0 ? r - 1 : MPI_UNDEFINED));
  const int nobody = MPI_PROC_NULL;
  CHECK_OK(MPI_Group_translate_ranks(world, 1, &nobody, without_first, found));
  CHECK(found[0] == MPI_PROC_NULL);
  CHECK_OK(MPI_Group_translate_ranks(world, 0, NULL, without_first, NULL));
  discard(&without_first);
}

/* The lower two thirds and the upper two thirds. */
static void sets(void) {
  const int third = size / 3, end = size - third;
  MPI_Group lower = range(0, end), upper = range(third, size), made;
  CHECK_OK(MPI_Group_union(upper, lower, &made));
  CHECK(size_of(made) == size);
  /* All of the first in its order, then the rest of the second. */
  CHECK(world_rank(made, 0) == third);
  CHECK(world_rank(made, size - 1) == (third > 0 ? third - 1 : size - 1));
  discard(&made);
  CHECK_OK(MPI_Group_intersection(lower, upper, &made));
  CHECK(size_of(made) == end - third && world_rank(made, 0) == third);
  discard(&made);
  CHECK_OK(MPI_Group_difference(lower, upper, &made));
  CHECK(size_of(made) == third && (made == MPI_GROUP_EMPTY) == (third == 0));
  discard(&made);
  CHECK_OK(MPI_Group_difference(world, world, &made));
  CHECK(made == MPI_GROUP_EMPTY);
  discard(&made);
  CHECK_OK(MPI_Group_intersection(world, MPI_GROUP_EMPTY, &made));
  CHECK(made == MPI_GROUP_EMPTY);
  CHECK_OK(MPI_Group_union(MPI_GROUP_EMPTY, world, &made));
  CHECK(compared(world, made) == MPI_IDENT);
  discard(&made);
  discard(&lower);
  discard(&upper);
}

static void members(void) {
  MPI_Group made;
  const int last = size - 1;
  CHECK_OK(MPI_Group_incl(world, 0, NULL, &made));
  CHECK(made == MPI_GROUP_EMPTY);
  CHECK_OK(MPI_Group_excl(world, 0, NULL, &made));
  CHECK(compared(world, made) == MPI_IDENT);
  discard(&made);
  CHECK_OK(MPI_Group_excl(world, 1, &last, &made));
  CHECK(size_of(made) == size - 1);
  CHECK(own_rank(made) == (rank == last ? MPI_UNDEFINED : rank));
  if (size > 1) discard(&made);
  /* Every second from the end, then one by one what is left out. */
  int down[1][3] = {{last, 0, -2}};
  CHECK_OK(MPI_Group_range_incl(world, 1, down, &made));
  CHECK(size_of(made) == (size + 1) / 2 && world_rank(made, 0) == last);
  discard(&made);
  CHECK_OK(MPI_Group_range_excl(world, 1, down, &made));
  CHECK(size_of(made) == size / 2);
  for (int i = 0; i < size / 2; ++i) CHECK(world_rank(made, i) % 2 != last % 2);
  if (size > 1) discard(&made);
  /* A stride that steps over the last rank. */
  int far[2][3] = {{0, last, size + 5}, {last, last, 1}};
  CHECK_OK(MPI_Group_range_incl(world, size > 1 ? 2 : 1, far, &made));
  CHECK(size_of(made) == (size > 1 ? 2 : 1));
  CHECK(world_rank(made, size_of(made) - 1) == last);
  discard(&made);
  CHECK_OK(MPI_Group_range_incl(world, 0, NULL, &made));
  CHECK(made == MPI_GROUP_EMPTY);
}

/* Of members of a communicator that is not the world. */
static void of_parts(void) {
  MPI_Comm part;
  MPI_Group group;
  CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part));
  CHECK_OK(MPI_Comm_group(part, &group));
  CHECK_OK(MPI_Comm_free(&part));
  CHECK(size_of(group) == (size + 1 - rank % 2) / 2);
  CHECK(world_rank(group, own_rank(group)) == rank);
  CHECK(world_rank(group, size_of(group) - 1) == rank % 2);
  discard(&group);
}

static void errors(void) {
  MPI_Group made = MPI_GROUP_NULL, null = MPI_GROUP_NULL;
  int n = 0;
  const int twice[] = {0, 0}, beyond[] = {size}, negative[] = {-1};
  int zero[1][3] = {{0, 0, 0}}, outside[1][3] = {{0, size, 1}},
      overlap[2][3] = {{0, 0, 1}, {0, 0, 1}};
  CHECK_CLASS(MPI_Group_size(null, &n), MPI_ERR_GROUP);
  CHECK_CLASS(MPI_Group_rank(null, &n), MPI_ERR_GROUP);
  CHECK_CLASS(MPI_Group_compare(world, null, &n), MPI_ERR_GROUP);
  CHECK_CLASS(MPI_Group_union(world, null, &made), MPI_ERR_GROUP);
  CHECK_CLASS(MPI_Group_free(&null), MPI_ERR_GROUP);
  CHECK_CLASS(MPI_Comm_group(MPI_COMM_NULL, &made), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Group_incl(world, 1, beyond, &made), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Group_incl(world, 1, negative, &made), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Group_excl(world, 1, beyond, &made), MPI_ERR_RANK);
  if (!kOurs) return; /* What Open MPI does not look at, or has other classes for. */
  CHECK_CLASS(MPI_Group_incl(world, 2, twice, &made), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Group_excl(world, 2, twice, &made), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Group_incl(world, -1, twice, &made), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Group_incl(world, 1, NULL, &made), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Group_incl(world, 1, twice, NULL), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Group_range_incl(world, 1, zero, &made), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Group_range_incl(world, 1, outside, &made), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Group_range_excl(world, 2, overlap, &made), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Group_translate_ranks(world, 1, beyond, world, &n), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Group_translate_ranks(world, -1, twice, world, &n), MPI_ERR_ARG);
  CHECK(made == MPI_GROUP_NULL && n == 0);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  numbers = malloc(2 * (size_t)size * sizeof *numbers);
  CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  asking();
  translating();
  sets();
  members();
  of_parts();
  if (argc < 2 || strcmp(argv[1], "--no-argument-checks") != 0) {
    return_errors();
    errors();
  }
  discard(&world);
  free(numbers);
  return conclude();
}
