/* User-defined operators.
 *
 * MPI hands the user's function the datatype of the call, and several MPI datatypes are one type of
 * the library, so an operator is bound once per datatype it is used with: each binding is an
 * operator of the library whose context knows both. path: setup; the trampoline: data
 */
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "mpi/datatype.h"

typedef struct Binding {
  const Op* of;
  MPI_Datatype datatype;
  esp_op op;
  struct Binding* next;
} Binding;

/* One of them. */
typedef struct Functions {
  MPI_User_function* function;
  MPI_User_function_c* large_function;
  MPIX_User_function_x* function_x;
  /* Of the last one. */
  MPIX_Destructor_function* destructor;
  void* extra;
} Functions;

struct MPI_ABI_Op {
  Number number;
  Functions functions;
  int commutative;
  atomic_int references; /* the program's handle and every pending request */
  pthread_mutex_t lock;  /* guards the list */
  Binding* bindings;
};

/* `stride`: bytes from one element to the next. */
static void apply(const Op* op, const void* in, void* inout, size_t count, ptrdiff_t stride,
                  MPI_Datatype datatype) {
  void* from = (void*)(uintptr_t)in;
  const Functions* functions = &op->functions;
  if (functions->function_x != NULL) {
    functions->function_x(from, inout, (MPI_Count)count, datatype, functions->extra);
    return;
  }
  if (functions->large_function != NULL) {
    MPI_Count length = (MPI_Count)count;
    functions->large_function(from, inout, &length, &datatype);
    return;
  }
  while (count > 0) {
    const size_t done = count < INT_MAX ? count : INT_MAX;
    int length = (int)done;
    MPI_Datatype named = datatype; /* which the function may change */
    functions->function(from, inout, &length, &named);
    from = displaced(from, (ptrdiff_t)done * stride);
    inout = displaced(inout, (ptrdiff_t)done * stride);
    count -= done;
  }
}

static void trampoline(const void* in, void* inout, size_t count, esp_type type, void* context) {
  const Binding* binding = context;
  apply(binding->of, in, inout, count, (ptrdiff_t)esp_type_size(type), binding->datatype);
}

void op_apply(const Op* op, const void* in, void* inout, size_t count, const Datatype* type) {
  apply(op, in, inout, count, datatype_extent(type), datatype_handle(type));
}

static Binding* find(const Op* op, MPI_Datatype datatype) {
  Binding* binding = op->bindings;
  while (binding != NULL && binding->datatype != datatype) binding = binding->next;
  return binding;
}

static esp_status bind_locked(Op* op, MPI_Datatype datatype) {
  Binding* binding = malloc(sizeof *binding);
  if (binding == NULL) return ESP_ERR_NO_MEMORY;
  binding->of = op;
  binding->datatype = datatype;
  const esp_status status =
      esp_op_create(state_job(), trampoline, binding, op->commutative, &binding->op);
  if (status != ESP_OK) {
    free(binding);
    return status;
  }
  binding->next = op->bindings;
  op->bindings = binding;
  return ESP_OK;
}

esp_status op_bind(Op* op, MPI_Datatype datatype, esp_op* bound) {
  esp_status status = ESP_OK;
  pthread_mutex_lock(&op->lock);
  if (find(op, datatype) == NULL) status = bind_locked(op, datatype);
  if (status == ESP_OK) *bound = find(op, datatype)->op;
  pthread_mutex_unlock(&op->lock);
  return status;
}

void op_retain(Op* op) {
  atomic_fetch_add_explicit(&op->references, 1, memory_order_relaxed);
}

void op_release(Op* op) {
  if (atomic_fetch_sub_explicit(&op->references, 1, memory_order_acq_rel) != 1) return;
  while (op->bindings != NULL) {
    Binding* binding = op->bindings;
    op->bindings = binding->next;
    esp_op_free(state_job(), binding->op);
    free(binding);
  }
  if (op->functions.destructor != NULL) op->functions.destructor(op->functions.extra);
  number_forget(&op->number);
  pthread_mutex_destroy(&op->lock);
  free(op);
}

static int create(const char* caller, Functions functions, int commute, MPI_Op* handle) {
  require_ready(caller);
  const int has_one = functions.function != NULL || functions.large_function != NULL ||
                      functions.function_x != NULL;
  if (!has_one || handle == NULL) {
    return raise_error(caller, NULL, MPI_ERR_ARG, "null function or handle");
  }
  Op* op = malloc(sizeof *op);
  if (op == NULL) return raise_error(caller, NULL, MPI_ERR_NO_MEM, "no memory");
  atomic_init(&op->number, 0);
  op->functions = functions;
  op->commutative = commute != 0;
  op->bindings = NULL;
  atomic_init(&op->references, 1);
  pthread_mutex_init(&op->lock, NULL);
  *handle = op;
  return MPI_SUCCESS;
}

int MPI_Op_create(MPI_User_function* function, int commute, MPI_Op* handle) {
  return create(__func__, (Functions){.function = function}, commute, handle);
}

int MPI_Op_create_c(MPI_User_function_c* function, int commute, MPI_Op* handle) {
  return create(__func__, (Functions){.large_function = function}, commute, handle);
}

int MPIX_Op_create_x(MPIX_User_function_x* function, MPIX_Destructor_function* destructor,
                     int commute, void* extra_state, MPI_Op* handle) {
  const Functions functions = {
      .function_x = function, .destructor = destructor, .extra = extra_state};
  return create(__func__, functions, commute, handle);
}

int MPI_Op_free(MPI_Op* handle) {
  require_ready(__func__);
  esp_op builtin;
  if (handle == NULL || op_reduces_nothing(*handle)) {
    return raise_error(__func__, NULL, MPI_ERR_OP, "null operator, or one of windows");
  }
  if (builtin_op_of(*handle, &builtin)) {
    return raise_error(__func__, NULL, MPI_ERR_OP, "a predefined operator cannot be freed");
  }
  op_release(*handle);
  *handle = MPI_OP_NULL;
  return MPI_SUCCESS;
}

int MPI_Op_commutative(MPI_Op handle, int* commute) {
  require_ready(__func__);
  esp_op builtin;
  if (op_reduces_nothing(handle)) {
    return raise_error(__func__, NULL, MPI_ERR_OP, "null operator, or one of windows");
  }
  if (commute == NULL) return raise_error(__func__, NULL, MPI_ERR_ARG, "null result");
  *commute = builtin_op_of(handle, &builtin) ? 1 : handle->commutative;
  return MPI_SUCCESS;
}
