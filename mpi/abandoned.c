/* What is asked of requests of messages besides waiting: how they stand, that they be cancelled,
 * and to forget those that are under way. path: setup
 */
#include "mpi/message.h"

/* Guarded by state_lock(). Linked by `next_abandoned`. */
static Request* abandoned;

static Request* take_one(void) {
  state_lock();
  Request* request = abandoned;
  if (request != NULL) abandoned = request->next_abandoned;
  state_unlock();
  return request;
}

static void forget(Request* request) {
  request_unpack(request);
  request_destroy(request);
}

/* Those that have ended are gone; what is freed with them may want the lock. */
static void reap(void) {
  Request* ended = NULL;
  state_lock();
  for (Request** link = &abandoned; *link != NULL;) {
    Request* request = *link;
    if (!request_has_ended(request)) {
      link = &request->next_abandoned;
      continue;
    }
    *link = request->next_abandoned;
    request->next_abandoned = ended;
    ended = request;
  }
  state_unlock();
  while (ended != NULL) {
    Request* request = ended;
    ended = request->next_abandoned;
    forget(request);
  }
}

void request_abandon(Request* request) {
  state_lock();
  request->next_abandoned = abandoned;
  abandoned = request;
  state_unlock();
  reap();
}

void requests_await_abandoned(void) {
  Request* request;
  while ((request = take_one()) != NULL) {
    request_await(request);
    forget(request);
  }
}

int MPI_Cancel(MPI_Request* handle) {
  require_ready(__func__);
  if (handle == NULL || request_is_null(*handle)) {
    return raise_error(__func__, NULL, MPI_ERR_REQUEST, "null request");
  }
  Request* request = *handle;
  if (request->kind == kGeneralized) return generalized_cancel(request);
  if (request->kind != kMessage) {
    return raise_error(__func__, request->comm, MPI_ERR_REQUEST,
                       "requests of messages alone can be cancelled");
  }
  if (request->progress == kInactive) {
    return raise_error(__func__, request->comm, MPI_ERR_REQUEST, "the request is not active");
  }
  if (request->mode != kReceives || request->progress != kUnderWay || request->partner != NULL) {
    return MPI_SUCCESS;
  }
  request->is_canceled = 1;
  (void)esp_tag_cancel(request->handle);
  return MPI_SUCCESS;
}
