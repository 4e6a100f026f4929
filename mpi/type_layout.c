/* Datatypes as types of the library: what of them it can pack and unpack itself, segment by
 * segment. path: setup (made once), short (the look-up)
 */
#include <stdlib.h>

#include "espalier/layouts.h"
#include "mpi/datatype.h"

/* More pieces in an element are not worth a list. */
enum { kPiecesMax = 1 << 16 };

typedef struct Pieces {
  size_t count;
  size_t end; /* of the last one, relative to the first byte */
  size_t *lengths, *displs;
} Pieces;

/* Pieces in an element, as far as the limit. */
static size_t count_pieces(const Datatype* type) {
  size_t pieces = 0;
  for (size_t i = 0; i < type->run_count && pieces <= kPiecesMax; ++i) {
    const Run* run = &type->runs[i];
    const size_t inside = run->inside != NULL ? count_pieces(run->inside) : 1;
    if (run->count > kPiecesMax) return kPiecesMax + 1;
    pieces += run->count * inside;
  }
  return pieces;
}

/* 0: they are not in ascending order, or overlap. */
static int list_pieces(Pieces* pieces, const Datatype* type, ptrdiff_t base) {
  for (size_t i = 0; i < type->run_count; ++i) {
    const Run* run = &type->runs[i];
    for (size_t k = 0; k < run->count; ++k) {
      const ptrdiff_t at = base + run->at + (ptrdiff_t)k * run->stride;
      if (run->inside != NULL) {
        if (!list_pieces(pieces, run->inside, at)) return 0;
        continue;
      }
      if (at < (ptrdiff_t)pieces->end) return 0;
      pieces->lengths[pieces->count] = run->bytes;
      pieces->displs[pieces->count++] = (size_t)at;
      pieces->end = (size_t)at + run->bytes;
    }
  }
  return 1;
}

static int make_listed(const Datatype* type, size_t extent, esp_type* made) {
  const size_t count = count_pieces(type);
  if (count > kPiecesMax) return 0;
  Pieces pieces = {.lengths = calloc(count + 1, sizeof(size_t)),
                   .displs = calloc(count + 1, sizeof(size_t))};
  const int done = pieces.lengths != NULL && pieces.displs != NULL &&
                   list_pieces(&pieces, type, -type->true_lb) &&
                   esp_type_blocks(state_job(), ESP_BYTE, pieces.count, pieces.lengths,
                                   pieces.displs, extent, made) == ESP_OK;
  free(pieces.lengths);
  free(pieces.displs);
  return done;
}

static int make(const Datatype* type, esp_type* made) {
  const ptrdiff_t extent = datatype_extent(type);
  if (extent <= 0) return 0;
  const Run* run = type->runs;
  if (type->run_count == 1 && run->inside == NULL &&
      (run->count == 1 || run->stride >= (ptrdiff_t)run->bytes)) {
    const size_t stride = run->count == 1 ? run->bytes : (size_t)run->stride;
    return esp_type_strided(state_job(), ESP_BYTE, run->count, run->bytes, stride, (size_t)extent,
                            made) == ESP_OK;
  }
  return make_listed(type, (size_t)extent, made);
}

int datatype_layout(const Datatype* type, esp_type* layout) {
  Datatype* owner = (Datatype*)(uintptr_t)type;
  state_lock_types();
  if (owner->layout_state == 0) owner->layout_state = make(type, &owner->layout) ? 1 : -1;
  const int found = owner->layout_state == 1;
  if (found) *layout = owner->layout;
  state_unlock_types();
  return found;
}

/* Where the library still has an operation's end to clear away, the type goes with the job. */
void datatype_forget_layout(Datatype* type) {
  if (type->layout_state == 1 && state_job() != NULL) {
    (void)esp_type_free(state_job(), type->layout);
  }
  type->layout_state = 0;
}

/* ---- what is given to the library ---- */

static int wrong(const char** problem, int error_class, const char* text) {
  *problem = text;
  return error_class;
}

int type_payload(MPI_Datatype datatype, const void* buffer, MPI_Count count, Payload* payload,
                 const char** problem) {
  const Datatype* type = datatype_of(datatype);
  if (count < 0) return wrong(problem, MPI_ERR_COUNT, "negative count");
  if (type == NULL) return wrong(problem, MPI_ERR_TYPE, "not a datatype");
  if (!atomic_load_explicit(&type->is_committed, memory_order_relaxed)) {
    return wrong(problem, MPI_ERR_TYPE, "the datatype is not committed");
  }
  const size_t elements = (size_t)count;
  size_t bytes;
  if (__builtin_mul_overflow(elements, type->size, &bytes) || bytes > PTRDIFF_MAX) {
    return wrong(problem, MPI_ERR_COUNT, "more than 63 bits of bytes");
  }
  *payload =
      (Payload){kPayloadBytes, type, displaced(buffer, type->true_lb), ESP_BYTE, bytes, bytes};
  if (bytes > 0 && payload->base == NULL) return wrong(problem, MPI_ERR_BUFFER, "null buffer");
  if (datatype_is_piece(type, elements)) return MPI_SUCCESS;
  payload->count = elements;
  if (datatype_layout(type, &payload->type)) {
    payload->form = kPayloadLayout;
  } else {
    payload->form = kPayloadPacked;
    payload->base = (void*)(uintptr_t)buffer;
  }
  return MPI_SUCCESS;
}
