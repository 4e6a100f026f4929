/* arguments: what the facade's collectives answer to wrong arguments, by class and text, and what
 * they take although the standard does not ask for it, or other libraries do not. Any number of
 * processes.
 */
#include "arguments.h"

static const MPI_Datatype kInt = MPI_INT, kNone = MPI_DATATYPE_NULL;
static int x[256], y[256];
static MPI_Request request;

static void of_blocks(void) {
  const MPI_Comm world = MPI_COMM_WORLD;
  ERROR(MPI_Allgather(x, 1, kInt, y, 1, kInt, MPI_COMM_NULL), MPI_ERR_COMM, "null communicator");
  ERROR(MPI_Allgather(x, -1, kInt, y, 1, kInt, world), MPI_ERR_COUNT, "MPI_Allgather: negative");
  ERROR(MPI_Allgather(x, 1, kNone, y, 1, kInt, world), MPI_ERR_TYPE, "not a datatype");
  ERROR(MPI_Allgather(x, 1, kInt, y, -1, kInt, world), MPI_ERR_COUNT, "negative count: -1");
  ERROR(MPI_Allgather(x, 1, kInt, y, 1, kNone, world), MPI_ERR_TYPE, "not a datatype");
  ERROR(MPI_Allgather(NULL, 1, kInt, y, 1, kInt, world), MPI_ERR_BUFFER, "null buffer");
  ERROR(MPI_Allgather(x, 1, kInt, NULL, 1, kInt, world), MPI_ERR_BUFFER, "null buffer");
  ERROR(MPI_Allgather(x, 1, kInt, MPI_IN_PLACE, 1, kInt, world), MPI_ERR_BUFFER, "as receive");
  ERROR(MPI_Allgather(x, 1, kInt, x, 1, kInt, world), MPI_ERR_BUFFER, "use MPI_IN_PLACE");
  ERROR(MPI_Allgather(x, 3, kInt, y, 1, MPI_DOUBLE, world), MPI_ERR_TRUNCATE,
        "another size than one that is received: count 3, 12 bytes, is sent, count 1, 8 bytes");
  ERROR(MPI_Alltoall(x, 2, kInt, y, 1, kInt, world), MPI_ERR_TRUNCATE, "MPI_Alltoall: a block");
  ERROR(MPI_Alltoall(NULL, 1, kInt, y, 1, kInt, world), MPI_ERR_BUFFER, "null buffer");
  ERROR(MPI_Alltoall(MPI_IN_PLACE, 1, kInt, NULL, 1, kInt, world), MPI_ERR_BUFFER, "null buffer");
  ERROR(MPI_Iallgather(x, 1, kInt, y, 1, kInt, world, NULL), MPI_ERR_REQUEST, "null request");
  ERROR(MPI_Iallgather(x, 1, kInt, y, -1, kInt, world, &request), MPI_ERR_COUNT, "negative");
  ERROR(MPI_Ialltoall(x, 1, kInt, y, 1, kInt, world, NULL), MPI_ERR_REQUEST, "null request");
  ERROR(MPI_Ialltoall(x, 1, kInt, y, 2, kInt, world, &request), MPI_ERR_TRUNCATE, "another size");
}

