/* communicators: how communicators are made of others, compared, named and given hints, as one C
 * program that knows nothing but <mpi.h>; see conformance.c. Any number of processes.
 */
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

static int compared(MPI_Comm one, MPI_Comm other) {
  int result = -1;
  CHECK_OK(MPI_Comm_compare(one, other, &result));
  return result;
}

static int size_of(MPI_Comm comm) {
  int n = -1;
  CHECK_OK(MPI_Comm_size(comm, &n));
  return n;
}

static int sum_of(MPI_Comm comm, int value) {
  int sum = -1;
  CHECK_OK(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm));
  return sum;
}

static void comparison(void) {
  MPI_Comm copy, reversed, half;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed));
  CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half));
  CHECK(compared(MPI_COMM_WORLD, MPI_COMM_WORLD) == MPI_IDENT);
  CHECK(compared(copy, copy) == MPI_IDENT);
  CHECK(compared(MPI_COMM_WORLD, copy) == MPI_CONGRUENT);
  CHECK(compared(copy, reversed) == (size > 1 ? MPI_SIMILAR : MPI_CONGRUENT));
  CHECK(compared(copy, half) == (size > 1 ? MPI_UNEQUAL : MPI_CONGRUENT));
  CHECK(compared(MPI_COMM_SELF, MPI_COMM_WORLD) == (size > 1 ? MPI_UNEQUAL : MPI_CONGRUENT));
  int is_inter = -1;
  CHECK_OK(MPI_Comm_test_inter(half, &is_inter));
  CHECK(is_inter == 0);
  CHECK_OK(MPI_Comm_free(&copy));
  CHECK_OK(MPI_Comm_free(&reversed));
  CHECK_OK(MPI_Comm_free(&half));
}

/* ---- MPI_Comm_create ---- */

/* The ranks from the last to `first`, or none. */
static MPI_Group down_to(int first) {
  MPI_Group world, made;
  int downwards[1][3] = {{size - 1, first, -1}};
  CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  CHECK_OK(MPI_Group_range_incl(world, first < size, downwards, &made));
  CHECK_OK(MPI_Group_free(&world));
  return made;
}

/* Pairs of neighbours, which the other ranks do not hear of. Messages with the same tag are no part
 * of it: here not even receives of any, which Open MPI 4.1 fills with messages of its own. */
static void of_members_alone(void) {
  MPI_Group world;
  CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  int early = rank, got = -1;
  MPI_Request sent;
  CHECK_OK(MPI_Isend(&early, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD, &sent));
  for (int low = 0; low + 1 < size; ++low) {
    if (rank != low && rank != low + 1) continue;
    MPI_Group pair;
    MPI_Comm made;
    const int members[2] = {low + 1, low};
    CHECK_OK(MPI_Group_incl(world, 2, members, &pair));
    CHECK_OK(MPI_Comm_create_group(MPI_COMM_WORLD, pair, kOurs ? 3 : 4, &made));
    int me = -1;
    CHECK_OK(MPI_Comm_rank(made, &me));
    CHECK(me == low + 1 - rank);
    CHECK(sum_of(made, rank) == 2 * low + 1);
    CHECK_OK(MPI_Comm_free(&made));
    CHECK_OK(MPI_Group_free(&pair));
  }
  CHECK_OK(
      MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK(got == (rank + size - 1) % size);
  CHECK_OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Group_free(&world));
}

static void of_one_group(void) {
  for (int first = 0; first <= size; ++first) {
    MPI_Group group = down_to(first);
    MPI_Comm made = MPI_COMM_WORLD;
    CHECK_OK(MPI_Comm_create(MPI_COMM_WORLD, group, &made));
    CHECK((made == MPI_COMM_NULL) == (rank < first));
    if (made != MPI_COMM_NULL) {
      MPI_Group of_made;
      int result = -1, r = -1;
      CHECK_OK(MPI_Comm_group(made, &of_made));
      CHECK_OK(MPI_Group_compare(group, of_made, &result));
      CHECK_OK(MPI_Comm_rank(made, &r));
      CHECK(result == MPI_IDENT && r == size - 1 - rank);
      CHECK(sum_of(made, 1) == size - first);
      CHECK_OK(MPI_Group_free(&of_made));
      CHECK_OK(MPI_Comm_free(&made));
    }
    CHECK_OK(MPI_Group_free(&group));
  }
}

