// MPI's begin and end, in C and Fortran. path: setup
#include <dlfcn.h>

#include <cstdlib>

#include "accel/shim/fortran_names.hpp"
#include "accel/shim/state.hpp"

namespace a = espalier::accel;

namespace {

template <typename Function>
Function* original(const char* name) {
  void* found = dlsym(RTLD_DEFAULT, name);
  if (found == nullptr) std::abort();  // what called us is an MPI without its own function
  return reinterpret_cast<Function*>(found);
}

void begin_after(int code) {
  int level = MPI_THREAD_SINGLE;
  if (code == MPI_SUCCESS && PMPI_Query_thread(&level) == MPI_SUCCESS) a::begin(level);
}

void begin_fortran(int code) {
  begin_after(code);
  a::learn_fortran();
}

}  // namespace

extern "C" {

int accel_MPI_Init(int* argc, char*** argv) {
  const int code = PMPI_Init(argc, argv);
  begin_after(code);
  return code;
}

int accel_MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int code = PMPI_Init_thread(argc, argv, required, provided);
  begin_after(code);
  return code;
}

int accel_MPI_Finalize() {
  a::end();
  return PMPI_Finalize();
}

void accel_mpi_init_(MPI_Fint* code) {
  original<void(MPI_Fint*)>("pmpi_init_")(code);
  begin_fortran(*code);
}

void accel_mpi_init_thread_(MPI_Fint* required, MPI_Fint* provided, MPI_Fint* code) {
  original<void(MPI_Fint*, MPI_Fint*, MPI_Fint*)>("pmpi_init_thread_")(required, provided, code);
  begin_fortran(*code);
}

void accel_mpi_finalize_(MPI_Fint* code) {
  a::end();
  original<void(MPI_Fint*)>("pmpi_finalize_")(code);
}

}  // extern "C"
