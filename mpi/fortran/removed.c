/* Functions that MPI 3.0 removed, whose addresses are default integers in Fortran: what does not
 * fit is cut off, as the standard warned. path: setup */
#include "mpi/fortran/binding.h"

ESP_MPI_API void mpi_address_(void* location, MPI_Fint* address, MPI_Fint* ierror) {
  MPI_Aint found = 0;
  *ierror = MPI_Get_address(buffer_of(location), &found);
  *address = (MPI_Fint)found;
}
FORTRAN_NAMES(mpi_address)

#define BOUND(name, function)                                                              \
  ESP_MPI_API void name##_(const MPI_Fint* datatype, MPI_Fint* result, MPI_Fint* ierror) { \
    MPI_Aint found = 0;                                                                    \
    *ierror = function(MPI_Type_f2c(*datatype), &found);                                   \
    *result = (MPI_Fint)found;                                                             \
  }                                                                                        \
  FORTRAN_NAMES(name)
BOUND(mpi_type_extent, MPI_Type_extent)
BOUND(mpi_type_lb, MPI_Type_lb)
BOUND(mpi_type_ub, MPI_Type_ub)

ESP_MPI_API void mpi_type_hvector_(const MPI_Fint* count, const MPI_Fint* blocklength,
                                   const MPI_Fint* stride, const MPI_Fint* oldtype,
                                   MPI_Fint* newtype, MPI_Fint* ierror) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  *ierror = MPI_Type_hvector(*count, *blocklength, *stride, MPI_Type_f2c(*oldtype), &made);
  if (*ierror == MPI_SUCCESS) *newtype = MPI_Type_c2f(made);
}
FORTRAN_NAMES(mpi_type_hvector)

/* Frees nothing when they are the caller's. */
static MPI_Aint* widened(const MPI_Fint* displs, int count, MPI_Aint few[kFew]) {
  MPI_Aint* wide = fortran_room(few, count, sizeof *wide);
  for (int i = 0; i < count; ++i) wide[i] = displs[i];
  return wide;
}

ESP_MPI_API void mpi_type_hindexed_(const MPI_Fint* count, MPI_Fint* blocklengths,
                                    const MPI_Fint* displs, const MPI_Fint* oldtype,
                                    MPI_Fint* newtype, MPI_Fint* ierror) {
  MPI_Aint few[kFew];
  MPI_Aint* wide = widened(displs, *count, few);
  MPI_Datatype made = MPI_DATATYPE_NULL;
  *ierror = MPI_Type_hindexed(*count, blocklengths, wide, MPI_Type_f2c(*oldtype), &made);
  if (*ierror == MPI_SUCCESS) *newtype = MPI_Type_c2f(made);
  if (wide != few) free(wide);
}
FORTRAN_NAMES(mpi_type_hindexed)

ESP_MPI_API void mpi_type_struct_(const MPI_Fint* count, MPI_Fint* blocklengths,
                                  const MPI_Fint* displs, const MPI_Fint* types, MPI_Fint* newtype,
                                  MPI_Fint* ierror) {
  MPI_Aint few[kFew];
  MPI_Datatype few_types[kFew];
  MPI_Aint* wide = widened(displs, *count, few);
  MPI_Datatype* c_types = fortran_room(few_types, *count, sizeof *c_types);
  for (int i = 0; i < *count; ++i) c_types[i] = MPI_Type_f2c(types[i]);
  MPI_Datatype made = MPI_DATATYPE_NULL;
  *ierror = MPI_Type_struct(*count, blocklengths, wide, c_types, &made);
  if (*ierror == MPI_SUCCESS) *newtype = MPI_Type_c2f(made);
  if (wide != few) free(wide);
  if (c_types != few_types) free(c_types);
}
FORTRAN_NAMES(mpi_type_struct)
