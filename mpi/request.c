/* Completion: a request holds the library's request and what must outlive it.
 *
 * Statuses are "empty" in the sense of the standard but for messages that were received.
 * path: short
 */
#include <sched.h>
#include <stdlib.h>

#include "mpi/partitioned.h"

Request* request_create(const char* function, Comm* comm, Op* op, size_t arrays) {
  Request* request = malloc(sizeof *request + arrays * sizeof *request->arrays);
  if (request == NULL) return NULL;
  *request = (Request){
      .function = function, .comm = comm, .op = op, .source = MPI_ANY_SOURCE, .tag = MPI_ANY_TAG};
  comm_retain(comm);
  if (op != NULL) op_retain(op);
  return request;
}

void request_destroy(Request* request) {
  if (request->partner != NULL) request_destroy(request->partner);
  if (request->partitioned != NULL) partitioned_free(request->partitioned);
  if (request->taken != NULL) taken_free(request->taken);
  if (request->stage != NULL) stage_free(request->stage);
  if (request->op != NULL) op_release(request->op);
  comm_release(request->comm);
  number_forget(&request->number);
  free(request);
}

void request_unpack(Request* request) {
  if (request->stage == NULL || request->is_unpacked) return;
  request->is_unpacked = 1;
  if (request->outcome == ESP_OK) request->outcome = stage_end(request->stage);
}

static void set_progress(Request* request, Progress progress) {
  atomic_store_explicit(&request->progress, progress, memory_order_release);
}

/* MPI_ERROR is left alone: only the functions on many requests set it. */
void status_set(MPI_Status* status, int source, int tag, uint64_t bytes) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = source;
  status->MPI_TAG = tag;
  status_set_bytes(status, bytes);
  status->MPI_internal[2] = 0;
}

static void set_empty(MPI_Status* status) {
  status_set(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
}

/* Of one that has ended. */
static void set_outcome(MPI_Status* status, const Request* request) {
  if (status == MPI_STATUS_IGNORE) return;
  if (request->kind != kMessage || request->mode != kReceives) {
    status_set(status, request->source, request->tag, 0);
    return;
  }
  status_set_info(status, &request->info);
  status->MPI_internal[2] = request->is_canceled && request->outcome == ESP_ERR_CANCELED;
}

int request_report(Request* request, MPI_Status* status) {
  if (request->kind == kGeneralized) return generalized_query(request, status);
  request_unpack(request);
  set_outcome(status, request);
  return MPI_SUCCESS;
}

/* One that was cancelled has ended well; of two it is the receive that is told first. */
static esp_status end_of(const Request* request) {
  if (request->partner != NULL && request->outcome == ESP_OK) return request->partner->outcome;
  return request->is_canceled && request->outcome == ESP_ERR_CANCELED ? ESP_OK : request->outcome;
}

static MPI_Status* status_at(MPI_Status* statuses, int index) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[index];
}

static void set_error(MPI_Status* statuses, int index, int code) {
  if (statuses != MPI_STATUSES_IGNORE) statuses[index].MPI_ERROR = code;
}

/* Takes a completed request, unless it is persistent, out of the program's hands and reports how it
 * ended. */
static int finish(MPI_Request* handle, MPI_Status* status) {
  Request* request = *handle;
  int code = request_report(request, status);
  if (request->kind == kGeneralized) {
    *handle = MPI_REQUEST_NULL;
    const int freed = generalized_free(request);
    return code != MPI_SUCCESS ? code : freed;
  }
  set_progress(request, kInactive);
  if (request->persistent) return raise_status(request->function, request->comm, end_of(request));
  *handle = MPI_REQUEST_NULL;
  code = raise_status(request->function, request->comm, end_of(request));
  request_destroy(request);
  return code;
}

/* It has no request of the library, which would tell when it has ended. */
static int is_looked_at(const Request* request) {
  return request->kind != kCollective && request->kind != kMessage;
}

void request_await(Request* request) {
  if (request->partner != NULL) request_await(request->partner);
  if (request->progress != kUnderWay) return;
  if (request->partitioned != NULL) {
    request->outcome = partitioned_await(request->partitioned);
    set_progress(request, kEnded);
  } else if (is_looked_at(request)) {
    while (!request_is_done(request)) sched_yield();
  } else {
    request->outcome = esp_request_wait(&request->handle);
    set_progress(request, kEnded);
  }
}

static int wait_for(MPI_Request* handle, MPI_Status* status) {
  set_empty(status);
  if (request_is_idle(*handle)) return MPI_SUCCESS;
  request_await(*handle);
  return finish(handle, status);
}

static int look_at(Request* request) {
  (void)esp_progress(state_job());
  if (request->kind == kGeneralized) return generalized_is_done(request);
  if (request->partitioned != NULL) {
    if (!partitioned_has_ended(request->partitioned)) return 0;
    request->outcome = partitioned_await(request->partitioned);
    set_progress(request, kEnded);
    return 1;
  }
  if (!buffered_is_flushed(request)) return 0;
  set_progress(request, kEnded);
  return 1;
}

