// Checks of the arguments of collectives, and their translation into a Call.
// Threads: owner, except that texts are formatted only on failure. path: short
#pragma once

#include "api/api.hpp"

namespace espalier::api {

// The function of the C API that makes it.
const char* caller_of(const Call& call) noexcept;
// Does a caller's options leave everything to choice?
inline bool leaves_all(const esp_coll_options& o) noexcept {
  return o.struct_size == sizeof o && o.algorithm == ESP_ALGORITHM_AUTO &&
         o.shape == ESP_SHAPE_AUTO && o.radix == 0 && o.segment_bytes == 0 && o.window_send == 0 &&
         o.window_recv == 0 && o.variant == ESP_VARIANT_EVENT && o.partial == nullptr &&
         o.stream == nullptr && o.event == nullptr;
}
// Fills `call` (collective, buffers, arrays, count, type, operator and root are as the caller gave
// them) with what follows from these and the options, which may be nullptr. ESP_OK, or an error
// that has been reported. Looks at each entry of the arrays once.
esp_status check_call(esp_team& handle, Call& call, const esp_coll_options* options);

}  // namespace espalier::api
