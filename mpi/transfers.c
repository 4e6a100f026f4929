/* The transfers of messages in partitions. path: short */
#include <stdlib.h>

#include "mpi/partitioned.h"

enum { kGreeted = 1, kStarted = 2, kFreed = 4 };

static const uint64_t kTransferBit = UINT64_C(1) << 63, kGreetingBit = UINT64_C(1) << 62;

static uint64_t tag_of_greeting(const Partitioned* p) {
  return kGreetingBit | (uint32_t)p->tag;
}

static uint64_t tag_of_transfer(const Partitioned* p, size_t transfer) {
  return kTransferBit | p->greeting.number << 32 | transfer;
}

/* ---- what has ended ---- */

static void end_some(Partitioned* p, int64_t count) {
  (void)__atomic_fetch_sub(&p->left, count, __ATOMIC_RELEASE);
}

static void keep_failure(Partitioned* p, esp_status status) {
  esp_status none = ESP_OK;
  if (status != ESP_OK) (void)atomic_compare_exchange_strong(&p->outcome, &none, status);
}

static size_t bytes_of(const Partitioned* p) {
  return p->greeting.partitions > 0 ? p->greeting.bytes / p->greeting.partitions : 0;
}

static void transfer_ended(void* context, esp_status status) {
  Transfer* transfer = context;
  Partitioned* p = transfer->of;
  keep_failure(p, status);
  if (!p->sends && p->packed != NULL && status == ESP_OK) {
    const size_t bytes = bytes_of(p), at = (size_t)(transfer - p->transfer) * bytes;
    (void)type_unpack(p->payload.datatype, p->payload.base, p->payload.count, at, bytes,
                      p->packed + at);
  }
  atomic_store_explicit(&transfer->is_done, 1, memory_order_release);
  end_some(p, 1);
}

static char* memory_of(const Partitioned* p, size_t transfer) {
  char* whole = p->packed != NULL ? p->packed : p->payload.base;
  return (char*)displaced(whole, (ptrdiff_t)(transfer * bytes_of(p)));
}

/* ---- receives ---- */

static int make_transfers(Partitioned* p) {
  const size_t count = p->greeting.partitions;
  p->transfer = calloc(count + 1, sizeof *p->transfer);
  if (p->transfer == NULL) return 0;
  for (size_t i = 0; i < count; ++i) p->transfer[i].of = p;
  p->transfers = count;
  return 1;
}

/* What is as long as it should be comes to its place; else nothing of it is kept, and the sender
 * goes on. */
static void receive_all(Partitioned* p) {
  const size_t bytes = p->greeting.bytes == p->bytes ? bytes_of(p) : 0;
  keep_failure(p, p->greeting_status);
  if (p->greeting.bytes != p->bytes) keep_failure(p, ESP_ERR_TRUNCATED);
  (void)__atomic_fetch_add(&p->left, (int64_t)p->transfers, __ATOMIC_RELAXED);
  for (size_t i = 0; i < p->transfers; ++i) {
    const esp_notify notify = {transfer_ended, &p->transfer[i], NULL};
    const esp_status status =
        esp_tag_recv_start(p->comm->team, bytes > 0 ? memory_of(p, i) : NULL, bytes, ESP_BYTE,
                           p->peer, tag_of_transfer(p, i), ESP_TAG_EXACT, NULL, &notify, NULL);
    if (status != ESP_OK) transfer_ended(&p->transfer[i], status);
  }
  end_some(p, 1); /* the round's own */
}

/* ---- greetings ---- */

static void destroy(Partitioned* p) {
  free(p->transfer);
  free(p->packed);
  free(p);
}

/* Returns what was set before. Who comes second of a greeting and a start goes on, and who comes
 * second of a greeting and the end frees. */
static int set_state(Partitioned* p, int state) {
  return atomic_fetch_or(&p->state, state);
}

/* From kGreeted on the program may free it, but for a receive that has been started. */
static void greeted(void* context, esp_status status) {
  Partitioned* p = context;
  const int sends = p->sends;
  if (!sends && (status != ESP_OK || !make_transfers(p))) {
    p->greeting_status = status != ESP_OK ? status : ESP_ERR_NO_MEMORY;
    p->greeting = (Greeting){.bytes = p->bytes};
  }
  const int before = set_state(p, kGreeted);
  if ((before & kFreed) != 0) {
    destroy(p);
  } else if (!sends && (before & kStarted) != 0) {
    receive_all(p);
  }
}