static void of_arrays(void) {
  const MPI_Comm world = MPI_COMM_WORLD;
  int one[128], none[128] = {0}, bad[128] = {0};
  for (int r = 0; r < size; ++r) one[r] = 1;
  bad[size - 1] = -1;
  ERROR(MPI_Allgatherv(x, 1, kInt, y, one, none, kInt, MPI_COMM_NULL), MPI_ERR_COMM, "null");
  ERROR(MPI_Allgatherv(x, -1, kInt, y, one, none, kInt, world), MPI_ERR_COUNT, "negative count");
  ERROR(MPI_Allgatherv(x, 1, kNone, y, one, none, kInt, world), MPI_ERR_TYPE, "not a datatype");
  ERROR(MPI_Allgatherv(NULL, 1, kInt, y, one, none, kInt, world), MPI_ERR_BUFFER, "null buffer");
  ERROR(MPI_Allgatherv(x, 1, kInt, NULL, one, none, kInt, world), MPI_ERR_BUFFER, "null buffer");
  ERROR(MPI_Allgatherv(x, 1, kInt, y, NULL, none, kInt, world), MPI_ERR_ARG, "null counts");
  ERROR(MPI_Allgatherv(x, 1, kInt, y, one, NULL, kInt, world), MPI_ERR_ARG, "null displacements");
  ERROR(MPI_Allgatherv(x, 0, kInt, y, bad, none, kInt, world), MPI_ERR_COUNT, "negative count");
  ERROR(MPI_Allgatherv(x, 1, kInt, y, one, none, kNone, world), MPI_ERR_TYPE, "not a datatype");
  ERROR(MPI_Allgatherv(x, 1, kInt, MPI_IN_PLACE, one, none, kInt, world), MPI_ERR_BUFFER,
        "as receive buffer");
  ERROR(MPI_Allgatherv(x, 2, kInt, y, one, none, kInt, world), MPI_ERR_TRUNCATE, "to itself");
  ERROR(MPI_Alltoallv(NULL, one, none, kInt, y, one, none, kInt, world), MPI_ERR_BUFFER, "null");
  ERROR(MPI_Alltoallv(x, one, none, kInt, NULL, one, none, kInt, world), MPI_ERR_BUFFER, "null");
  ERROR(MPI_Alltoallv(x, NULL, none, kInt, y, one, none, kInt, world), MPI_ERR_ARG, "counts");
  ERROR(MPI_Alltoallv(x, one, none, kInt, y, one, NULL, kInt, world), MPI_ERR_ARG, "displ");
  ERROR(MPI_Alltoallv(x, bad, none, kInt, y, one, none, kInt, world), MPI_ERR_COUNT, "negative");
  ERROR(MPI_Alltoallv(x, one, none, kInt, y, bad, none, kInt, world), MPI_ERR_COUNT, "negative");
  ERROR(MPI_Alltoallv(x, one, none, kInt, y, one, none, MPI_CHAR, world), MPI_ERR_TRUNCATE,
        "to itself");
  ERROR(MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, kNone, y, bad, none, kInt, world), MPI_ERR_COUNT,
        "negative count");
  ERROR(MPI_Iallgatherv(x, 1, kInt, y, one, none, kInt, world, NULL), MPI_ERR_REQUEST, "request");
  ERROR(MPI_Ialltoallv(x, one, none, kInt, y, one, none, kInt, world, NULL), MPI_ERR_REQUEST,
        "null request");
}

static void of_scans(void) {
  const MPI_Comm world = MPI_COMM_WORLD;
  ERROR(MPI_Scan(x, y, -1, kInt, MPI_SUM, world), MPI_ERR_COUNT, "MPI_Scan: negative count");
  ERROR(MPI_Scan(x, y, 1, kNone, MPI_SUM, world), MPI_ERR_TYPE, "not a datatype");
  ERROR(MPI_Scan(NULL, y, 1, kInt, MPI_SUM, world), MPI_ERR_BUFFER, "null buffer");
  ERROR(MPI_Scan(x, NULL, 1, kInt, MPI_SUM, world), MPI_ERR_BUFFER, "null buffer");
  ERROR(MPI_Scan(x, x, 1, kInt, MPI_SUM, world), MPI_ERR_BUFFER, "use MPI_IN_PLACE");
  ERROR(MPI_Scan(x, y, 1, kInt, MPI_OP_NULL, world), MPI_ERR_OP, "null operator");
  ERROR(MPI_Scan(x, y, 1, kInt, MPI_REPLACE, world), MPI_ERR_OP, "one of windows");
  ERROR(MPI_Scan(x, y, 1, kInt, MPI_NO_OP, world), MPI_ERR_OP, "one of windows");
  ERROR(MPI_Scan(x, y, 1, MPI_FLOAT, MPI_BOR, world), MPI_ERR_OP, "not defined for the datatype");
  ERROR(MPI_Iscan(x, y, 1, kInt, MPI_SUM, world, NULL), MPI_ERR_REQUEST, "null request");
  ERROR(MPI_Exscan(NULL, y, 1, kInt, MPI_SUM, world), MPI_ERR_BUFFER, "null buffer");
  ERROR(MPI_Exscan(MPI_IN_PLACE, NULL, 1, kInt, MPI_SUM, world), MPI_ERR_BUFFER, "null buffer");
  ERROR(MPI_Exscan(x, y, 1, kNone, MPI_SUM, world), MPI_ERR_TYPE, "not a datatype");
  ERROR(MPI_Exscan(x, y, 1, kInt, MPI_OP_NULL, world), MPI_ERR_OP, "null operator");
  ERROR(MPI_Iexscan(x, y, -1, kInt, MPI_SUM, world, &request), MPI_ERR_COUNT, "negative count");
  if (rank == 0) return;
  ERROR(MPI_Exscan(x, NULL, 1, kInt, MPI_SUM, world), MPI_ERR_BUFFER, "null buffer");
  ERROR(MPI_Exscan(x, x, 1, kInt, MPI_SUM, world), MPI_ERR_BUFFER, "use MPI_IN_PLACE");
}

