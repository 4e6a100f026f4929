/* conformance: the facade's part of the MPI standard, as one C program that knows nothing but
 * <mpi.h>.
 *
 * The same source passes with Open MPI and MPICH (peers.sh), which shows that what it asks for is
 * MPI and not our reading of it. Prints which rank failed what; the exit status is 0 when nothing
 * failed on any rank. At least two processes.
 */
#include "conformance.h"

#include <complex.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int sum_of_ranks(void) {
  return size * (size - 1) / 2;
}

static void environment(void) {
  int flag = 0, length = 0, version = 0, subversion = 0;
  char name[MPI_MAX_PROCESSOR_NAME], text[MPI_MAX_ERROR_STRING];
  CHECK_OK(MPI_Initialized(&flag));
  CHECK(flag);
  CHECK_OK(MPI_Finalized(&flag));
  CHECK(!flag);
  CHECK_OK(MPI_Get_processor_name(name, &length));
  CHECK(length > 0 && (size_t)length == strlen(name));
  CHECK_OK(MPI_Get_version(&version, &subversion));
  CHECK(version >= 3);
  CHECK_OK(MPI_Error_string(MPI_ERR_ROOT, text, &length));
  CHECK(length > 0 && (size_t)length == strlen(text));
  const double before = MPI_Wtime();
  while (MPI_Wtime() - before < 1e-3) continue;
  CHECK(MPI_Wtick() > 0 && MPI_Wtick() < 1);
  CHECK_OK(MPI_Is_thread_main(&flag));
  CHECK(flag);
}

/* ---- data ---- */