static esp_status greet(Partitioned* p) {
  const esp_notify notify = {greeted, p, NULL};
  Greeting* greeting = &p->greeting;
  if (!p->sends) {
    return esp_tag_recv_start(p->comm->team, greeting, sizeof *greeting, ESP_BYTE, p->peer,
                              tag_of_greeting(p), ESP_TAG_EXACT, NULL, &notify, NULL);
  }
  return esp_tag_send_start(p->comm->team, greeting, sizeof *greeting, ESP_BYTE, p->peer,
                            tag_of_greeting(p), &notify, NULL);
}

/* ---- the life of one ---- */

Partitioned* partitioned_create(Partitioned model, esp_status* status) {
  Partitioned* p = malloc(sizeof *p);
  *status = ESP_ERR_NO_MEMORY;
  if (p == NULL) return NULL;
  *p = model;
  int is_whole = 1;
  if (p->payload.form != kPayloadBytes) {
    is_whole = (p->packed = malloc(p->bytes + 1)) != NULL;
  }
  if (p->sends) {
    const unsigned number = atomic_fetch_add(&p->comm->partitioned_sends, 1);
    p->greeting = (Greeting){number & INT32_MAX, (uint64_t)p->own_partitions, p->bytes};
    is_whole = is_whole && make_transfers(p);
  }
  if (is_whole) *status = greet(p);
  if (*status == ESP_OK) return p;
  destroy(p);
  return NULL;
}

/* With transfers under way, which have missed their time, it stays. */
void partitioned_free(Partitioned* p) {
  if (__atomic_load_n(&p->left, __ATOMIC_ACQUIRE) > 0) return;
  if ((set_state(p, kFreed) & kGreeted) != 0) destroy(p);
}

void partitioned_start(Partitioned* p) {
  atomic_store(&p->outcome, ESP_OK);
  if ((atomic_load(&p->state) & kGreeted) != 0 || p->sends) {
    for (size_t i = 0; i < p->transfers; ++i) {
      atomic_store_explicit(&p->transfer[i].is_done, 0, memory_order_relaxed);
      atomic_store_explicit(&p->transfer[i].is_ready, 0, memory_order_relaxed);
    }
  }
  if (p->sends) {
    __atomic_store_n(&p->left, (int64_t)p->transfers, __ATOMIC_RELEASE);
    return;
  }
  __atomic_store_n(&p->left, 1, __ATOMIC_RELEASE);
  if ((set_state(p, kStarted) & kGreeted) != 0) receive_all(p);
}

esp_status partitioned_ready(Partitioned* p, int partition) {
  Transfer* transfer = &p->transfer[partition];
  const size_t bytes = bytes_of(p), at = (size_t)partition * bytes;
  if (atomic_exchange(&transfer->is_ready, 1) != 0) return ESP_ERR_STATE;
  if (p->packed != NULL) {
    (void)type_pack(p->payload.datatype, p->payload.base, p->payload.count, at, bytes,
                    p->packed + at);
  }
  const esp_notify notify = {transfer_ended, transfer, NULL};
  const esp_status status =
      esp_tag_send_start(p->comm->team, memory_of(p, (size_t)partition), bytes, ESP_BYTE, p->peer,
                         tag_of_transfer(p, (size_t)partition), &notify, NULL);
  if (status != ESP_OK) transfer_ended(transfer, status);
  return status;
}

int partitioned_has_ended(const Partitioned* p) {
  return __atomic_load_n(&p->left, __ATOMIC_ACQUIRE) <= 0;
}

esp_status partitioned_await(Partitioned* p) {
  const esp_status status = esp_counter_wait(state_job(), &p->left, 0, 0);
  return status != ESP_OK ? status : atomic_load(&p->outcome);
}

int partitioned_arrived(const Partitioned* p, int partition) {
  const size_t own = p->own_partitions > 0 ? p->bytes / (size_t)p->own_partitions : 0;
  const int knows = (atomic_load(&p->state) & kGreeted) != 0 && p->transfers > 0;
  if (!knows || own == 0 || p->greeting.bytes != p->bytes) return partitioned_has_ended(p);
  const size_t begin = (size_t)partition * own, end = begin + own - 1;
  for (size_t i = begin / bytes_of(p); i <= end / bytes_of(p); ++i) {
    if (!atomic_load_explicit(&p->transfer[i].is_done, memory_order_acquire)) return 0;
  }
  return 1;
}
