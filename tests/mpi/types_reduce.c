/* types_reduce: operators of the user on derived datatypes, MPI_Reduce_local, and "external32", as
 * one C program that knows nothing but <mpi.h>; see conformance.c. Any number of processes.
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "conformance.h"

/* x -> a x + b with a gap between the numbers and one behind, as elements of 5 ints. */
typedef struct Affine {
  int a, gap, b, gaps[2];
} Affine;

enum { kElements = 9, kUntouched = -5 };

static MPI_Datatype affine_type, seen;
static int is_large_form;

static Affine one_then(Affine one, Affine other) {
  Affine both = other;
  both.a = (int)((unsigned)one.a * (unsigned)other.a);
  both.b = (int)((unsigned)other.a * (unsigned)one.b + (unsigned)other.b);
  return both;
}

static void combine(void* in, void* inout, int* length, MPI_Datatype* type) {
  const Affine* lower = in;
  Affine* higher = inout;
  seen = *type;
  for (int i = 0; i < *length; ++i) higher[i] = one_then(lower[i], higher[i]);
}

#ifdef ESPALIER_MPI_MPI_H
static void combine_large(void* in, void* inout, MPI_Count* length, MPI_Datatype* type) {
  int few = (int)*length;
  is_large_form = 1;
  combine(in, inout, &few, type);
}
#endif

static Affine affine_at(int of, int i) {
  return (Affine){of + 2, kUntouched, i + of, {kUntouched, kUntouched}};
}

static void fill(Affine* at, int count, int of, int first) {
  for (int i = 0; i < count; ++i) at[i] = affine_at(of, first + i);
}

static void clear(Affine* at, int count) {
  for (int i = 0; i < count; ++i) at[i] = (Affine){0, kUntouched, 0, {kUntouched, kUntouched}};
}

/* Of ranks 0 to ranks - 1; the gaps are as they were. */
static int is_all_of(const Affine* at, int count, int ranks, int first) {
  int right = 1;
  for (int i = 0; i < count; ++i) {
    Affine all = affine_at(0, first + i);
    for (int r = 1; r < ranks; ++r) all = one_then(all, affine_at(r, first + i));
    right = right && at[i].a == all.a && at[i].b == all.b && at[i].gap == kUntouched &&
            at[i].gaps[0] == kUntouched && at[i].gaps[1] == kUntouched;
  }
  return right;
}

static void reductions(MPI_Op op) {
  enum { kMost = 16 };
  Affine mine[kElements * kMost], result[kElements * kMost];
  const MPI_Comm world = MPI_COMM_WORLD;
  MPI_Request request;
  fill(mine, kElements, rank, 0);
  for (int root = 0; root < size; root += 2) {
    clear(result, kElements);
    CHECK_OK(MPI_Reduce(mine, result, kElements, affine_type, op, root, world));
    if (rank == root) CHECK(is_all_of(result, kElements, size, 0));
    if (rank == root) CHECK(size == 1 || seen == affine_type);
  }
  clear(result, kElements);
  CHECK_OK(MPI_Allreduce(mine, result, kElements, affine_type, op, world));
  CHECK(is_all_of(result, kElements, size, 0));
  fill(result, kElements, rank, 0);
  CHECK_OK(MPI_Allreduce(MPI_IN_PLACE, result, kElements, affine_type, op, world));
  CHECK(is_all_of(result, kElements, size, 0));
  clear(result, kElements);
  CHECK_OK(MPI_Iscan(mine, result, kElements, affine_type, op, world, &request));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(is_all_of(result, kElements, rank + 1, 0));
  clear(result, kElements);
  CHECK_OK(MPI_Exscan(mine, result, kElements, affine_type, op, world));
  if (rank > 0) CHECK(is_all_of(result, kElements, rank, 0));
  if (rank == 0) CHECK(result[0].a == 0 && result[kElements - 1].b == 0);
  CHECK_OK(MPI_Allreduce(mine, result, 0, affine_type, op, world));
  if (kMpich) return; /* 4.0 combines blocks of derived types wrongly */
  /* Blocks: alike, and one longer on each rank than on the one before. */
  fill(mine, 2 * size, rank, 0);
  clear(result, 2);
  CHECK_OK(MPI_Reduce_scatter_block(mine, result, 2, affine_type, op, world));
  CHECK(is_all_of(result, 2, size, 2 * rank));
  int counts[kMost], before = 0, total = 0;
  for (int r = 0; r < size; ++r) {
    counts[r] = r;
    if (r < rank) before += r;
    total += r;
  }
  fill(mine, total, rank, 0);
  clear(result, size);
  CHECK_OK(MPI_Reduce_scatter(mine, result, counts, affine_type, op, world));
  CHECK(is_all_of(result, rank, size, before));
  CHECK(result[rank].a == 0);
}

