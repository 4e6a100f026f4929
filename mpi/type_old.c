/* Names that MPI 3.0 removed and programs still call. path: setup */
#include "mpi/datatype.h"

int MPI_Address(void* location, MPI_Aint* address) {
  return MPI_Get_address(location, address);
}

/* One of the three numbers of an extent. */
static int ask(const char* function, MPI_Datatype handle, MPI_Aint* result, int what) {
  int code;
  const Datatype* type = datatype_check(function, handle, result, &code);
  if (type == NULL) return code;
  *result = what == 0 ? type->lb : what == 1 ? type->ub : datatype_extent(type);
  return MPI_SUCCESS;
}

int MPI_Type_lb(MPI_Datatype datatype, MPI_Aint* displacement) {
  return ask(__func__, datatype, displacement, 0);
}

int MPI_Type_ub(MPI_Datatype datatype, MPI_Aint* displacement) {
  return ask(__func__, datatype, displacement, 1);
}

int MPI_Type_extent(MPI_Datatype datatype, MPI_Aint* extent) {
  return ask(__func__, datatype, extent, 2);
}

int MPI_Type_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype,
                     MPI_Datatype* newtype) {
  return MPI_Type_create_hvector(count, blocklength, stride, oldtype, newtype);
}

int MPI_Type_hindexed(int count, int blocklengths[], MPI_Aint displs[], MPI_Datatype oldtype,
                      MPI_Datatype* newtype) {
  return MPI_Type_create_hindexed(count, blocklengths, displs, oldtype, newtype);
}

int MPI_Type_struct(int count, int blocklengths[], MPI_Aint displs[], MPI_Datatype types[],
                    MPI_Datatype* newtype) {
  return MPI_Type_create_struct(count, blocklengths, displs, types, newtype);
}