/* Even and odd ranks give different groups in one call; rank 0 gives none at all. */
static void of_disjoint_groups(void) {
  MPI_Group world, mine;
  MPI_Comm made;
  int every_other[1][3] = {{rank % 2 != 0 ? 1 : 2, size - 1, 2}};
  const int is_in = rank > 0;
  CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  CHECK_OK(MPI_Group_range_incl(world, is_in, every_other, &mine));
  CHECK_OK(MPI_Comm_create(MPI_COMM_WORLD, mine, &made));
  CHECK((made == MPI_COMM_NULL) == !is_in);
  if (is_in) {
    int r = -1;
    CHECK_OK(MPI_Comm_rank(made, &r));
    CHECK(size_of(made) == (rank % 2 != 0 ? size / 2 : (size - 1) / 2) && r == (rank - 1) / 2);
    CHECK(sum_of(made, rank % 2) == (rank % 2 != 0 ? size / 2 : 0));
    CHECK_OK(MPI_Comm_free(&made));
  }
  CHECK_OK(MPI_Group_free(&mine));
  CHECK_OK(MPI_Group_free(&world));
}

/* ---- by what is shared ---- */

static void by_node(void) {
  MPI_Comm node, none = MPI_COMM_WORLD;
  CHECK_OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -rank, MPI_INFO_NULL, &node));
  const int n = size_of(node);
  int r = -1, nodes = 0, lowest = -1;
  CHECK_OK(MPI_Comm_rank(node, &r));
  CHECK(n >= 1 && n <= size && sum_of(node, 1) == n);
  CHECK_OK(MPI_Allreduce(&rank, &lowest, 1, MPI_INT, MPI_MIN, node));
  CHECK((r == n - 1) == (lowest == rank)); /* by the key, from above */
  nodes = sum_of(MPI_COMM_WORLD, lowest == rank);
  CHECK(sum_of(MPI_COMM_WORLD, lowest == rank ? n : 0) == size && nodes >= 1);
  /* Some stay out. */
  MPI_Comm odd;
  CHECK_OK(MPI_Comm_split_type(MPI_COMM_WORLD, rank % 2 ? MPI_COMM_TYPE_SHARED : MPI_UNDEFINED, 0,
                               MPI_INFO_NULL, &odd));
  CHECK((odd == MPI_COMM_NULL) == !(rank % 2));
  if (odd != MPI_COMM_NULL) CHECK_OK(MPI_Comm_free(&odd));
  CHECK_OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, 0, MPI_INFO_NULL, &none));
  CHECK(none == MPI_COMM_NULL);
#ifdef ESPALIER_MPI_MPI_H /* of MPI 4.0 and 4.1 */
  MPI_Info info;
  MPI_Comm made = MPI_COMM_WORLD;
  char value[MPI_MAX_INFO_VAL] = "";
  int length = MPI_MAX_INFO_VAL, flag = -1;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, -rank, info, &made));
  CHECK((made == MPI_COMM_NULL) == (nodes == 1));
  CHECK_OK(MPI_Info_get_string(info, "mpi_hw_resource_type", &length, value, &flag));
  CHECK(!flag == (nodes == 1) && (!flag || strcmp(value, "mpi_shared_memory") == 0));
  if (made != MPI_COMM_NULL) {
    CHECK(compared(made, node) == MPI_CONGRUENT);
    CHECK_OK(MPI_Comm_free(&made));
  }
  for (int type = MPI_COMM_TYPE_HW_GUIDED; type <= MPI_COMM_TYPE_RESOURCE_GUIDED; ++type) {
    CHECK_OK(MPI_Info_set(info, "mpi_hw_resource_type", "mpi_shared_memory"));
    CHECK_OK(MPI_Comm_split_type(MPI_COMM_WORLD, type, -rank, info, &made));
    CHECK(compared(made, node) == MPI_CONGRUENT);
    CHECK_OK(MPI_Comm_free(&made));
    CHECK_OK(MPI_Info_set(info, "mpi_hw_resource_type", "hwthread of nobody"));
    CHECK_OK(MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, info, &made));
    CHECK(made == MPI_COMM_NULL);
    CHECK_OK(MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, MPI_INFO_NULL, &made));
    CHECK(made == MPI_COMM_NULL);
  }
  CHECK_OK(MPI_Info_free(&info));
