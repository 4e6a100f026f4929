/* Sorts the keys of all ranks by samples, for any MPI library.
 *
 * Each rank sorts its keys and offers some of them, evenly spaced, as samples. All ranks get all
 * samples, and choose every p-th as a splitter: keys up to the first splitter belong to rank 0, and
 * so on. How many keys go from whom to whom is exchanged first (MPI_Alltoall), then the keys
 * (MPI_Alltoallv), and each rank sorts what it has got. The results are checked: each rank's keys
 * are sorted and not below those of lower ranks, and number and sum are what they were.
 * Build: mpicc main.c -o sample_sort; run: mpirun -n 4 ./sample_sort
 */
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kKeys = 240000 }; /* of all ranks */

typedef struct Keys {
  uint32_t* values;
  int count;
} Keys;

static int rank, size;

static void* allocate(size_t count, size_t bytes) {
  void* memory = malloc((count > 0 ? count : 1) * bytes);
  if (memory == NULL) MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  return memory;
}

/* The same keys whatever the number of ranks: key i is a hash of i. Squared, so that small ones are
 * more frequent and the splitters lie unevenly. */
static uint32_t key_of(uint32_t i) {
  i = (i ^ i >> 16) * 0x7feb352du;
  i = (i ^ i >> 15) * 0x846ca68bu;
  i ^= i >> 16;
  return (uint32_t)((uint64_t)i * i >> 32);
}

static Keys make_keys(void) {
  const int64_t begin = (int64_t)kKeys * rank / size, end = (int64_t)kKeys * (rank + 1) / size;
  Keys keys = {allocate((size_t)(end - begin), sizeof *keys.values), (int)(end - begin)};
  for (int i = 0; i < keys.count; ++i) keys.values[i] = key_of((uint32_t)(begin + i));
  return keys;
}

static int compare(const void* left, const void* right) {
  const uint32_t a = *(const uint32_t*)left, b = *(const uint32_t*)right;
  return (a > b) - (a < b);
}

static void sort(Keys keys) {
  qsort(keys.values, (size_t)keys.count, sizeof *keys.values, compare);
}

/* size - 1 of them. Of a rank without keys the samples are as large as can be. */
static uint32_t* choose_splitters(Keys sorted) {
  uint32_t* mine = allocate((size_t)size, sizeof *mine);
  for (int i = 0; i < size; ++i) {
    const int64_t at = (int64_t)sorted.count * (i + 1) / (size + 1);
    mine[i] = at < sorted.count ? sorted.values[at] : UINT32_MAX;
  }
  Keys all = {allocate((size_t)size * (size_t)size, sizeof *mine), size * size};
  MPI_Allgather(mine, size, MPI_UINT32_T, all.values, size, MPI_UINT32_T, MPI_COMM_WORLD);
  sort(all);
  for (int i = 0; i + 1 < size; ++i) mine[i] = all.values[(i + 1) * size - 1];
  free(all.values);
  return mine;
}

/* Where the keys begin that are above the splitter. */
static int first_above(Keys sorted, uint32_t splitter) {
  int low = 0, high = sorted.count;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (sorted.values[middle] <= splitter) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* Sets displacements of blocks that lie one after the other, and returns where they end. */
static int displace(const int counts[], int displs[]) {
  int end = 0;
  for (int r = 0; r < size; ++r) {
    displs[r] = end;
    end += counts[r];
  }
  return end;
}

/* Keys up to each splitter go to its rank. */
static Keys redistribute(Keys sorted, const uint32_t splitters[]) {
  int* numbers = allocate(4 * (size_t)size, sizeof *numbers);
  int *to = numbers, *to_displs = to + size, *from = to + 2 * size, *from_displs = to + 3 * size;
  for (int r = 0, begin = 0; r < size; ++r) {
    const int end = r + 1 < size ? first_above(sorted, splitters[r]) : sorted.count;
    to[r] = end - begin;
    begin = end;
  }
  MPI_Alltoall(to, 1, MPI_INT, from, 1, MPI_INT, MPI_COMM_WORLD);
  displace(to, to_displs);
  Keys got = {NULL, displace(from, from_displs)};
  got.values = allocate((size_t)got.count, sizeof *got.values);
  MPI_Alltoallv(sorted.values, to, to_displs, MPI_UINT32_T, got.values, from, from_displs,
                MPI_UINT32_T, MPI_COMM_WORLD);
  free(numbers);
  return got;
}

static uint64_t sum_of(Keys keys) {
  uint64_t mine = 0, all = 0;
  for (int i = 0; i < keys.count; ++i) mine += keys.values[i];
  MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

/* On all ranks: are the keys sorted, here and from rank to rank? */
static int are_sorted(Keys keys) {
  int right = 1, all_right = 0;
  for (int i = 1; i < keys.count; ++i) right &= keys.values[i - 1] <= keys.values[i];
  uint32_t last = keys.count > 0 ? keys.values[keys.count - 1] : 0, before = 0;
  MPI_Exscan(&last, &before, 1, MPI_UINT32_T, MPI_MAX, MPI_COMM_WORLD);
  if (rank > 0 && keys.count > 0) right &= before <= keys.values[0];
  MPI_Allreduce(&right, &all_right, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  return all_right;
}

/* The key at this place among those of all ranks. */
static uint32_t key_at(Keys sorted, int place) {
  int begin = 0;
  MPI_Exscan(&sorted.count, &begin, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) begin = 0; /* There the result of MPI_Exscan is undefined. */
  const int is_here = begin <= place && place < begin + sorted.count;
  uint32_t mine = is_here ? sorted.values[place - begin] : 0, key = 0;
  MPI_Allreduce(&mine, &key, 1, MPI_UINT32_T, MPI_MAX, MPI_COMM_WORLD);
  return key;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  Keys keys = make_keys();
  const uint64_t sum = sum_of(keys);
  sort(keys);
  uint32_t* splitters = choose_splitters(keys);
  Keys sorted = redistribute(keys, splitters);
  sort(sorted);

  int number = 0;
  MPI_Allreduce(&sorted.count, &number, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  const int right = are_sorted(sorted) & (number == kKeys) & (sum_of(sorted) == sum);
  const uint32_t median = key_at(sorted, kKeys / 2);
  if (rank == 0) {
    printf("sample_sort: %d keys, sum %" PRIu64 ", median %" PRIu32 ", %s\n", number, sum, median,
           right ? "sorted" : "NOT sorted");
  }
  free(keys.values);
  free(splitters);
  free(sorted.values);
  MPI_Finalize();
  return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
