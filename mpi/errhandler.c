/* Error handlers, which live until the program and the last communicator have let them go.
 * path: setup
 */
#include <stdlib.h>

#include "mpi/facade.h"

static int is_predefined(MPI_Errhandler handler) {
  return handler == MPI_ERRORS_ARE_FATAL || handler == MPI_ERRORS_ABORT ||
         handler == MPI_ERRORS_RETURN || handler == MPI_ERRHANDLER_NULL;
}

Errhandler* errhandler_retain(Errhandler* handler) {
  if (!is_predefined(handler)) atomic_fetch_add(&handler->references, 1);
  return handler;
}

void errhandler_release(Errhandler* handler) {
  if (is_predefined(handler) || atomic_fetch_sub(&handler->references, 1) != 1) return;
  if (handler->destructor != NULL) handler->destructor(handler->extra);
  number_forget(&handler->number);
  free(handler);
}

void errhandler_call(const Errhandler* handler, MPI_Comm comm, int* code) {
  if (handler->function_x != NULL) {
    handler->function_x(comm, *code, handler->extra);
  } else {
    handler->function(&comm, code);
  }
}

static int create_errhandler(const char* name, Errhandler functions, MPI_Errhandler* errhandler) {
  require_ready(name);
  if ((functions.function == NULL && functions.function_x == NULL) || errhandler == NULL) {
    return raise_error(name, NULL, MPI_ERR_ARG, "null function or handle");
  }
  Errhandler* made = malloc(sizeof *made);
  if (made == NULL) return raise_error(name, NULL, MPI_ERR_NO_MEM, "no memory");
  *made = functions;
  atomic_init(&made->references, 1);
  *errhandler = made;
  return MPI_SUCCESS;
}

static int set_errhandler(const char* function, MPI_Comm handle, MPI_Errhandler errhandler) {
  Comm* comm;
  const int code = comm_check(function, handle, "", &comm);
  if (code != MPI_SUCCESS) return code;
  if (errhandler == NULL || errhandler == MPI_ERRHANDLER_NULL) {
    return raise_error(function, comm, MPI_ERR_ARG, "null error handler");
  }
  errhandler_retain(errhandler);
  errhandler_release(atomic_exchange(&comm->errhandler, errhandler));
  return MPI_SUCCESS;
}

static int get_errhandler(const char* function, MPI_Comm handle, MPI_Errhandler* errhandler) {
  Comm* comm;
  const int code = comm_check(function, handle, errhandler, &comm);
  if (code == MPI_SUCCESS) *errhandler = errhandler_retain(atomic_load(&comm->errhandler));
  return code;
}

int MPI_Comm_create_errhandler(MPI_Comm_errhandler_function* function, MPI_Errhandler* errhandler) {
  return create_errhandler(__func__, (Errhandler){.function = function}, errhandler);
}

int MPI_Errhandler_create(MPI_Handler_function* function, MPI_Errhandler* errhandler) {
  return create_errhandler(__func__, (Errhandler){.function = function}, errhandler);
}

int MPIX_Comm_create_errhandler_x(MPIX_Comm_errhandler_function_x* function,
                                  MPIX_Destructor_function* destructor, void* extra_state,
                                  MPI_Errhandler* errhandler) {
  const Errhandler functions = {
      .function_x = function, .destructor = destructor, .extra = extra_state};
  return create_errhandler(__func__, functions, errhandler);
}

int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler errhandler) {
  return set_errhandler(__func__, comm, errhandler);
}

int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler) {
  return set_errhandler(__func__, comm, errhandler);
}

int MPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler* errhandler) {
  return get_errhandler(__func__, comm, errhandler);
}

int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler* errhandler) {
  return get_errhandler(__func__, comm, errhandler);
}

int MPI_Errhandler_free(MPI_Errhandler* errhandler) {
  require_ready(__func__);
  if (errhandler == NULL || *errhandler == NULL || *errhandler == MPI_ERRHANDLER_NULL) {
    return raise_error(__func__, NULL, MPI_ERR_ARG, "null error handler");
  }
  errhandler_release(*errhandler);
  *errhandler = MPI_ERRHANDLER_NULL;
  return MPI_SUCCESS;
}

/* Any number is a code here: what it means is the program's affair. */
int MPI_Comm_call_errhandler(MPI_Comm handle, int errorcode) {
  Comm* comm;
  const int code = comm_check(__func__, handle, "", &comm);
  if (code == MPI_SUCCESS) (void)raise_code(__func__, comm, errorcode);
  return code;
}
