/* The only mutable globals of the project: MPI is defined in terms of the process.
 *
 * Written by MPI_Init and MPI_Finalize, which the standard confines to one thread at a time, with
 * exceptions that have locks: the error texts, and what programs make. `phase` is atomic because
 * MPI_Initialized and MPI_Finalized may be called from any thread at any time. path: short (the
 * getters)
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/attributes.h"
#include "mpi/datatype.h"
#include "mpi/info.h"

/* A code is class + 128 * slot, slot 1..kTexts; slot 0 carries no text. All codes stay below
 * MPI_ERR_LASTCODE. */
enum { kClassBits = 7, kTexts = 63 };
_Static_assert((((kTexts + 1) << kClassBits) - 1) <= MPI_ERR_LASTCODE, "codes within the bound");

static struct {
  _Atomic(Phase) phase;
  esp_job* job;
  int thread_level;
  int universe_size;
  pthread_t main_thread;
  Comm world;
  Comm self;
  pthread_mutex_t types_lock;
  Datatype types[kDatatypes];
  Datatype* kinds; /* made by MPI_Type_create_f90_... */
  Op* pair_ops[2];
} state = {.types_lock = PTHREAD_MUTEX_INITIALIZER};

static struct {
  pthread_mutex_t lock;
  OwnCodes codes;
  Keyvals keyvals;
  Info info_env;
  NumberTable numbers;
} program = {.lock = PTHREAD_MUTEX_INITIALIZER,
             .codes = {.last_used = MPI_ERR_LASTCODE},
             .info_env = {.lock = PTHREAD_MUTEX_INITIALIZER}};

static struct {
  pthread_mutex_t lock;
  unsigned next;
  int codes[kTexts];
  char texts[kTexts][MPI_MAX_ERROR_STRING];
} errors = {.lock = PTHREAD_MUTEX_INITIALIZER};

Phase state_phase(void) {
  return atomic_load_explicit(&state.phase, memory_order_acquire);
}
esp_job* state_job(void) {
  return state.job;
}
Comm* state_world(void) {
  return &state.world;
}
Comm* state_self(void) {
  return &state.self;
}
Datatype* state_types(void) {
  return state.types;
}
Datatype** state_kinds(void) {
  return &state.kinds;
}
void state_lock_types(void) {
  pthread_mutex_lock(&state.types_lock);
}
void state_unlock_types(void) {
  pthread_mutex_unlock(&state.types_lock);
}
int state_thread_level(void) {
  return state.thread_level;
}
int state_is_main_thread(void) {
  return pthread_equal(pthread_self(), state.main_thread) != 0;
}

const int* state_universe_size(void) {
  return &state.universe_size;
}

void state_lock(void) {
  pthread_mutex_lock(&program.lock);
}
void state_unlock(void) {
  pthread_mutex_unlock(&program.lock);
}
OwnCodes* state_own_codes(void) {
  return &program.codes;
}
Keyvals* state_keyvals(void) {
  return &program.keyvals;
}
Info* state_info_env(void) {
  return &program.info_env;
}

Op** state_pair_ops(void) {
  return state.pair_ops;
}
NumberTable* state_numbers(void) {
  return &program.numbers;
}

void state_open(esp_job* job, int thread_level, esp_team* self) {
  state.job = job;
  state.thread_level = thread_level;
  state.main_thread = pthread_self();
  if (!types_open(state.types)) esp_abort(job, EXIT_FAILURE, "no memory for the datatypes");
  state.universe_size = esp_job_size(job);
  comm_open(&state.world, esp_job_world(job), NULL, MPI_ERRORS_ARE_FATAL, "MPI_COMM_WORLD");
  comm_open(&state.self, self, NULL, MPI_ERRORS_ARE_FATAL, "MPI_COMM_SELF");
  atomic_store_explicit(&state.phase, kReady, memory_order_release);
  if (!pair_ops_make(state.pair_ops)) esp_abort(job, EXIT_FAILURE, "no memory for operators");
}

void state_close(void) {
  comm_close(&state.world);
  comm_close(&state.self);
  atomic_store_explicit(&state.phase, kFinalized, memory_order_release);
  for (int i = 0; i < 2; ++i) op_release(state.pair_ops[i]);
  state.job = NULL;
  while (state.kinds != NULL) {
    Datatype* kind = state.kinds;
    state.kinds = kind->next_kind;
    datatype_release(kind);
  }
  types_close(state.types);
}

int state_keep_error(int error_class, const char* text) {
  pthread_mutex_lock(&errors.lock);
  const unsigned slot = errors.next;
  errors.next = (slot + 1) % kTexts;
  const int code = error_class | (int)((slot + 1) << kClassBits);
  errors.codes[slot] = code;
  snprintf(errors.texts[slot], sizeof errors.texts[slot], "%s", text);
  pthread_mutex_unlock(&errors.lock);
  return code;
}

int state_find_error(int code, char* text, size_t bytes) {
  const int slot = (code >> kClassBits) - 1;
  if (slot < 0 || slot >= kTexts) return 0;
  pthread_mutex_lock(&errors.lock);
  const int found = errors.codes[slot] == code;
  if (found) snprintf(text, bytes, "%s", errors.texts[slot]);
  pthread_mutex_unlock(&errors.lock);
  return found;
}
