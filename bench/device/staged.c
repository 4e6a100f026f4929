/* staged: an allreduce of memory of a device by an MPI that knows only the host's, staged by hand:
 * a copy to registered memory, MPI_Allreduce, a copy back.
 *
 * usage: staged SECONDS BYTES[,BYTES...]
 * SECONDS bounds the samples of each size. A sample is some calls in a row; its figure is the time
 * from the first begin to the last end of all ranks, per call. Prints a line for each size: bytes,
 * the median in microseconds. Results are checked. The driver is the library that
 * ESPALIER_CUDA_DRIVER names.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef unsigned long long Address;
enum { kSamples = 200, kLeast = 3, kBatchSmall = 32, kBatchBytes = 1 << 20 };

static struct {
  int (*init)(unsigned);
  int (*count)(int*);
  int (*get)(int*, int);
  int (*retain)(void**, int);
  int (*set)(void*);
  int (*allocate)(Address*, size_t);
  int (*release)(Address);
  int (*allocate_host)(void**, size_t);
  int (*release_host)(void*);
  int (*to_device)(Address, const void*, size_t);
  int (*to_host)(void*, Address, size_t);
} driver;

static void must(int code, const char* what) {
  if (code == 0) return;
  fprintf(stderr, "staged: %s: error %d of the driver\n", what, code);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void* found(void* library, const char* name) {
  void* const at = dlsym(library, name);
  must(at == NULL, name);
  return at;
}

static void open_driver(int rank) {
  const char* named = getenv("ESPALIER_CUDA_DRIVER");
  void* const library = dlopen(named != NULL ? named : "libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  int devices = 0, number = 0;
  void* context = NULL;
  if (library == NULL) fprintf(stderr, "staged: %s\n", dlerror());
  must(library == NULL, "dlopen");
  *(void**)&driver.init = found(library, "cuInit");
  *(void**)&driver.count = found(library, "cuDeviceGetCount");
  *(void**)&driver.get = found(library, "cuDeviceGet");
  *(void**)&driver.retain = found(library, "cuDevicePrimaryCtxRetain");
  *(void**)&driver.set = found(library, "cuCtxSetCurrent");
  *(void**)&driver.allocate = found(library, "cuMemAlloc_v2");
  *(void**)&driver.release = found(library, "cuMemFree_v2");
  *(void**)&driver.allocate_host = found(library, "cuMemAllocHost_v2");
  *(void**)&driver.release_host = found(library, "cuMemFreeHost");
  *(void**)&driver.to_device = found(library, "cuMemcpyHtoD_v2");
  *(void**)&driver.to_host = found(library, "cuMemcpyDtoH_v2");
  must(driver.init(0), "cuInit");
  must(driver.count(&devices), "cuDeviceGetCount");
  must(devices == 0, "cuDeviceGetCount, no device");
  must(driver.get(&number, rank % devices), "cuDeviceGet");
  must(driver.retain(&context, number), "cuDevicePrimaryCtxRetain");
  must(driver.set(context), "cuCtxSetCurrent");
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct {
  Address in, out;
  float *sent, *received;
  size_t bytes;
} Buffers;

static void call(const Buffers* b) {
  must(driver.to_host(b->sent, b->in, b->bytes), "cuMemcpyDtoH");
  MPI_Allreduce(b->sent, b->received, (int)(b->bytes / sizeof(float)), MPI_FLOAT, MPI_SUM,
                MPI_COMM_WORLD);
  must(driver.to_device(b->out, b->received, b->bytes), "cuMemcpyHtoD");
}

/* Seconds per call, the same on all ranks. */
static double sample(const Buffers* b, int batch) {
  double edges[2], all[2];
  MPI_Barrier(MPI_COMM_WORLD);
  edges[0] = -seconds();
  for (int i = 0; i < batch; ++i) call(b);
  edges[1] = seconds();
  MPI_Allreduce(edges, all, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return (all[0] + all[1]) / batch;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(const Buffers* b, double limit) {
  const int batch = b->bytes * kBatchSmall > kBatchBytes ? 1 : kBatchSmall;
  double all[kSamples], spent = 0;
  int samples = 0;
  for (int i = 0; i < kLeast; ++i) sample(b, batch);
  while (samples < kLeast || (samples < kSamples && spent < limit)) {
    all[samples] = sample(b, batch);
    spent += all[samples++] * batch;
  }
  qsort(all, (size_t)samples, sizeof *all, ascending);
  return all[samples / 2];
}

/* Element i of rank r is i mod 16 + r. */
static int is_right(const Buffers* b, int ranks) {
  const size_t count = b->bytes / sizeof(float);
  memset(b->received, 0xff, b->bytes);
  must(driver.to_host(b->received, b->out, b->bytes), "cuMemcpyDtoH");
  for (size_t i = 0; i < count; ++i) {
    const float sum = (float)(i % 16) * (float)ranks + (float)(ranks * (ranks - 1) / 2);
    if (b->received[i] != sum) return 0;
  }
  return 1;
}

static int measure(size_t bytes, double limit, int rank, int ranks) {
  Buffers b = {.bytes = bytes};
  must(driver.allocate(&b.in, bytes), "cuMemAlloc");
  must(driver.allocate(&b.out, bytes), "cuMemAlloc");
  must(driver.allocate_host((void**)&b.sent, bytes), "cuMemAllocHost");
  must(driver.allocate_host((void**)&b.received, bytes), "cuMemAllocHost");
  for (size_t i = 0; i < bytes / sizeof(float); ++i) b.sent[i] = (float)(i % 16) + (float)rank;
  must(driver.to_device(b.in, b.sent, bytes), "cuMemcpyHtoD");
  const double taken = median(&b, limit);
  int right = is_right(&b, ranks), all = 0;
  MPI_Allreduce(&right, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0 && all) printf("%zu %.3f\n", bytes, taken * 1e6);
  if (rank == 0 && !all) fprintf(stderr, "staged: a result was wrong at %zu bytes\n", bytes);
  must(driver.release(b.in), "cuMemFree");
  must(driver.release(b.out), "cuMemFree");
  must(driver.release_host(b.sent), "cuMemFreeHost");
  must(driver.release_host(b.received), "cuMemFreeHost");
  return all;
}

int main(int argc, char** argv) {
  int rank = 0, ranks = 0, right = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 3) {
    fprintf(stderr, "usage: staged SECONDS BYTES[,BYTES...]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  open_driver(rank);
  for (char* size = strtok(argv[2], ","); size != NULL && right; size = strtok(NULL, ",")) {
    right = measure(strtoul(size, NULL, 10), atof(argv[1]), rank, ranks);
  }
  MPI_Finalize();
  return right ? 0 : 1;
}
