/* Errors: classes, codes, texts and handlers.
 *
 * A function returns a *code*: the class in the low bits, and above them where the text is kept
 * (state.c), so that MPI_Error_string can name the rank that died and not only the class. The
 * default handler prints the text and ends the job, as the standard asks. path: setup
 */
#include <stdio.h>
#include <stdlib.h>

#include "mpi/facade.h"

enum { kClassMask = 127 };

static const char* class_text(int error_class) {
  switch (error_class) {
    case MPI_SUCCESS:
      return "no error";
    case MPI_ERR_BUFFER:
      return "invalid buffer pointer";
    case MPI_ERR_COUNT:
      return "invalid count";
    case MPI_ERR_TYPE:
      return "invalid datatype";
    case MPI_ERR_TAG:
      return "invalid tag";
    case MPI_ERR_COMM:
      return "invalid communicator";
    case MPI_ERR_RANK:
      return "invalid rank";
    case MPI_ERR_REQUEST:
      return "invalid request";
    case MPI_ERR_ROOT:
      return "invalid root";
    case MPI_ERR_OP:
      return "invalid reduce operator";
    case MPI_ERR_TOPOLOGY:
      return "invalid topology";
    case MPI_ERR_DIMS:
      return "invalid dimensions";
    case MPI_ERR_ARG:
      return "invalid argument";
    case MPI_ERR_UNKNOWN:
      return "unknown error";
    case MPI_ERR_TRUNCATE:
      return "what is sent and what is received differ in size";
    case MPI_ERR_OTHER:
      return "other error";
    case MPI_ERR_INTERN:
      return "internal error of the library, please report";
    case MPI_ERR_PENDING:
      return "pending request";
    case MPI_ERR_IN_STATUS:
      return "the error code is in the status";
    case MPI_ERR_NO_MEM:
      return "memory or another limit of the system is exhausted";
    case MPI_ERR_UNSUPPORTED_OPERATION:
      return "operation not supported";
    case MPI_ERR_PROC_ABORTED:
      return "a process of the communicator has died";
    default:
      return NULL;
  }
}

static int class_of_status(esp_status status) {
  switch (status) {
    case ESP_OK:
      return MPI_SUCCESS;
    case ESP_ERR_ARGUMENT:
      return MPI_ERR_ARG;
    case ESP_ERR_TYPE:
      return MPI_ERR_TYPE;
    case ESP_ERR_PEER_DIED:
      return MPI_ERR_PROC_ABORTED;
    case ESP_ERR_NO_MEMORY:
      return MPI_ERR_NO_MEM;
    case ESP_ERR_UNSUPPORTED:
      return MPI_ERR_UNSUPPORTED_OPERATION;
    case ESP_ERR_INTERNAL:
      return MPI_ERR_INTERN;
    case ESP_ERR_NETWORK: /* The rank may be alive: not aborted. */
    default:
      return MPI_ERR_OTHER;
  }
}

static _Noreturn void end_job(const char* function, const Comm* comm, const char* text) {
  char message[MPI_MAX_ERROR_STRING + 128];
  esp_job* job = state_job();
  if (job == NULL) {
    snprintf(message, sizeof message, "%s: %s", function, text);
  } else {
    snprintf(message, sizeof message, "rank %d: %s on %s: %s", esp_job_rank(job), function,
             comm->name, text);
  }
  fprintf(stderr, "%s\n", message);
  fflush(stderr);
  if (job != NULL) esp_abort(job, EXIT_FAILURE, message);
  exit(EXIT_FAILURE);
}

int raise_error(const char* function, Comm* comm, int error_class, const char* text) {
  if (state_phase() != kReady) end_job(function, NULL, text);
  if (comm == NULL) comm = state_world();
  MPI_Errhandler handler = atomic_load(&comm->errhandler);
  if (handler == MPI_ERRORS_ARE_FATAL || handler == MPI_ERRORS_ABORT) end_job(function, comm, text);
  char full[MPI_MAX_ERROR_STRING];
  snprintf(full, sizeof full, "%s: %s", function, text);
  int code = state_keep_error(error_class, full);
  if (handler != MPI_ERRORS_RETURN) {
    MPI_Comm handle = comm_handle(comm);
    handler->function(&handle, &code);
  }
  return code;
}

