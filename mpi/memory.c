/* MPI_Alloc_mem: memory of the library while there is room, which other ranks of the node read in
 * place, else of the system. What stands before it says where it came from. path: setup */
#include <stdlib.h>

#include "mpi/info.h"

typedef struct Block {
  void* start;
  int is_of_library;
} Block;

enum {
  kLine = 64,       /* what esp_alloc aligns to */
  kAddressBits = 47 /* no process has more */
};

/* 0: the hint is no power of two. */
static size_t alignment_of(MPI_Info handle) {
  char text[MPI_MAX_INFO_VAL];
  Info* info = info_of(handle);
  if (info == NULL || info_get(info, "mpi_minimum_memory_alignment", text, sizeof text) < 0) {
    return kLine;
  }
  char* end = text;
  const long long wanted = strtoll(text, &end, 10);
  if (end == text || *end != '\0' || wanted < 1 || wanted > (1LL << 40)) return 0;
  if ((wanted & (wanted - 1)) != 0) return 0;
  return wanted > kLine ? (size_t)wanted : kLine;
}

/* The block's note lies in the line before what the program gets. */
static void* allocate(size_t bytes, size_t alignment) {
  if (bytes >> kAddressBits != 0) return NULL;
  const size_t all = (bytes + 2 * alignment - 1) / alignment * alignment;
  Block block = {NULL, 1};
  if (alignment == kLine) block.start = esp_alloc(state_job(), all);
  if (block.start == NULL) block = (Block){aligned_alloc(alignment, all), 0};
  if (block.start == NULL) return NULL;
  char* memory = (char*)block.start + alignment;
  *((Block*)(void*)memory - 1) = block;
  return memory;
}

int MPI_Alloc_mem(MPI_Aint size, MPI_Info info, void* baseptr) {
  require_ready(__func__);
  if (size < 0) return raise_error(__func__, NULL, MPI_ERR_ARG, "negative size");
  if (baseptr == NULL) return raise_error(__func__, NULL, MPI_ERR_ARG, "null result");
  const size_t alignment = alignment_of(info);
  if (alignment == 0) {
    return raise_error(__func__, NULL, MPI_ERR_INFO_VALUE,
                       "mpi_minimum_memory_alignment is not a power of two");
  }
  void* memory = allocate((size_t)size, alignment);
  if (memory == NULL) return raise_error(__func__, NULL, MPI_ERR_NO_MEM, "no memory");
  *(void**)baseptr = memory;
  return MPI_SUCCESS;
}

int MPI_Free_mem(void* base) {
  require_ready(__func__);
  if (base == NULL) return raise_error(__func__, NULL, MPI_ERR_BASE, "null address");
  const Block block = *((Block*)base - 1);
  if (block.is_of_library) {
    esp_free(state_job(), block.start);
  } else {
    free(block.start);
  }
  return MPI_SUCCESS;
}