#ifdef ESPALIER_MPI_MPI_H
static void persistent(MPI_Op op) {
  Affine mine[2], result[2];
  MPI_Request request;
  clear(result, 2);
  CHECK_OK(MPI_Allreduce_init(mine, result, 2, affine_type, op, MPI_COMM_WORLD, MPI_INFO_NULL,
                              &request));
  for (int round = 0; round < 3; ++round) {
    fill(mine, 2, rank, round);
    CHECK_OK(MPI_Start(&request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(is_all_of(result, 2, size, round));
  }
  CHECK_OK(MPI_Request_free(&request));
}
#endif

static void derived(void) {
  MPI_Datatype ints;
  MPI_Op op;
  CHECK_OK(MPI_Type_vector(2, 1, 2, MPI_INT, &ints));
  CHECK_OK(MPI_Type_create_resized(ints, 0, sizeof(Affine), &affine_type));
  CHECK_OK(MPI_Type_commit(&affine_type));
  CHECK_OK(MPI_Type_free(&ints));
  CHECK_OK(MPI_Op_create(combine, 0, &op));
  reductions(op);
  CHECK_OK(MPI_Op_free(&op));
#ifdef ESPALIER_MPI_MPI_H
  CHECK_OK(MPI_Op_create_c(combine_large, 0, &op));
  reductions(op);
  CHECK(size == 1 || is_large_form);
  persistent(op);
  CHECK_OK(MPI_Op_free(&op));
#endif
  CHECK_OK(MPI_Type_free(&affine_type));
}

/* ---- MPI_Reduce_local ---- */

static void local(void) {
  const int ints[] = {3, -7, 0x55};
  int more[] = {4, 2, 0x0f};
  CHECK_OK(MPI_Reduce_local(ints, more, 3, MPI_INT, MPI_SUM));
  CHECK(more[0] == 7 && more[1] == -5 && more[2] == 0x64);
  int bits[] = {1, 2, 0x0f};
  CHECK_OK(MPI_Reduce_local(ints, bits, 3, MPI_INT, MPI_BAND));
  CHECK(bits[0] == 1 && bits[2] == 5);
  const double numbers[] = {2.5, -0.0, 9};
  double others[] = {4, 0.0, -3};
  CHECK_OK(MPI_Reduce_local(numbers, others, 3, MPI_DOUBLE, MPI_MIN));
  CHECK(others[0] == 2.5 && others[2] == -3);
  CHECK(!kOurs || signbit(others[1])); /* as in collectives */
  const unsigned char small[] = {200, 1};
  unsigned char sums[] = {100, 2};
  CHECK_OK(MPI_Reduce_local(small, sums, 2, MPI_UNSIGNED_CHAR, MPI_SUM));
  CHECK(sums[0] == 44 && sums[1] == 3);
  const float complex_one[] = {1, 2};
  float complex_other[] = {3, 4};
  CHECK_OK(MPI_Reduce_local(complex_one, complex_other, 1, MPI_C_FLOAT_COMPLEX, MPI_PROD));
  CHECK(complex_other[0] == -5 && complex_other[1] == 10);
  typedef struct Located {
    double value;
    int index;
  } Located;
  const Located here[] = {{1, 8}, {2, 3}, {5, 1}};
  Located there[] = {{1, 4}, {7, 2}, {5, 6}};
  CHECK_OK(MPI_Reduce_local(here, there, 3, MPI_DOUBLE_INT, MPI_MINLOC));
  CHECK(there[0].index == 4 && there[1].value == 2 && there[1].index == 3 && there[2].index == 1);
  MPI_Op op;
  CHECK_OK(MPI_Op_create(compose, 0, &op));
  const uint64_t lower = affine(0, 1);
  uint64_t higher = affine(1, 1);
  CHECK_OK(MPI_Reduce_local(&lower, &higher, 1, MPI_UINT64_T, op));
  CHECK(higher == composed(2, 1));
  CHECK_OK(MPI_Op_free(&op));
  if (kOurs) {
    CHECK_CLASS(MPI_Reduce_local(ints, more, 3, MPI_INT, MPI_MAXLOC), MPI_ERR_OP);
    CHECK_CLASS(MPI_Reduce_local(ints, more, -3, MPI_INT, MPI_SUM), MPI_ERR_COUNT);
  }
}

/* ---- "external32" ---- */

typedef struct Record {
  short letter;
  double number;
  int gap;
  int count;
} Record;

static void external(void) {
  if (kMpich) return; /* 4.0 of Debian crashes */
  const MPI_Aint places[] = {offsetof(Record, letter), offsetof(Record, number),
                             offsetof(Record, count)};
  const int ones[] = {1, 1, 1};
  const MPI_Datatype members[] = {MPI_SHORT, MPI_DOUBLE, MPI_INT};
  MPI_Datatype type;
  CHECK_OK(MPI_Type_create_struct(3, ones, places, members, &type));
  CHECK_OK(MPI_Type_commit(&type));
  const Record records[] = {{0x0102, 1.0, 9, -2}, {-1, -2.0, 9, 0x01020304}};
  const unsigned char expected[] = {1,    2,    0x3f, 0xf0, 0,    0,    0,    0, 0, 0,
                                    0xff, 0xff, 0xff, 0xfe, 0xff, 0xff, 0xc0, 0, 0, 0,
                                    0,    0,    0,    0,    1,    2,    3,    4};
  unsigned char packed[64];
  MPI_Aint at = 0, bytes = 0;
  CHECK_OK(MPI_Pack_external_size("external32", 2, type, &bytes));
  CHECK(bytes == sizeof expected);
  CHECK_OK(MPI_Pack_external("external32", records, 2, type, packed, sizeof packed, &at));
  CHECK(at == sizeof expected && memcmp(packed, expected, sizeof expected) == 0);
  Record back[2] = {{0, 0, 4, 0}, {0, 0, 4, 0}};
  at = 0;
  CHECK_OK(MPI_Unpack_external("external32", packed, sizeof expected, &at, back, 2, type));
  CHECK(at == sizeof expected && back[0].letter == 0x0102 && back[0].number == 1.0);
  CHECK(back[1].letter == -1 && back[1].count == 0x01020304 && back[0].gap == 4);
  CHECK_OK(MPI_Type_free(&type));
  if (!kOurs) return; /* the others keep long and long double as they are */
  const long double wide[] = {1.5L, -0.0L, 1e-4940L, 3.0e4000L, 1.0L / 3};
  const unsigned char one_and_half[] = {0x3f, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  unsigned char room[96];
  long double again[5];
  at = 0;
  CHECK_OK(MPI_Pack_external("external32", wide, 5, MPI_LONG_DOUBLE, room, sizeof room, &at));
  CHECK(at == 80 && memcmp(room, one_and_half, 16) == 0);
  at = 0;
  CHECK_OK(MPI_Unpack_external("external32", room, 80, &at, again, 5, MPI_LONG_DOUBLE));
  for (int i = 0; i < 5; ++i) CHECK(again[i] == wide[i] && !signbit(again[i]) == !signbit(wide[i]));
  const long numbers[] = {-3, 70000};
  const unsigned char short_form[] = {0xff, 0xff, 0xff, 0xfd, 0, 1, 0x11, 0x70};
  long numbers_again[2];
  at = 0;
  CHECK_OK(MPI_Pack_external("external32", numbers, 2, MPI_LONG, room, sizeof room, &at));
  CHECK(at == 8 && memcmp(room, short_form, 8) == 0);
  at = 0;
  CHECK_OK(MPI_Unpack_external("external32", room, 8, &at, numbers_again, 2, MPI_LONG));
  CHECK(numbers_again[0] == -3 && numbers_again[1] == 70000);
  CHECK_CLASS(MPI_Pack_external("native", numbers, 1, MPI_LONG, room, 8, &at), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Pack_external("external32", numbers, 1, MPI_LONG, room, 11, &at),
              MPI_ERR_TRUNCATE);
}

/* Pairs of reals, of Fortran: of equal values the lower index, which may be negative. */
static void pairs_of_reals(void) {
  enum { kPairs = 3 };
  float in[kPairs][2], least[kPairs][2], greatest[kPairs][2];
  double wide[kPairs][2], best[kPairs][2];
  for (int i = 0; i < kPairs; ++i) {
    in[i][0] = (float)(i == 2 ? 7 : i - rank);
    wide[i][0] = in[i][0] + 0.5;
    wide[i][1] = in[i][1] = (float)(i - rank);
  }
  CHECK_OK(MPI_Allreduce(in, least, kPairs, MPI_2REAL, MPI_MINLOC, MPI_COMM_WORLD));
  CHECK_OK(MPI_Allreduce(in, greatest, kPairs, MPI_2REAL, MPI_MAXLOC, MPI_COMM_WORLD));
  CHECK_OK(MPI_Allreduce(wide, best, kPairs, MPI_2DOUBLE_PRECISION, MPI_MINLOC, MPI_COMM_WORLD));
  const int last = size - 1;
  for (int i = 0; i < 2; ++i) {
    CHECK(least[i][0] == (float)(i - last) && least[i][1] == (float)(i - last));
    CHECK(greatest[i][0] == (float)i && greatest[i][1] == (float)i);
    CHECK(best[i][0] == i - last + 0.5 && best[i][1] == i - last);
  }
  CHECK(least[2][0] == 7 && least[2][1] == (float)(2 - last));
  CHECK(greatest[2][0] == 7 && greatest[2][1] == (float)(2 - last));
  double more[2] = {3, 9};
  CHECK_OK(MPI_Reduce_local(wide[2], more, 1, MPI_2DOUBLE_PRECISION, MPI_MAXLOC));
  CHECK(more[0] == 7.5 && more[1] == 2 - rank);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return_errors();
  derived();
  local();
  external();
  pairs_of_reals();
  return conclude();
}