int raise_status(const char* function, Comm* comm, esp_status status) {
  if (status == ESP_OK) return MPI_SUCCESS;
  /* A team that failed explains every later refusal; otherwise the job knows its latest. */
  const char* text = comm == NULL ? "" : esp_team_error(comm->team);
  if (text[0] == '\0') text = esp_job_error(state_job());
  if (text[0] == '\0') text = esp_status_text(status);
  return raise_error(function, comm, class_of_status(status), text);
}

void require_ready(const char* function) {
  const Phase phase = state_phase();
  if (phase == kReady) return;
  fprintf(stderr, "%s: called %s\n", function,
          phase == kBeforeInit ? "before MPI_Init" : "after MPI_Finalize");
  exit(EXIT_FAILURE);
}

/* ---- handlers ---- */

static int is_predefined(MPI_Errhandler handler) {
  return handler == MPI_ERRORS_ARE_FATAL || handler == MPI_ERRORS_ABORT ||
         handler == MPI_ERRORS_RETURN || handler == MPI_ERRHANDLER_NULL;
}

Errhandler* errhandler_retain(Errhandler* handler) {
  if (!is_predefined(handler)) atomic_fetch_add(&handler->references, 1);
  return handler;
}

void errhandler_release(Errhandler* handler) {
  if (!is_predefined(handler) && atomic_fetch_sub(&handler->references, 1) == 1) free(handler);
}

int MPI_Comm_create_errhandler(MPI_Comm_errhandler_function* function, MPI_Errhandler* errhandler) {
  require_ready(__func__);
  if (function == NULL || errhandler == NULL) {
    return raise_error(__func__, NULL, MPI_ERR_ARG, "null function or handle");
  }
  Errhandler* made = malloc(sizeof *made);
  if (made == NULL) return raise_error(__func__, NULL, MPI_ERR_NO_MEM, "no memory");
  made->function = function;
  atomic_init(&made->references, 1);
  *errhandler = made;
  return MPI_SUCCESS;
}

static int set_errhandler(const char* function, MPI_Comm handle, MPI_Errhandler errhandler) {
  require_ready(function);
  Comm* comm = comm_of(handle);
  if (comm == NULL) return raise_error(function, NULL, MPI_ERR_COMM, "null communicator");
  if (errhandler == NULL || errhandler == MPI_ERRHANDLER_NULL) {
    return raise_error(function, comm, MPI_ERR_ARG, "null error handler");
  }
  errhandler_retain(errhandler);
  errhandler_release(atomic_exchange(&comm->errhandler, errhandler));
  return MPI_SUCCESS;
}

static int get_errhandler(const char* function, MPI_Comm handle, MPI_Errhandler* errhandler) {
  require_ready(function);
  Comm* comm = comm_of(handle);
  if (comm == NULL) return raise_error(function, NULL, MPI_ERR_COMM, "null communicator");
  if (errhandler == NULL) return raise_error(function, comm, MPI_ERR_ARG, "null result");
  *errhandler = errhandler_retain(atomic_load(&comm->errhandler));
  return MPI_SUCCESS;
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

/* ---- texts ---- */

int MPI_Error_class(int errorcode, int* errorclass) {
  require_ready(__func__);
  const int found = errorcode & kClassMask;
  if (errorcode < 0 || errorcode > MPI_ERR_LASTCODE || class_text(found) == NULL) {
    return raise_error(__func__, NULL, MPI_ERR_ARG, "not an error code");
  }
  *errorclass = found;
  return MPI_SUCCESS;
}

int MPI_Error_string(int errorcode, char* string, int* resultlen) {
  require_ready(__func__);
  const char* text = class_text(errorcode & kClassMask);
  if (errorcode < 0 || errorcode > MPI_ERR_LASTCODE || text == NULL) {
    return raise_error(__func__, NULL, MPI_ERR_ARG, "not an error code");
  }
  int length = 0;
  char kept[MPI_MAX_ERROR_STRING];
  if (state_find_error(errorcode, kept, sizeof kept)) text = kept;
  length = snprintf(string, MPI_MAX_ERROR_STRING, "%s", text);
  *resultlen = length < MPI_MAX_ERROR_STRING ? length : MPI_MAX_ERROR_STRING - 1;
  return MPI_SUCCESS;
}
