/* Performance variables: the counters of the library. A handle has what its counter stood at when
 * it was reset; sessions keep the handles of one tool apart from those of another.
 *
 * Threads: the handles of a session are guarded by the process's lock. path: setup
 */
#include <stdlib.h>
#include <string.h>

#include "mpi/tool.h"

enum { kCountersMost = 128 };

struct MPI_ABI_T_pvar_handle {
  struct MPI_ABI_T_pvar_handle* next;
  int counter;
  unsigned long long base;
};
struct MPI_ABI_T_pvar_session {
  MPI_T_pvar_handle first;
};

static int is_counter(int index) {
  return index >= 0 && index < tool_pvar_count();
}

static unsigned long long value_of(int counter) {
  esp_counter_value all[kCountersMost];
  (void)esp_counters(tool_job(), all, kCountersMost);
  return all[counter].value;
}

int tool_pvar_count(void) {
  const size_t count = esp_counters(NULL, NULL, 0);
  return count < kCountersMost ? (int)count : kCountersMost;
}

int MPI_T_pvar_get_num(int* num_pvar) {
  TOOL_REQUIRES(num_pvar != NULL, MPI_T_ERR_INVALID);
  *num_pvar = tool_pvar_count();
  return MPI_SUCCESS;
}

int MPI_T_pvar_get_info(int pvar_index, char* name, int* name_len, int* verbosity, int* var_class,
                        MPI_Datatype* datatype, MPI_T_enum* enumtype, char* desc, int* desc_len,
                        int* bind, int* readonly, int* continuous, int* atomic) {
  TOOL_REQUIRES(is_counter(pvar_index), MPI_T_ERR_INVALID_INDEX);
  esp_counter_value all[kCountersMost];
  (void)esp_counters(NULL, all, kCountersMost);
  tool_put_text(all[pvar_index].name, name, name_len);
  tool_put_text(all[pvar_index].doc, desc, desc_len);
  tool_put(verbosity, MPI_T_VERBOSITY_TUNER_DETAIL);
  tool_put(var_class, MPI_T_PVAR_CLASS_COUNTER);
  tool_put(bind, MPI_T_BIND_NO_OBJECT);
  tool_put(readonly, 0);
  tool_put(continuous, 1);
  tool_put(atomic, 1);
  if (datatype != NULL) *datatype = MPI_UNSIGNED_LONG_LONG;
  if (enumtype != NULL) *enumtype = MPI_T_ENUM_NULL;
  return MPI_SUCCESS;
}

int MPI_T_pvar_get_index(const char* name, int var_class, int* pvar_index) {
  TOOL_REQUIRES(name != NULL && pvar_index != NULL, MPI_T_ERR_INVALID);
  esp_counter_value all[kCountersMost];
  (void)esp_counters(NULL, all, kCountersMost);
  for (int i = 0; i < tool_pvar_count() && var_class == MPI_T_PVAR_CLASS_COUNTER; ++i) {
    if (strcmp(name, all[i].name) != 0) continue;
    *pvar_index = i;
    return MPI_SUCCESS;
  }
  return MPI_T_ERR_INVALID_NAME;
}

/* ---- sessions and handles ---- */

int MPI_T_pvar_session_create(MPI_T_pvar_session* session) {
  TOOL_REQUIRES(session != NULL, MPI_T_ERR_INVALID);
  *session = calloc(1, sizeof **session);
  return *session != NULL ? MPI_SUCCESS : MPI_T_ERR_MEMORY;
}

int MPI_T_pvar_session_free(MPI_T_pvar_session* session) {
  TOOL_REQUIRES(session != NULL && *session != MPI_T_PVAR_SESSION_NULL, MPI_T_ERR_INVALID_SESSION);
  while ((*session)->first != NULL) {
    MPI_T_pvar_handle handle = (*session)->first;
    (*session)->first = handle->next;
    free(handle);
  }
  free(*session);
  *session = MPI_T_PVAR_SESSION_NULL;
  return MPI_SUCCESS;
}

