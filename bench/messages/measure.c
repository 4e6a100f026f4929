/* Rank 0 leads: it says how many messages there are in each batch, and takes the time. path: data
 */
#include "measure.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kRing = 1 << 20, kLine = 64, kPage = 4096, kLeastSlots = 4, kMostSlots = 4096 };
enum { kTries = 3, kLeastSamples = 5, kMostSamples = 4096 };

/* What is measured of one size, and the two rings of this process. */
struct cell {
  const struct library* library;
  int streams; /* in one direction; else to and fro */
  size_t bytes, stride;
  int slots, window;
  char *out, *in;
};

/* Goes before each batch from rank 0 to rank 1, and back when that is ready. */
struct order {
  int32_t count;  /* messages in each direction that there are; 0: the cell is over */
  int32_t number; /* of the batch; in the last answer: what came wrong */
};

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static char content(const struct order* batch, int slot, int rank) {
  return (char)(batch->number * 31 + slot * 7 + rank * 101);
}

static void rewrite(const struct cell* cell, const struct order* batch) {
  const int rank = cell->library->rank;
  if (cell->streams && rank != 0) return;
  for (int i = 0; i < batch->count; ++i) {
    memset(cell->out + (size_t)i * cell->stride, content(batch, i, rank), cell->bytes);
  }
}

/* Bytes of the batch that are not what the other process has written. */
static int32_t wrong(const struct cell* cell, const struct order* batch) {
  const int rank = cell->library->rank;
  int32_t found = 0;
  if (cell->streams && rank == 0) return 0;
  for (int slot = 0; slot < batch->count; ++slot) {
    const char wanted = content(batch, slot, 1 - rank);
    const char* at = cell->in + (size_t)slot * cell->stride;
    for (size_t i = 0; i < cell->bytes; ++i) found += at[i] != wanted;
  }
  return found;
}

static void go_to_and_fro(const struct cell* cell, int count) {
  const struct library* library = cell->library;
  for (int i = 0; i < count; ++i) {
    char* out = cell->out + (size_t)i * cell->stride;
    char* in = cell->in + (size_t)i * cell->stride;
    if (library->rank == 0) library->send(out, cell->bytes);
    library->receive(in, cell->bytes);
    if (library->rank != 0) library->send(out, cell->bytes);
  }
}

/* Window by window, and an answer after the last one. */
static void stream(const struct cell* cell, int count) {
  const struct library* library = cell->library;
  char* ring = library->rank == 0 ? cell->out : cell->in;
  int32_t answer = count;
  for (int done = 0; done < count; done += cell->window) {
    const int part = count - done < cell->window ? count - done : cell->window;
    char* first = ring + (size_t)done * cell->stride;
    if (library->rank == 0) {
      library->send_all(first, cell->bytes, cell->stride, part);
    } else {
      library->receive_all(first, cell->bytes, cell->stride, part);
    }
  }
  if (library->rank == 0) {
    library->receive(&answer, sizeof answer);
  } else {
    library->send(&answer, sizeof answer);
  }
}

static void move(const struct cell* cell, int count) {
  if (cell->streams) {
    stream(cell, count);
  } else {
    go_to_and_fro(cell, count);
  }
}

/* Rank 0: us of one message. */
static double batch_us(const struct cell* cell, const struct order* batch) {
  struct order ready;
  rewrite(cell, batch);
  cell->library->send(batch, sizeof *batch);
  cell->library->receive(&ready, sizeof ready);
  const double begin = now_us();
  move(cell, batch->count);
  return (now_us() - begin) / (batch->count * (cell->streams ? 1 : 2));
}

/* Rank 1: what it is told, until the cell is over. */
static int answer(const struct cell* cell) {
  struct order batch = {0, 0}, last;
  for (;;) {
    last = batch;
    cell->library->receive(&batch, sizeof batch);
    if (batch.count == 0) break;
    rewrite(cell, &batch);
    cell->library->send(&batch, sizeof batch);
    move(cell, batch.count);
  }
  batch.number = wrong(cell, &last);
  cell->library->send(&batch, sizeof batch);
  return batch.number != 0;
}

