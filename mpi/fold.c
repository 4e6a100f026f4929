/* Reductions of types that the library does not combine: derived ones, by operators of the user.
 *
 * The library combines elements of its own types, and may cut a message between any two of them; a
 * user's operator wants whole elements as they lie in the program's memory. So contributions are
 * gathered, packed, and every rank that gets a result combines them by itself when all have come,
 * in the order of the ranks. That costs memory and messages of all ranks' contributions; an opaque
 * type of a given size, never cut, is what the library would need to do it better. path: data
 */
#include <stdlib.h>

#include "mpi/call.h"

int call_op(Call* call, MPI_Op handle, FoldPlan plan) {
  const Datatype* type = call->in.type;
  if (op_reduces_nothing(handle)) {
    return raise_error(call->function, call->comm, MPI_ERR_OP, "null operator, or one of windows");
  }
  int code = MPI_SUCCESS;
  Op* own = NULL;
  if (builtin_op_of(handle, &call->op)) own = type_own_op(type, call->op);
  if (own != NULL) handle = own;
  if (own == NULL && builtin_op_of(handle, &call->op)) {
    if (!type_combines(type, call->op)) {
      return raise_error(call->function, call->comm, MPI_ERR_OP,
                         "the operator is not defined for the datatype");
    }
  } else {
    call->user_op = handle;
    call->fold = plan;
    call->is_fold = !type->is_known;
    if (call->is_fold) return MPI_SUCCESS;
    code =
        raise_status(call->function, call->comm, op_bind(handle, datatype_handle(type), &call->op));
  }
  call->type = type->type;
  call->count = call->in.count;
  call->in.type = call->out.type = NULL; /* nothing to be fitted */
  return code;
}

/* ---- before ---- */

/* Where elements may be combined: memory of the shape that they have in the program's. */
static int make_scratch(Fold* fold) {
  ptrdiff_t lowest, highest;
  enum { kAlignment = 64 };
  if (fold->count == 0) return 1;
  if (!type_reach(fold->type, fold->count, &lowest, &highest)) return 0;
  const size_t bytes = (size_t)(highest - lowest) + 2 * kAlignment;
  fold->room = calloc(2, bytes);
  if (fold->room == NULL) return 0;
  for (size_t i = 0; i < 2; ++i) {
    const uintptr_t first = (uintptr_t)fold->room + i * bytes - (uintptr_t)lowest;
    fold->scratch[i] = (void*)((first + kAlignment - 1) & ~(uintptr_t)(kAlignment - 1));
  }
  return 1;
}

static size_t elements_sent(const Call* call, size_t members) {
  const int by_members = call->fold.kind == kFoldBlocks && numbers_are_null(call->fold.counts);
  return stage_product(call->in.count, by_members ? members : 1);
}

static size_t elements_combined(const Call* call) {
  if (call->fold.kind != kFoldBlocks || numbers_are_null(call->fold.counts)) return call->in.count;
  return (size_t)number_at(call->fold.counts, (size_t)esp_team_rank(call->comm->team));
}

static int make_stage(Call* call) {
  const Datatype* type = call->in.type;
  const size_t members = (size_t)esp_team_size(call->comm->team);
  const int in_place = call->input == ESP_IN_PLACE;
  Stage* stage = call->stage = stage_create(1);
  if (stage == NULL) return call_no_memory(call);
  (void)stage_add(stage, type, in_place ? call->output : displaced(call->input, 0),
                  elements_sent(call, members), kBefore);
  Fold* fold = &stage->fold;
  *fold = (Fold){.op = call->user_op,
                 .type = type,
                 .count = elements_combined(call),
                 .contributions = call->fold.contributions,
                 .result = call->output};
  fold->bytes = fold->count * type->size;
  const int receives = call->fold.kind != kFoldToRoot || fold->contributions > 0;
  fold->gathered = stage_grow(stage, receives ? stage_product(members, fold->bytes) : 0);
  if (!stage_allocate(stage) || (fold->contributions > 0 && !make_scratch(fold))) {
    return call_no_memory(call);
  }
  return MPI_SUCCESS;
}

static esp_status exchange_blocks(Call* call, Request* request) {
  const size_t members = (size_t)esp_team_size(call->comm->team);
  Stage* stage = call->stage;
  size_t *in_counts = request->arrays, *in_displs = in_counts + members;
  size_t *out_counts = in_displs + members, *out_displs = out_counts + members;
  const int alike = numbers_are_null(call->fold.counts);
  size_t at = 0;
  for (size_t r = 0; r < members; ++r) {
    const size_t count = alike ? call->in.count : (size_t)number_at(call->fold.counts, r);
    in_counts[r] = count * call->in.type->size;
    in_displs[r] = at;
    at += in_counts[r];
    out_counts[r] = stage->fold.bytes;
    out_displs[r] = r * stage->fold.bytes;
  }
  return (call->persistent ? esp_alltoallv_init : esp_alltoallv_start)(
      call->comm->team, stage->memory, in_counts, in_displs, stage->memory + stage->fold.gathered,
      out_counts, out_displs, ESP_BYTE, NULL, NULL, &request->handle);
}

static esp_status begin(Call* call, Request* request) {
  Stage* stage = call->stage;
  const size_t bytes = stage->fold.bytes;
  char* gathered = stage->memory + stage->fold.gathered;
  esp_team* team = call->comm->team;
  if (call->fold.kind == kFoldBlocks) return exchange_blocks(call, request);
  if (call->fold.kind == kFoldToAll) {
    return (call->persistent ? esp_allgather_init : esp_allgather_start)(
        team, stage->memory, gathered, bytes, ESP_BYTE, NULL, NULL, &request->handle);
  }
  return (call->persistent ? esp_gather_init : esp_gather_start)(team, stage->memory, gathered,
                                                                 bytes, ESP_BYTE, call->fold.root,
                                                                 NULL, NULL, &request->handle);
}

int fold_start(Call* call, MPI_Request* handle) {
  int code = make_stage(call);
  if (code != MPI_SUCCESS) return code;
  const size_t members = (size_t)esp_team_size(call->comm->team);
  Request* request = call_begin(call, 4 * members, handle, &code);
  if (request == NULL) return code;
  return call_end(call, request, begin(call, request), handle);
}

int fold_call(Call* call) {
  Request* request = NULL;
  const int code = fold_start(call, &request);
  if (code != MPI_SUCCESS) return code;
  esp_status status = esp_request_wait(&request->handle);
  if (status == ESP_OK) status = stage_end(request->stage);
  const int ended = raise_status(call->function, call->comm, status);
  request_destroy(request);
  return ended;
}

/* ---- after ---- */

esp_status fold_end(Stage* stage) {
  const Fold* fold = &stage->fold;
  if (fold->contributions == 0 || fold->bytes == 0) return ESP_OK;
  char* gathered = stage->memory + fold->gathered;
  void *lower = fold->scratch[0], *higher = fold->scratch[1];
  /* In memory of the host, where nothing fails. */
  (void)type_unpack(fold->type, lower, fold->count, 0, fold->bytes, gathered);
  for (size_t r = 1; r < fold->contributions; ++r) {
    (void)type_unpack(fold->type, higher, fold->count, 0, fold->bytes, gathered + r * fold->bytes);
    op_apply(fold->op, lower, higher, fold->count, fold->type);
    void* combined = higher;
    higher = lower;
    lower = combined;
  }
  (void)type_pack(fold->type, lower, fold->count, 0, fold->bytes, gathered);
  return type_unpack(fold->type, fold->result, fold->count, 0, fold->bytes, gathered);
}
