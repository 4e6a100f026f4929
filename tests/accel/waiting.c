/* waiting CASE FILE [multiple]: programs in which one side must go on while the other one waits, or
 * they hang. Two ranks or more; the first two matter. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kMany = 1 << 22, kTimes = 20 };
static int g_rank, g_size;
static const char* g_file;
static char *g_big, *g_other;

#define CHECK(condition)                                          \
  do {                                                            \
    if (!(condition)) {                                           \
      fprintf(stderr, "line %d: not %s\n", __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 9);                               \
    }                                                             \
  } while (0)

static void wait_for(MPI_Request* request) {
  MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void isend_barrier(void) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (g_rank == 0) MPI_Isend(g_big, kMany, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
  if (g_rank == 1) MPI_Recv(g_other, kMany, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  wait_for(&request);
}

static void send_irecv_barrier(void) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (g_rank == 1) MPI_Irecv(g_other, kMany, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
  if (g_rank == 0) MPI_Send(g_big, kMany, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  wait_for(&request);
}

/* Rank 0 is in a call of the MPI's while others need it for what it has started. */
static void root_receives(void) {
  for (int i = 0; i < 2; ++i) {
    const int bytes = i == 0 ? 8 : 1 << 20;
    MPI_Request reduce, bcast;
    MPI_Ireduce(g_big, g_other, bytes, MPI_UNSIGNED_CHAR, MPI_MAX, 0, MPI_COMM_WORLD, &reduce);
    MPI_Ibcast(g_big, bytes, MPI_BYTE, 0, MPI_COMM_WORLD, &bcast);
    int token = 0;
    if (g_rank == 0) MPI_Recv(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    wait_for(&bcast);
    wait_for(&reduce);
    if (g_rank == 1) MPI_Send(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  }
}

/* What rank 0 has sent in a collective that is over for it arrives while it waits in the MPI. */
static void after_blocking(void) {
  for (int i = 0; i < kTimes; ++i) {
    int token = 0;
    MPI_Bcast(g_big, i % 2 == 0 ? kMany : 8, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (g_rank == 0) MPI_Recv(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (g_rank == 1) MPI_Send(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  }
}

static void dup_between(void) {
  MPI_Request request;
  MPI_Comm dup;
  MPI_Ibcast(g_big, 1 << 20, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
  if (g_rank % 2 == 0) wait_for(&request);
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  wait_for(&request);
  MPI_Comm_free(&dup);
}

/* Rank 0 comes back from its computation when all others have ended their waits. */
static void computation(void) {
  for (int i = 0; i < 2; ++i) {
    MPI_Request request;
    char mark[1024];
    MPI_Iallreduce(g_big, g_other, i == 0 ? 8 : 1 << 20, MPI_UNSIGNED_CHAR, MPI_MAX, MPI_COMM_WORLD,
                   &request);
    if (g_rank != 0) {
      wait_for(&request);
      snprintf(mark, sizeof mark, "%s.%d.%d", g_file, i, g_rank);
      CHECK(fclose(fopen(mark, "w")) == 0);
    }
    for (int r = 1; g_rank == 0 && r < g_size; ++r) {
      snprintf(mark, sizeof mark, "%s.%d.%d", g_file, i, r);
      while (access(mark, F_OK) != 0) usleep(1000);
    }
    wait_for(&request);
  }
}

static void two_orders(void) {
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Barrier(dup);
  for (int i = 0; i < kTimes; ++i) {
    MPI_Comm comms[] = {g_rank % 2 == 0 ? MPI_COMM_WORLD : dup,
                        g_rank % 2 == 0 ? dup : MPI_COMM_WORLD};
    int sums[2] = {0};
    MPI_Request requests[2];
    for (int c = 0; c < 2; ++c) {
      MPI_Iallreduce(&g_size, &sums[c], 1, MPI_INT, MPI_SUM, comms[c], &requests[c]);
    }
    wait_for(&requests[0]);
    CHECK(sums[0] == g_size * g_size);
    wait_for(&requests[1]);
    CHECK(sums[1] == g_size * g_size);
  }
  MPI_Comm_free(&dup);
}

static void* on_own_communicator(void* argument) {
  const MPI_Comm comm = *(MPI_Comm*)argument;
  for (int i = 0; i < 4 * kTimes; ++i) {
    int sum = 0;
    MPI_Allreduce(&g_rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == g_size * (g_size - 1) / 2);
    MPI_Request request;
    MPI_Iallreduce(&g_rank, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
    wait_for(&request);
    CHECK(sum == g_size * (g_size - 1) / 2);
  }
  return NULL;
}

static void two_threads(void) {
  MPI_Comm comms[2];
  pthread_t thread;
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  pthread_create(&thread, NULL, on_own_communicator, &comms[0]);
  on_own_communicator(&comms[1]);
  pthread_join(thread, NULL);
  MPI_Comm_free(&comms[0]);
  MPI_Comm_free(&comms[1]);
}

static void freed_under_way(void) {
  for (int i = 0; i < kTimes; ++i) {
    MPI_Comm dup;
    MPI_Request request;
    int sum = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Barrier(dup);
    MPI_Iallreduce(&g_size, &sum, 1, MPI_INT, MPI_SUM, dup, &request);
    MPI_Comm_free(&dup);
    MPI_Barrier(MPI_COMM_WORLD);
    wait_for(&request);
    CHECK(sum == g_size * g_size);
  }
}

/* The MPI may give the communicator up only when the message has gone, which may be in a call of
 * ours. */
static void freed_with_message(void) {
  for (int i = 0; i < kTimes; ++i) {
    MPI_Comm dup;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Barrier(dup);
    if (g_rank == 0) MPI_Isend(g_big, kMany, MPI_BYTE, 1, 0, dup, &request);
    if (g_rank == 1) {
      usleep(1000);
      MPI_Recv(g_other, kMany, MPI_BYTE, 0, 0, dup, MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&dup);
    MPI_Barrier(MPI_COMM_WORLD);
    wait_for(&request);
  }
}

/* No call before could have made a team, and none in this may wait for others. */
static void never_blocking(void) {
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  for (int i = 0; i < kTimes; ++i) {
    MPI_Request request;
    int token = 0, sum = 0;
    if (g_rank == 0) {
      MPI_Iallreduce(&g_size, &sum, 1, MPI_INT, MPI_SUM, dup, &request);
      MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else {
      if (g_rank == 1) MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Iallreduce(&g_size, &sum, 1, MPI_INT, MPI_SUM, dup, &request);
    }
    wait_for(&request);
    CHECK(sum == g_size * g_size);
  }
  MPI_Comm_free(&dup);
}

static void largest(void* in, void* inout, int* count, MPI_Datatype* type) {
  for (int i = 0; i < *count; ++i) {
    const int a = ((int*)in)[i], b = ((int*)inout)[i];
    ((int*)inout)[i] = a > b ? a : b;
  }
}

/* The MPI's blocking collective, on some ranks with something under way in the library, on others
 * without. */
static void mpi_among_started(void) {
  MPI_Op op;
  MPI_Op_create(&largest, 1, &op);
  for (int i = 0; i < kTimes; ++i) {
    MPI_Request request;
    int max = -1, sum = 0;
    MPI_Iallreduce(&g_size, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    if ((g_rank + i) % 2 == 0) wait_for(&request);
    MPI_Allreduce(&g_rank, &max, 1, MPI_INT, op, MPI_COMM_WORLD);
    wait_for(&request);
    CHECK(max == g_size - 1 && sum == g_size * g_size);
  }
  MPI_Op_free(&op);
}

/* Messages that the MPI sends in MPI_Finalize only. */
static void sent_at_the_end(void) {
  static char room[(1 << 20) + MPI_BSEND_OVERHEAD];
  MPI_Request request;
  MPI_Barrier(MPI_COMM_WORLD);
  if (g_rank == 0) {
    MPI_Buffer_attach(room, sizeof room);
    MPI_Bsend(g_big, 1 << 20, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    MPI_Isend(g_big, kMany, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
  } else if (g_rank == 1) {
    MPI_Recv(g_other, 1 << 20, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(g_other, kMany, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

static const struct {
  const char* name;
  void (*run)(void);
} kCases[] = {{"isend_barrier", isend_barrier},     {"send_irecv_barrier", send_irecv_barrier},
              {"root_receives", root_receives},     {"after_blocking", after_blocking},
              {"dup_between", dup_between},         {"computation", computation},
              {"two_orders", two_orders},           {"two_threads", two_threads},
              {"freed_under_way", freed_under_way}, {"freed_with_message", freed_with_message},
              {"never_blocking", never_blocking},   {"mpi_among_started", mpi_among_started},
              {"sent_at_the_end", sent_at_the_end}};

int main(int argc, char** argv) {
  int level = argc > 3 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, level, &level);
  CHECK(argc <= 3 || level == MPI_THREAD_MULTIPLE);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g_size);
  g_file = argv[2];
  g_big = calloc(kMany, 1);
  g_other = calloc(kMany, 1);
  int found = 0;
  for (size_t i = 0; i < sizeof kCases / sizeof kCases[0]; ++i) {
    if (strcmp(kCases[i].name, argv[1]) != 0) continue;
    kCases[i].run();
    found = 1;
  }
  CHECK(found);
  MPI_Finalize();
  return 0;
}
