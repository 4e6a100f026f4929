// Datatypes and operators of the MPI as those of the library. path: data
#pragma once

#include <optional>

#include "accel/shim/mpi_names.hpp"
#include "espalier/espalier.h"

namespace espalier::accel {

void learn_types();

// Predefined ones that have a counterpart.
std::optional<esp_type> reducible(MPI_Datatype type) noexcept;
std::optional<esp_op> predefined(MPI_Op op) noexcept;

// How elements of a type lie.
struct Extent {
  std::int64_t size = 0;    // bytes of data
  std::int64_t extent = 0;  // from one element to the next
  bool plain = false;       // one after the other, without gaps, in their order
};
// False: it is no type, or not one that can be used.
bool extent_of(MPI_Datatype type, Extent& extent);

}  // namespace espalier::accel
