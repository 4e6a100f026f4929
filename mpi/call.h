/* What the collectives share: the arguments of a call, checked, and requests for those that start.
 *
 * Each collective fills a Call by the functions below, which it calls in the order in which the
 * standard lists the arguments, in one function for all forms, so that the blocking, the
 * non-blocking and the persistent one cannot differ. They raise what is wrong and return the code
 * of it, MPI_SUCCESS otherwise. path: short
 */
#ifndef ESPALIER_MPI_CALL_H
#define ESPALIER_MPI_CALL_H

#include "mpi/stage.h"

/* Blocks of one side, all alike. */
typedef struct Data {
  const Datatype* type; /* NULL: there are none, or they are in place */
  size_t count, bytes;  /* of a block */
  size_t blocks;
  When when; /* they are staged if they must be; 0: by the side that they are on */
} Data;

/* What a reduction is whose type the library does not combine (fold.c). */
typedef struct FoldPlan {
  enum { kFoldToRoot, kFoldToAll, kFoldBlocks } kind;
  int root;
  size_t contributions; /* that this rank combines; 0: it gets nothing */
  Numbers counts;       /* of the blocks; null: all alike */
} FoldPlan;

typedef struct Call {
  const char* function;
  Comm* comm;
  const void* input;
  void* output;
  size_t count;
  esp_type type;
  esp_op op;
  Op* user_op; /* NULL for predefined operators */
  int persistent;
  Data in, out;
  Stage* stage; /* NULL: there is nothing to be packed, nor a type to be kept */
  FoldPlan fold;
  int is_fold;
} Call;

int call_comm(Call* call, MPI_Comm handle);
/* The blocks of a side. What is moved goes as bytes, of which `call` has the number: the types of
 * the two sides and of the ranks may be different handles for the same bytes. */
int call_data(Call* call, Data* side, MPI_Count count, MPI_Datatype datatype);
/* The same and its buffer, for calls whose sides are checked one by one. */
int call_one(Call* call, Data* side, const void* buffer, MPI_Count count, MPI_Datatype datatype);
int call_root(Call* call, int root);
/* After both sides. `receives`: this rank gets the result, so that both buffers count. */
int call_buffers(Call* call, const void* sendbuf, void* recvbuf, int receives);
/* Is the buffer of a side null? MPI_BOTTOM may be one, where a type has addresses. */
static inline int call_is_null(const Data* side, const void* buffer) {
  return side->type != NULL && side->bytes > 0 && displaced(buffer, side->type->true_lb) == NULL;
}

/* Raises that a block sent is not one received. Each side: its count, and that in bytes. */
typedef struct Extent {
  MPI_Count count;
  size_t bytes;
} Extent;
int call_truncates(const Call* call, const char* what, Extent sent, Extent received);

/* When all was checked: how the elements go to the library. Dense ones as bytes from where they
 * begin; those of a type that the library has, too, as its elements; others are staged. */
int call_fit(Call* call);
/* Does one direction go as bytes of the program's memory? */
static inline int call_is_plain(const Data* side) {
  return side->type == NULL || side->bytes == 0 ||
         datatype_is_piece(side->type, side->blocks <= 1 ? side->count : SIZE_MAX);
}
/* The one type of the library that both sides are of. Keeps it. 0: there is none. */
int call_layout(const Data* in, const Data* out, esp_type* layout);
/* Raises that there is no memory, and ends the stage. */
int call_no_memory(Call* call);

/* Around a blocking call of the library. */
static inline int call_pack(const Call* call) {
  if (call->stage != NULL) stage_begin(call->stage);
  return MPI_SUCCESS;
}
int call_staged_done(const Call* call, esp_status status);
static inline int call_done(const Call* call, esp_status status) {
  if (call->stage != NULL) return call_staged_done(call, status);
  return raise_status(call->function, call->comm, status);
}

/* ---- fold.c: reductions of types that the library does not combine ---- */

/* The operator on the type of call->in: call->count is elements afterwards. Where the library does
 * not combine the type the call is a fold, for which `plan` says how. */
