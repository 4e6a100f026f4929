/* Collectives whose blocks differ in size, place or type: what the program says of each direction,
 * checked, and the arrays that the library takes instead.
 *
 * MPI counts by int or MPI_Count, in elements of types that may differ from rank to rank; the
 * library takes arrays of size_t, and is asked to move bytes, or elements of a type that both sides
 * are of. Those of a blocking call stand with the communicator, those of a call that starts with
 * its request. path: short
 */
#ifndef ESPALIER_MPI_BLOCKS_H
#define ESPALIER_MPI_BLOCKS_H

#include "mpi/call.h"

/* One direction. Without blocks, this rank has none there. */
typedef struct Side {
  size_t blocks;
  Numbers counts;
  Numbers displs;                  /* in extents of the type, or in bytes if blocks have types */
  const MPI_Datatype* block_types; /* of each block, or NULL */
  const Datatype* type;            /* else: of all blocks */
  int is_staged;
  /* How the library is told: counts and displacements in these, from so far behind the buffer. */
  size_t count_unit, displ_unit;
  ptrdiff_t shift;
  /* What the library is told, once that is laid out. */
  size_t* to_counts;
  size_t* to_displs;
  esp_type* to_types;
} Side;

/* Of a direction that is one block, the call has the data. */
typedef struct VCall {
  Call call;
  Side in;
  Side out;
  int keeps;        /* of blocks that come, the operation may leave some alone */
  size_t own_count; /* elements of the own block, where it is in place and is asked for */
} VCall;

static inline Side side_of_arrays(Numbers counts, Numbers displs) {
  return (Side){.counts = counts, .displs = displs};
}
/* Displacements are in bytes. */
static inline Side side_of_types(Numbers counts, Numbers displs, const MPI_Datatype* types) {
  return (Side){.counts = counts, .displs = displs, .block_types = types};
}

/* Checks one side, which has its arrays, and the buffer of it, which becomes the call's. `datatype`
 * is that of all blocks where these have none of their own. One buffer may serve both directions,
 * as long as their blocks do not overlap. */
int blocks_send(VCall* v, const void* buffer, MPI_Datatype datatype, Side side);
int blocks_receive(VCall* v, void* buffer, MPI_Datatype datatype, Side side);
/* What a rank sends to itself is the one block of which it knows both sides. */
int blocks_own(const VCall* v, Extent sent, Extent received);
Extent blocks_extent(const Side* side, int block);

/* How the elements go to the library, as call_fit(). */
int blocks_fit(VCall* v);
/* Writes the library's arrays. Where a side begins is its lowest block: displacements may be
 * negative in MPI alone. */
int blocks_lay_out(VCall* v);
/* The same for a request: as call_begin(). */
Request* blocks_begin(VCall* v, MPI_Request* handle, int* code);

/* All forms of one collective, as CALL_FORMS: PREPARE fills `v`. */
#define BLOCKS_FORM(FUNCTION, PARAMETERS, FORM, BEGIN, PREPARE, ...)                \
  int FUNCTION PARAMETERS {                                                         \
    VCall v = {.call = {.function = __func__, .persistent = FORM}};                 \
    int code = PREPARE;                                                             \
    if (code == MPI_SUCCESS && v.call.is_fold) return fold_start(&v.call, handle);  \
    if (code == MPI_SUCCESS) code = blocks_fit(&v);                                 \
    if (code != MPI_SUCCESS) return code;                                           \
    Request* request = blocks_begin(&v, handle, &code);                             \
    if (request == NULL) return code;                                               \
    Wishes wishes;                                                                  \
    const esp_status status =                                                       \
        BEGIN(__VA_ARGS__, call_options(request, &wishes), NULL, &request->handle); \
    return call_end(&v.call, request, status, handle);                              \
  }
#define BLOCKS_FORMS_OF(BLOCKING, STARTED, PERSISTENT, NAME, PARAMETERS, PREPARE, ...)      \
  int BLOCKING PARAMETERS {                                                                 \
    VCall v = {.call = {.function = __func__}};                                             \
    int code = PREPARE;                                                                     \
    if (code == MPI_SUCCESS && v.call.is_fold) return fold_call(&v.call);                   \
    if (code == MPI_SUCCESS) code = blocks_fit(&v);                                         \
    if (code == MPI_SUCCESS) code = blocks_lay_out(&v);                                     \
    if (code != MPI_SUCCESS) return code;                                                   \
    (void)call_pack(&v.call);                                                               \
    return call_done(&v.call, esp_##NAME(__VA_ARGS__));                                     \
  }                                                                                         \
  BLOCKS_FORM(STARTED, (CALL_AFTER PARAMETERS MPI_Request * handle), 0, esp_##NAME##_start, \
              PREPARE, __VA_ARGS__)                                                         \
  BLOCKS_FORM(PERSISTENT, (CALL_AFTER PARAMETERS MPI_Info info, MPI_Request * handle),      \
              persistent(info), esp_##NAME##_init, PREPARE, __VA_ARGS__)
#define BLOCKS_FORMS(BLOCKING, STARTED, NAME, PARAMETERS, PREPARE, ...)                 \
  BLOCKS_FORMS_OF(MPI_##BLOCKING, MPI_##STARTED, MPI_##BLOCKING##_init, NAME,           \
                  PARAMETERS(int, int), PREPARE, __VA_ARGS__)                           \
  BLOCKS_FORMS_OF(MPI_##BLOCKING##_c, MPI_##STARTED##_c, MPI_##BLOCKING##_init_c, NAME, \
                  PARAMETERS(MPI_Count, MPI_Aint), PREPARE, __VA_ARGS__)

#endif /* ESPALIER_MPI_BLOCKS_H */
