/* A naive interpreter of datatypes, which the tests build beside MPI's: a type is the list of its
 * predefined elements with their displacements, as the standard defines it. */
#ifndef ESPALIER_TESTS_MPI_TYPES_MODEL_H
#define ESPALIER_TESTS_MPI_TYPES_MODEL_H

#include <stdlib.h>
#include <string.h>

#include "conformance.h"

enum { kEntriesMax = 3000, kReach = 1 << 16 };

typedef struct Entry {
  long at;
  int bytes;
} Entry;

typedef struct Model {
  MPI_Datatype type;
  int is_derived;
  long entries;
  Entry* entry;
  long lb, ub;
  int has_lb, has_ub, alignment;
} Model;

/* Numbers that are the same on every run. */
static unsigned long long random_state = 1;
static inline long random_below(long limit) {
  random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
  return (long)((random_state >> 33) % (unsigned long long)limit);
}

static inline long model_extent(const Model* m) {
  return m->ub - m->lb;
}

static inline Model model_of(MPI_Datatype type, int bytes) {
  Model m = {type, 0, 1, malloc(sizeof(Entry)), 0, bytes, 0, 0, bytes};
  m.entry[0] = (Entry){0, bytes};
  return m;
}

static inline void model_free(Model* m) {
  if (m->is_derived && m->type != MPI_DATATYPE_NULL) CHECK_OK(MPI_Type_free(&m->type));
  free(m->entry);
}

/* Adds all of `one`, displaced. */
static inline void model_add(Model* m, const Model* one, long at) {
  if (one->entries == 0 && !one->has_lb) return;
  m->entry = realloc(m->entry, (size_t)(m->entries + one->entries + 1) * sizeof(Entry));
  for (long i = 0; i < one->entries; ++i) {
    m->entry[m->entries++] = (Entry){one->entry[i].at + at, one->entry[i].bytes};
  }
  if (one->has_lb) {
    if (!m->has_lb || one->lb + at < m->lb) m->lb = one->lb + at;
    if (!m->has_ub || one->ub + at > m->ub) m->ub = one->ub + at;
    m->has_lb = m->has_ub = 1;
  }
  if (one->alignment > m->alignment) m->alignment = one->alignment;
}

static inline void model_bounds(const Model* m, long* low, long* high) {
  *low = *high = 0;
  for (long i = 0; i < m->entries; ++i) {
    const long end = m->entry[i].at + m->entry[i].bytes;
    if (i == 0 || m->entry[i].at < *low) *low = m->entry[i].at;
    if (i == 0 || end > *high) *high = end;
  }
}

/* When all was added: the bounds that nobody has set. Others round extents up for structs alone, so
 * there what they say is taken. */
static inline void model_settle(Model* m) {
  long low, high;
  m->is_derived = 1;
  model_bounds(m, &low, &high);
  if (!m->has_lb) {
    m->lb = low;
    m->ub = high;
    while ((m->ub - m->lb) % m->alignment != 0) ++m->ub;
  }
  MPI_Aint lb, extent;
  CHECK_OK(MPI_Type_get_extent(m->type, &lb, &extent));
  CHECK(!kOurs || (lb == m->lb && extent == model_extent(m)));
  m->lb = lb;
  m->ub = lb + extent;
}

static inline long model_size(const Model* m) {
  long bytes = 0;
  for (long i = 0; i < m->entries; ++i) bytes += m->entry[i].bytes;
  return bytes;
}

/* Is it small enough, with a few elements, to lie within kReach of a buffer's middle? */
static inline int model_is_handy(const Model* m) {
  long low, high;
  model_bounds(m, &low, &high);
  const long extent = labs(model_extent(m)) * 4;
  return m->entries <= kEntriesMax && low - extent > -kReach && high + extent < kReach;
}

/* Byte by byte: packs `count` elements. */
static inline long model_pack(const Model* m, const char* base, int count, char* packed) {
  long n = 0;
  for (int k = 0; k < count; ++k) {
    for (long i = 0; i < m->entries; ++i) {
      const Entry* e = &m->entry[i];
      memcpy(packed + n, base + k * model_extent(m) + e->at, (size_t)e->bytes);
      n += e->bytes;
    }
  }
  return n;
}

static inline void model_unpack(const Model* m, char* base, int count, const char* packed) {
  for (int k = 0; k < count; ++k) {
    for (long i = 0; i < m->entries; ++i) {
      const Entry* e = &m->entry[i];
      memcpy(base + k * model_extent(m) + e->at, packed, (size_t)e->bytes);
      packed += e->bytes;
    }
  }
}

