/* The table of the numbers of handles. path: short */
#include "mpi/numbers.h"

#include <stdlib.h>

#include "mpi/facade.h"

enum { kKindMask = 15 };
_Static_assert((int)kNumberKinds <= (int)kKindMask, "kinds fit beside pointers of malloc()");

/* Room r has kFirstRoom << r slots, so those before it have kFirstRoom * (2^r - 1). */
static unsigned room_of(unsigned index, unsigned* at) {
  const unsigned block = index / kFirstRoom + 1;
  const unsigned room = 31 - (unsigned)__builtin_clz(block);
  *at = index - kFirstRoom * ((1U << room) - 1);
  return room;
}

/* Of an index that was given. */
static NumberSlot* slot_at(unsigned index) {
  unsigned at;
  const unsigned room = room_of(index, &at);
  return &atomic_load_explicit(&state_numbers()->rooms[room], memory_order_acquire)[at];
}

static _Noreturn void end_of_numbers(void) {
  esp_abort(state_job(), EXIT_FAILURE, "no memory for the numbers of handles");
  abort();
}

static void make_room(unsigned index) {
  unsigned at;
  const unsigned room = room_of(index, &at);
  if (room >= kRooms) end_of_numbers();
  _Atomic(NumberSlot*)* place = &state_numbers()->rooms[room];
  if (atomic_load_explicit(place, memory_order_acquire) != NULL) return;
  NumberSlot *made = calloc((size_t)kFirstRoom << room, sizeof *made), *none = NULL;
  if (made == NULL) end_of_numbers();
  if (!atomic_compare_exchange_strong(place, &none, made)) free(made); /* another was first */
}

static unsigned long long with_tag(unsigned long long old, unsigned first) {
  return ((old >> 32) + 1) << 32 | first;
}

static unsigned take_index(void) {
  NumberTable* numbers = state_numbers();
  unsigned long long head = atomic_load_explicit(&numbers->freed, memory_order_acquire);
  while ((unsigned)head != 0) {
    const unsigned index = (unsigned)head - 1;
    const unsigned next = atomic_load_explicit(&slot_at(index)->next, memory_order_relaxed);
    if (atomic_compare_exchange_weak_explicit(&numbers->freed, &head, with_tag(head, next),
                                              memory_order_acquire, memory_order_acquire)) {
      return index;
    }
  }
  const unsigned index = atomic_fetch_add_explicit(&numbers->used, 1, memory_order_relaxed);
  make_room(index);
  return index;
}

void number_give_back(int number) {
  NumberTable* numbers = state_numbers();
  const unsigned index = (unsigned)(number - kFirstGiven);
  NumberSlot* slot = slot_at(index);
  atomic_store_explicit(&slot->object, 0, memory_order_relaxed);
  unsigned long long head = atomic_load_explicit(&numbers->freed, memory_order_relaxed);
  do {
    atomic_store_explicit(&slot->next, (unsigned)head, memory_order_relaxed);
  } while (!atomic_compare_exchange_weak_explicit(&numbers->freed, &head, with_tag(head, index + 1),
                                                  memory_order_release, memory_order_relaxed));
}

int number_of(NumberKind kind, void* object) {
  Number* at = object;
  int given = atomic_load_explicit(at, memory_order_acquire);
  if (given != 0) return given;
  const unsigned index = take_index();
  const int number = kFirstGiven + (int)index;
  atomic_store_explicit(&slot_at(index)->object, (uintptr_t)object | kind, memory_order_release);
  if (atomic_compare_exchange_strong(at, &given, number)) return number;
  number_give_back(number); /* another thread was first */
  return given;
}

void* number_find(NumberKind kind, int number) {
  const unsigned index = (unsigned)number - kFirstGiven;
  if (number < kFirstGiven ||
      index >= atomic_load_explicit(&state_numbers()->used, memory_order_relaxed)) {
    return NULL;
  }
  unsigned at;
  const unsigned room = room_of(index, &at);
  NumberSlot* slots = atomic_load_explicit(&state_numbers()->rooms[room], memory_order_acquire);
  if (slots == NULL) return NULL; /* another thread is making it */
  const uintptr_t found = atomic_load_explicit(&slots[at].object, memory_order_acquire);
  if (found == 0 || (found & kKindMask) != kind) return NULL;
  return (void*)(found - kind); /* NOLINT: what number_of() has put there */
}