static int has(const char* text, const char* part, int value, int members) {
  char whole[128];
  snprintf(whole, sizeof whole, "%s is not a rank of the communicator: %d, and it has %d", part,
           value, members);
  return strstr(text, whole) != NULL;
}

/* Texts have the value and what it is held against. */
static void of_messages(void) {
  const MPI_Comm world = MPI_COMM_WORLD;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(MPI_Send(x, 1, kInt, size + 5, 0, world), text, &length);
  CHECK(has(text, "the peer", size + 5, size));
  MPI_Error_string(MPI_Bcast(x, 1, kInt, -7, world), text, &length);
  CHECK(has(text, "root", -7, size));
  ERROR(MPI_Send(x, 1, kInt, 0, -5, world), MPI_ERR_TAG, "MPI_Send: negative tag: -5");
  ERROR(MPI_Recv(x, -3, kInt, 0, 0, world, MPI_STATUS_IGNORE), MPI_ERR_COUNT, "negative count: -3");
  ERROR(MPI_Bsend(x, 1, kInt, 0, 0, world), MPI_ERR_BUFFER, "MPI_Bsend: no buffer is attached");
  CHECK_OK(MPI_Buffer_attach(y, MPI_BSEND_OVERHEAD));
  ERROR(MPI_Bsend(x, 1, kInt, 0, 0, world), MPI_ERR_BUFFER, "no room in the attached buffer");
  CHECK_OK(MPI_Buffer_detach(&(void*){NULL}, &length));
}

static void of_roots(void) {
  const MPI_Comm world = MPI_COMM_WORLD;
  int one[128], none[128] = {0};
  for (int r = 0; r < size; ++r) one[r] = 1;
  ERROR(MPI_Gather(x, 1, kInt, y, 1, kInt, 0, MPI_COMM_NULL), MPI_ERR_COMM, "null communicator");
  ERROR(MPI_Gather(x, 1, kInt, y, 1, kInt, size, world), MPI_ERR_ROOT, "MPI_Gather: root is not");
  ERROR(MPI_Gather(x, -1, kInt, y, 1, kInt, 0, world), MPI_ERR_COUNT, "negative count");
  ERROR(MPI_Gather(x, 1, kNone, y, 1, kInt, 0, world), MPI_ERR_TYPE, "not a datatype");
  ERROR(MPI_Gather(NULL, 1, kInt, y, 1, kInt, 0, world), MPI_ERR_BUFFER, "null buffer");
  ERROR(MPI_Scatter(x, 1, kInt, y, 1, kInt, -1, world), MPI_ERR_ROOT, "root is not a rank");
  ERROR(MPI_Scatter(x, 1, kInt, y, -1, kInt, 0, world), MPI_ERR_COUNT, "negative count");
  ERROR(MPI_Scatter(x, 1, kInt, NULL, 1, kInt, 0, world), MPI_ERR_BUFFER, "null buffer");
  ERROR(MPI_Gatherv(x, 1, kInt, y, one, none, kInt, size, world), MPI_ERR_ROOT, "root is not");
  ERROR(MPI_Gatherv(x, -1, kInt, y, one, none, kInt, 0, world), MPI_ERR_COUNT, "negative count");
  ERROR(MPI_Gatherv(NULL, 1, kInt, y, one, none, kInt, 0, world), MPI_ERR_BUFFER, "null buffer");
  ERROR(MPI_Scatterv(x, one, none, kInt, y, 1, kInt, -1, world), MPI_ERR_ROOT, "root is not");
  ERROR(MPI_Scatterv(x, one, none, kInt, y, 1, kNone, 0, world), MPI_ERR_TYPE, "not a datatype");
  ERROR(MPI_Scatterv(x, one, none, kInt, NULL, 1, kInt, 0, world), MPI_ERR_BUFFER, "null buffer");
  ERROR(MPI_Igather(x, 1, kInt, y, 1, kInt, rank, world, NULL), MPI_ERR_REQUEST, "null request");
  ERROR(MPI_Iscatterv(x, one, none, kInt, y, 1, kInt, rank, world, NULL), MPI_ERR_REQUEST, "null");
  /* In place is for the root alone. */
  const int other = (rank + 1) % size;
  if (other == rank) return;
  ERROR(MPI_Gather(MPI_IN_PLACE, 1, kInt, y, 1, kInt, other, world), MPI_ERR_BUFFER, "root alone");
  ERROR(MPI_Scatter(x, 1, kInt, MPI_IN_PLACE, 1, kInt, other, world), MPI_ERR_BUFFER, "root alone");
  ERROR(MPI_Gatherv(MPI_IN_PLACE, 1, kInt, y, one, none, kInt, other, world), MPI_ERR_BUFFER,
        "root alone");
  ERROR(MPI_Scatterv(x, one, none, kInt, MPI_IN_PLACE, 1, kInt, other, world), MPI_ERR_BUFFER,
        "root alone");
}

