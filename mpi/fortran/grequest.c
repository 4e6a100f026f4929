/* Generalized requests, whose functions are Fortran procedures. path: setup */
#include "mpi/fortran/binding.h"

typedef void Queries(MPI_Aint* extra, MPI_Fint* status, MPI_Fint* ierror);
typedef void Frees(MPI_Aint* extra, MPI_Fint* ierror);
typedef void Cancels(MPI_Aint* extra, MPI_Fint* complete, MPI_Fint* ierror);

/* Lives until the library has called its free function, which it does once. */
typedef struct Started {
  Queries* queries;
  Frees* frees;
  Cancels* cancels;
  MPI_Aint extra;
} Started;

static int query(void* extra, MPI_Status* status) {
  Started* started = extra;
  MPI_Fint ierror = MPI_SUCCESS;
  started->queries(&started->extra, (MPI_Fint*)status, &ierror);
  return ierror;
}

static int end(void* extra) {
  Started* started = extra;
  MPI_Fint ierror = MPI_SUCCESS;
  started->frees(&started->extra, &ierror);
  free(started);
  return ierror;
}

static int cancel(void* extra, int complete) {
  Started* started = extra;
  MPI_Fint ierror = MPI_SUCCESS;
  started->cancels(&started->extra, &complete, &ierror);
  return ierror;
}

ESP_MPI_API void mpi_grequest_start_(Queries* queries, Frees* frees, Cancels* cancels,
                                     const MPI_Aint* extra, MPI_Fint* request, MPI_Fint* ierror) {
  Started* started = fortran_memory(sizeof *started);
  *started = (Started){queries, frees, cancels, *extra};
  MPI_Request made = MPI_REQUEST_NULL;
  *ierror = MPI_Grequest_start(query, end, cancel, started, &made);
  if (*ierror == MPI_SUCCESS) {
    *request = MPI_Request_c2f(made);
  } else {
    free(started);
  }
}
FORTRAN_NAMES(mpi_grequest_start)
