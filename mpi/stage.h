/* Staging: elements that the library cannot take as they lie, packed before an operation and
 * unpacked after it; the types that it uses; and reductions of the user's own types (fold.c), which
 * are combined when all contributions have come.
 *
 * Ownership: with its request, or with the blocking call. Persistent requests begin and end theirs
 * in each round. path: data
 */
#ifndef ESPALIER_MPI_STAGE_H
#define ESPALIER_MPI_STAGE_H

#include "mpi/datatype.h"

/* What happens to the elements. Where the operation may leave some alone they are packed, too. */
typedef enum When { kNever = 0, kBefore = 1, kAfter = 2, kBoth = 3 } When;

/* Elements of one type, which is referenced. */
typedef struct Move {
  const Datatype* type;
  void* at;
  size_t count;
  size_t packed; /* where in the memory of the stage, and how much */
  size_t bytes;
  When when;
} Move;

/* A reduction by an operator of the user: see fold.c. */
typedef struct Fold {
  const Op* op; /* NULL: this is none */
  const Datatype* type;
  size_t count; /* elements of each contribution */
  size_t bytes;
  size_t contributions; /* from the first on; 0: this rank gets nothing */
  size_t gathered;      /* where in the memory they come to */
  void* result;
  void* scratch[2]; /* where elements begin, in memory of `room` */
  void* room;
} Fold;

struct Stage {
  size_t moves;
  size_t bytes; /* of the memory */
  char* memory;
  Fold fold;
  Move move[];
};

/* With room for so many moves; NULL when there is no memory. */
Stage* stage_create(size_t moves);
/* Adds bytes to the memory and returns where they are. What is too large for it is so in
 * stage_allocate(). */
size_t stage_grow(Stage* stage, size_t bytes);
static inline size_t stage_product(size_t a, size_t b) {
  size_t product;
  return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}
/* Adds elements and returns where they are packed. */
size_t stage_add(Stage* stage, const Datatype* type, void* at, size_t count, When when);
/* Only keeps the type. */
static inline void stage_hold(Stage* stage, const Datatype* type) {
  (void)stage_add(stage, type, NULL, 0, kNever);
}
/* When all were added. 0: no memory. */
int stage_allocate(Stage* stage);
/* Either fails where memory of a device cannot be copied. */
esp_status stage_begin(Stage* stage);
esp_status stage_end(Stage* stage);
void stage_free(Stage* stage);

/* ---- fold.c ---- */

esp_status fold_end(Stage* stage);

#endif /* ESPALIER_MPI_STAGE_H */
