/* Staging. path: data */
#include "mpi/stage.h"

#include <stdlib.h>

Stage* stage_create(size_t moves) {
  return calloc(1, sizeof(Stage) + moves * sizeof(Move));
}

size_t stage_grow(Stage* stage, size_t bytes) {
  const size_t at = stage->bytes;
  if (__builtin_add_overflow(at, bytes, &stage->bytes)) stage->bytes = SIZE_MAX;
  return at;
}

size_t stage_add(Stage* stage, const Datatype* type, void* at, size_t count, When when) {
  Move* move = &stage->move[stage->moves++];
  datatype_retain(type);
  const size_t bytes = when == kNever ? 0 : stage_product(count, type->size);
  *move = (Move){type, at, count, stage_grow(stage, bytes), bytes, when};
  return move->packed;
}

int stage_allocate(Stage* stage) {
  if (stage->bytes > PTRDIFF_MAX) return 0;
  stage->memory = malloc(stage->bytes + 1);
  return stage->memory != NULL;
}

esp_status stage_begin(Stage* stage) {
  esp_status status = ESP_OK;
  for (size_t i = 0; i < stage->moves && status == ESP_OK; ++i) {
    const Move* move = &stage->move[i];
    if ((move->when & kBefore) == 0) continue;
    status =
        type_pack(move->type, move->at, move->count, 0, move->bytes, stage->memory + move->packed);
  }
  return status;
}

esp_status stage_end(Stage* stage) {
  esp_status status = ESP_OK;
  for (size_t i = 0; i < stage->moves && status == ESP_OK; ++i) {
    const Move* move = &stage->move[i];
    if ((move->when & kAfter) == 0) continue;
    status = type_unpack(move->type, move->at, move->count, 0, move->bytes,
                         stage->memory + move->packed);
  }
  return status == ESP_OK && stage->fold.op != NULL ? fold_end(stage) : status;
}

void stage_free(Stage* stage) {
  for (size_t i = 0; i < stage->moves; ++i) datatype_release(stage->move[i].type);
  free(stage->fold.room);
  free(stage->memory);
  free(stage);
}
