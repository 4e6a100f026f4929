/* Partial completion: blocks of a result that the program reads before the operation is complete.
 *
 * The library hands out each block once and forgets what nobody took when its request is collected,
 * which here may happen long before the program's request is complete (MPI_Testall). So blocks are
 * taken from it first. path: short
 */
#include <pthread.h>
#include <stdlib.h>

#include "mpi/call.h"

struct Taken {
  pthread_mutex_t lock;
  int blocks;
  size_t first, count, room; /* the program has those before `first` */
  esp_segment* segments;
};

Taken* taken_create(int blocks) {
  Taken* taken = malloc(sizeof *taken);
  if (taken == NULL) return NULL;
  *taken = (Taken){.lock = PTHREAD_MUTEX_INITIALIZER, .blocks = blocks};
  return taken;
}

void taken_free(Taken* taken) {
  pthread_mutex_destroy(&taken->lock);
  free(taken->segments);
  free(taken);
}

void taken_clear(Taken* taken) {
  taken->first = taken->count = 0;
}

const esp_coll_options* call_wishes(const Request* request, Wishes* room) {
  *room = (Wishes){ESP_COLL_OPTIONS_INIT, ESP_PARTIAL_INIT};
  room->partial.flags = ESP_PARTIAL_DELIVER;
  room->partial.blocks = request->taken->blocks;
  room->options.partial = &room->partial;
  return &room->options;
}

static int has_room(Taken* taken) {
  if (taken->first == taken->count) taken_clear(taken);
  if (taken->count < taken->room) return 1;
  const size_t room = 2 * taken->room + 8;
  esp_segment* segments = realloc(taken->segments, room * sizeof *segments);
  if (segments == NULL) return 0;
  taken->segments = segments;
  taken->room = room;
  return 1;
}

/* ESP_IN_PROGRESS: more will land; else how it ended. Without memory the rest stays there. */
static esp_status take_landed(Request* request) {
  Taken* taken = request->taken;
  esp_status status = ESP_IN_PROGRESS;
  pthread_mutex_lock(&taken->lock);
  for (int one = 1; one && has_room(taken);) {
    status = esp_segment_take(request->handle, &taken->segments[taken->count], &one);
    if (one) {
      ++taken->count;
      status = ESP_IN_PROGRESS;
    }
  }
  pthread_mutex_unlock(&taken->lock);
  return status;
}

int taken_all(Request* request) {
  if (take_landed(request) != ESP_IN_PROGRESS) return 1;
  (void)esp_progress(state_job());
  return take_landed(request) != ESP_IN_PROGRESS;
}

/* One that the program has not. */
static int take_one(Request* request, esp_segment* segment, esp_status* status) {
  Taken* taken = request->taken;
  int one = 0;
  *status = ESP_OK;
  pthread_mutex_lock(&taken->lock);
  if (taken->first < taken->count) {
    *segment = taken->segments[taken->first++];
    one = 1;
  } else if (request->progress == kUnderWay) {
    *status = esp_segment_take(request->handle, segment, &one);
  } else {
    *status = request->outcome;
  }
  pthread_mutex_unlock(&taken->lock);
  return one;
}

int partial_arrived(const char* function, Request* request, int block, int* flag) {
  *flag = 1;
  if (request_is_null(request) || request->progress == kInactive) return MPI_SUCCESS;
  if (block < 0) return raise_error(function, request->comm, MPI_ERR_ARG, "negative block");
  if (request->progress == kEnded) return MPI_SUCCESS;
  if (request->taken == NULL) {
    *flag = request_has_ended(request);
    return MPI_SUCCESS;
  }
  const int known = esp_arrived(request->handle, block);
  if (known > 0) return MPI_SUCCESS;
  /* Who receives nothing has no blocks at all. */
  if (known < 0 && esp_arrived(request->handle, 0) >= 0) {
    return raise_error(function, request->comm, MPI_ERR_ARG, "the result has no such block");
  }
  (void)esp_progress(state_job());
  if (esp_arrived(request->handle, block) > 0) return MPI_SUCCESS;
  const esp_status status = take_landed(request);
  if (status != ESP_IN_PROGRESS) return raise_status(function, request->comm, status);
  *flag = 0;
  return MPI_SUCCESS;
}

int MPIX_Comm_set_partial(MPI_Comm handle, int blocks) {
  Comm* comm;
  const int code = comm_check(__func__, handle, "", &comm);
  if (code != MPI_SUCCESS) return code;
  if (blocks < 0) return raise_error(__func__, comm, MPI_ERR_ARG, "negative number of blocks");
  atomic_store_explicit(&comm->delivered_blocks, blocks, memory_order_relaxed);
  return MPI_SUCCESS;
}

int MPIX_Parrived(MPI_Request* request, int block, int* flag) {
  require_ready(__func__);
  if (request == NULL || flag == NULL) {
    return raise_error(__func__, NULL, MPI_ERR_ARG, "null request or result");
  }
  return partial_arrived(__func__, *request, block, flag);
}

int MPIX_Parrived_any(MPI_Request* handle, void** address, int* source, int* flag) {
  require_ready(__func__);
  if (handle == NULL || address == NULL || source == NULL || flag == NULL) {
    return raise_error(__func__, NULL, MPI_ERR_ARG, "null request or result");
  }
  *flag = 0;
  Request* request = *handle;
  if (request_is_null(request) || request->progress == kInactive) return MPI_SUCCESS;
  if (request->taken == NULL) {
    return raise_error(__func__, request->comm, MPI_ERR_REQUEST,
                       "the request does not deliver: see MPIX_Comm_set_partial");
  }
  esp_segment segment;
  esp_status status;
  *flag = take_one(request, &segment, &status);
  if (!*flag && status == ESP_IN_PROGRESS) {
    (void)esp_progress(state_job());
    *flag = take_one(request, &segment, &status);
  }
  if (*flag) {
    *address = segment.address;
    *source = segment.source >= 0 ? segment.source : MPI_UNDEFINED;
    return MPI_SUCCESS;
  }
  return status == ESP_IN_PROGRESS ? MPI_SUCCESS : raise_status(__func__, request->comm, status);
}
