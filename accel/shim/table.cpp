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
#include "accel/preload/functions.def"
#undef FUNCTION

#define FUNCTION(name) {#name, reinterpret_cast<void*>(&accel_##name)},
extern "C" __attribute__((visibility("default"))) const AccelFunction esp_accel_functions[] = {
#include "accel/preload/functions.def"
    {nullptr, nullptr}};
