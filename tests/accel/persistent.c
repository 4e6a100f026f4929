/* persistent: rounds of persistent collectives, several at once, completed in other orders and
 * among the MPI's own requests, with types that lie apart; and requests that are freed during a
 * round. */
#include "job.h"

enum { kCount = 20000, kRounds = 40 };

static void check(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "FAILED rank %d: %s\n", g_rank, what);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static void many_rounds(void) {
  int* in = room(kCount * sizeof *in);
  int* sum = room(kCount * sizeof *sum);
  int* all = room((size_t)g_size * 3 * sizeof *all);
  int pairs[6] = {0}, own[3], value = 0, token = 0;
  MPI_Datatype apart;
  MPI_Type_vector(3, 1, 2, MPI_INT, &apart);
  MPI_Type_commit(&apart);
  MPI_Request requests[5];
  MPI_Allreduce_init(in, sum, kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                     &requests[0]);
  MPI_Bcast_init(pairs, 1, apart, g_size - 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
  MPI_Allgather_init(own, 3, MPI_INT, all, 3, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]);
  MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[3]);
  MPI_Recv_init(&token, 1, MPI_INT, (g_rank + g_size - 1) % g_size, 0, MPI_COMM_WORLD,
                &requests[4]);
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kCount; ++i) in[i] = i * round + g_rank;
    for (int i = 0; i < 6; ++i) pairs[i] = g_rank * 100 + round + i;
    for (int i = 0; i < 3; ++i) own[i] = g_rank * 10 + i + round;
    MPI_Startall(5, requests);
    value = round + g_rank;
    MPI_Send(&value, 1, MPI_INT, (g_rank + 1) % g_size, 0, MPI_COMM_WORLD);
    if (round % 3 == 0) {
      MPI_Waitall(5, requests, MPI_STATUSES_IGNORE);
    } else if (round % 3 == 1) {
      /* Not MPI_Waitany: after that one MPICH 4.0 takes its own for active. */
      for (int i = 4; i >= 0; --i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    } else {
      for (int i = 4; i >= 0; --i) {
        for (int flag = 0; !flag;) MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
      }
    }
    for (int i = 0; i < kCount; ++i) {
      check(sum[i] == i * round * g_size + g_size * (g_size - 1) / 2, "sum");
    }
    for (int i = 0; i < 6; ++i) {
      const int whose = i % 2 == 0 ? g_size - 1 : g_rank; /* every second one is moved */
      check(pairs[i] == whose * 100 + round + i, "pairs");
    }
    for (int i = 0; i < 3 * g_size; ++i) check(all[i] == i / 3 * 10 + i % 3 + round, "all");
    check(token == round + (g_rank + g_size - 1) % g_size, "token");
  }
  for (int i = 0; i < 5; ++i) MPI_Request_free(&requests[i]);
  MPI_Type_free(&apart);
  free(in);
  free(sum);
  free(all);
}

static void freed_while_active(void) {
  int in = g_rank, sum = 0;
  MPI_Request request;
  MPI_Allreduce_init(&in, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  MPI_Start(&request);
  MPI_Request_free(&request);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  begin(argc, argv);
  many_rounds();
  freed_while_active();
  int known = 0;
  MPI_Allreduce(&g_rank, &known, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  keep(&known, sizeof known);
  finish();
  return 0;
}
