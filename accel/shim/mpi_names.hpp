// The MPI's own header, without C++ bindings, and what is needed of its handles: they are integers
// or pointers.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <cstdint>
#include <type_traits>

namespace espalier::accel {

template <typename Handle>
std::uint64_t bits_of(Handle handle) noexcept {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<std::uintptr_t>(handle);
  } else {
    return static_cast<std::uint64_t>(handle);
  }
}

}  // namespace espalier::accel
