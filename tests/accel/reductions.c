/* Collectives that combine: predefined types and operators with exact results, MPI_IN_PLACE, no
 * elements, every root. */
#include <complex.h>

#include "job.h"

enum { kTypes = 7, kMaxBytes = 32 };

static MPI_Datatype type_of(int t) {
  switch (t) {
    case 0:
      return MPI_INT;
    case 1:
      return MPI_DOUBLE;
    case 2:
      return MPI_C_DOUBLE_COMPLEX;
    case 3:
      return MPI_2INT;
    case 4:
      return MPI_DOUBLE_INT;
    case 5:
      return MPI_UNSIGNED_CHAR;
    default:
      return MPI_LONG_LONG;
  }
}

static MPI_Op op_of(int t, int i) {
  const MPI_Op numbers[] = {MPI_SUM, MPI_MAX, MPI_MIN};
  const MPI_Op bits[] = {MPI_BXOR, MPI_LAND, MPI_BOR};
  if (t == 2) return MPI_SUM;
  if (t == 0 && i == 2) return MPI_PROD;
  if (t == 3 || t == 4) return i == 1 ? MPI_MAXLOC : MPI_MINLOC;
  return t == 5 ? bits[i] : numbers[i];
}

struct DoubleInt {
  double value;
  int place;
};

static size_t bytes_of(int t) {
  const size_t bytes[kTypes] = {sizeof(int),      sizeof(double),           sizeof(double complex),
                                2 * sizeof(int),  sizeof(struct DoubleInt), 1,
                                sizeof(long long)};
  return bytes[t];
}

/* Small whole numbers: sums of them are exact in every order. */
static void put(int t, void* data, int count, int seed) {
  memset(data, 0, (size_t)count * bytes_of(t));
  for (int i = 0; i < count; ++i) {
    const int v = (i * 5 + seed * 3) % 11 - 4;
    switch (t) {
      case 0:
        ((int*)data)[i] = v;
        break;
      case 1:
        ((double*)data)[i] = v;
        break;
      case 2:
        ((double complex*)data)[i] = v % 2 + (seed % 2) * I;
        break;
      case 3:
        ((int*)data)[2 * i] = v;
        ((int*)data)[2 * i + 1] = g_rank;
        break;
      case 4:
        ((struct DoubleInt*)data)[i].value = v;
        ((struct DoubleInt*)data)[i].place = g_rank;
        break;
      case 5:
        ((unsigned char*)data)[i] = (unsigned char)(v + 4);
        break;
      default:
        ((long long*)data)[i] = (long long)v << 33;
    }
  }
}

struct Case {
  int t, count, started, in_place;
  MPI_Op op;
  size_t bytes;
  void *in, *out;
};

static void prepare(const struct Case* c, int blocks) {
  put(c->t, c->in, c->count * blocks, g_rank + c->count);
  memcpy(c->out, c->in, c->bytes * (size_t)blocks);
}

static void to_root(const struct Case* c, int root) {
  prepare(c, 1);
  /* MPICH 4.0 by itself reads MPI_IN_PLACE as a buffer at some other roots. */
#ifdef MPICH_VERSION
  const int in_place = c->in_place && root == 0;
#else
  const int in_place = c->in_place;
#endif
  const void* in = in_place && g_rank == root ? MPI_IN_PLACE : c->in;
  RUN(c->started, Reduce, reduce, in, c->out, c->count, type_of(c->t), c->op, root, MPI_COMM_WORLD);
  if (g_rank == root) keep(c->out, c->bytes);
}

static void to_all(const struct Case* c) {
  prepare(c, 1);
  const void* in = c->in_place ? MPI_IN_PLACE : c->in;
  RUN(c->started, Allreduce, allreduce, in, c->out, c->count, type_of(c->t), c->op, MPI_COMM_WORLD);
  keep(c->out, c->bytes);
  prepare(c, 1);
  RUN(c->started, Scan, scan, in, c->out, c->count, type_of(c->t), c->op, MPI_COMM_WORLD);
  keep(c->out, c->bytes);
  prepare(c, 1);
  RUN(c->started, Exscan, exscan, in, c->out, c->count, type_of(c->t), c->op, MPI_COMM_WORLD);
  if (g_rank > 0) keep(c->out, c->bytes);
}

static void in_blocks(const struct Case* c) {
  prepare(c, g_size);
  const void* in = c->in_place ? MPI_IN_PLACE : c->in;
  RUN(c->started, Reduce_scatter_block, reduce_scatter_block, in, c->out, c->count, type_of(c->t),
      c->op, MPI_COMM_WORLD);
  keep(c->out, c->bytes);
  /* Blocks of unequal lengths, one of them empty. */
  int counts[64] = {0};
  for (int r = 0; r < g_size; ++r) counts[r] = r == 1 ? 0 : c->count - (c->count > r ? r : 0);
  prepare(c, g_size);
  RUN(c->started, Reduce_scatter, reduce_scatter, in, c->out, counts, type_of(c->t), c->op,
      MPI_COMM_WORLD);
  keep(c->out, (size_t)counts[g_rank] * bytes_of(c->t));
}

int main(int argc, char** argv) {
  begin(argc, argv);
  const int counts[] = {0, 1, 9, 300, 20000};
  const size_t most = (size_t)counts[4] * (size_t)g_size * kMaxBytes;
  struct Case c = {.in = room(most), .out = room(most)};
  for (int i = 0; i < 5; ++i) {
    for (c.t = 0; c.t < kTypes; ++c.t) {
      if (i == 4 && c.t % 3 != 1) continue;
      for (int form = 0; form < 6; ++form) {
        c.count = counts[i];
        c.bytes = (size_t)c.count * bytes_of(c.t);
        c.started = form % 2;
        c.in_place = form / 2 % 2;
        c.op = op_of(c.t, form / 2);
        for (int root = 0; root < (i == 2 ? g_size : 1); ++root) to_root(&c, (root + i) % g_size);
        to_all(&c);
        in_blocks(&c);
      }
    }
  }
  free(c.in);
  free(c.out);
  finish();
  return 0;
}
