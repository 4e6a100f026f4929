/* What the collectives share: the arguments of a call, checked, and requests for those that start.
 *
 * Each collective fills a Call by the functions below, which it calls in the order in which the
 * standard lists the arguments, in one function for both forms, so that the blocking and the
 * non-blocking form cannot differ. They raise what is wrong and return the code of it, MPI_SUCCESS
 * otherwise. path: short
 */
#ifndef ESPALIER_MPI_CALL_H
#define ESPALIER_MPI_CALL_H

#include "mpi/facade.h"

typedef struct Call {
  const char* function;
  Comm* comm;
  const void* input;
  void* output;
  size_t count;
  esp_type type;
  esp_op op;
  Op* user_op; /* NULL for predefined operators */
} Call;

int call_comm(Call* call, MPI_Comm handle);
int call_data(Call* call, int count, MPI_Datatype datatype);
/* The same for data that is only moved, which the library takes as bytes: the types of the two
 * sides and of the ranks may be different handles for the same bytes. */
int call_block(Call* call, int count, MPI_Datatype datatype);
int call_root(Call* call, int root);
/* After call_data(). */
int call_op(Call* call, MPI_Op handle, MPI_Datatype datatype);
/* After call_data() or call_block(). `receives`: this rank gets the result, so that both buffers
 * count. */
int call_buffers(Call* call, const void* sendbuf, void* recvbuf, int receives);

/* A request for the call with room for so many counts and displacements, or NULL after raising (the
 * code is in *code). */
Request* call_begin(const Call* call, size_t arrays, MPI_Request* handle, int* code);
/* Gives the request to the program, or ends it when the library did not start the operation. */
int call_end(const Call* call, Request* request, esp_status status, MPI_Request* handle);

#endif /* ESPALIER_MPI_CALL_H */