/* Rank 0: the messages of a batch, after a warm-up. */
static int fitting_count(const struct cell* cell, double limit_us, struct order* batch) {
  batch->count = cell->streams ? cell->window : 1;
  while (batch->count < cell->slots) {
    double best = limit_us;
    for (int i = 0; i < kTries; ++i) {
      ++batch->number;
      const double us = batch_us(cell, batch) * batch->count * (cell->streams ? 1 : 2);
      if (us < best) best = us;
    }
    if (2 * best > limit_us) break;
    batch->count = 2 * batch->count < cell->slots ? 2 * batch->count : cell->slots;
  }
  return batch->count;
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static int ask(const struct cell* cell, double seconds) {
  static double samples[kMostSamples];
  const double end = now_us() + seconds * 1e6;
  struct order batch = {0, 0}, over = {0, 0};
  int taken = 0;
  batch.count = fitting_count(cell, seconds * 1e5, &batch);
  while (taken < kLeastSamples || (now_us() < end && taken < kMostSamples)) {
    ++batch.number;
    samples[taken++] = batch_us(cell, &batch);
  }
  cell->library->send(&over, sizeof over);
  cell->library->receive(&over, sizeof over);
  const int32_t bad = wrong(cell, &batch) + over.number;
  qsort(samples, (size_t)taken, sizeof *samples, compare);
  printf("%s %zu %.4f\n", cell->streams ? "stream" : "latency", cell->bytes, samples[taken / 2]);
  fflush(stdout);
  if (bad != 0) fprintf(stderr, "messages of %zu bytes: %d bytes are wrong\n", cell->bytes, bad);
  return bad != 0;
}

static int measure(const struct library* library, size_t bytes, int streams, double seconds) {
  struct cell cell = {.library = library, .streams = streams, .bytes = bytes};
  cell.stride = (bytes + kLine - 1) / kLine * kLine;
  const size_t fitting = kRing / cell.stride;
  cell.slots = (int)(fitting < kLeastSlots  ? kLeastSlots
                     : fitting > kMostSlots ? kMostSlots
                                            : fitting);
  cell.window = cell.slots < MESSAGES_WINDOW ? cell.slots : MESSAGES_WINDOW;
  const size_t ring = ((size_t)cell.slots * cell.stride + kPage - 1) / kPage * kPage;
  cell.out = aligned_alloc(kPage, ring);
  cell.in = aligned_alloc(kPage, ring);
  if (cell.out == NULL || cell.in == NULL) {
    fprintf(stderr, "messages of %zu bytes: no memory\n", bytes);
    exit(1);
  }
  memset(cell.out, 1, ring);
  memset(cell.in, 2, ring);
  const int bad = library->rank == 0 ? ask(&cell, seconds) : answer(&cell);
  free(cell.out);
  free(cell.in);
  return bad;
}

int measure_messages(const struct library* library, int argc, char** argv) {
  const double seconds = argc == 3 ? atof(argv[2]) : 0;
  int bad = 0;
  if (seconds <= 0) {
    if (library->rank == 0) fprintf(stderr, "usage: %s SIZES SECONDS\n", argv[0]);
    return 2;
  }
  for (char* at = argv[1]; *at != '\0'; at += *at == ',') {
    char* const from = at;
    const size_t bytes = strtoul(from, &at, 10);
    if (bytes == 0 || at == from || (*at != '\0' && *at != ',')) {
      if (library->rank == 0) fprintf(stderr, "%s: what is the size '%s'?\n", argv[0], from);
      return 2;
    }
    for (int streams = 0; streams < 2; ++streams) bad |= measure(library, bytes, streams, seconds);
  }
  return bad;
}
