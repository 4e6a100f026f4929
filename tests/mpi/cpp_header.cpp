// mpi.h in a C++ program with all warnings on, and beside the library's own headers; one process.
#include <mpi.h>

#include <complex>
#include <vector>

#include "espalier/espalier.hpp"

int main(int argc, char** argv) {
  if (MPI_Init(&argc, &argv) != MPI_SUCCESS) return 1;
  std::vector<std::complex<double>> values(3, {1, 2}), sums(3);
  MPI_Allreduce(values.data(), sums.data(), 3, MPI_CXX_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD);
  bool yes = true, all = false;
  MPI_Allreduce(&yes, &all, 1, MPI_CXX_BOOL, MPI_LAND, MPI_COMM_WORLD);
  int bytes = 0;
  MPI_Type_size(MPI_CXX_LONG_DOUBLE_COMPLEX, &bytes);
  const bool good = sums == values && all && bytes == sizeof(std::complex<long double>);
  return MPI_Finalize() == MPI_SUCCESS && good ? 0 : 1;
}
