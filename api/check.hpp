// Checks of the arguments of collectives, and their translation into a Call.
// Threads: owner, except that texts are formatted only on failure. path: short
#pragma once

#include "api/api.hpp"

namespace espalier::api {

// The function of the C API that makes it.
const char* caller_of(const Call& call) noexcept;
// Fills `call` (collective, buffers, count and root are set by the caller) with what follows from
// type, operator and options. ESP_OK, or an error that has been reported.
esp_status complete_call(esp_team& handle, Call& call, const esp_coll_options* options);
// The operator of a reduction.
esp_status bind_operator(esp_team& handle, Call& call);

// While the trace is on (api_traced.cpp): does the call take the short path? Then it is run on it.
bool takes_traced_short_path(const esp_team& handle, const Call& call) noexcept;
// False: the team has failed.
bool run_traced_short_path(esp_team& handle, const Call& call) noexcept;

}  // namespace espalier::api
