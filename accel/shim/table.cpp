// The functions as the jumps find them (accel/preload). What this MPI does not have is not among
// them.
#include "accel/preload/table.h"

#include "accel/shim/mpi_names.hpp"

#define FUNCTION(name) extern "C" void accel_##name();
#if MPI_VERSION >= 4
#define FUNCTION4(name) FUNCTION(name)
#else
#define FUNCTION4(name)
#endif
// What Fortran's MPI_IN_PLACE is, and so all that comes from there, is known of these alone. Of
// others C's functions, if those of Fortran call them.
#if defined(OPEN_MPI) || defined(MPICH_VERSION)
#define FORTRAN(name) FUNCTION(name)
#else
#define FORTRAN(name)
#endif
#include "accel/preload/functions.def"
#undef FUNCTION

#define FUNCTION(name) {#name, reinterpret_cast<void*>(&accel_##name)},
extern "C" __attribute__((visibility("default"))) const AccelFunction esp_accel_functions[] = {
#include "accel/preload/functions.def"
    {nullptr, nullptr}};
