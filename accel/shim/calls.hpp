// Calls: each collective as the accelerator sees it. A call says what it is about (bytes(), equal
// on all members), whether the library can do it (fits()), and does it: mpi() by the MPI,
// mpi_start() likewise without waiting, mpi_init() as a persistent request (a template, for MPIs
// before version 4 have no such functions), ours() by the library in one of its forms.
//
// Where elements are only moved they go as bytes, whatever their types on either side. path: data
#pragma once

#include "accel/shim/communicator.hpp"
#include "accel/shim/stage.hpp"

namespace espalier::accel {

// How the library does it. nullptr: blocking; else it tells this at the end of what it starts, or,
// where a request is to be made, of each of that one's rounds.
struct Notice {
  esp_notify end;
  esp_request** rounds = nullptr;
};
using Form = const Notice*;

#define ESP_ACCEL_FORMS(function, ...)                                     \
  (form == nullptr ? esp_##function(__VA_ARGS__)                           \
   : form->rounds == nullptr                                               \
       ? esp_##function##_start(__VA_ARGS__, nullptr, &form->end, nullptr) \
       : esp_##function##_init(__VA_ARGS__, nullptr, &form->end, form->rounds))

struct CallBase {
  MPI_Comm comm;
};

inline std::uint64_t bytes_of(std::int64_t count, MPI_Datatype type) {
  Extent extent;
  return extent_of(type, extent) ? static_cast<std::uint64_t>(count * extent.size) : 0;
}

inline bool is_in_place(const void* buffer) noexcept {
  return buffer == MPI_IN_PLACE;
}
inline const void* input_of(const void* buffer) noexcept {
  return is_in_place(buffer) ? ESP_IN_PLACE : buffer;
}

}  // namespace espalier::accel