#endif
  CHECK_OK(MPI_Comm_free(&node));
}

/* ---- duplicates ---- */

static void started_duplicates(void) {
  MPI_Comm copies[3];
  MPI_Request requests[3];
  for (int i = 0; i < 2; ++i) CHECK_OK(MPI_Comm_idup(MPI_COMM_WORLD, &copies[i], &requests[i]));
  int one = rank + 1, sum = 0;
  CHECK_OK(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[2]));
  CHECK_OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
  CHECK(requests[0] == MPI_REQUEST_NULL && sum == size * (size + 1) / 2);
  for (int i = 0; i < 2; ++i) {
    CHECK(compared(copies[i], MPI_COMM_WORLD) == MPI_CONGRUENT);
    CHECK(sum_of(copies[i], 1) == size);
    CHECK_OK(MPI_Comm_free(&copies[i]));
  }
  MPI_Status status;
  int index = -1;
  CHECK_OK(MPI_Comm_idup(MPI_COMM_SELF, &copies[0], &requests[0]));
  CHECK_OK(MPI_Waitany(1, requests, &index, &status));
  CHECK(index == 0 && size_of(copies[0]) == 1);
  CHECK_OK(MPI_Comm_free(&copies[0]));
}

/* ---- names ---- */

static int is_named(MPI_Comm comm, const char* wanted) {
  char name[MPI_MAX_OBJECT_NAME];
  int length = -1;
  CHECK_OK(MPI_Comm_get_name(comm, name, &length));
  return strcmp(name, wanted) == 0 && length == (int)strlen(wanted);
}

static void names(void) {
  MPI_Comm comm, copy;
  char full[MPI_MAX_OBJECT_NAME];
  memset(full, 'n', sizeof full);
  full[MPI_MAX_OBJECT_NAME - 1] = '\0';
  CHECK(is_named(MPI_COMM_WORLD, "MPI_COMM_WORLD"));
  CHECK(is_named(MPI_COMM_SELF, "MPI_COMM_SELF"));
  CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &comm));
  CHECK(is_named(comm, ""));
  CHECK_OK(MPI_Comm_set_name(comm, "of all"));
  CHECK(is_named(comm, "of all"));
  CHECK_OK(MPI_Comm_dup(comm, &copy));
  CHECK(is_named(copy, ""));
  CHECK_OK(MPI_Comm_set_name(comm, full));
  CHECK(is_named(comm, full));
  CHECK_OK(MPI_Comm_set_name(comm, ""));
  CHECK(is_named(comm, ""));
  CHECK_OK(MPI_Comm_set_name(MPI_COMM_WORLD, "everybody"));
  CHECK(is_named(MPI_COMM_WORLD, "everybody"));
  CHECK_OK(MPI_Comm_set_name(MPI_COMM_WORLD, "MPI_COMM_WORLD"));
  CHECK_OK(MPI_Comm_free(&copy));
  CHECK_OK(MPI_Comm_free(&comm));
}

/* ---- hints: what is done with them is the library's affair ---- */

static int hint(MPI_Comm comm, const char* key) {
  MPI_Info info;
  char value[16] = "";
  int flag = 0;
  CHECK_OK(MPI_Comm_get_info(comm, &info));
  CHECK(info != MPI_INFO_NULL);
  CHECK_OK(MPI_Info_get(info, key, (int)sizeof value - 1, value, &flag));
  CHECK_OK(MPI_Info_free(&info));
  return flag ? strcmp(value, "true") == 0 : -1;
}

