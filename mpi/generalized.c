/* Generalized requests, which the program completes.
 *
 * Completion and the end of the program's interest may come in any order and from any threads: who
 * comes second frees. path: setup
 */
#include <stdlib.h>

#include "mpi/message.h"

enum { kComplete = 1, kFreed = 2 };

typedef struct Generalized {
  MPI_Grequest_query_function* query;
  MPI_Grequest_free_function* free;
  MPI_Grequest_cancel_function* cancel;
  void* extra;
  atomic_int state;
} Generalized;

int MPI_Grequest_start(MPI_Grequest_query_function* query_fn, MPI_Grequest_free_function* free_fn,
                       MPI_Grequest_cancel_function* cancel_fn, void* extra_state,
                       MPI_Request* request) {
  require_ready(__func__);
  if (query_fn == NULL || free_fn == NULL || cancel_fn == NULL) {
    return raise_error(__func__, NULL, MPI_ERR_ARG, "null function");
  }
  if (request == NULL) return raise_error(__func__, NULL, MPI_ERR_REQUEST, "null request");
  Generalized* generalized = malloc(sizeof *generalized);
  Request* made = generalized != NULL ? request_create(__func__, state_self(), NULL, 0) : NULL;
  if (made == NULL) {
    free(generalized);
    return raise_error(__func__, NULL, MPI_ERR_NO_MEM, "no memory");
  }
  *generalized = (Generalized){query_fn, free_fn, cancel_fn, extra_state, 0};
  made->kind = kGeneralized;
  made->generalized = generalized;
  *request = made;
  return MPI_SUCCESS;
}

static int end(Request* request) {
  Generalized* generalized = request->generalized;
  const int code = generalized->free(generalized->extra);
  free(generalized);
  request_destroy(request);
  return raise_code("MPI_Grequest_start", NULL, code);
}

/* The state that was not set before, and the end when that was the second. */
static int set_state(Request* request, int state) {
  const int before = atomic_fetch_or(&request->generalized->state, state);
  return (before | state) == (kComplete | kFreed) ? end(request) : MPI_SUCCESS;
}

int MPI_Grequest_complete(MPI_Request request) {
  require_ready(__func__);
  if (request_is_null(request) || request->kind != kGeneralized ||
      (request->generalized->state & kComplete) != 0) {
    return raise_error(__func__, NULL, MPI_ERR_REQUEST, "not a generalized request under way");
  }
  return set_state(request, kComplete);
}

int generalized_is_done(const Request* request) {
  return (request->generalized->state & kComplete) != 0;
}

int generalized_query(const Request* request, MPI_Status* status) {
  const Generalized* generalized = request->generalized;
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  status_set(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
  return raise_code(request->function, NULL, generalized->query(generalized->extra, status));
}

int generalized_free(Request* request) {
  return set_state(request, kFreed);
}

int generalized_cancel(Request* request) {
  const Generalized* generalized = request->generalized;
  const int code = generalized->cancel(generalized->extra, generalized_is_done(request));
  return raise_code("MPI_Cancel", NULL, code);
}
