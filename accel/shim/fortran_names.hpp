// What Fortran names by the addresses of variables of the MPI. path: data
#pragma once

namespace espalier::accel {

// Looks where they are; once.
void learn_fortran();
// MPI_IN_PLACE and MPI_BOTTOM of Fortran as those of C.
const void* input(const void* buffer) noexcept;
void* output(void* buffer) noexcept;

}  // namespace espalier::accel
