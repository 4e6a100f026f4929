#include "accel/shim/fortran_names.hpp"

#include <dlfcn.h>

#include "accel/shim/mpi_names.hpp"

namespace espalier::accel {
namespace {

const void* g_in_place = nullptr;
const void* g_bottom = nullptr;

// A variable, or (MPICH, that learns them from Fortran) a pointer to one.
const void* place_of(const char* variable, const char* pointer) noexcept {
  if (const void* found = dlsym(RTLD_DEFAULT, variable)) return found;
  const void* found = dlsym(RTLD_DEFAULT, pointer);
  return found != nullptr ? *static_cast<void* const*>(found) : nullptr;
}

}  // namespace

void learn_fortran() {
  g_in_place = place_of("mpi_fortran_in_place_", "MPIR_F_MPI_IN_PLACE");
  g_bottom = place_of("mpi_fortran_bottom_", "MPIR_F_MPI_BOTTOM");
}

const void* input(const void* buffer) noexcept {
  if (buffer == nullptr) return buffer;
  if (buffer == g_in_place) return MPI_IN_PLACE;
  return buffer == g_bottom ? MPI_BOTTOM : buffer;
}

void* output(void* buffer) noexcept {
  return const_cast<void*>(input(buffer));
}

}  // namespace espalier::accel
