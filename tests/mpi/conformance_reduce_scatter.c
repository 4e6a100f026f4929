/* conformance_reduce_scatter: reductions whose result is split, and MPI_Alltoallw, as one C program
 * that knows nothing but <mpi.h>; see conformance.c. Any number of processes.
 */
#include <string.h>

#include "conformance_blocks.h"

/* ---- reductions ---- */

/* Elements of the ranks, and where each rank's begin; of equal blocks, or of such as are empty for
 * some. */
typedef struct Parts {
  int* counts;
  int* begins;
  int total;
} Parts;

static Parts parts_of(int n, int equal) {
  Parts p = {calloc((size_t)size, sizeof(int)), calloc((size_t)size, sizeof(int)), 0};
  for (int r = 0; r < size; ++r) {
    p.counts[r] = equal ? n : n * ((r + 2) % 3);
    p.begins[r] = p.total;
    p.total += p.counts[r];
  }
  return p;
}

static void free_parts(Parts* p) {
  free(p->counts);
  free(p->begins);
}

static int call(const Parts* p, int equal, Form form, const void* in, void* out, MPI_Datatype type,
                MPI_Op op, MPI_Request* request) {
  const MPI_Comm world = MPI_COMM_WORLD;
  if (form == kStarted) {
    return equal ? MPI_Ireduce_scatter_block(in, out, p->counts[0], type, op, world, request)
                 : MPI_Ireduce_scatter(in, out, p->counts, type, op, world, request);
  }
  return equal ? MPI_Reduce_scatter_block(in, out, p->counts[0], type, op, world)
               : MPI_Reduce_scatter(in, out, p->counts, type, op, world);
}

static void sums(int n, int equal, Form form) {
  MPI_Request request = MPI_REQUEST_NULL;
  Parts p = parts_of(n, equal);
  const int in_place = form == kInPlace, mine = p.counts[rank], begin = p.begins[rank];
  int* in = gaps(p.total);
  int* out = in_place ? in : gaps(mine);
  for (int i = 0; i < p.total; ++i) in[i] = rank + 3 * i;
  CHECK_OK(call(&p, equal, form, in_place ? MPI_IN_PLACE : in, out, MPI_INT, MPI_SUM, &request));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  int wrong = 0;
  for (int i = 0; i < mine; ++i) {
    wrong += out[i] != size * (size - 1) / 2 + 3 * size * (begin + i);
  }
  CHECK(wrong == 0);
  if (!in_place) CHECK(out[mine] == kGap);
  for (int i = 0; i < p.total && !in_place; ++i) wrong += in[i] != rank + 3 * i;
  CHECK(wrong == 0 && in[p.total] == kGap);
  if (!in_place) free(out);
  free(in);
  free_parts(&p);
}

/* An operator that does not commute. */
static void in_order(int n, int equal, Form form, MPI_Op op) {
  MPI_Request request = MPI_REQUEST_NULL;
  Parts p = parts_of(n, equal);
  const int in_place = form == kInPlace, mine = p.counts[rank], begin = p.begins[rank];
  uint64_t* in = calloc((size_t)p.total + 1, sizeof *in);
  uint64_t* out = in_place ? in : calloc((size_t)mine + 1, sizeof *out);
  for (int i = 0; i < p.total; ++i) in[i] = affine(rank, i);
  CHECK_OK(call(&p, equal, form, in_place ? MPI_IN_PLACE : in, out, MPI_UINT64_T, op, &request));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  int wrong = 0;
  for (int i = 0; i < mine; ++i) wrong += out[i] != composed(size, begin + i);
  CHECK(wrong == 0);
  if (!in_place) free(out);
  free(in);
  free_parts(&p);
}

static void reductions(void) {
  static const int counts[] = {0, 1, 7, 300, 4000};
  MPI_Op op;
  CHECK_OK(MPI_Op_create(compose, 0, &op));
  for (int c = 0; c < 5; ++c) {
    for (int form = 0; form < kForms; ++form) {
      for (int equal = 0; equal < 2; ++equal) {
        sums(counts[c], equal, (Form)form);
        in_order(counts[c], equal, (Form)form, op);
      }
    }
  }
  CHECK_OK(MPI_Op_free(&op));
}

/* Pairs, and only one rank that gets anything. */
static void to_one_rank(void) {
  typedef struct Pair {
    double value;
    int index;
  } Pair;
  const Pair mine[2] = {{rank % 3, rank}, {-rank, rank}};
  Pair best[2] = {{-1, -1}, {-1, -1}};
  int* counts = calloc((size_t)size, sizeof *counts);
  counts[size / 2] = 2;
  CHECK_OK(MPI_Reduce_scatter(mine, best, counts, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD));
  const int most = size > 2 ? 2 : size - 1;
  if (rank == size / 2) CHECK(best[0].value == most && best[0].index == most);
  if (rank == size / 2) CHECK(best[1].value == 0 && best[1].index == 0);
  if (rank != size / 2) CHECK(best[0].value == -1 && best[1].index == -1);
  free(counts);
}

