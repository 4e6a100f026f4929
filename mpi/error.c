/* Errors: classes, codes and texts, and what becomes of an error.
 *
 * A function returns a *code*: the class in the low bits, and above them where the text is kept
 * (state.c), so that MPI_Error_string can name the rank that died and not only the class. The
 * codes of programs are above these (error_codes.c). The default handler prints the text and ends
 * the job, as the standard asks. path: setup
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "mpi/tool.h"

enum { kClassMask = 127 };

static const char* const kClassTexts[] = {
    [MPI_SUCCESS] = "no error",
    [MPI_ERR_BUFFER] = "invalid buffer pointer",
    [MPI_ERR_COUNT] = "invalid count",
    [MPI_ERR_TYPE] = "invalid datatype",
    [MPI_ERR_TAG] = "invalid tag",
    [MPI_ERR_COMM] = "invalid communicator",
    [MPI_ERR_RANK] = "invalid rank",
    [MPI_ERR_REQUEST] = "invalid request",
    [MPI_ERR_ROOT] = "invalid root",
    [MPI_ERR_GROUP] = "invalid group",
    [MPI_ERR_OP] = "invalid reduce operator",
    [MPI_ERR_TOPOLOGY] = "invalid topology",
    [MPI_ERR_DIMS] = "invalid dimensions",
    [MPI_ERR_ARG] = "invalid argument",
    [MPI_ERR_UNKNOWN] = "unknown error",
    [MPI_ERR_TRUNCATE] = "what is sent and what is received differ in size",
    [MPI_ERR_OTHER] = "other error",
    [MPI_ERR_INTERN] = "internal error of the library, please report",
    [MPI_ERR_PENDING] = "pending request",
    [MPI_ERR_IN_STATUS] = "the error code is in the status",
    [MPI_ERR_ACCESS] = "permission denied",
    [MPI_ERR_AMODE] = "invalid access mode of a file",
    [MPI_ERR_ASSERT] = "invalid assertion",
    [MPI_ERR_BAD_FILE] = "invalid file name",
    [MPI_ERR_BASE] = "invalid base address",
    [MPI_ERR_CONVERSION] = "a conversion function of the program failed",
    [MPI_ERR_DISP] = "invalid displacement",
    [MPI_ERR_DUP_DATAREP] = "the data representation is defined already",
    [MPI_ERR_FILE_EXISTS] = "the file exists",
    [MPI_ERR_FILE_IN_USE] = "the file is in use",
    [MPI_ERR_FILE] = "invalid file handle",
    [MPI_ERR_INFO_KEY] = "invalid key of an info object",
    [MPI_ERR_INFO_NOKEY] = "the info object has no such key",
    [MPI_ERR_INFO_VALUE] = "invalid value of an info object",
    [MPI_ERR_INFO] = "invalid info object",
    [MPI_ERR_IO] = "input or output failed",
    [MPI_ERR_KEYVAL] = "invalid attribute key",
    [MPI_ERR_LOCKTYPE] = "invalid type of a lock",
    [MPI_ERR_NAME] = "the service name is not published",
    [MPI_ERR_NO_MEM] = "memory or another limit of the system is exhausted",
    [MPI_ERR_NOT_SAME] = "an argument differs between processes",
    [MPI_ERR_NO_SPACE] = "there is no space left on the device",
    [MPI_ERR_NO_SUCH_FILE] = "there is no such file",
    [MPI_ERR_PORT] = "invalid port name",
    [MPI_ERR_QUOTA] = "the quota is exceeded",
    [MPI_ERR_READ_ONLY] = "the file or file system can only be read",
    [MPI_ERR_RMA_ATTACH] = "the memory cannot be attached",
    [MPI_ERR_RMA_CONFLICT] = "conflicting accesses to a window",
    [MPI_ERR_RMA_RANGE] = "the target memory is not part of the window",
    [MPI_ERR_RMA_SHARED] = "the memory cannot be shared",
    [MPI_ERR_RMA_SYNC] = "wrong synchronisation of a window",
    [MPI_ERR_SERVICE] = "invalid service name",
    [MPI_ERR_SIZE] = "invalid size",
    [MPI_ERR_SPAWN] = "processes could not be started",
    [MPI_ERR_UNSUPPORTED_DATAREP] = "data representation not supported",
    [MPI_ERR_UNSUPPORTED_OPERATION] = "operation not supported",
    [MPI_ERR_WIN] = "invalid window",
    [MPI_ERR_RMA_FLAVOR] = "the window has the wrong flavor",
    [MPI_ERR_PROC_ABORTED] = "a process of the communicator has died",
    [MPI_ERR_VALUE_TOO_LARGE] = "a value does not fit into its variable",
    [MPI_ERR_SESSION] = "invalid session",
    [MPI_ERR_ERRHANDLER] = "invalid error handler",
    [MPI_ERR_ABI] = "wrong binary interface",
};

static int class_of_status(esp_status status) {
  switch (status) {
    case ESP_OK:
      return MPI_SUCCESS;
    case ESP_ERR_ARGUMENT:
      return MPI_ERR_ARG;
    case ESP_ERR_TYPE:
      return MPI_ERR_TYPE;
    case ESP_ERR_TRUNCATED:
      return MPI_ERR_TRUNCATE;
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

/* ---- raising ---- */

