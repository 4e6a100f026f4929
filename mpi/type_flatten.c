/* How a type lies in memory, from its parts: bounds, and runs of bytes. path: setup */
#include <stdlib.h>
#include <string.h>

#include "mpi/datatype.h"

/* ---- bounds ---- */

/* a + b * c. 0: overflow. */
static int add_product(ptrdiff_t a, ptrdiff_t b, ptrdiff_t c, ptrdiff_t* sum) {
  ptrdiff_t product;
  return !__builtin_mul_overflow(b, c, &product) && !__builtin_add_overflow(a, product, sum);
}

/* Where the first and the last byte of a part's elements can be, if one lies at `low` to `high`. */
static int span_of(const Part* part, ptrdiff_t low, ptrdiff_t high, ptrdiff_t* first,
                   ptrdiff_t* last) {
  ptrdiff_t end;
  if (part->count > PTRDIFF_MAX ||
      !add_product(part->at, (ptrdiff_t)part->count - 1, part->stride, &end)) {
    return 0;
  }
  const ptrdiff_t least = end < part->at ? end : part->at;
  const ptrdiff_t most = end < part->at ? part->at : end;
  return !__builtin_add_overflow(least, low, first) && !__builtin_add_overflow(most, high, last);
}

static ptrdiff_t lower(int is_set, ptrdiff_t one, ptrdiff_t other) {
  return is_set && one < other ? one : other;
}

static ptrdiff_t higher(int is_set, ptrdiff_t one, ptrdiff_t other) {
  return is_set && one > other ? one : other;
}

/* What was set inside counts alone where something was. */
static int take_part(Datatype* type, const Part* part) {
  const Datatype* of = part->of;
  ptrdiff_t first, last;
  size_t bytes, elements;
  if (__builtin_mul_overflow(of->size, part->count, &bytes) ||
      __builtin_add_overflow(type->size, bytes, &type->size) || type->size > PTRDIFF_MAX ||
      __builtin_mul_overflow(of->elements, part->count, &elements)) {
    return 0;
  }
  if (of->elements > 0) {
    if (!span_of(part, of->true_lb, of->true_ub, &first, &last)) return 0;
    type->true_lb = lower(type->elements > 0, type->true_lb, first);
    type->true_ub = higher(type->elements > 0, type->true_ub, last);
  }
  if (!span_of(part, of->lb, of->ub, &first, &last)) return 0;
  if (of->has_lb) type->lb = lower(type->has_lb, type->lb, first);
  if (of->has_ub) type->ub = higher(type->has_ub, type->ub, last);
  type->has_lb = type->has_lb || of->has_lb;
  type->has_ub = type->has_ub || of->has_ub;
  if (elements > 0)
    type->basic = type->elements == 0 || type->basic == of->basic ? of->basic : NULL;
  type->elements += elements;
  if (of->alignment > type->alignment) type->alignment = of->alignment;
  return 1;
}

/* Without bounds that are set an element ends where the next may begin. */
static int settle_bounds(Datatype* type) {
  ptrdiff_t extent;
  if (!type->has_lb) type->lb = type->true_lb;
  if (!type->has_ub) type->ub = type->true_ub;
  if (__builtin_sub_overflow(type->ub, type->lb, &extent)) return 0;
  if (type->has_ub || extent <= 0) return 1;
  const ptrdiff_t over = extent % (ptrdiff_t)type->alignment;
  return over == 0 ||
         !__builtin_add_overflow(type->ub, (ptrdiff_t)type->alignment - over, &type->ub);
}

int datatype_resize(Datatype* type, ptrdiff_t lb, ptrdiff_t extent) {
  type->has_lb = type->has_ub = 1;
  type->lb = lb;
  return !__builtin_add_overflow(lb, extent, &type->ub);
}

/* ---- runs ---- */

static int is_piece(const Run* run) {
  return run->inside == NULL && run->count == 1;
}

