/* NumberTable of handles, as Fortran knows them.
 *
 * A table leads from a number to the object, and the object knows its number, so that both ways
 * cost a look-up. NumberTable that are free again are a stack, whose head is changed by one atomic
 * operation; the tag beside it keeps a thread from taking what was taken and given back meanwhile.
 * Rooms for slots are made when they are needed, each twice as large as the one before, and stay.
 *
 * Threads: who makes an object or converts its handle writes its slot, who lets the last reference
 * go clears it; everybody reads. A number that is used while its object goes is the program's
 * mistake. path: short
 */
#ifndef ESPALIER_MPI_NUMBERS_H
#define ESPALIER_MPI_NUMBERS_H

#include <stdatomic.h>
#include <stdint.h>

/* The first field of everything that a handle of the program's making points to; 0: none yet. */
typedef atomic_int Number;

/* What a number is of; they fit into the low bits of a pointer. */
typedef enum NumberKind {
  kNumberOfComm,
  kNumberOfGroup,
  kNumberOfType,
  kNumberOfOp,
  kNumberOfRequest,
  kNumberOfErrhandler,
  kNumberOfInfo,
  kNumberOfMessage,
  kNumberKinds
} NumberKind;

enum { kFirstGiven = 0x1000, kFirstRoom = 256, kRooms = 23 };

typedef struct NumberSlot {
  _Atomic(uintptr_t) object; /* and its kind; 0: free */
  atomic_uint next;          /* of the free ones: the next one's index + 1 */
} NumberSlot;

/* All zeros at first. */
typedef struct NumberTable {
  _Atomic(NumberSlot*) rooms[kRooms];
  atomic_uint used;    /* slots that were ever given */
  atomic_ullong freed; /* tag, and index + 1 of the first; 0 there: none */
} NumberTable;

/* The number of an object, which begins with it. Ends the process when there is no memory. */
int number_of(NumberKind kind, void* object);
/* NULL: no object of the kind has the number. */
void* number_find(NumberKind kind, int number);
void number_give_back(int number);
/* Before the memory of an object is freed. */
static inline void number_forget(Number* number) {
  const int given = atomic_load_explicit(number, memory_order_relaxed);
  if (given != 0) number_give_back(given);
}

#endif /* ESPALIER_MPI_NUMBERS_H */