/* Of the root, which every rank is here. */
static void at_the_root(void) {
  const MPI_Comm world = MPI_COMM_WORLD;
  int one[128], none[128] = {0}, bad[128] = {0};
  for (int r = 0; r < size; ++r) one[r] = 1;
  bad[size - 1] = -1;
  ERROR(MPI_Gather(x, 1, kInt, y, -1, kInt, rank, world), MPI_ERR_COUNT, "negative count");
  ERROR(MPI_Gather(x, 1, kInt, y, 1, kNone, rank, world), MPI_ERR_TYPE, "not a datatype");
  ERROR(MPI_Gather(x, 1, kInt, NULL, 1, kInt, rank, world), MPI_ERR_BUFFER, "null buffer");
  ERROR(MPI_Gather(x, 1, kInt, x, 1, kInt, rank, world), MPI_ERR_BUFFER, "use MPI_IN_PLACE");
  ERROR(MPI_Gather(x, 1, kInt, MPI_IN_PLACE, 1, kInt, rank, world), MPI_ERR_BUFFER, "as receive");
  ERROR(MPI_Gather(x, 3, kInt, y, 1, MPI_DOUBLE, rank, world), MPI_ERR_TRUNCATE,
        "count 3, 12 bytes, is sent, count 1, 8 bytes, received");
  ERROR(MPI_Scatter(x, 3, kInt, y, 1, MPI_DOUBLE, rank, world), MPI_ERR_TRUNCATE,
        "count 3, 12 bytes, is sent, count 1, 8 bytes, received");
  ERROR(MPI_Scatter(MPI_IN_PLACE, 1, kInt, y, 1, kInt, rank, world), MPI_ERR_BUFFER, "as send");
  ERROR(MPI_Scatter(NULL, 1, kInt, y, 1, kInt, rank, world), MPI_ERR_BUFFER, "null buffer");
  ERROR(MPI_Gatherv(x, 1, kInt, y, NULL, none, kInt, rank, world), MPI_ERR_ARG, "null counts");
  ERROR(MPI_Gatherv(x, 1, kInt, y, one, NULL, kInt, rank, world), MPI_ERR_ARG, "null displ");
  ERROR(MPI_Gatherv(x, 0, kInt, y, bad, none, kInt, rank, world), MPI_ERR_COUNT, "negative count");
  ERROR(MPI_Gatherv(x, 2, kInt, y, one, none, kInt, rank, world), MPI_ERR_TRUNCATE, "to itself");
  ERROR(MPI_Scatterv(NULL, one, none, kInt, y, 1, kInt, rank, world), MPI_ERR_BUFFER, "null");
  ERROR(MPI_Scatterv(x, one, none, kInt, y, 2, kInt, rank, world), MPI_ERR_TRUNCATE, "to itself");
  ERROR(MPI_Scatterv(MPI_IN_PLACE, one, none, kInt, y, 1, kInt, rank, world), MPI_ERR_BUFFER,
        "as send buffer");
}

