/* arguments_partitioned: what messages in partitions answer to wrong arguments, and to requests in
 * the wrong state. Any number of processes.
 */
#include "arguments.h"

static const MPI_Datatype kInt = MPI_INT, kNone = MPI_DATATYPE_NULL;
static const MPI_Info kInfo = MPI_INFO_NULL;
enum { kLong = 10000 };
static int x[64], longest[4 * kLong];

static void of_init(void) {
  const MPI_Comm world = MPI_COMM_WORLD;
  const int nobody = MPI_PROC_NULL;
  const MPI_Count absurd = INT64_MAX / 2;
  MPI_Request r;
  ERROR(MPI_Psend_init(x, 2, 1, kInt, nobody, 0, MPI_COMM_NULL, kInfo, &r), MPI_ERR_COMM, "null");
  ERROR(MPI_Psend_init(x, -1, 1, kInt, nobody, 0, world, kInfo, &r), MPI_ERR_ARG,
        "negative number");
  ERROR(MPI_Psend_init(x, 2, -1, kInt, nobody, 0, world, kInfo, &r), MPI_ERR_COUNT, "negative");
  ERROR(MPI_Psend_init(x, 2, absurd, kInt, nobody, 0, world, kInfo, &r), MPI_ERR_COUNT, "63 bits");
  ERROR(MPI_Psend_init(x, 2, 1, kNone, nobody, 0, world, kInfo, &r), MPI_ERR_TYPE,
        "not a datatype");
  ERROR(MPI_Psend_init(NULL, 2, 1, kInt, nobody, 0, world, kInfo, &r), MPI_ERR_BUFFER, "null");
  ERROR(MPI_Psend_init(x, 2, 1, kInt, size, 0, world, kInfo, &r), MPI_ERR_RANK, "not a rank");
  ERROR(MPI_Precv_init(x, 2, 1, kInt, MPI_ANY_SOURCE, 0, world, kInfo, &r), MPI_ERR_RANK, "not a");
  ERROR(MPI_Psend_init(x, 2, 1, kInt, nobody, -1, world, kInfo, &r), MPI_ERR_TAG, "negative");
  ERROR(MPI_Precv_init(x, 2, 1, kInt, nobody, MPI_ANY_TAG, world, kInfo, &r), MPI_ERR_TAG, "wild");
  ERROR(MPI_Precv_init(x, 2, 1, kInt, nobody, 0, world, kInfo, NULL), MPI_ERR_REQUEST, "null");
}

static void of_partitions(MPI_Request send, MPI_Request receive) {
  const int list[] = {0, 4};
  int flag = 0;
  ERROR(MPI_Pready(4, send), MPI_ERR_ARG, "partitions 4 to 4 of a message of 4");
  ERROR(MPI_Pready(-1, send), MPI_ERR_ARG, "partitions -1 to -1 of");
  ERROR(MPI_Pready_range(2, 1, send), MPI_ERR_ARG, "partitions 2 to 1 of");
  ERROR(MPI_Pready_list(2, list, send), MPI_ERR_ARG, "partitions 4 to 4 of");
  ERROR(MPI_Pready_list(1, NULL, send), MPI_ERR_ARG, "null list");
  ERROR(MPI_Pready_list(-1, list, send), MPI_ERR_ARG, "negative length");
  ERROR(MPI_Pready(0, receive), MPI_ERR_REQUEST, "not a request of MPI_Psend_init");
  ERROR(MPI_Pready(0, MPI_REQUEST_NULL), MPI_ERR_REQUEST, "not a request of MPI_Psend_init");
  ERROR(MPI_Parrived(send, 0, &flag), MPI_ERR_REQUEST, "not a request of MPI_Precv_init");
  ERROR(MPI_Parrived(MPI_REQUEST_NULL, 0, &flag), MPI_ERR_REQUEST, "not a request of MPI_Precv");
  ERROR(MPI_Parrived(receive, 2, &flag), MPI_ERR_ARG, "partitions 2 to 2 of a message of 2");
  ERROR(MPI_Parrived(receive, 0, NULL), MPI_ERR_ARG, "null result");
}

/* A message to the next rank, of which partition 0 is made ready twice. */
static void of_states(void) {
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  MPI_Request send, receive;
  int in[4] = {0}, flag = 0;
  CHECK_OK(MPI_Psend_init(x, 4, 1, kInt, right, 0, MPI_COMM_WORLD, kInfo, &send));
  CHECK_OK(MPI_Precv_init(in, 2, 2, kInt, left, 0, MPI_COMM_WORLD, kInfo, &receive));
  ERROR(MPI_Pready(0, send), MPI_ERR_REQUEST, "not started");
  CHECK_OK(MPI_Parrived(receive, 0, &flag));
  CHECK(flag);
  CHECK_OK(MPI_Start(&receive));
  CHECK_OK(MPI_Start(&send));
  ERROR(MPI_Start(&send), MPI_ERR_REQUEST, "not an inactive");
  ERROR(MPI_Request_free(&receive), MPI_ERR_REQUEST, "not an inactive");
  CHECK_OK(MPI_Parrived(receive, 0, &flag));
  of_partitions(send, receive);
  for (int i = 0; i < 4; ++i) x[i] = 10 * rank + i;
  CHECK_OK(MPI_Pready(0, send));
  ERROR(MPI_Pready(0, send), MPI_ERR_ARG, "partition 0 was ready before");
  CHECK_OK(MPI_Test(&send, &flag, MPI_STATUS_IGNORE));
  CHECK(!flag);
  CHECK_OK(MPI_Pready_range(1, 3, send));
  CHECK_OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
  for (int i = 0; i < 4; ++i) CHECK(in[i] == 10 * left + i);
  CHECK_OK(MPI_Request_free(&send));
  CHECK_OK(MPI_Request_free(&receive));
}

/* Sides of different lengths: the receive fails, and who polls it learns that. The send and the
 * communicator go on. */
static void of_lengths(int length) {
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  MPI_Comm comm;
  MPI_Request send, receive;
  int in[6], flag = 0, code = MPI_SUCCESS;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  CHECK_OK(MPI_Psend_init(longest, 4, length, kInt, right, 0, comm, kInfo, &send));
  CHECK_OK(MPI_Precv_init(in, 2, 3, kInt, left, 0, comm, kInfo, &receive));
  CHECK_OK(MPI_Start(&receive));
  CHECK_OK(MPI_Start(&send));
  CHECK_OK(MPI_Pready_range(0, 3, send));
  while (!flag) code = MPI_Parrived(receive, 1, &flag);
  CHECK(code != MPI_SUCCESS);
  CHECK_CLASS(MPI_Wait(&receive, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
  CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Barrier(comm));
  CHECK_OK(MPI_Request_free(&send));
  CHECK_OK(MPI_Request_free(&receive));
  CHECK_OK(MPI_Comm_free(&comm));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return_errors();
  of_init();
  if (size > 1) {
    of_states();
    of_lengths(1);
    of_lengths(kLong);
  }
  return conclude();
}
