/* What the conformance programs with blocks share: blocks whose elements say where they come from
 * and go to, with gaps around them that must stay as they were.
 */
#ifndef ESPALIER_TESTS_MPI_CONFORMANCE_BLOCKS_H
#define ESPALIER_TESTS_MPI_CONFORMANCE_BLOCKS_H

#include <stdlib.h>

#include "conformance.h"

enum { kGap = -7, kLongest = 20000 };

/* Element i of what one rank has for another. */
static inline int value(int from, int to, int i) {
  return from * 1000003 + to * 10007 + i;
}

static inline int* gaps(int count) {
  int* memory = malloc(((size_t)count + 1) * sizeof *memory);
  for (int i = 0; i <= count; ++i) memory[i] = kGap;
  return memory;
}

static inline int wrong_elements(const int* block, int count, int from, int to) {
  int wrong = 0;
  for (int i = 0; i < count; ++i) wrong += block[i] != value(from, to, i);
  return wrong;
}

static inline void fill(int* block, int count, int from, int to) {
  for (int i = 0; i < count; ++i) block[i] = value(from, to, i);
}

static const int kCounts[] = {0, 1, 3, 100, 1025, kLongest};
enum { kCountsTried = sizeof kCounts / sizeof *kCounts };

/* In place, the arguments of the buffer that is not there do not count. */
typedef enum Form { kBlocking, kInPlace, kStarted, kForms } Form;

/* Blocks of a buffer, the highest rank's first, with a gap behind each. */
typedef struct Blocks {
  int* counts;
  int* displs;
  int* memory;
  int length;
} Blocks;

static inline Blocks blocks_of(int (*count_of)(int from, int to), int sends, int gap, int scale) {
  Blocks b = {calloc((size_t)size, sizeof(int)), calloc((size_t)size, sizeof(int)), NULL, gap};
  for (int r = size - 1; r >= 0; --r) {
    b.counts[r] = scale * (sends ? count_of(rank, r) : count_of(r, rank));
    b.displs[r] = b.length;
    b.length += b.counts[r] + gap;
  }
  b.memory = gaps(b.length);
  return b;
}

static inline void free_blocks(Blocks* b) {
  free(b->counts);
  free(b->displs);
  free(b->memory);
}

/* Whether all of rank r's block is there, for every r, and nothing beside. */
static inline int all_came(const Blocks* b, int to) {
  int wrong = 0, elements = 0, gaps_left = 0;
  for (int r = 0; r < size; ++r) {
    wrong += wrong_elements(b->memory + b->displs[r], b->counts[r], r, to);
    elements += b->counts[r];
  }
  for (int i = 0; i <= b->length; ++i) gaps_left += b->memory[i] == kGap;
  return wrong == 0 && gaps_left == b->length + 1 - elements;
}

static inline int some_are_empty(int from, int to) {
  (void)to;
  return from % 3 == 1 ? 0 : 2 * from + 1;
}

static inline int uneven(int from, int to) {
  return (3 * from + 5 * to) % 4;
}

static inline int symmetric(int from, int to) {
  return (from + to) % 3;
}

static inline int nothing(int from, int to) {
  (void)from, (void)to;
  return 0;
}

static inline int to_the_next(int from, int to) {
  return to == (from + 1) % size ? 3 : 0;
}

#endif