#define CHECK_TYPE(c_type, mpi_type)                                                     \
  do {                                                                                   \
    c_type in[3], out[3];                                                                \
    int bytes = 0;                                                                       \
    for (int i = 0; i < 3; ++i) in[i] = (c_type)(rank + i), out[i] = 0;                  \
    CHECK_OK(MPI_Type_size(mpi_type, &bytes));                                           \
    check_at(__LINE__, bytes == (int)sizeof(c_type), "size of " #mpi_type);              \
    CHECK_OK(MPI_Allreduce(in, out, 3, mpi_type, MPI_SUM, MPI_COMM_WORLD));              \
    check_at(__LINE__, out[2] == (c_type)(sum_of_ranks() + 2 * size), "sum " #mpi_type); \
    CHECK_OK(MPI_Bcast(in, 3, mpi_type, size - 1, MPI_COMM_WORLD));                      \
    check_at(__LINE__, in[1] == (c_type)size, "bcast " #mpi_type);                       \
  } while (0)

static void number_types(void) {
  CHECK_TYPE(short, MPI_SHORT);
  CHECK_TYPE(int, MPI_INT);
  CHECK_TYPE(long, MPI_LONG);
  CHECK_TYPE(long long, MPI_LONG_LONG);
  CHECK_TYPE(signed char, MPI_SIGNED_CHAR);
  CHECK_TYPE(unsigned char, MPI_UNSIGNED_CHAR);
  CHECK_TYPE(unsigned short, MPI_UNSIGNED_SHORT);
  CHECK_TYPE(unsigned, MPI_UNSIGNED);
  CHECK_TYPE(unsigned long, MPI_UNSIGNED_LONG);
  CHECK_TYPE(unsigned long long, MPI_UNSIGNED_LONG_LONG);
  CHECK_TYPE(int8_t, MPI_INT8_T);
  CHECK_TYPE(int16_t, MPI_INT16_T);
  CHECK_TYPE(int32_t, MPI_INT32_T);
  CHECK_TYPE(int64_t, MPI_INT64_T);
  CHECK_TYPE(uint8_t, MPI_UINT8_T);
  CHECK_TYPE(uint16_t, MPI_UINT16_T);
  CHECK_TYPE(uint32_t, MPI_UINT32_T);
  CHECK_TYPE(uint64_t, MPI_UINT64_T);
  CHECK_TYPE(MPI_Aint, MPI_AINT);
  CHECK_TYPE(MPI_Count, MPI_COUNT);
  CHECK_TYPE(MPI_Offset, MPI_OFFSET);
  CHECK_TYPE(float, MPI_FLOAT);
  CHECK_TYPE(double, MPI_DOUBLE);
  CHECK_TYPE(long double, MPI_LONG_DOUBLE);
  CHECK_TYPE(float complex, MPI_C_FLOAT_COMPLEX);
  CHECK_TYPE(double complex, MPI_C_DOUBLE_COMPLEX);
}

static void other_types(void) {
  bool flags[2] = {rank == 0, true}, all[2];
  CHECK_OK(MPI_Allreduce(flags, all, 2, MPI_C_BOOL, MPI_LAND, MPI_COMM_WORLD));
  CHECK(all[0] == (size == 1) && all[1]);
  unsigned char bits = (unsigned char)(1u << (rank % 8)), any = 0;
  CHECK_OK(MPI_Allreduce(&bits, &any, 1, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD));
  CHECK(any == (size >= 8 ? 255 : (1 << size) - 1));
  char text[20] = "";
  if (rank == 0) strcpy(text, "from rank zero");
  CHECK_OK(MPI_Bcast(text, 20, MPI_CHAR, 0, MPI_COMM_WORLD));
  CHECK(strcmp(text, "from rank zero") == 0);
}

static void operators(void) {
  const int mine = rank + 1;
  int out = 0, product = 1;
  const int factor = mine <= 12 ? mine : 1; /* 12! is the last that fits into an int. */
  for (int r = 1; r <= size && r <= 12; ++r) product *= r;
  CHECK_OK(MPI_Allreduce(&factor, &out, 1, MPI_INT, MPI_PROD, MPI_COMM_WORLD));
  CHECK(out == product);
  CHECK_OK(MPI_Allreduce(&mine, &out, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
  CHECK(out == size);
  CHECK_OK(MPI_Allreduce(&mine, &out, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  CHECK(out == 1);
  CHECK_OK(MPI_Allreduce(&rank, &out, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD));
  CHECK(out == (size > 1));
  CHECK_OK(MPI_Allreduce(&mine, &out, 1, MPI_INT, MPI_LXOR, MPI_COMM_WORLD));
  CHECK(out == size % 2);
  CHECK_OK(MPI_Allreduce(&mine, &out, 1, MPI_INT, MPI_BAND, MPI_COMM_WORLD));
  CHECK(out == (size == 1));
  const int bit = 1 << (rank % 30);
  CHECK_OK(MPI_Allreduce(&bit, &out, 1, MPI_INT, MPI_BXOR, MPI_COMM_WORLD));
  CHECK(size > 30 || out == (int)((1u << size) - 1));
}

static void locations(void) {
  struct {
    double value;
    int index;
  } d = {rank % 2, rank}, best_d = {0, -1};
  struct {
    long value;
    int index;
  } l = {-(long)rank, rank}, best_l = {0, -1};
  struct {
    short value;
    int index;
  } s = {(short)rank, rank}, best_s = {0, -1};
  struct {
    float value;
    int index;
  } f = {(float)rank, rank}, best_f = {0, -1};
  struct {
    int value;
    int index;
  } i = {7, rank}, best_i = {0, -1};
  struct {
    long double value;
    int index;
  } x = {rank, rank}, best_x = {0, -1};
  CHECK_OK(MPI_Allreduce(&d, &best_d, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD));
  CHECK(best_d.value == (size > 1) && best_d.index == (size > 1));
  CHECK_OK(MPI_Allreduce(&l, &best_l, 1, MPI_LONG_INT, MPI_MINLOC, MPI_COMM_WORLD));
  CHECK(best_l.value == 1 - size && best_l.index == size - 1);
  CHECK_OK(MPI_Allreduce(&s, &best_s, 1, MPI_SHORT_INT, MPI_MAXLOC, MPI_COMM_WORLD));
  CHECK(best_s.value == size - 1 && best_s.index == size - 1);
  CHECK_OK(MPI_Allreduce(&f, &best_f, 1, MPI_FLOAT_INT, MPI_MINLOC, MPI_COMM_WORLD));
  CHECK(best_f.value == 0 && best_f.index == 0);
  CHECK_OK(MPI_Allreduce(&i, &best_i, 1, MPI_2INT, MPI_MINLOC, MPI_COMM_WORLD));
  CHECK(best_i.value == 7 && best_i.index == 0);
  CHECK_OK(MPI_Allreduce(&x, &best_x, 1, MPI_LONG_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD));
  CHECK(best_x.value == size - 1 && best_x.index == size - 1);
  int bytes = 0;
  CHECK_OK(MPI_Type_size(MPI_DOUBLE_INT, &bytes));
  CHECK(bytes == 12);
  CHECK_OK(MPI_Type_size(MPI_SHORT_INT, &bytes));
  CHECK(bytes == 6);
}

static void sizes_and_roots(void) {
  enum { kMost = 300000 };
  static const int counts[] = {0, 1, 5, 100, 4097, kMost};
  double* data = malloc(kMost * sizeof *data);
  double* sum = malloc(kMost * sizeof *sum);
  for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c) {
    const int n = counts[c];
    for (int root = 0; root < size; ++root) {
      for (int i = 0; i < n; ++i) data[i] = rank == root ? root + i : -1;
      CHECK_OK(MPI_Bcast(data, n, MPI_DOUBLE, root, MPI_COMM_WORLD));
      CHECK(n == 0 || (data[0] == root && data[n - 1] == root + n - 1));
      for (int i = 0; i < n; ++i) data[i] = rank + i, sum[i] = -1;
      CHECK_OK(MPI_Reduce(data, rank == root ? sum : NULL, n, MPI_DOUBLE, MPI_SUM, root,
                          MPI_COMM_WORLD));
      const double expected = sum_of_ranks() + (double)size * (n - 1);
      CHECK(n == 0 || sum[n - 1] == (rank == root ? expected : -1));
    }
  }
  free(data);
  free(sum);
}

static void in_place(void) {
  int v[2] = {rank, 1};
  CHECK_OK(MPI_Allreduce(MPI_IN_PLACE, v, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK(v[0] == sum_of_ranks() && v[1] == size);
  int w = rank;
  const void* input = rank == 1 ? MPI_IN_PLACE : &w;
  CHECK_OK(MPI_Reduce(input, rank == 1 ? &w : NULL, 1, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD));
  CHECK(w == (rank == 1 ? sum_of_ranks() : rank));
}

/* ---- user operators ---- */

static void user_operators(void) {
  enum { kCount = 1000 };
  uint64_t mine[kCount], out[kCount];
  MPI_Op op;
  int commutes = -1;
  CHECK_OK(MPI_Op_create(compose, 0, &op));
  CHECK_OK(MPI_Op_commutative(op, &commutes));
  CHECK(commutes == 0);
  for (int i = 0; i < kCount; ++i) mine[i] = affine(rank, i);
  const MPI_Datatype types[] = {MPI_UINT64_T, MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG};
  for (int t = 0; t < 3; ++t) {
    memset(out, 0, sizeof out);
    seen_type = MPI_DATATYPE_NULL;
    CHECK_OK(MPI_Allreduce(mine, out, kCount, types[t], op, MPI_COMM_WORLD));
    int wrong = 0;
    for (int i = 0; i < kCount; ++i) wrong += out[i] != composed(size, i);
    CHECK(wrong == 0);
    /* Not every rank combines. */
    const int saw = seen_type != MPI_DATATYPE_NULL;
    int anyone = 0;
    CHECK(!saw || seen_type == types[t]);
    CHECK_OK(MPI_Allreduce(&saw, &anyone, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD));
    CHECK(anyone);
  }
  /* An operator may be freed while an operation that uses it is pending. */
  MPI_Request request;
  CHECK_OK(MPI_Ireduce(mine, out, kCount, MPI_UINT64_T, op, 0, MPI_COMM_WORLD, &request));
  CHECK_OK(MPI_Op_free(&op));
  CHECK(op == MPI_OP_NULL);
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Op_commutative(MPI_SUM, &commutes));
  CHECK(commutes == 1);
}

/* Making an operator is local: processes may have made different ones before. */
static void operators_made_apart(void) {
  uint64_t mine = affine(rank, 0), out = 0;
  MPI_Op extra = MPI_OP_NULL, op;
  if (rank == 0) {
    CHECK_OK(MPI_Op_create(compose, 1, &extra));
    CHECK_OK(MPI_Allreduce(&mine, &out, 1, MPI_UINT64_T, extra, MPI_COMM_SELF));
    CHECK(out == mine);
  }
  CHECK_OK(MPI_Op_create(compose, 0, &op));
  CHECK_OK(MPI_Allreduce(&mine, &out, 1, MPI_UINT64_T, op, MPI_COMM_WORLD));
  CHECK(out == composed(size, 0));
  CHECK_OK(MPI_Op_free(&op));
  if (rank == 0) CHECK_OK(MPI_Op_free(&extra));
}

/* ---- non-blocking ---- */

static void completion_of_many(void) {
  enum { kMany = 12 };
  MPI_Request requests[kMany];
  MPI_Status statuses[kMany];
  int in[kMany], out[kMany], flag = 0, index = 0;
  for (int i = 0; i < kMany; ++i) {
    in[i] = rank + i;
    CHECK_OK(MPI_Iallreduce(&in[i], &out[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]));
  }
  CHECK_OK(MPI_Wait(&requests[3], &statuses[0]));
  CHECK(requests[3] == MPI_REQUEST_NULL && out[3] == sum_of_ranks() + 3 * size);
  CHECK_OK(MPI_Waitany(kMany, requests, &index, MPI_STATUS_IGNORE));
  CHECK(index >= 0 && index < kMany && index != 3 && requests[index] == MPI_REQUEST_NULL);
  do CHECK_OK(MPI_Test(&requests[5], &flag, MPI_STATUS_IGNORE));
  while (!flag);
  CHECK(requests[5] == MPI_REQUEST_NULL);
  do CHECK_OK(MPI_Testany(kMany, requests, &index, &flag, MPI_STATUS_IGNORE));
  while (!flag);
  CHECK(index != MPI_UNDEFINED);
  CHECK_OK(MPI_Waitall(kMany, requests, statuses));
  for (int i = 0; i < kMany; ++i) CHECK(out[i] == sum_of_ranks() + i * size);
  CHECK_OK(MPI_Waitany(kMany, requests, &index, MPI_STATUS_IGNORE));
  CHECK(index == MPI_UNDEFINED);
  CHECK_OK(MPI_Testall(kMany, requests, &flag, MPI_STATUSES_IGNORE));
  CHECK(flag);
  CHECK_OK(MPI_Testany(kMany, requests, &index, &flag, MPI_STATUS_IGNORE));
  CHECK(flag && index == MPI_UNDEFINED);
  CHECK_OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
}

static void some_of_many(void) {
  enum { kMany = 12 };
  MPI_Request requests[kMany];
  MPI_Status statuses[kMany];
  int in[kMany], out[kMany], indices[kMany], taken[kMany] = {0}, count = 0, total = 0;
  for (int i = 0; i < kMany; ++i) {
    in[i] = rank + i;
    CHECK_OK(MPI_Iallreduce(&in[i], &out[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]));
  }
  while (total < kMany) {
    const int waits = total < kMany / 2;
    CHECK_OK(waits ? MPI_Waitsome(kMany, requests, &count, indices, statuses)
                   : MPI_Testsome(kMany, requests, &count, indices, MPI_STATUSES_IGNORE));
    CHECK(count >= waits && count <= kMany - total);
    if (count < 0) return;
    for (int k = 0; k < count; ++k) {
      const int i = indices[k];
      CHECK(requests[i] == MPI_REQUEST_NULL && taken[i]++ == 0);
      CHECK(out[i] == sum_of_ranks() + i * size);
    }
    total += count;
  }
  CHECK_OK(MPI_Waitsome(kMany, requests, &count, indices, statuses));
  CHECK(count == MPI_UNDEFINED);
  CHECK_OK(MPI_Testsome(kMany, requests, &count, indices, statuses));
  CHECK(count == MPI_UNDEFINED);
}

static void all_kinds_at_once(void) {
  enum { kCount = 5000 };
  static int cast[kCount], mine[kCount], sum[kCount], all[kCount];
  MPI_Request requests[4];
  int flag = 0;
  for (int i = 0; i < kCount; ++i) cast[i] = rank == 0 ? i : -1, mine[i] = rank;
  CHECK_OK(MPI_Ibcast(cast, kCount, MPI_INT, 0, MPI_COMM_WORLD, &requests[0]));
  CHECK_OK(
      MPI_Ireduce(mine, sum, kCount, MPI_INT, MPI_SUM, size - 1, MPI_COMM_WORLD, &requests[1]));
  CHECK_OK(MPI_Ibarrier(MPI_COMM_WORLD, &requests[2]));
  CHECK_OK(MPI_Iallreduce(mine, all, kCount, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &requests[3]));
  do CHECK_OK(MPI_Testall(4, requests, &flag, MPI_STATUSES_IGNORE));
  while (!flag);
  for (int i = 0; i < 4; ++i) CHECK(requests[i] == MPI_REQUEST_NULL);
  CHECK(cast[kCount - 1] == kCount - 1 && all[0] == size - 1);
  CHECK(rank != size - 1 || sum[kCount - 1] == sum_of_ranks());
}

/* ---- communicators ---- */

static void communicators(void) {
  MPI_Comm copy, half, none;
  int r = -1, n = -1, sum = 0;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  CHECK_OK(MPI_Comm_rank(copy, &r));
  CHECK_OK(MPI_Comm_size(copy, &n));
  CHECK(r == rank && n == size && copy != MPI_COMM_WORLD);
  CHECK_OK(MPI_Comm_split(copy, rank % 2, -rank, &half));
  CHECK_OK(MPI_Comm_rank(half, &r));
  CHECK_OK(MPI_Comm_size(half, &n));
  CHECK(n == (size + 1 - rank % 2) / 2);
  CHECK(r == n - 1 - rank / 2);
  CHECK_OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, half));
  int expected = 0;
  for (int i = rank % 2; i < size; i += 2) expected += i;
  CHECK(sum == expected);
  CHECK_OK(MPI_Comm_split(copy, rank == 0 ? 5 : MPI_UNDEFINED, 0, &none));
  CHECK((none == MPI_COMM_NULL) == (rank != 0));
  if (rank == 0) CHECK_OK(MPI_Comm_free(&none));
  /* A communicator may be freed while an operation on it is pending. */
  MPI_Request request;
  CHECK_OK(MPI_Ibarrier(half, &request));
  CHECK_OK(MPI_Comm_free(&half));
  CHECK(half == MPI_COMM_NULL);
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_Comm_free(&copy));
  CHECK_OK(MPI_Comm_rank(MPI_COMM_SELF, &r));
  CHECK_OK(MPI_Comm_size(MPI_COMM_SELF, &n));
  CHECK(r == 0 && n == 1);
  CHECK_OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF));
  CHECK(sum == rank);
  for (int i = 0; i < 100; ++i) {
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    CHECK_OK(MPI_Barrier(copy));
    CHECK_OK(MPI_Comm_free(&copy));
  }
}

/* ---- errors ---- */

static int handled, handled_class;
static void handler(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  ++handled;
  handled_class = class_of(*code);
}

static void error_classes(void) {
  int x = 1, y = 0, length = 0;
  char text[MPI_MAX_ERROR_STRING];
  MPI_Op null_op = MPI_OP_NULL;
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  CHECK_CLASS(MPI_Bcast(&x, 1, MPI_INT, -1, MPI_COMM_WORLD), MPI_ERR_ROOT);
  CHECK_CLASS(MPI_Bcast(&x, 1, MPI_INT, size, MPI_COMM_WORLD), MPI_ERR_ROOT);
  CHECK_CLASS(MPI_Bcast(&x, -1, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Bcast(&x, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_NULL), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Allreduce(&x, &y, 1, MPI_INT, null_op, MPI_COMM_WORLD), MPI_ERR_OP);
  CHECK_CLASS(MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD), MPI_ERR_OP);
  CHECK_CLASS(MPI_Reduce(&x, &y, -5, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Comm_rank(MPI_COMM_NULL, &y), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Op_free(&null_op), MPI_ERR_OP);
  const int code = MPI_Bcast(&x, 1, MPI_INT, 9999, MPI_COMM_WORLD);
  CHECK_OK(MPI_Error_string(code, text, &length));
  CHECK(length > 0 && strstr(text, "root") != NULL);
  CHECK(x == 1 && y == 0);
}

static void error_handlers(void) {
  MPI_Comm copy;
  MPI_Errhandler mine, found;
  int x = 0;
  CHECK_OK(MPI_Comm_create_errhandler(handler, &mine));
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine));
  CHECK_CLASS(MPI_Bcast(&x, 1, MPI_INT, -1, MPI_COMM_WORLD), MPI_ERR_ROOT);
  CHECK(handled == 1 && handled_class == MPI_ERR_ROOT);
  /* Inherited, and alive as long as a communicator uses it. */
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Errhandler_free(&mine));
  CHECK(mine == MPI_ERRHANDLER_NULL);
  CHECK_CLASS(MPI_Bcast(&x, -2, MPI_INT, 0, copy), MPI_ERR_COUNT);
  CHECK(handled == 2 && handled_class == MPI_ERR_COUNT);
  CHECK_OK(MPI_Comm_free(&copy));
  CHECK_OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &found));
  CHECK(found == MPI_ERRORS_RETURN);
  CHECK_OK(MPI_Errhandler_free(&found));
  CHECK_CLASS(MPI_Bcast(&x, 1, MPI_INT, -1, MPI_COMM_WORLD), MPI_ERR_ROOT);
  CHECK(handled == 2);
}

int main(int argc, char** argv) {
  int flag = -1, provided = -1;
  CHECK(MPI_Initialized(&flag) == MPI_SUCCESS && !flag);
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(provided >= MPI_THREAD_FUNNELED);
  environment();
  number_types();
  other_types();
  operators();
  locations();
  sizes_and_roots();
  in_place();
  user_operators();
  operators_made_apart();
  completion_of_many();
  some_of_many();
  all_kinds_at_once();
  communicators();
  /* An MPI that was built without argument checks (Debian's MPICH) cannot take this part. */
  if (argc < 2 || strcmp(argv[1], "--no-argument-checks") != 0) {
    error_classes();
    error_handlers();
  }
  const int failed = conclude();
  MPI_Finalized(&flag);
  return failed || !flag || size < 2;
}
