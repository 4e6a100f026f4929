// CollOptions: how a collective is carried out. path: setup
#ifndef ESPALIER_CPP_OPTIONS_HPP
#define ESPALIER_CPP_OPTIONS_HPP

#include <cstddef>

#include "espalier/espalier.h"

namespace esp {

// Must be equal on all members, but for the last three. Zero: choose for me.
struct CollOptions {
  esp_algorithm algorithm = ESP_ALGORITHM_AUTO;
  esp_shape shape = ESP_SHAPE_AUTO;
  int radix = 0;  // Of the k-ary (>= 1) and k-nomial (>= 2) shapes and of BRUCK (>= 2).
  std::size_t segment_bytes = 0;  // Rounded down to a whole number of elements, at least one.
  int window_send = 0;            // Segments in flight per child, 1..64.
  int window_recv = 0;            // Segments granted to the parent, 1..64.
  esp_variant variant = ESP_VARIANT_EVENT;
  // What this member asks for besides (espalier/partial.h); stays where it is until the call.
  const esp_partial* partial = nullptr;
  void* stream = nullptr;  // A CUstream: the call is ordered with it (esp_coll_options).
  void* event = nullptr;   // A CUevent that is recorded there at the end.

  constexpr esp_coll_options to_c() const noexcept {
    return {sizeof(esp_coll_options),
            algorithm,
            shape,
            radix,
            segment_bytes,
            window_send,
            window_recv,
            variant,
            partial,
            stream,
            event};
  }
};

}  // namespace esp

#endif  // ESPALIER_CPP_OPTIONS_HPP
