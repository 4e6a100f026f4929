/* Texts, arrays and the common block. path: setup */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <string.h>

#include "mpi/fortran/binding.h"

/* Nobody writes it: what counts is where it is. */
Special mpiespspecial_;

/* Before the program's first function: C learns what Fortran names to say that it wants none. */
__attribute__((constructor)) static void tell_ignored(void) {
  MPI_F_STATUS_IGNORE = mpiespspecial_.status_ignore;
  MPI_F_STATUSES_IGNORE = mpiespspecial_.statuses_ignore;
}

void* fortran_memory(size_t bytes) {
  void* room = malloc(bytes);
  if (room != NULL) return room;
  fprintf(stderr, "no memory for the arguments of a Fortran call\n");
  abort();
}

void* fortran_room(void* few, int count, size_t bytes_each) {
  return count <= kFew ? few : fortran_memory((size_t)count * bytes_each);
}

char* fortran_text(const char* text, size_t length, int strips) {
  while (length > 0 && text[length - 1] == ' ') --length;
  for (; strips && length > 0 && *text == ' '; --length) ++text;
  char* copy = fortran_memory(length + 1);
  memcpy(copy, text, length);
  copy[length] = '\0';
  return copy;
}

void fortran_give_text(const char* from, char* text, size_t length) {
  const size_t bytes = strnlen(from, length);
  memcpy(text, from, bytes);
  memset(text + bytes, ' ', length - bytes);
}

int fortran_members(MPI_Comm comm) {
  int size = 0;
  if (comm == MPI_COMM_NULL || MPI_Comm_size(comm, &size) != MPI_SUCCESS) return 0;
  return size;
}

int fortran_neighbors(MPI_Comm comm, int sends) {
  int kind = MPI_UNDEFINED, rank, in = 0, out = 0, weighted;
  if (comm == MPI_COMM_NULL || MPI_Topo_test(comm, &kind) != MPI_SUCCESS) return 0;
  if (kind == MPI_CART && MPI_Cartdim_get(comm, &in) == MPI_SUCCESS) return 2 * in;
  if (kind == MPI_GRAPH && MPI_Comm_rank(comm, &rank) == MPI_SUCCESS &&
      MPI_Graph_neighbors_count(comm, rank, &in) == MPI_SUCCESS) {
    return in;
  }
  if (kind != MPI_DIST_GRAPH) return 0;
  if (MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted) != MPI_SUCCESS) return 0;
  return sends ? out : in;
}