static void of_split_reductions(void) {
  const MPI_Comm world = MPI_COMM_WORLD;
  int one[128] = {0}, bad[128] = {0};
  for (int r = 0; r < size; ++r) one[r] = 1;
  bad[size - 1] = -1;
  ERROR(MPI_Reduce_scatter(x, y, NULL, kInt, MPI_SUM, world), MPI_ERR_ARG, "null counts");
  ERROR(MPI_Reduce_scatter(x, y, bad, kInt, MPI_SUM, world), MPI_ERR_COUNT, "negative count");
  ERROR(MPI_Reduce_scatter(x, y, one, kNone, MPI_SUM, world), MPI_ERR_TYPE, "not a datatype");
  ERROR(MPI_Reduce_scatter(x, y, one, MPI_FLOAT, MPI_BOR, world), MPI_ERR_OP, "not defined");
  ERROR(MPI_Reduce_scatter(NULL, y, one, kInt, MPI_SUM, world), MPI_ERR_BUFFER, "null buffer");
  ERROR(MPI_Reduce_scatter(x, NULL, one, kInt, MPI_SUM, world), MPI_ERR_BUFFER, "null buffer");
  ERROR(MPI_Reduce_scatter(x, x, one, kInt, MPI_SUM, world), MPI_ERR_BUFFER, "use MPI_IN_PLACE");
  ERROR(MPI_Ireduce_scatter(x, y, one, kInt, MPI_SUM, world, NULL), MPI_ERR_REQUEST, "request");
  ERROR(MPI_Reduce_scatter_block(x, y, -1, kInt, MPI_SUM, world), MPI_ERR_COUNT, "negative count");
  ERROR(MPI_Reduce_scatter_block(x, NULL, 1, kInt, MPI_SUM, world), MPI_ERR_BUFFER, "null buffer");
  ERROR(MPI_Reduce_scatter_block(x, y, 1, kInt, MPI_OP_NULL, world), MPI_ERR_OP, "null operator");
}

static void of_types(void) {
  const MPI_Comm world = MPI_COMM_WORLD;
  int one[128], none[128] = {0};
  MPI_Datatype ints[128], chars[128], bad[128];
  for (int r = 0; r < size; ++r) one[r] = 1, ints[r] = bad[r] = kInt, chars[r] = MPI_CHAR;
  bad[size - 1] = kNone;
  ERROR(MPI_Alltoallw(x, one, none, bad, y, one, none, ints, world), MPI_ERR_TYPE,
        "not a datatype");
  ERROR(MPI_Alltoallw(x, one, none, ints, y, one, none, bad, world), MPI_ERR_TYPE,
        "not a datatype");
  ERROR(MPI_Alltoallw(x, one, none, NULL, y, one, none, ints, world), MPI_ERR_TYPE, "not a");
  ERROR(MPI_Alltoallw(x, one, NULL, ints, y, one, none, ints, world), MPI_ERR_ARG, "displacements");
  ERROR(MPI_Alltoallw(x, one, none, ints, y, NULL, none, ints, world), MPI_ERR_ARG, "null counts");
  ERROR(MPI_Alltoallw(x, one, none, ints, NULL, one, none, ints, world), MPI_ERR_BUFFER, "null");
  ERROR(MPI_Alltoallw(x, one, none, ints, y, one, none, chars, world), MPI_ERR_TRUNCATE,
        "count 1, 4 bytes, is sent, count 1, 1 bytes, received");
}

