/* Many started collectives at once, among messages of the MPI's, completed by each function that
 * does so, in orders that differ by rank. */
#include "job.h"

enum { kComms = 2, kEach = 6, kWays = 9, kRequests = kComms * kEach + 2 };

struct Batch {
  int seed;
  int sums[kComms][kEach], roots[kComms][kEach], token;
  int inputs[kComms][kEach];
  MPI_Request requests[kRequests];
};

static void start(struct Batch* b, MPI_Comm* comms) {
  int n = 0;
  const int next = (g_rank + 1) % g_size, last = (g_rank + g_size - 1) % g_size;
  MPI_Irecv(&b->token, 1, MPI_INT, last, 5, MPI_COMM_WORLD, &b->requests[n++]);
  for (int i = 0; i < kEach; ++i) {
    for (int c = 0; c < kComms; ++c) {
      b->inputs[c][i] = b->seed + 10 * i + c + g_rank;
      b->roots[c][i] = g_rank == i % g_size ? b->seed + i : -1;
      if (i % 2 == 0) {
        MPI_Iallreduce(&b->inputs[c][i], &b->sums[c][i], 1, MPI_INT, MPI_SUM, comms[c],
                       &b->requests[n++]);
      } else {
        MPI_Ibcast(&b->roots[c][i], 1, MPI_INT, i % g_size, comms[c], &b->requests[n++]);
      }
    }
  }
  MPI_Isend(&b->seed, 1, MPI_INT, next, 5, MPI_COMM_WORLD, &b->requests[n++]);
}

/* One by one, from the back on every second rank. */
static MPI_Request* at(struct Batch* b, int i) {
  return &b->requests[g_rank % 2 == 0 ? i : kRequests - 1 - i];
}

static void one_by_one(struct Batch* b, int way) {
  for (int i = 0; i < kRequests; ++i) {
    int flag = 0;
    if (way == 0) MPI_Wait(at(b, i), MPI_STATUS_IGNORE);
    while (way == 1 && !flag) MPI_Test(at(b, i), &flag, MPI_STATUS_IGNORE);
    while (way == 2 && !flag) MPI_Request_get_status(*at(b, i), &flag, MPI_STATUS_IGNORE);
    if (way == 2) MPI_Wait(at(b, i), MPI_STATUS_IGNORE);
  }
}

static void any_of(struct Batch* b, int way) {
  MPI_Status status;
  int done[kRequests] = {0}, index, flag;
  for (int i = 0; i < kRequests; ++i) {
    flag = way == 5;
    if (way == 5) MPI_Waitany(kRequests, b->requests, &index, &status);
    while (!flag) MPI_Testany(kRequests, b->requests, &index, &flag, &status);
    if (index < 0 || index >= kRequests || done[index]) MPI_Abort(MPI_COMM_WORLD, 3);
    done[index] = 1;
  }
  MPI_Waitany(kRequests, b->requests, &index, &status);
  if (index != MPI_UNDEFINED) MPI_Abort(MPI_COMM_WORLD, 3);
}

static void some_of(struct Batch* b, int way) {
  MPI_Status statuses[kRequests];
  int done = 0, count, indices[kRequests];
  while (done < kRequests) {
    if (way == 7) MPI_Waitsome(kRequests, b->requests, &count, indices, statuses);
    if (way == 8) MPI_Testsome(kRequests, b->requests, &count, indices, statuses);
    if (count == MPI_UNDEFINED || (way == 7 && count == 0)) MPI_Abort(MPI_COMM_WORLD, 3);
    done += count;
  }
  MPI_Waitsome(kRequests, b->requests, &count, indices, statuses);
  if (count != MPI_UNDEFINED) MPI_Abort(MPI_COMM_WORLD, 3);
}

static void complete(struct Batch* b, int way) {
  MPI_Status statuses[kRequests];
  int flag = 0;
  if (way < 3) one_by_one(b, way);
  if (way == 3) MPI_Waitall(kRequests, b->requests, statuses);
  while (way == 4 && !flag) MPI_Testall(kRequests, b->requests, &flag, statuses);
  if (way == 5 || way == 6) any_of(b, way);
  if (way == 7 || way == 8) some_of(b, way);
  for (int i = 0; i < kRequests; ++i) {
    if (b->requests[i] != MPI_REQUEST_NULL) MPI_Abort(MPI_COMM_WORLD, 4);
  }
  keep(b, offsetof(struct Batch, requests));
}

int main(int argc, char** argv) {
  begin(argc, argv);
  MPI_Comm comms[kComms] = {MPI_COMM_WORLD, MPI_COMM_NULL};
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  MPI_Barrier(comms[1]);
  for (int round = 0; round < 3 * kWays; ++round) {
    struct Batch b;
    memset(&b, 0, sizeof b);
    b.seed = 1000 * round;
    start(&b, comms);
    if (round % 3 == 1) MPI_Barrier(comms[1]);
    complete(&b, (round + (round % 3 == 2 ? g_rank : 0)) % kWays);
  }
  MPI_Comm_free(&comms[1]);
  finish();
  return 0;
}
