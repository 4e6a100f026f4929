/* Nobody has started this job but the launcher. */
#include "../conformance.h"

int main(int argc, char** argv) {
  MPI_Comm parent = MPI_COMM_WORLD;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return_errors();
  CHECK_OK(MPI_Comm_get_parent(&parent));
  CHECK(parent == MPI_COMM_NULL);
  if (kOurs) CHECK_CLASS(MPI_Comm_get_parent(NULL), MPI_ERR_ARG); /* Others need not. */
  return conclude();
}