static _Noreturn void end_job(const char* function, Comm* comm, const char* text) {
  char message[MPI_MAX_ERROR_STRING + 2 * MPI_MAX_OBJECT_NAME + 128], name[MPI_MAX_OBJECT_NAME];
  esp_job* job = state_job();
  if (job == NULL) {
    fprintf(stderr, "%s: %s\n", function, text);
    exit(EXIT_FAILURE);
  }
  if (comm == NULL) {
    snprintf(message, sizeof message, "%s: %s", function, text);
  } else {
    comm_name(comm, name);
    snprintf(message, sizeof message, "%s on %s: %s", function, name[0] != '\0' ? name : comm->name,
             text);
  }
  esp_abort(job, EXIT_FAILURE, message); /* prints it, and the rank */
  exit(EXIT_FAILURE);
}

/* NULL: on none, for which MPI_COMM_SELF stands, as of MPI 4.0. */
static MPI_Errhandler handler_of(Comm* comm) {
  return atomic_load(&(comm == NULL ? state_self() : comm)->errhandler);
}

static int ends_job(MPI_Errhandler handler) {
  return handler == MPI_ERRORS_ARE_FATAL || handler == MPI_ERRORS_ABORT;
}

/* The handler may replace itself meanwhile. */
static int call_handler(Comm* comm, int code) {
  MPI_Errhandler handler = handler_of(comm);
  if (handler == MPI_ERRORS_RETURN) return code;
  MPI_Comm handle = comm_handle(comm == NULL ? state_self() : comm);
  errhandler_call(handler, handle, &code);
  return code;
}

int raise_error(const char* function, Comm* comm, int error_class, const char* text) {
  if (state_phase() != kReady) end_job(function, NULL, text);
  if (ends_job(handler_of(comm))) end_job(function, comm, text);
  char full[MPI_MAX_ERROR_STRING];
  snprintf(full, sizeof full, "%s: %s", function, text);
  return call_handler(comm, state_keep_error(error_class, full));
}

int raise_values(const char* function, Comm* comm, int error_class, const char* format, ...) {
  char text[MPI_MAX_ERROR_STRING];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  return raise_error(function, comm, error_class, text);
}

int raise_not_a_rank(const char* function, Comm* comm, int error_class, const char* what,
                     int value) {
  return raise_values(function, comm, error_class,
                      "%s is not a rank of the communicator: %d, and it has %d", what, value,
                      esp_team_size(comm->team));
}

int raise_code(const char* function, Comm* comm, int code) {
  if (code == MPI_SUCCESS) return code;
  char text[MPI_MAX_ERROR_STRING];
  if (!error_text(code, text)) snprintf(text, sizeof text, "error %d", code);
  if (state_phase() != kReady) end_job(function, NULL, text);
  if (ends_job(handler_of(comm))) end_job(function, comm, text);
  return call_handler(comm, code);
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

/* ---- texts ---- */

static const char* class_text(int error_class) {
  const size_t classes = sizeof kClassTexts / sizeof *kClassTexts;
  return (size_t)error_class < classes ? kClassTexts[error_class] : NULL;
}

/* NULL: neither a class nor a code of the library. */
static const char* text_of_own(int code) {
  return code < 0 || code > MPI_ERR_LASTCODE ? NULL : class_text(code & kClassMask);
}

int error_is_class(int code) {
  return code >= 0 && class_text(code) != NULL;
}

int error_text(int code, char* text) {
  if (state_find_error(code, text, MPI_MAX_ERROR_STRING)) return 1;
  const char* found = tool_error_text(code) != NULL ? tool_error_text(code) : text_of_own(code);
  if (found == NULL) return error_codes_text(code, text);
  snprintf(text, MPI_MAX_ERROR_STRING, "%s", found);
  return 1;
}

/* Both may be called at any time. */
int MPI_Error_class(int errorcode, int* errorclass) {
  if (errorclass == NULL) return raise_error(__func__, NULL, MPI_ERR_ARG, "null result");
  if (tool_error_text(errorcode) != NULL) {
    *errorclass = errorcode;
    return MPI_SUCCESS;
  }
  if (text_of_own(errorcode) != NULL) {
    *errorclass = errorcode & kClassMask;
    return MPI_SUCCESS;
  }
  const int found = error_codes_class(errorcode);
  if (found < 0) return raise_error(__func__, NULL, MPI_ERR_ARG, "not an error code");
  *errorclass = found;
  return MPI_SUCCESS;
}

int MPI_Error_string(int errorcode, char* string, int* resultlen) {
  if (string == NULL || resultlen == NULL) {
    return raise_error(__func__, NULL, MPI_ERR_ARG, "null result");
  }
  char text[MPI_MAX_ERROR_STRING];
  if (!error_text(errorcode, text)) {
    return raise_error(__func__, NULL, MPI_ERR_ARG, "not an error code");
  }
  *resultlen = snprintf(string, MPI_MAX_ERROR_STRING, "%s", text);
  return MPI_SUCCESS;
}
