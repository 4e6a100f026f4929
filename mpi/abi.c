/* What the facade says of its binary interface. path: setup */
#include <stdio.h>

#include "mpi/info.h"

typedef struct Size {
  const char* key;
  size_t bytes;
} Size;

/* The end of each has a null key. */
static const Size kSizesOfC[] = {{"mpi_aint_size", sizeof(MPI_Aint)},
                                 {"mpi_count_size", sizeof(MPI_Count)},
                                 {"mpi_offset_size", sizeof(MPI_Offset)},
                                 {NULL, 0}};
static const Size kSizesOfFortran[] = {{"mpi_logical_size", 4},
                                       {"mpi_integer_size", 4},
                                       {"mpi_real_size", 4},
                                       {"mpi_double_precision_size", 8},
                                       {NULL, 0}};

static int tell_sizes(const char* function, const Size* sizes, MPI_Info* handle) {
  if (handle == NULL) return raise_error(function, NULL, MPI_ERR_ARG, "null result");
  Info* info = info_create();
  int is_set = info != NULL;
  for (; is_set && sizes->key != NULL; ++sizes) {
    char text[24];
    snprintf(text, sizeof text, "%zu", sizes->bytes);
    is_set = info_set(info, sizes->key, text);
  }
  if (!is_set) {
    if (info != NULL) info_free(info);
    return raise_error(function, NULL, MPI_ERR_NO_MEM, "no memory");
  }
  *handle = info;
  return MPI_SUCCESS;
}

int MPI_Abi_get_version(int* abi_major, int* abi_minor) {
  if (abi_major == NULL || abi_minor == NULL) {
    return raise_error(__func__, NULL, MPI_ERR_ARG, "null result");
  }
  *abi_major = MPI_ABI_VERSION;
  *abi_minor = MPI_ABI_SUBVERSION;
  return MPI_SUCCESS;
}

int MPI_Abi_get_info(MPI_Info* info) {
  return tell_sizes(__func__, kSizesOfC, info);
}

int MPI_Abi_get_fortran_info(MPI_Info* info) {
  return tell_sizes(__func__, kSizesOfFortran, info);
}