int request_is_done(Request* request) {
  if (request->partner != NULL && !request_is_done(request->partner)) return 0;
  if (request->progress == kEnded) return 1;
  if (is_looked_at(request)) return look_at(request);
  if (request->taken != NULL && !taken_all(request)) return 0;
  int done = 0;
  const esp_status status = esp_request_test(&request->handle, &done);
  if (!done) return 0;
  request->outcome = status;
  set_progress(request, kEnded);
  return 1;
}

int request_has_ended(Request* request) {
  if (atomic_exchange(&request->is_asked, 1)) return 0;
  const int done = request_is_done(request);
  atomic_store(&request->is_asked, 0);
  return done;
}

static int test_for(MPI_Request* handle, int* done, MPI_Status* status) {
  if (request_is_idle(*handle)) {
    set_empty(status);
    *done = 1;
    return MPI_SUCCESS;
  }
  *done = request_is_done(*handle);
  return *done ? finish(handle, status) : MPI_SUCCESS;
}

int request_check_array(const char* function, int count, const MPI_Request* requests,
                        const void* result) {
  require_ready(function);
  if (count < 0) return raise_error(function, NULL, MPI_ERR_COUNT, "negative count");
  if (count > 0 && requests == NULL) {
    return raise_error(function, NULL, MPI_ERR_REQUEST, "null requests");
  }
  if (result == NULL) return raise_error(function, NULL, MPI_ERR_ARG, "null result");
  return MPI_SUCCESS;
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  require_ready(__func__);
  if (request == NULL) return raise_error(__func__, NULL, MPI_ERR_REQUEST, "null request");
  return wait_for(request, status);
}

int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  const int code = request_check_array(__func__, 1, request, flag);
  return code == MPI_SUCCESS ? test_for(request, flag, status) : code;
}

static int wait_all(int count, MPI_Request requests[], MPI_Status statuses[]) {
  int result = MPI_SUCCESS;
  for (int i = 0; i < count; ++i) {
    const int one = wait_for(&requests[i], status_at(statuses, i));
    set_error(statuses, i, one);
    if (one != MPI_SUCCESS) result = MPI_ERR_IN_STATUS;
  }
  return result;
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  const int code = request_check_array(__func__, count, requests, "");
  return code == MPI_SUCCESS ? wait_all(count, requests, statuses) : code;
}

/* Takes no request unless all have ended, as the standard asks. */
int MPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  const int code = request_check_array(__func__, count, requests, flag);
  if (code != MPI_SUCCESS) return code;
  *flag = 1;
  for (int i = 0; i < count; ++i) {
    if (!request_is_idle(requests[i]) && !request_is_done(requests[i])) *flag = 0;
  }
  return *flag ? wait_all(count, requests, statuses) : MPI_SUCCESS;
}

/* The same where the library does not know of all. */
static void look_for_any(int count, MPI_Request requests[], int* index) {
  for (int open = 1; open > 0; sched_yield()) {
    open = 0;
    for (int i = 0; i < count; ++i) {
      if (request_is_idle(requests[i])) continue;
      ++open;
      if (!request_is_done(requests[i])) continue;
      *index = i;
      return;
    }
  }
}

static int library_knows(int count, MPI_Request requests[]) {
  for (int i = 0; i < count; ++i) {
    if (request_is_idle(requests[i])) continue;
    if (is_looked_at(requests[i]) || requests[i]->partner != NULL) return 0;
  }
  return 1;
}

/* Until one has ended, whose outcome is kept; it is not taken from the program. */
static int wait_any(const char* function, int count, MPI_Request requests[], int* index) {
  *index = MPI_UNDEFINED;
  if (!library_knows(count, requests)) {
    look_for_any(count, requests, index);
    return MPI_SUCCESS;
  }
  esp_request** handles = malloc(((size_t)count + 1) * sizeof *handles);
  if (handles == NULL) return raise_error(function, NULL, MPI_ERR_NO_MEM, "no memory");
  int found = -1;
  for (int i = 0; i < count; ++i) {
    handles[i] = request_is_idle(requests[i]) ? NULL : requests[i]->handle;
    if (!request_is_idle(requests[i]) && requests[i]->progress == kEnded)
      found = i; /* in MPI_Testall */
  }
  if (found < 0) {
    const esp_status outcome = esp_request_wait_any(handles, (size_t)count, &found);
    if (found >= 0) {
      requests[found]->handle = handles[found];
      requests[found]->outcome = outcome;
      set_progress(requests[found], kEnded);
    }
  }
  free(handles);
  if (found >= 0) *index = found;
  return MPI_SUCCESS;
}

int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  const int code = request_check_array(__func__, count, requests, index);
  if (code != MPI_SUCCESS) return code;
  set_empty(status);
  const int waited = wait_any(__func__, count, requests, index);
  if (waited != MPI_SUCCESS || *index == MPI_UNDEFINED) return waited;
  return finish(&requests[*index], status);
}