/* ---- MPI_Alltoallw ---- */

/* What one rank sends to another is of one of three types, which goes both ways. */
static MPI_Datatype type_between(int one, int other) {
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
  return types[(one + other) % 3];
}

static int size_between(int one, int other) {
  static const int sizes[] = {sizeof(int), sizeof(double), 1};
  return sizes[(one + other) % 3];
}

/* Blocks of bytes, which begin at multiples of 16. */
typedef struct Bytes {
  int* counts;
  int* displs;
  MPI_Datatype* types;
  char* memory;
  int length;
} Bytes;

static Bytes bytes_of(int (*count_of)(int from, int to), int sends, int scale) {
  const size_t n = (size_t)size;
  Bytes b = {calloc(n, sizeof(int)), calloc(n, sizeof(int)), calloc(n, sizeof(MPI_Datatype)), NULL,
             16};
  for (int r = size - 1; r >= 0; --r) {
    b.counts[r] = scale * (sends ? count_of(rank, r) : count_of(r, rank));
    b.types[r] = type_between(rank, r);
    b.displs[r] = b.length;
    b.length += b.counts[r] * size_between(rank, r) / 16 * 16 + 32;
  }
  b.memory = memset(malloc((size_t)b.length), kGap, (size_t)b.length);
  return b;
}

static char byte_of(int from, int to, int i) {
  return (char)((value(from, to, i) & 63) + 1);
}

static void fill_bytes(Bytes* b) {
  for (int r = 0; r < size; ++r) {
    for (int i = 0; i < b->counts[r] * size_between(rank, r); ++i) {
      b->memory[b->displs[r] + i] = byte_of(rank, r, i);
    }
  }
}

static int all_bytes_came(const Bytes* b) {
  int wrong = 0, bytes = 0, gaps_left = 0;
  for (int r = 0; r < size; ++r) {
    const int n = b->counts[r] * size_between(rank, r);
    for (int i = 0; i < n; ++i) wrong += b->memory[b->displs[r] + i] != byte_of(r, rank, i);
    bytes += n;
  }
  for (int i = 0; i < b->length; ++i) gaps_left += b->memory[i] == kGap;
  return wrong == 0 && gaps_left == b->length - bytes;
}

static void free_bytes(Bytes* b) {
  free(b->counts);
  free(b->displs);
  free(b->types);
  free(b->memory);
}

static void alltoallw(int (*count_of)(int from, int to), int scale, Form form) {
  const MPI_Comm world = MPI_COMM_WORLD;
  MPI_Request request = MPI_REQUEST_NULL;
  Bytes in = bytes_of(count_of, 1, scale), out = bytes_of(count_of, 0, scale);
  fill_bytes(form == kInPlace ? &out : &in);
  if (form == kBlocking) {
    CHECK_OK(MPI_Alltoallw(in.memory, in.counts, in.displs, in.types, out.memory, out.counts,
                           out.displs, out.types, world));
  }
  if (form == kInPlace) {
    CHECK_OK(MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, out.memory, out.counts, out.displs,
                           out.types, world));
  }
  if (form == kStarted) {
    CHECK_OK(MPI_Ialltoallw(in.memory, in.counts, in.displs, in.types, out.memory, out.counts,
                            out.displs, out.types, world, &request));
  }
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(all_bytes_came(&out));
  free_bytes(&in);
  free_bytes(&out);
}

static void exchanges(void) {
  static const int scales[] = {1, 50, 3000};
  for (int s = 0; s < 3; ++s) {
    for (int form = 0; form < kForms; ++form) {
      alltoallw(symmetric, scales[s], (Form)form);
      alltoallw(nothing, scales[s], (Form)form);
      if (form == kInPlace) continue; /* wants equal counts both ways */
      alltoallw(uneven, scales[s], (Form)form);
      alltoallw(to_the_next, scales[s], (Form)form);
    }
  }
}

static void errors(void) {
  const MPI_Comm world = MPI_COMM_WORLD;
  int x[128] = {1}, y[128] = {2}, counts[128] = {1};
  CHECK_CLASS(MPI_Reduce_scatter_block(x, y, -1, MPI_INT, MPI_SUM, world), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Reduce_scatter_block(x, y, 1, MPI_INT, MPI_OP_NULL, world), MPI_ERR_OP);
  CHECK_CLASS(MPI_Reduce_scatter(x, y, counts, MPI_FLOAT, MPI_BXOR, world), MPI_ERR_OP);
  counts[size - 1] = -1;
  CHECK_CLASS(MPI_Reduce_scatter(x, y, counts, MPI_INT, MPI_SUM, world), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Reduce_scatter(x, y, counts, MPI_INT, MPI_SUM, MPI_COMM_NULL), MPI_ERR_COMM);
  CHECK(x[0] == 1 && y[0] == 2);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  reductions();
  to_one_rank();
  exchanges();
  if (argc < 2 || strcmp(argv[1], "--no-argument-checks") != 0) {
    return_errors();
    errors();
  }
  return conclude();
}
