/* Initialisation, finalisation, time and names. path: setup */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mpi/info.h"
#include "mpi/message.h"

/* Ends the process: there is no communicator yet whose handler could be asked. */
static _Noreturn void fail_init(const char* function, const char* text) {
  fprintf(stderr, "%s: %s\n", function, text);
  exit(EXIT_FAILURE);
}

static void initialise(const char* function, int required, int argc, char** argv) {
  if (state_phase() != kBeforeInit) {
    fail_init(function, state_phase() == kReady ? "called twice" : "called after MPI_Finalize");
  }
  char error_text[MPI_MAX_ERROR_STRING] = "";
  esp_job_options options = ESP_JOB_OPTIONS_INIT;
  if (required == MPI_THREAD_MULTIPLE) options.thread_mode = ESP_THREAD_PROGRESS;
  options.error_text = error_text;
  options.error_text_bytes = sizeof error_text;
  esp_job* job = NULL;
  esp_status status = esp_job_init(&options, &job);
  if (status != ESP_OK) {
    fail_init(function, error_text[0] != '\0' ? error_text : esp_status_text(status));
  }
  /* Every rank is a colour of its own. */
  esp_team* self = NULL;
  status = esp_team_split(esp_job_world(job), esp_job_rank(job), 0, &self);
  if (status != ESP_OK) {
    fprintf(stderr, "%s: %s\n", function, esp_team_error(esp_job_world(job)));
    esp_abort(job, EXIT_FAILURE, "MPI_COMM_SELF could not be made");
  }
  const int provided =
      required == MPI_THREAD_MULTIPLE ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED;
  state_open(job, required < provided ? required : provided, self);
  /* Without memory some keys are missing. */
  (void)info_fill_env(state_info_env(), argc, argv);
}

int MPI_Init(int* argc, char*** argv) {
  initialise(__func__, MPI_THREAD_SINGLE, argc != NULL ? *argc : 0, argv != NULL ? *argv : NULL);
  return MPI_SUCCESS;
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  if (provided == NULL) fail_init(__func__, "null result");
  if (required < MPI_THREAD_SINGLE || required > MPI_THREAD_MULTIPLE) {
    fail_init(__func__, "not a thread level");
  }
  initialise(__func__, required, argc != NULL ? *argc : 0, argv != NULL ? *argv : NULL);
  *provided = state_thread_level();
  return MPI_SUCCESS;
}

int MPI_Finalize(void) {
  require_ready(__func__);
  esp_job* job = state_job();
  /* Functions of the program may still use everything. */
  const int of_self = comm_delete_attributes(__func__, state_self());
  const int of_world = comm_delete_attributes(__func__, state_world());
  buffered_flush();
  requests_await_abandoned();
  const esp_status status = esp_job_finalize(job);
  state_close();
  if (status != ESP_OK) fail_init(__func__, esp_status_text(status));
  return of_self != MPI_SUCCESS ? of_self : of_world;
}

int MPI_Initialized(int* flag) {
  *flag = state_phase() != kBeforeInit;
  return MPI_SUCCESS;
}

int MPI_Finalized(int* flag) {
  *flag = state_phase() == kFinalized;
  return MPI_SUCCESS;
}

int MPI_Query_thread(int* provided) {
  require_ready(__func__);
  *provided = state_thread_level();
  return MPI_SUCCESS;
}

int MPI_Is_thread_main(int* flag) {
  require_ready(__func__);
  *flag = state_is_main_thread();
  return MPI_SUCCESS;
}

int MPI_Abort(MPI_Comm comm, int errorcode) {
  (void)comm; /* The standard allows to end more than the communicator's processes. */
  char message[64];
  snprintf(message, sizeof message, "MPI_Abort with code %d", errorcode);
  if (state_phase() == kReady) esp_abort(state_job(), errorcode, message);
  exit(errorcode);
}

int MPI_Get_processor_name(char* name, int* resultlen) {
  require_ready(__func__);
  if (name == NULL || resultlen == NULL) {
    return raise_error(__func__, NULL, MPI_ERR_ARG, "null result");
  }
  if (gethostname(name, MPI_MAX_PROCESSOR_NAME) != 0) snprintf(name, 10, "localhost");
  name[MPI_MAX_PROCESSOR_NAME - 1] = '\0';
  *resultlen = (int)strlen(name);
  return MPI_SUCCESS;
}

int MPI_Get_version(int* version, int* subversion) {
  *version = MPI_VERSION;
  *subversion = MPI_SUBVERSION;
  return MPI_SUCCESS;
}

int MPI_Get_library_version(char* version, int* resultlen) {
  *resultlen = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "Espalier %d.%d.%d",
                        ESP_VERSION_MAJOR, ESP_VERSION_MINOR, ESP_VERSION_PATCH);
  return MPI_SUCCESS;
}

int MPI_Pcontrol(const int level, ...) {
  (void)level;
  return MPI_SUCCESS;
}

double MPI_Wtime(void) {
  return esp_time();
}

double MPI_Wtick(void) {
  struct timespec resolution;
  if (clock_getres(CLOCK_MONOTONIC, &resolution) != 0) return 1e-9;
  return (double)resolution.tv_sec + 1e-9 * (double)resolution.tv_nsec;
}
