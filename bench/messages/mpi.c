/* Messages of any MPI between two ranks: mpirun -n 2 mpi SIZES SECONDS (measure.h). What fails ends
 * the ranks, by the handler that a communicator has. path: data
 */
#include <mpi.h>
#include <stdio.h>

#include "measure.h"

enum { kTag = 7 };

static int peer;

static void send(const void* buffer, size_t bytes) {
  MPI_Send(buffer, (int)bytes, MPI_BYTE, peer, kTag, MPI_COMM_WORLD);
}

static void receive(void* buffer, size_t bytes) {
  MPI_Recv(buffer, (int)bytes, MPI_BYTE, peer, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void send_all(const char* first, size_t bytes, size_t stride, int count) {
  MPI_Request requests[MESSAGES_WINDOW];
  for (int i = 0; i < count; ++i) {
    MPI_Isend(first + (size_t)i * stride, (int)bytes, MPI_BYTE, peer, kTag, MPI_COMM_WORLD,
              &requests[i]);
  }
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

static void receive_all(char* first, size_t bytes, size_t stride, int count) {
  MPI_Request requests[MESSAGES_WINDOW];
  for (int i = 0; i < count; ++i) {
    MPI_Irecv(first + (size_t)i * stride, (int)bytes, MPI_BYTE, peer, kTag, MPI_COMM_WORLD,
              &requests[i]);
  }
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char** argv) {
  int rank, size, result = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  peer = 1 - rank;
  if (size != 2) {
    fprintf(stderr, "messages are between two ranks\n");
  } else {
    const struct library mpi = {rank, send, receive, send_all, receive_all};
    result = measure_messages(&mpi, argc, argv);
  }
  MPI_Finalize();
  return result;
}