int MPI_Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  const int code = request_check_array(__func__, count, requests, index);
  if (code != MPI_SUCCESS) return code;
  if (flag == NULL) return raise_error(__func__, NULL, MPI_ERR_ARG, "null result");
  *index = MPI_UNDEFINED;
  *flag = 1;
  set_empty(status);
  for (int i = 0; i < count; ++i) {
    if (request_is_idle(requests[i])) continue;
    const int result = test_for(&requests[i], flag, status);
    if (*flag) {
      *index = i;
      return result;
    }
  }
  return MPI_SUCCESS;
}

/* Those that have ended, of which the caller knows that there is one, or that all are idle. */
static int take_some(int count, MPI_Request requests[], int* outcount, int indices[],
                     MPI_Status statuses[]) {
  int result = MPI_SUCCESS, open = 0;
  *outcount = 0;
  for (int i = 0; i < count; ++i) {
    if (request_is_idle(requests[i])) continue;
    ++open;
    if (!request_is_done(requests[i])) continue;
    const int one = finish(&requests[i], status_at(statuses, *outcount));
    set_error(statuses, *outcount, one);
    if (one != MPI_SUCCESS) result = MPI_ERR_IN_STATUS;
    indices[(*outcount)++] = i;
  }
  if (open == 0) *outcount = MPI_UNDEFINED;
  return result;
}

int MPI_Waitsome(int incount, MPI_Request requests[], int* outcount, int indices[],
                 MPI_Status statuses[]) {
  const int code = request_check_array(__func__, incount, requests, outcount);
  if (code != MPI_SUCCESS) return code;
  int index = MPI_UNDEFINED;
  const int waited = wait_any(__func__, incount, requests, &index);
  if (waited != MPI_SUCCESS) return waited;
  return take_some(incount, requests, outcount, indices, statuses);
}

int MPI_Testsome(int incount, MPI_Request requests[], int* outcount, int indices[],
                 MPI_Status statuses[]) {
  const int code = request_check_array(__func__, incount, requests, outcount);
  return code == MPI_SUCCESS ? take_some(incount, requests, outcount, indices, statuses) : code;
}

/* ---- persistent requests ---- */

static int check_start(const char* function, MPI_Request request) {
  const int is_null = request_is_null(request);
  if (is_null || !request->persistent || request->progress != kInactive) {
    return raise_error(function, is_null ? NULL : request->comm, MPI_ERR_REQUEST,
                       "not an inactive persistent request");
  }
  return MPI_SUCCESS;
}

static int start(const char* function, Request* request) {
  if (request->kind == kMessage)
    return raise_status(function, request->comm, message_start(request));
  if (request->partitioned != NULL) {
    partitioned_start(request->partitioned);
    set_progress(request, kUnderWay);
    return MPI_SUCCESS;
  }
  if (request->handle == NULL) { /* nobody to wait for */
    set_progress(request, kEnded);
    return MPI_SUCCESS;
  }
  if (request->taken != NULL) taken_clear(request->taken);
  request->is_unpacked = 0;
  esp_status status = request->stage != NULL ? stage_begin(request->stage) : ESP_OK;
  if (status == ESP_OK) status = esp_request_start(request->handle);
  if (status != ESP_OK) return raise_status(function, request->comm, status);
  set_progress(request, kUnderWay);
  return MPI_SUCCESS;
}

int MPI_Start(MPI_Request* request) {
  int code = request_check_array(__func__, 1, request, "");
  if (code == MPI_SUCCESS) code = check_start(__func__, *request);
  return code == MPI_SUCCESS ? start(__func__, *request) : code;
}

int MPI_Startall(int count, MPI_Request requests[]) {
  int code = request_check_array(__func__, count, requests, "");
  for (int i = 0; i < count && code == MPI_SUCCESS; ++i) {
    code = check_start(__func__, requests[i]);
  }
  for (int i = 0; i < count && code == MPI_SUCCESS; ++i) code = start(__func__, requests[i]);
  return code;
}

/* An active one of messages, or of the program, goes on without its handle; of collectives none is
 * to be freed. */
int MPI_Request_free(MPI_Request* handle) {
  int code = request_check_array(__func__, 1, handle, "");
  if (code != MPI_SUCCESS) return code;
  Request* request = *handle;
  if (!request_is_null(request) && request->kind >= kMessage) {
    *handle = MPI_REQUEST_NULL;
    if (request->kind == kGeneralized) return generalized_free(request);
    if (request->progress == kUnderWay) {
      request_abandon(request);
    } else {
      request_destroy(request);
    }
    return MPI_SUCCESS;
  }
  code = check_start(__func__, request);
  if (code != MPI_SUCCESS) return code;
  (void)esp_request_free(&request->handle); /* of NULL: nothing */
  request_destroy(request);
  *handle = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}
