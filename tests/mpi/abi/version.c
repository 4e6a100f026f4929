/* Which ABI the library says it has, before MPI_Init and after it. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../conformance.h"

static void check_size(MPI_Info info, const char* key, size_t bytes) {
  char value[MPI_MAX_INFO_VAL];
  int length = sizeof value, found = 0;
  MPI_Info_get_string(info, key, &length, value, &found);
  CHECK(found && strtoul(value, NULL, 10) == bytes);
}

static void check_all(void) {
  int major = -2, minor = -2;
  CHECK(MPI_Abi_get_version(&major, &minor) == MPI_SUCCESS);
  CHECK(major == MPI_ABI_VERSION && minor == MPI_ABI_SUBVERSION);

  MPI_Info info = MPI_INFO_NULL;
  int keys = 0;
  CHECK(MPI_Abi_get_info(&info) == MPI_SUCCESS);
  MPI_Info_get_nkeys(info, &keys);
  CHECK(keys == 3);
  check_size(info, "mpi_aint_size", sizeof(MPI_Aint));
  check_size(info, "mpi_count_size", sizeof(MPI_Count));
  check_size(info, "mpi_offset_size", sizeof(MPI_Offset));
  CHECK(MPI_Info_free(&info) == MPI_SUCCESS);

  CHECK(MPI_Abi_get_fortran_info(&info) == MPI_SUCCESS);
  check_size(info, "mpi_logical_size", 4);
  check_size(info, "mpi_integer_size", 4);
  check_size(info, "mpi_real_size", 4);
  check_size(info, "mpi_double_precision_size", 8);
  CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
}

static void check_arguments(void) {
  int major = 0;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  CHECK_CLASS(MPI_Abi_get_version(&major, NULL), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Abi_get_version(NULL, &major), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Abi_get_info(NULL), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Abi_get_fortran_info(NULL), MPI_ERR_ARG);
}

int main(int argc, char** argv) {
  check_all();
  MPI_Init(&argc, &argv);
  check_all();
  check_arguments();
  MPI_Finalize();
  return failures != 0;
}
