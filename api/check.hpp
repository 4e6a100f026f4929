// Checks of the arguments of collectives, and their translation into a Call.
// Threads: owner, except that texts are formatted only on failure. path: short
#pragma once

#include "api/api.hpp"

namespace espalier::api {

// The function of the C API that makes it.
const char* caller_of(const Call& call) noexcept;
// Fills `call` (collective, buffers, arrays, count, type, operator and root are as the caller gave
// them) with what follows from these and the options, which may be nullptr. ESP_OK, or an error
// that has been reported. Looks at each entry of the arrays once.
esp_status check_call(esp_team& handle, Call& call, const esp_coll_options* options);

}  // namespace espalier::api