static void hints(void) {
  const char* const key = "mpi_assert_no_any_tag";
  MPI_Info info;
  MPI_Comm with, copy;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "of nobody", "17"));
  CHECK_OK(MPI_Info_set(info, key, "true"));
  CHECK_OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &with));
  CHECK(sum_of(with, 1) == size);
  CHECK_OK(MPI_Comm_dup(with, &copy));
  CHECK_OK(MPI_Comm_set_info(MPI_COMM_SELF, info));
  /* Those of duplicates are as of MPI 4.0. */
  if (kOurs) {
    CHECK(hint(MPI_COMM_WORLD, key) == 0 && hint(MPI_COMM_SELF, key) == 1);
    CHECK(hint(with, key) == 1 && hint(copy, key) == 0 && hint(with, "of nobody") == -1);
    CHECK(hint(with, "mpi_assert_exact_length") == 0);
  }
  if (kOurs) CHECK_OK(MPI_Comm_set_info(with, MPI_INFO_NULL)); /* Others refuse it. */
  CHECK_OK(MPI_Info_set(info, key, "false"));
  CHECK_OK(MPI_Comm_set_info(with, info));
  CHECK(hint(with, key) <= 0);
  CHECK_OK(MPI_Comm_free(&copy));
  CHECK_OK(MPI_Comm_free(&with));
  CHECK_OK(MPI_Info_free(&info));
}

#ifdef ESPALIER_MPI_MPI_H
static void duplicates_with_hints(void) {
  MPI_Info info;
  MPI_Comm with;
  MPI_Request request;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "mpi_assert_allow_overtaking", "true"));
  CHECK_OK(MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, &with, &request));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(hint(with, "mpi_assert_allow_overtaking") == 1);
  CHECK_OK(MPI_Comm_free(&with));
  CHECK_OK(MPI_Info_free(&info));
}
#endif

static void errors(void) {
  MPI_Comm made = MPI_COMM_NULL, null = MPI_COMM_NULL, half;
  MPI_Group group = down_to(0);
  int n = 0;
  CHECK_CLASS(MPI_Comm_compare(MPI_COMM_WORLD, null, &n), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Comm_create(null, group, &made), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_NULL, &made), MPI_ERR_GROUP);
  CHECK_CLASS(MPI_Comm_set_name(null, "x"), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Comm_split_type(MPI_COMM_WORLD, 17, 0, MPI_INFO_NULL, &made), MPI_ERR_ARG);
  CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half));
  if (kOurs) {
    if (size > 1) CHECK_CLASS(MPI_Comm_create(half, group, &made), MPI_ERR_GROUP);
    CHECK_CLASS(MPI_Comm_create(half, group, NULL), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Comm_create_group(half, MPI_GROUP_NULL, 1, &made), MPI_ERR_GROUP);
    CHECK_CLASS(MPI_Comm_create_group(MPI_COMM_WORLD, group, -1, &made), MPI_ERR_TAG);
    CHECK_OK(MPI_Comm_create_group(MPI_COMM_WORLD, MPI_GROUP_EMPTY, 1, &made));
    CHECK(made == MPI_COMM_NULL);
    CHECK_CLASS(MPI_Comm_set_name(half, NULL), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Comm_idup(half, &made, NULL), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Comm_set_info(half, NULL), MPI_ERR_INFO);
  }
  CHECK(sum_of(half, 1) == size_of(half)); /* Nothing was lost. */
  CHECK_OK(MPI_Comm_free(&half));
  CHECK_OK(MPI_Group_free(&group));
  CHECK(made == MPI_COMM_NULL);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  comparison();
  of_members_alone();
  of_one_group();
  of_disjoint_groups();
  by_node();
  started_duplicates();
  names();
  hints();
#ifdef ESPALIER_MPI_MPI_H
  duplicates_with_hints();
#endif
  if (argc < 2 || strcmp(argv[1], "--no-argument-checks") != 0) {
    return_errors();
    errors();
  }
  return conclude();
}
