/* Operators and error handlers that are Fortran procedures: the library keeps the procedure and
 * hands it to a function here, which calls it as Fortran does. path: data (operators), setup */
#include <limits.h>

#include "mpi/fortran/binding.h"

typedef void FortranOperator(void* in, void* inout, MPI_Fint* count, MPI_Fint* datatype);
typedef void FortranHandler(MPI_Fint* comm, MPI_Fint* code);

/* A pointer to a function goes through one to data. */
typedef union Procedure {
  void* kept;
  FortranOperator* combines;
  FortranHandler* handles;
} Procedure;

static void combine(void* in, void* inout, MPI_Count count, MPI_Datatype datatype, void* kept) {
  const Procedure procedure = {.kept = kept};
  MPI_Aint lb, extent = 0;
  if (count > INT_MAX) (void)MPI_Type_get_extent(datatype, &lb, &extent);
  for (MPI_Count done = 0; done < count;) {
    MPI_Fint now = count - done < INT_MAX ? (MPI_Fint)(count - done) : INT_MAX;
    const MPI_Fint part = now;
    MPI_Fint named = MPI_Type_c2f(datatype); /* the procedure may change both */
    procedure.combines((char*)in + done * extent, (char*)inout + done * extent, &now, &named);
    done += part;
  }
}

ESP_MPI_API void mpi_op_create_(FortranOperator* function, const MPI_Fint* commute, MPI_Fint* op,
                                MPI_Fint* ierror) {
  const Procedure procedure = {.combines = function};
  MPI_Op made = MPI_OP_NULL;
  *ierror = MPIX_Op_create_x(combine, NULL, *commute, procedure.kept, &made);
  if (*ierror == MPI_SUCCESS) *op = MPI_Op_c2f(made);
}
FORTRAN_NAMES(mpi_op_create)

static void handle(MPI_Comm comm, int code, void* kept) {
  const Procedure procedure = {.kept = kept};
  MPI_Fint f_comm = MPI_Comm_c2f(comm), f_code = code;
  procedure.handles(&f_comm, &f_code);
}

ESP_MPI_API void mpi_comm_create_errhandler_(FortranHandler* function, MPI_Fint* errhandler,
                                             MPI_Fint* ierror) {
  const Procedure procedure = {.handles = function};
  MPI_Errhandler made = MPI_ERRHANDLER_NULL;
  *ierror = MPIX_Comm_create_errhandler_x(handle, NULL, procedure.kept, &made);
  if (*ierror == MPI_SUCCESS) *errhandler = MPI_Errhandler_c2f(made);
}
FORTRAN_NAMES(mpi_comm_create_errhandler)

ESP_MPI_API void mpi_errhandler_create_(FortranHandler* function, MPI_Fint* errhandler,
                                        MPI_Fint* ierror) {
  mpi_comm_create_errhandler_(function, errhandler, ierror);
}
FORTRAN_NAMES(mpi_errhandler_create)
