/* Tools: initialisation, and what is common. path: setup */
#include "mpi/tool.h"

#include <stdio.h>
#include <string.h>

static atomic_int initialisations;

int MPI_T_init_thread(int required, int* provided) {
  if (provided == NULL || required < MPI_THREAD_SINGLE || required > MPI_THREAD_MULTIPLE) {
    return MPI_T_ERR_INVALID;
  }
  atomic_fetch_add(&initialisations, 1);
  *provided = MPI_THREAD_MULTIPLE;
  return MPI_SUCCESS;
}

int MPI_T_finalize(void) {
  int before = atomic_load(&initialisations);
  do {
    if (before == 0) return MPI_T_ERR_NOT_INITIALIZED;
  } while (!atomic_compare_exchange_weak(&initialisations, &before, before - 1));
  return MPI_SUCCESS;
}

int tool_is_ready(void) {
  return atomic_load(&initialisations) > 0;
}

const esp_job* tool_job(void) {
  return state_phase() == kReady ? state_job() : NULL;
}

void tool_put_text(const char* text, char* to, int* length) {
  if (length == NULL) return;
  if (to != NULL && *length > 0) snprintf(to, (size_t)*length, "%s", text);
  *length = (int)strlen(text) + 1;
}

const char* tool_error_text(int code) {
  switch (code) {
    case MPI_T_ERR_CANNOT_INIT:
      return "the tool interface cannot be initialised";
    case MPI_T_ERR_NOT_ACCESSIBLE:
      return "the functionality is not accessible";
    case MPI_T_ERR_NOT_INITIALIZED:
      return "the tool interface is not initialised";
    case MPI_T_ERR_NOT_SUPPORTED:
      return "the functionality is not supported";
    case MPI_T_ERR_MEMORY:
      return "memory is exhausted";
    case MPI_T_ERR_INVALID:
      return "invalid argument of a tool";
    case MPI_T_ERR_INVALID_INDEX:
      return "invalid index of a variable, category or event";
    case MPI_T_ERR_INVALID_ITEM:
      return "invalid item of an enumeration";
    case MPI_T_ERR_INVALID_SESSION:
      return "invalid session of a tool";
    case MPI_T_ERR_INVALID_HANDLE:
      return "invalid handle of a variable, enumeration or event";
    case MPI_T_ERR_INVALID_NAME:
      return "there is no variable or category of that name";
    case MPI_T_ERR_OUT_OF_HANDLES:
      return "no more handles are available";
    case MPI_T_ERR_OUT_OF_SESSIONS:
      return "no more sessions are available";
    case MPI_T_ERR_CVAR_SET_NOT_NOW:
      return "the variable cannot be set at this moment";
    case MPI_T_ERR_CVAR_SET_NEVER:
      return "the variable cannot be set";
    case MPI_T_ERR_PVAR_NO_WRITE:
      return "the variable cannot be written or reset";
    case MPI_T_ERR_PVAR_NO_STARTSTOP:
      return "the variable cannot be started or stopped";
    case MPI_T_ERR_PVAR_NO_ATOMIC:
      return "the variable cannot be read and reset at once";
    default:
      return NULL;
  }
}
