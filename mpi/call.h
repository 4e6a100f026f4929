/* What the collectives share: the arguments of a call, checked, and requests for those that start.
 *
 * Each collective fills a Call by the functions below, which it calls in the order in which the
 * standard lists the arguments, in one function for all forms, so that the blocking, the
 * non-blocking and the persistent one cannot differ. They raise what is wrong and return the code
 * of it, MPI_SUCCESS otherwise. path: short
 */
#ifndef ESPALIER_MPI_CALL_H
#define ESPALIER_MPI_CALL_H

#include "mpi/facade.h"

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
} Call;

int call_comm(Call* call, MPI_Comm handle);
int call_data(Call* call, int count, MPI_Datatype datatype);
/* The same for data that is only moved, which the library takes as bytes: the types of the two
 * sides and of the ranks may be different handles for the same bytes. */
int call_block(Call* call, int count, MPI_Datatype datatype);
/* The same and its buffer, for calls whose sides are checked one by one. */
int call_one(Call* call, const void* buffer, int count, MPI_Datatype datatype);
int call_root(Call* call, int root);
/* After call_data(). */
int call_op(Call* call, MPI_Op handle, MPI_Datatype datatype);
/* After call_data() or call_block(). `receives`: this rank gets the result, so that both buffers
 * count. */
int call_buffers(Call* call, const void* sendbuf, void* recvbuf, int receives);

/* Raises that a block sent is not one received. Each side: its count, and that in bytes. */
typedef struct Extent {
  int count;
  size_t bytes;
} Extent;
int call_truncates(const Call* call, const char* what, Extent sent, Extent received);

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
 * arguments of esp_NAME. */
#define CALL_AFTER(...) __VA_ARGS__,
#define CALL_FORM(FUNCTION, PARAMETERS, FORM, BEGIN, PREPARE, ...)                  \
  int FUNCTION PARAMETERS {                                                         \
    Call call = {.function = __func__, .persistent = FORM};                         \
    int code = PREPARE;                                                             \
    if (code != MPI_SUCCESS) return code;                                           \
    Request* request = call_begin(&call, 0, handle, &code);                         \
    if (request == NULL) return code;                                               \
    Wishes wishes;                                                                  \
    const esp_status status =                                                       \
        BEGIN(__VA_ARGS__, call_options(request, &wishes), NULL, &request->handle); \
    return call_end(&call, request, status, handle);                                \
  }
#define CALL_FORMS(BLOCKING, STARTED, PERSISTENT, NAME, PARAMETERS, PREPARE, ...)                  \
  int BLOCKING PARAMETERS {                                                                        \
    Call call = {.function = __func__};                                                            \
    const int code = PREPARE;                                                                      \
    if (code != MPI_SUCCESS) return code;                                                          \
    return raise_status(__func__, call.comm, esp_##NAME(__VA_ARGS__));                             \
  }                                                                                                \
  CALL_FORM(STARTED, (CALL_AFTER PARAMETERS MPI_Request * handle), 0, esp_##NAME##_start, PREPARE, \
            __VA_ARGS__)                                                                           \
  CALL_FORM(PERSISTENT, (CALL_AFTER PARAMETERS MPI_Info info, MPI_Request * handle),               \
            persistent(info), esp_##NAME##_init, PREPARE, __VA_ARGS__)

/* The library has no use for hints. */
static inline int persistent(MPI_Info info) {
  (void)info;
  return 1;
}

#endif /* ESPALIER_MPI_CALL_H */