/* What does not count is not looked at. */
static void arguments_that_do_not_count(void) {
  const MPI_Comm world = MPI_COMM_WORLD;
  int all[128], counts[128], displs[128], mine = rank + 1, sum = -3;
  for (int r = 0; r < size; ++r) counts[r] = 1, displs[r] = r;
  all[rank] = rank;
  CHECK_OK(MPI_Allgather(MPI_IN_PLACE, -1, kNone, all, 1, kInt, world));
  CHECK(all[size - 1] == size - 1);
  CHECK_OK(MPI_Allgatherv(MPI_IN_PLACE, -1, kNone, all, counts, displs, kInt, world));
  for (int r = 0; r < size; ++r) all[r] = 1000 * rank + r;
  CHECK_OK(MPI_Alltoall(MPI_IN_PLACE, -1, kNone, all, 1, kInt, world));
  CHECK(all[size - 1] == 1000 * (size - 1) + rank);
  /* The receive buffer of rank 0. */
  CHECK_OK(MPI_Exscan(&mine, &sum, 1, kInt, MPI_SUM, world));
  CHECK(sum == (rank == 0 ? -3 : rank * (rank + 1) / 2));
  CHECK_OK(MPI_Exscan(&mine, rank == 0 ? NULL : &sum, 1, kInt, MPI_SUM, world));
  CHECK_OK(MPI_Exscan(&mine, rank == 0 ? &mine : &sum, 1, kInt, MPI_SUM, world));
  CHECK(mine == rank + 1);
  sum = rank + 1;
  CHECK_OK(MPI_Exscan(MPI_IN_PLACE, &sum, 1, kInt, MPI_SUM, world));
  CHECK(sum == (rank == 0 ? 1 : rank * (rank + 1) / 2));
  /* Buffers without elements, and where empty blocks would stand. */
  for (int r = 0; r < size; ++r) counts[r] = 0, displs[r] = r % 2 ? 1 << 30 : -(1 << 30);
  CHECK_OK(MPI_Allgather(NULL, 0, kInt, NULL, 0, kInt, world));
  CHECK_OK(MPI_Alltoall(NULL, 0, kInt, NULL, 0, kInt, world));
  CHECK_OK(MPI_Scan(NULL, NULL, 0, kInt, MPI_SUM, world));
  CHECK_OK(MPI_Allgatherv(NULL, 0, kInt, NULL, counts, displs, kInt, world));
  CHECK_OK(MPI_Alltoallv(NULL, counts, displs, kInt, NULL, counts, displs, kInt, world));
  CHECK_OK(MPI_Gather(NULL, 0, kInt, NULL, 0, kInt, 0, world));
  CHECK_OK(MPI_Scatterv(NULL, counts, displs, kInt, NULL, 0, kInt, 0, world));
  CHECK_OK(MPI_Reduce_scatter_block(NULL, NULL, 0, kInt, MPI_SUM, world));
  /* Who gets nothing needs no receive buffer. */
  counts[0] = 1;
  CHECK_OK(MPI_Reduce_scatter(&mine, rank == 0 ? &sum : NULL, counts, kInt, MPI_MAX, world));
  CHECK(rank != 0 || sum == size);
}

/* Only the bytes of the blocks must agree. */
static void types_are_bytes(void) {
  int64_t sent[128], got[128];
  int counts[128], displs[128];
  for (int r = 0; r < size; ++r) {
    sent[r] = ((int64_t)rank << 32) + r;
    counts[r] = r % 2 ? 8 : 0;
    displs[r] = 8 * r;
  }
  CHECK_OK(MPI_Allgather(sent, 2, kInt, got, 1, MPI_INT64_T, MPI_COMM_WORLD));
  CHECK(got[size - 1] == (int64_t)(size - 1) << 32);
  CHECK_OK(MPI_Alltoall(sent, rank % 2 ? 8 : 1, rank % 2 ? MPI_BYTE : MPI_DOUBLE, got, 2, MPI_FLOAT,
                        MPI_COMM_WORLD));
  CHECK(got[size - 1] == ((int64_t)(size - 1) << 32) + rank);
  memset(got, 0, sizeof got);
  CHECK_OK(
      MPI_Allgatherv(sent, rank % 2, MPI_INT64_T, got, counts, displs, MPI_CHAR, MPI_COMM_WORLD));
  for (int r = 0; r < size; ++r) CHECK(got[r] == (r % 2 ? (int64_t)r << 32 : 0));
  int64_t one = -1;
  CHECK_OK(MPI_Gather(sent, 1, MPI_INT64_T, got, 2, MPI_FLOAT, 0, MPI_COMM_WORLD));
  CHECK(rank != 0 || got[size - 1] == (int64_t)(size - 1) << 32);
  CHECK_OK(MPI_Scatter(sent, 8, MPI_BYTE, &one, 2, MPI_INT, 0, MPI_COMM_WORLD));
  CHECK(one == rank);
  /* A gap counts for one rank alone, too. */
  const int eight = 8, at = 16;
  CHECK_OK(MPI_Allgatherv(sent, 1, MPI_INT64_T, got, &eight, &at, MPI_CHAR, MPI_COMM_SELF));
  CHECK(got[2] == sent[0]);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return_errors();
  of_blocks();
  of_arrays();
  of_scans();
  of_messages();
  of_roots();
  at_the_root();
  of_split_reductions();
  of_types();
  arguments_that_do_not_count();
  types_are_bytes();
  return conclude();
}
