/* The functions of keys that the standard defines, which are procedures in Fortran. path: setup */
#include "mpi/fortran/binding.h"

#define FUNCTIONS(null_copies, copies, null_deletes, Value)                                    \
  ESP_MPI_API void null_copies##_(MPI_Fint* from, MPI_Fint* keyval, Value* extra, Value* in,   \
                                  Value* out, MPI_Fint* flag, MPI_Fint* ierror) {              \
    (void)from, (void)keyval, (void)extra, (void)in, (void)out;                                \
    *flag = 0;                                                                                 \
    *ierror = MPI_SUCCESS;                                                                     \
  }                                                                                            \
  FORTRAN_NAMES(null_copies)                                                                   \
  ESP_MPI_API void copies##_(MPI_Fint* from, MPI_Fint* keyval, Value* extra, Value* in,        \
                             Value* out, MPI_Fint* flag, MPI_Fint* ierror) {                   \
    (void)from, (void)keyval, (void)extra;                                                     \
    *out = *in;                                                                                \
    *flag = 1;                                                                                 \
    *ierror = MPI_SUCCESS;                                                                     \
  }                                                                                            \
  FORTRAN_NAMES(copies)                                                                        \
  ESP_MPI_API void null_deletes##_(MPI_Fint* of, MPI_Fint* keyval, Value* value, Value* extra, \
                                   MPI_Fint* ierror) {                                         \
    (void)of, (void)keyval, (void)value, (void)extra;                                          \
    *ierror = MPI_SUCCESS;                                                                     \
  }                                                                                            \
  FORTRAN_NAMES(null_deletes)

FUNCTIONS(mpi_null_copy_fn, mpi_dup_fn, mpi_null_delete_fn, MPI_Fint)
FUNCTIONS(mpi_comm_null_copy_fn, mpi_comm_dup_fn, mpi_comm_null_delete_fn, MPI_Aint)
FUNCTIONS(mpi_type_null_copy_fn, mpi_type_dup_fn, mpi_type_null_delete_fn, MPI_Aint)
