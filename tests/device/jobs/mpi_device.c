/* mpi_device: buffers of MPI's functions in memory of a device, at even ranks what is sent, at odd
 * ranks what is received, and at both. As a program has it that knows nothing but <mpi.h> and
 * CUDA's driver, which DEVICE_LIBRARY names.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/conformance.h"

/* ---- the device ---- */

typedef unsigned long long Address;
static struct {
  int (*allocate)(Address*, size_t);
  int (*free)(Address);
  int (*write)(Address, const void*, size_t);
  int (*read)(void*, Address, size_t);
} driver;

static void must(int code, const char* what) {
  if (code == 0) return;
  fprintf(stderr, "mpi_device: %s: error %d of the driver\n", what, code);
  abort();
}

static void* function(void* library, const char* name) {
  void* found = dlsym(library, name);
  must(found == NULL, name);
  return found;
}

static void open_driver(void) {
  const char* name = getenv("DEVICE_LIBRARY");
  void* library = dlopen(name != NULL ? name : "libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  must(library == NULL, "dlopen");
  int (*init)(unsigned), (*get)(int*, int), (*retain)(void**, int), (*set)(void*);
  *(void**)&init = function(library, "cuInit");
  *(void**)&get = function(library, "cuDeviceGet");
  *(void**)&retain = function(library, "cuDevicePrimaryCtxRetain");
  *(void**)&set = function(library, "cuCtxSetCurrent");
  *(void**)&driver.allocate = function(library, "cuMemAlloc_v2");
  *(void**)&driver.free = function(library, "cuMemFree_v2");
  *(void**)&driver.write = function(library, "cuMemcpyHtoD_v2");
  *(void**)&driver.read = function(library, "cuMemcpyDtoH_v2");
  int number = 0;
  void* context = NULL;
  must(init(0), "cuInit");
  must(get(&number, 0), "cuDeviceGet");
  must(retain(&context, number), "cuDevicePrimaryCtxRetain");
  must(set(context), "cuCtxSetCurrent");
}

static void* device(size_t bytes, const void* holds) {
  Address at = 0;
  must(driver.allocate(&at, bytes), "cuMemAlloc");
  if (holds != NULL) must(driver.write(at, holds, bytes), "cuMemcpyHtoD");
  return (void*)(uintptr_t)at;
}

static void set(void* at, const void* from, size_t bytes) {
  if (bytes > 0) must(driver.write((Address)(uintptr_t)at, from, bytes), "cuMemcpyHtoD");
}

static void* get(void* to, const void* at, size_t bytes) {
  if (bytes > 0) must(driver.read(to, (Address)(uintptr_t)at, bytes), "cuMemcpyDtoH");
  return to;
}

static void give_back(void* at) {
  must(driver.free((Address)(uintptr_t)at), "cuMemFree");
}

/* ---- messages ---- */

enum { kMost = 60000 };
static const int kLengths[] = {0, 1, 900, kMost}; /* of ints */
static int next, before;
static int mine[kMost], theirs[kMost], got[kMost];
static int *out, *in; /* on the device */

static void fill(int* numbers, int of_rank, int seed) {
  for (int i = 0; i < kMost; ++i) numbers[i] = of_rank * 1000003 + seed * 131 + i * 7;
}

/* Round `seed` begins: `out` holds this rank's numbers, and `in` none. */
static void begin(int seed) {
  static const int none[kMost];
  fill(mine, rank, seed);
  fill(theirs, before, seed);
  set(out, mine, sizeof mine);
  set(in, none, sizeof none);
}

/* So many numbers have come, and no more. */
static int came(int count) {
  get(got, in, sizeof got);
  return memcmp(got, theirs, (size_t)count * sizeof *got) == 0 &&
         (count == kMost || got[count] == 0);
}

typedef int Send(const void*, int, MPI_Datatype, int, int, MPI_Comm);
typedef int Start(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

static void check_modes(void) {
  Send* const sends[] = {MPI_Send, MPI_Ssend, MPI_Rsend, MPI_Bsend};
  Start* const starts[] = {MPI_Isend, MPI_Issend, MPI_Irsend, MPI_Ibsend};
  Start* const inits[] = {MPI_Send_init, MPI_Ssend_init, MPI_Rsend_init, MPI_Bsend_init};
  MPI_Request requests[2];
  MPI_Status status;
  int count = -1;
  for (int k = 0; k < 16; ++k) {
    const int length = kLengths[k / 4], mode = k % 4;
    begin(k);
    CHECK_OK(MPI_Irecv(in, length, MPI_INT, before, 3, MPI_COMM_WORLD, &requests[0]));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD)); /* for the ready mode */
    CHECK_OK(sends[mode](out, length, MPI_INT, next, 3, MPI_COMM_WORLD));
    CHECK_OK(MPI_Wait(&requests[0], &status));
    CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(count == length && came(length));
    begin(k + 100);
    CHECK_OK(
        MPI_Irecv(in, length, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_OK(starts[mode](out, length, MPI_INT, next, 3, MPI_COMM_WORLD, &requests[1]));
    CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(came(length));
    CHECK_OK(MPI_Recv_init(in, length, MPI_INT, before, 4, MPI_COMM_WORLD, &requests[0]));
    CHECK_OK(inits[mode](out, length, MPI_INT, next, 4, MPI_COMM_WORLD, &requests[1]));
    for (int round = 0; round < 2; ++round) {
      begin(k + 200 + round);
      CHECK_OK(MPI_Start(&requests[0]));
      CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
      CHECK_OK(MPI_Start(&requests[1]));
      CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
      CHECK(came(length));
    }
    CHECK_OK(MPI_Request_free(&requests[0]));
    CHECK_OK(MPI_Request_free(&requests[1]));
  }
}

static void check_exchanges(void) {
  for (int k = 0; k < 4; ++k) {
    const int length = kLengths[k];
    begin(k);
    CHECK_OK(MPI_Sendrecv(out, length, MPI_INT, next, 5, in, length, MPI_INT, before, 5,
                          MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(came(length));
    begin(k + 10);
    set(in, mine, (size_t)length * sizeof *mine);
    CHECK_OK(MPI_Sendrecv_replace(in, length, MPI_INT, next, 5, before, 5, MPI_COMM_WORLD,
                                  MPI_STATUS_IGNORE));
    CHECK(came(length));
    begin(k + 20);
    MPI_Request sent;
    MPI_Message message;
    MPI_Status status;
    int count = -1;
    CHECK_OK(MPI_Isend(out, length, MPI_INT, next, 6, MPI_COMM_WORLD, &sent));
    CHECK_OK(MPI_Probe(before, 6, MPI_COMM_WORLD, &status));
    CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(count == length);
    CHECK_OK(MPI_Mprobe(before, 6, MPI_COMM_WORLD, &message, &status));
    CHECK_OK(MPI_Mrecv(in, length, MPI_INT, &message, &status));
    CHECK_OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
    CHECK(came(length));
  }
}

/* ---- types ---- */

/* Every second number, in ascending order, and descending, which the library has no type for. */
enum { kPieces = 40 };

static void make_types(MPI_Datatype* ascending, MPI_Datatype* descending) {
  int places[kPieces];
  for (int i = 0; i < kPieces; ++i) places[i] = 2 * (kPieces - 1 - i);
  CHECK_OK(MPI_Type_vector(kPieces, 1, 2, MPI_INT, ascending));
  CHECK_OK(MPI_Type_create_indexed_block(kPieces, 1, places, MPI_INT, descending));
  CHECK_OK(MPI_Type_commit(ascending));
  CHECK_OK(MPI_Type_commit(descending));
}

/* The numbers of `in` that a type names have come in the order of `from`'s, and no others. */
static int came_apart(MPI_Datatype into, MPI_Datatype from, MPI_Datatype descending) {
  get(got, in, sizeof got);
  for (int i = 0; i < kPieces; ++i) {
    const int to_place = into == descending ? kPieces - 1 - i : i;
    const int from_place = from == descending ? kPieces - 1 - i : i;
    if (got[2 * to_place] != theirs[2 * from_place] || got[2 * to_place + 1] != 0) return 0;
  }
  return 1;
}

static void check_types(void) {
  MPI_Datatype types[2];
  make_types(&types[0], &types[1]);
  for (int k = 0; k < 4; ++k) {
    const MPI_Datatype from = types[k / 2], into = types[k % 2];
    begin(k);
    CHECK_OK(MPI_Sendrecv(out, 1, from, next, 7, in, 1, into, before, 7, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE));
    CHECK(came_apart(into, from, types[1]));
    begin(k + 10);
    CHECK_OK(MPI_Bsend(out, 1, from, next, 7, MPI_COMM_WORLD));
    CHECK_OK(MPI_Recv(in, 1, into, before, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(came_apart(into, from, types[1]));
    /* A collective of the same. */
    begin(k + 20);
    fill(theirs, 0, k + 20);
    if (rank == 0) set(in, mine, sizeof mine);
    CHECK_OK(MPI_Bcast(in, 1, rank == 0 ? from : into, 0, MPI_COMM_WORLD));
    if (rank > 0) CHECK(came_apart(into, from, types[1]));
  }
  CHECK_OK(MPI_Type_free(&types[0]));
  CHECK_OK(MPI_Type_free(&types[1]));
}

/* Each side of the packing, and both. */
static void check_packing(void) {
  MPI_Datatype types[2];
  int packed[kPieces + 1], position;
  make_types(&types[0], &types[1]);
  for (int k = 0; k < 2; ++k) {
    begin(k);
    fill(theirs, rank, k);
    void* elsewhere = device(sizeof packed, NULL);
    position = sizeof *packed;
    CHECK_OK(MPI_Pack(out, 1, types[k], packed, sizeof packed, &position, MPI_COMM_WORLD));
    CHECK(position == sizeof packed);
    CHECK(packed[1] == mine[k == 0 ? 0 : 2 * (kPieces - 1)]);
    position = sizeof *packed;
    CHECK_OK(MPI_Pack(out, 1, types[k], elsewhere, sizeof packed, &position, MPI_COMM_WORLD));
    CHECK(memcmp(get(got, (char*)elsewhere + sizeof *packed, sizeof packed - sizeof *packed),
                 packed + 1, sizeof packed - sizeof *packed) == 0);
    position = sizeof *packed;
    CHECK_OK(MPI_Unpack(elsewhere, sizeof packed, &position, in, 1, types[k], MPI_COMM_WORLD));
    CHECK(came_apart(types[k], types[k], types[1]));
    begin(k + 5);
    fill(theirs, rank, k);
    position = sizeof *packed;
    CHECK_OK(MPI_Unpack(packed, sizeof packed, &position, in, 1, types[k], MPI_COMM_WORLD));
    CHECK(came_apart(types[k], types[k], types[1]));
    give_back(elsewhere);
  }
  MPI_Aint at = 0;
  CHECK_CLASS(MPI_Pack_external("external32", out, 1, MPI_INT, got, sizeof got, &at),
              MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_OK(MPI_Type_free(&types[0]));
  CHECK_OK(MPI_Type_free(&types[1]));
}

/* ---- reductions ---- */

/* What stands between the elements is left alone. */
static void add_sparse(void* left, void* right, int* length, MPI_Datatype* type) {
  (void)type;
  int *x = left, *y = right;
  for (int i = 0; i < *length * (2 * kPieces - 1); i += 2) y[i] += x[i];
}

static void check_reductions(void) {
  MPI_Datatype types[2];
  MPI_Op sparse;
  make_types(&types[0], &types[1]);
  CHECK_OK(MPI_Op_create(add_sparse, 1, &sparse));
  for (int kinds = 1; kinds < 4; ++kinds) {
    begin(kinds);
    fill(got, 3, kinds);
    set(in, got, sizeof got);
    const int* left = (kinds & 1) != 0 ? out : mine;
    int* right = (kinds & 2) != 0 ? in : got;
    CHECK_OK(MPI_Reduce_local(left, right, 900, MPI_INT, MPI_SUM));
    if (right == in) get(got, in, sizeof got);
    fill(theirs, 3, kinds);
    CHECK(got[0] == mine[0] + theirs[0] && got[899] == mine[899] + theirs[899] &&
          got[900] == theirs[900]);
  }
  begin(9);
  CHECK_OK(MPI_Reduce_local(out, in, 1, types[0], sparse));
  get(got, in, sizeof got);
  CHECK(got[2] == mine[2] && got[1] == 0);
  CHECK_CLASS(MPI_Reduce_local(out, in, 1, MPI_INT, MPI_OP_NULL), MPI_ERR_OP);
  /* Combined by the facade, out of and into the device. */
  begin(10);
  CHECK_OK(MPI_Allreduce(out, in, 1, types[0], sparse, MPI_COMM_WORLD));
  get(got, in, sizeof got);
  int sum = 0;
  for (int r = 0; r < size; ++r) sum += r * 1000003 + 10 * 131 + 4 * 7;
  CHECK(got[4] == sum && got[5] == 0);
  CHECK_OK(MPI_Op_free(&sparse));
  CHECK_OK(MPI_Type_free(&types[0]));
  CHECK_OK(MPI_Type_free(&types[1]));
}

/* ---- partitions ---- */

static void check_partitions(void) {
  enum { kPartitions = 5 };
  MPI_Datatype types[2];
  MPI_Request requests[2];
  make_types(&types[0], &types[1]);
  begin(1);
  CHECK_OK(MPI_Psend_init(out, kPartitions, 100, MPI_INT, next, 8, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &requests[0]));
  CHECK_OK(MPI_Precv_init(in, kPartitions, 100, MPI_INT, before, 8, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &requests[1]));
  CHECK_OK(MPI_Startall(2, requests));
  for (int i = kPartitions; i > 0; --i) CHECK_OK(MPI_Pready(i - 1, requests[0]));
  CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK(came(kPartitions * 100));
  CHECK_OK(MPI_Request_free(&requests[0]));
  CHECK_OK(MPI_Request_free(&requests[1]));
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  const int code =
      MPI_Psend_init(out, 2, 1, types[0], next, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  CHECK(class_of(code) == MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_OK(MPI_Error_string(code, text, &length));
  CHECK(strncmp(text, "MPI_Psend_init: ", 16) == 0 && strstr(text, "device") != NULL);
  CHECK_CLASS(
      MPI_Precv_init(in, 2, 1, types[0], before, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]),
      MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_OK(MPI_Type_free(&types[0]));
  CHECK_OK(MPI_Type_free(&types[1]));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  next = (rank + 1) % size;
  before = (rank + size - 1) % size;
  return_errors();
  open_driver();
  out = device(sizeof mine, NULL);
  in = device(sizeof mine, NULL);
  CHECK_OK(MPI_Buffer_attach(malloc(1 << 20), 1 << 20));
  check_modes();
  check_exchanges();
  check_types();
  check_packing();
  check_reductions();
  check_partitions();
  void* attached = NULL;
  int bytes = 0;
  CHECK_OK(MPI_Buffer_detach(&attached, &bytes));
  free(attached);
  give_back(out);
  give_back(in);
  return conclude();
}