/* Does a byte belong to two places of `count` elements? */
static inline int model_overlaps(const Model* m, int count) {
  static unsigned char taken[2 * kReach];
  memset(taken, 0, sizeof taken);
  int found = 0;
  for (int k = 0; k < count; ++k) {
    for (long i = 0; i < m->entries; ++i) {
      unsigned char* at = taken + kReach + k * model_extent(m) + m->entry[i].at;
      for (int b = 0; b < m->entry[i].bytes; ++b) found |= at[b]++;
    }
  }
  return found != 0;
}

/* ---- constructors, chosen at random ---- */

static inline Model contiguous_of(const Model* of, int count) {
  Model m = {.alignment = 1};
  CHECK_OK(MPI_Type_contiguous(count, of->type, &m.type));
  for (int i = 0; i < count; ++i) model_add(&m, of, i * model_extent(of));
  return m;
}

static inline Model vector_of(const Model* of, int count, int length, int stride, int in_bytes) {
  Model m = {.alignment = 1};
  const long apart = stride * model_extent(of);
  if (in_bytes) {
    CHECK_OK(MPI_Type_create_hvector(count, length, apart, of->type, &m.type));
  } else {
    CHECK_OK(MPI_Type_vector(count, length, stride, of->type, &m.type));
  }
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < length; ++j) model_add(&m, of, i * apart + j * model_extent(of));
  }
  return m;
}

static inline Model blocks_of(const Model* of, int count, int kind) {
  enum { kMost = 5 };
  int lengths[kMost], displs[kMost];
  MPI_Aint places[kMost];
  Model m = {.alignment = 1};
  int at = (int)random_below(7) - 3;
  for (int i = 0; i < count; ++i) {
    lengths[i] = kind < 2 ? (int)random_below(4) : 2;
    displs[i] = at;
    places[i] = at * model_extent(of);
    at += lengths[i] + (int)random_below(4) - (random_below(8) == 0 ? 9 : 0);
    for (int j = 0; j < lengths[i]; ++j) {
      model_add(&m, of, places[i] + j * model_extent(of));
    }
  }
  int code = MPI_SUCCESS;
  if (kind == 0) code = MPI_Type_indexed(count, lengths, displs, of->type, &m.type);
  if (kind == 1) code = MPI_Type_create_hindexed(count, lengths, places, of->type, &m.type);
  if (kind == 2) code = MPI_Type_create_indexed_block(count, 2, displs, of->type, &m.type);
  if (kind == 3) code = MPI_Type_create_hindexed_block(count, 2, places, of->type, &m.type);
  CHECK_OK(code);
  return m;
}

static inline Model struct_of(const Model* one, const Model* other) {
  const int lengths[] = {1 + (int)random_below(2), 1, 0, (int)random_below(3)};
  const Model* of[] = {one, other, one, other};
  MPI_Aint places[4];
  MPI_Datatype types[4];
  Model m = {.alignment = 1};
  long at = 8 * (random_below(5) - 2);
  for (int i = 0; i < 4; ++i) {
    long low, high;
    model_bounds(of[i], &low, &high);
    types[i] = of[i]->type;
    places[i] = at - (low - low % 8);
    for (int j = 0; j < lengths[i]; ++j) model_add(&m, of[i], places[i] + j * model_extent(of[i]));
    at += (high - low + lengths[i] * labs(model_extent(of[i]))) / 8 * 8 + 8;
  }
  CHECK_OK(MPI_Type_create_struct(4, lengths, places, types, &m.type));
  return m;
}

static inline Model resized_of(const Model* of, long lb, long extent) {
  Model m = {.alignment = 1};
  CHECK_OK(MPI_Type_create_resized(of->type, lb, extent, &m.type));
  model_add(&m, of, 0);
  m.lb = lb;
  m.ub = lb + extent;
  m.has_lb = m.has_ub = 1;
  return m;
}

/* Of a cube, which may be row-major or not. */
static inline Model subarray_of(const Model* of, int order) {
  int sizes[3], parts[3], starts[3];
  for (int d = 0; d < 3; ++d) {
    sizes[d] = 1 + (int)random_below(5);
    parts[d] = 1 + (int)random_below(sizes[d]);
    starts[d] = (int)random_below(sizes[d] - parts[d] + 1);
  }
  Model m = {.alignment = 1};
  CHECK_OK(MPI_Type_create_subarray(3, sizes, parts, starts, order, of->type, &m.type));
  const int outer = order == MPI_ORDER_C ? 0 : 2, inner = 2 - outer;
  for (int i = 0; i < parts[outer]; ++i) {
    for (int j = 0; j < parts[1]; ++j) {
      for (int k = 0; k < parts[inner]; ++k) {
        const long at = ((starts[outer] + i) * (long)sizes[1] + starts[1] + j) * sizes[inner] +
                        starts[inner] + k;
        model_add(&m, of, at * model_extent(of));
      }
    }
  }
  m.lb = 0;
  m.ub = sizes[0] * sizes[1] * sizes[2] * model_extent(of);
  m.has_lb = m.has_ub = 1;
  return m;
}

#endif