/* Makes it one with the run before where both are one piece, or one at a stride. */
static int joins(Run* last, const Run* run) {
  if (!is_piece(run) || last->inside != NULL) return 0;
  if (last->count == 1 && last->at + (ptrdiff_t)last->bytes == run->at) {
    last->bytes += run->bytes;
    return 1;
  }
  if (last->bytes != run->bytes) return 0;
  if (last->count > 1 && last->at + (ptrdiff_t)last->count * last->stride != run->at) return 0;
  if (last->count == 1 && __builtin_sub_overflow(run->at, last->at, &last->stride)) return 0;
  ++last->count;
  return 1;
}

/* 0: no memory. The array has room for powers of two. */
static int append(Datatype* type, Run run) {
  const size_t n = type->run_count;
  if (n > 0 && joins(&type->runs[n - 1], &run)) return 1;
  if ((n & (n - 1)) == 0) {
    Run* room = realloc(type->runs, (n == 0 ? 1 : 2 * n) * sizeof *room);
    if (room == NULL) return 0;
    type->runs = room;
  }
  run.begin =
      n == 0 ? 0 : type->runs[n - 1].begin + type->runs[n - 1].count * type->runs[n - 1].bytes;
  type->runs[n] = run;
  ++type->run_count;
  return 1;
}

/* One at a stride whose pieces touch is one piece. */
static Run simplified(Run run) {
  if (run.inside == NULL && run.count > 1 && run.stride == (ptrdiff_t)run.bytes) {
    run.bytes *= run.count;
    run.count = 1;
  }
  return run;
}

/* Elements that are few runs each are not worth a level of the tree. */
enum { kInlined = 8 };

static int append_part(Datatype* type, const Part* part) {
  const Datatype* of = part->of;
  const Run* inner = of->runs;
  if (of->run_count == 1 && (inner->count == 1 || part->count == 1 ||
                             part->stride == (ptrdiff_t)inner->count * inner->stride)) {
    Run run = *inner;
    run.at += part->at;
    if (inner->count == 1) run.stride = part->stride;
    run.count *= part->count;
    return append(type, simplified(run));
  }
  if (part->count == 1 && of->run_count <= kInlined) {
    int done = 1;
    for (size_t i = 0; i < of->run_count && done; ++i) {
      Run run = inner[i];
      run.at += part->at;
      done = append(type, run);
    }
    return done;
  }
  return append(type, (Run){.at = part->at,
                            .count = part->count,
                            .stride = part->stride,
                            .bytes = of->size,
                            .inside = of});
}

/* ---- both ---- */

static void fill(Datatype* type, const Part* parts, size_t count, int* error_class) {
  for (size_t i = 0; i < count; ++i) {
    const Datatype* of = parts[i].of;
    if (parts[i].count == 0 || (of->elements == 0 && !of->has_lb && !of->has_ub)) continue;
    if (!take_part(type, &parts[i])) {
      *error_class = MPI_ERR_COUNT;
      return;
    }
    datatype_retain(of);
    type->parts[type->part_count++] = parts[i];
    if (of->depth >= type->depth) type->depth = of->depth + 1;
    if (of->size > 0 && !append_part(type, &parts[i])) {
      *error_class = MPI_ERR_NO_MEM;
      return;
    }
  }
  if (!settle_bounds(type)) *error_class = MPI_ERR_COUNT;
  if (type->depth > kDepthMax) *error_class = MPI_ERR_UNSUPPORTED_OPERATION;
}

Datatype* datatype_compose(const Part* parts, size_t count, int* error_class) {
  Datatype* type = calloc(1, sizeof *type);
  Part* copied = calloc(count + 1, sizeof *copied);
  *error_class = MPI_ERR_NO_MEM;
  if (type == NULL || copied == NULL) {
    free(type);
    free(copied);
    return NULL;
  }
  atomic_init(&type->references, 1);
  atomic_init(&type->is_committed, 0);
  type->alignment = 1;
  type->parts = copied;
  *error_class = MPI_SUCCESS;
  fill(type, parts, count, error_class);
  if (*error_class == MPI_SUCCESS) return type;
  datatype_release(type);
  return NULL;
}