int call_op(Call* call, MPI_Op handle, FoldPlan plan);
/* Runs a call that is a fold, or makes its request. */
int fold_call(Call* call);
int fold_start(Call* call, MPI_Request* handle);

/* A request for the call with room for so many counts and displacements, or NULL after raising (the
 * code is in *code). */
Request* call_begin(const Call* call, size_t arrays, MPI_Request* handle, int* code);
/* Gives the request to the program, or ends it when the library did not start the operation. */
int call_end(const Call* call, Request* request, esp_status status, MPI_Request* handle);

/* What the library is asked for besides, or NULL. */
typedef struct Wishes {
  esp_coll_options options;
  esp_partial partial;
} Wishes;
const esp_coll_options* call_wishes(const Request* request, Wishes* room);
static inline const esp_coll_options* call_options(const Request* request, Wishes* room) {
  return request->taken == NULL ? NULL : call_wishes(request, room);
}

/* All forms of one collective: PREPARE fills `call` from the parameters, and the rest are the
 * arguments of esp_NAME. PARAMETERS(COUNT, DISPL) is the list of parameters with the types that
 * tell the two sizes of counts apart; PREPARE is of both. */
#define CALL_AFTER(...) __VA_ARGS__,
#define CALL_FORM(FUNCTION, PARAMETERS, FORM, BEGIN, PREPARE, ...)                  \
  int FUNCTION PARAMETERS {                                                         \
    Call call = {.function = __func__, .persistent = FORM};                         \
    int code = PREPARE;                                                             \
    if (code == MPI_SUCCESS && call.is_fold) return fold_start(&call, handle);      \
    if (code == MPI_SUCCESS) code = call_fit(&call);                                \
    if (code != MPI_SUCCESS) return code;                                           \
    Request* request = call_begin(&call, 0, handle, &code);                         \
    if (request == NULL) return code;                                               \
    Wishes wishes;                                                                  \
    const esp_status status =                                                       \
        BEGIN(__VA_ARGS__, call_options(request, &wishes), NULL, &request->handle); \
    return call_end(&call, request, status, handle);                                \
  }
#define CALL_FORMS_OF(BLOCKING, STARTED, PERSISTENT, NAME, PARAMETERS, PREPARE, ...)               \
  int BLOCKING PARAMETERS {                                                                        \
    Call call = {.function = __func__};                                                            \
    int code = PREPARE;                                                                            \
    if (code == MPI_SUCCESS && call.is_fold) return fold_call(&call);                              \
    if (code == MPI_SUCCESS) code = call_fit(&call);                                               \
    if (code == MPI_SUCCESS) code = call_pack(&call);                                              \
    if (code != MPI_SUCCESS) return code;                                                          \
    return call_done(&call, esp_##NAME(__VA_ARGS__));                                              \
  }                                                                                                \
  CALL_FORM(STARTED, (CALL_AFTER PARAMETERS MPI_Request * handle), 0, esp_##NAME##_start, PREPARE, \
            __VA_ARGS__)                                                                           \
  CALL_FORM(PERSISTENT, (CALL_AFTER PARAMETERS MPI_Info info, MPI_Request * handle),               \
            persistent(info), esp_##NAME##_init, PREPARE, __VA_ARGS__)
#define CALL_FORMS(BLOCKING, STARTED, NAME, PARAMETERS, PREPARE, ...)                             \
  CALL_FORMS_OF(MPI_##BLOCKING, MPI_##STARTED, MPI_##BLOCKING##_init, NAME, PARAMETERS(int, int), \
                PREPARE, __VA_ARGS__)                                                             \
  CALL_FORMS_OF(MPI_##BLOCKING##_c, MPI_##STARTED##_c, MPI_##BLOCKING##_init_c, NAME,             \
                PARAMETERS(MPI_Count, MPI_Aint), PREPARE, __VA_ARGS__)

/* The library has no use for hints. */
static inline int persistent(MPI_Info info) {
  (void)info;
  return 1;
}

#endif /* ESPALIER_MPI_CALL_H */