int MPI_T_pvar_handle_alloc(MPI_T_pvar_session session, int pvar_index, void* obj_handle,
                            MPI_T_pvar_handle* handle, int* count) {
  (void)obj_handle;
  TOOL_REQUIRES(session != MPI_T_PVAR_SESSION_NULL, MPI_T_ERR_INVALID_SESSION);
  if (!is_counter(pvar_index)) return MPI_T_ERR_INVALID_INDEX;
  if (handle == NULL || count == NULL) return MPI_T_ERR_INVALID;
  MPI_T_pvar_handle made = malloc(sizeof *made);
  if (made == NULL) return MPI_T_ERR_MEMORY;
  state_lock();
  *made = (struct MPI_ABI_T_pvar_handle){session->first, pvar_index, 0};
  session->first = made;
  state_unlock();
  *handle = made;
  *count = 1;
  return MPI_SUCCESS;
}

/* Where the handle is linked in the session; NULL: it is of another one. Locked. */
static MPI_T_pvar_handle* link_of(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  MPI_T_pvar_handle* link = &session->first;
  while (*link != NULL && *link != handle) link = &(*link)->next;
  return *link != NULL ? link : NULL;
}

static int check(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  TOOL_REQUIRES(session != MPI_T_PVAR_SESSION_NULL, MPI_T_ERR_INVALID_SESSION);
  if (handle == MPI_T_PVAR_HANDLE_NULL) return MPI_T_ERR_INVALID_HANDLE;
  if (handle == MPI_T_PVAR_ALL_HANDLES) return MPI_SUCCESS;
  state_lock();
  const int is_known = link_of(session, handle) != NULL;
  state_unlock();
  return is_known ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE;
}

/* Of one alone. */
static int check_one(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void* buf) {
  const int code = check(session, handle);
  if (code != MPI_SUCCESS) return code;
  if (handle == MPI_T_PVAR_ALL_HANDLES) return MPI_T_ERR_INVALID_HANDLE;
  return buf != NULL ? MPI_SUCCESS : MPI_T_ERR_INVALID;
}

int MPI_T_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle* handle) {
  const int code = check_one(session, handle != NULL ? *handle : MPI_T_PVAR_HANDLE_NULL, "");
  if (code != MPI_SUCCESS) return code;
  state_lock();
  MPI_T_pvar_handle* link = link_of(session, *handle);
  *link = (*handle)->next;
  state_unlock();
  free(*handle);
  *handle = MPI_T_PVAR_HANDLE_NULL;
  return MPI_SUCCESS;
}

/* All count all the time, so that of all handles those that can be started are none. */
static int start_or_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  const int code = check(session, handle);
  if (code != MPI_SUCCESS || handle == MPI_T_PVAR_ALL_HANDLES) return code;
  return MPI_T_ERR_PVAR_NO_STARTSTOP;
}

int MPI_T_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return start_or_stop(session, handle);
}

int MPI_T_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return start_or_stop(session, handle);
}

/* ---- values ---- */

int MPI_T_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buf) {
  const int code = check_one(session, handle, buf);
  if (code != MPI_SUCCESS) return code;
  const unsigned long long value = value_of(handle->counter) - handle->base;
  memcpy(buf, &value, sizeof value);
  return MPI_SUCCESS;
}

int MPI_T_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void* buf) {
  const int code = check_one(session, handle, buf);
  if (code != MPI_SUCCESS) return code;
  unsigned long long value;
  memcpy(&value, buf, sizeof value);
  handle->base = value_of(handle->counter) - value;
  return MPI_SUCCESS;
}

int MPI_T_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  const int code = check(session, handle);
  if (code != MPI_SUCCESS) return code;
  if (handle != MPI_T_PVAR_ALL_HANDLES) {
    handle->base = value_of(handle->counter);
    return MPI_SUCCESS;
  }
  state_lock();
  for (MPI_T_pvar_handle one = session->first; one != NULL; one = one->next) {
    one->base = value_of(one->counter);
  }
  state_unlock();
  return MPI_SUCCESS;
}

/* The counter is read once, so that nothing is lost. */
int MPI_T_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buf) {
  const int code = check_one(session, handle, buf);
  if (code != MPI_SUCCESS) return code;
  const unsigned long long counted = value_of(handle->counter), value = counted - handle->base;
  memcpy(buf, &value, sizeof value);
  handle->base = counted;
  return MPI_SUCCESS;
}
