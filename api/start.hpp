// The long way in: from the arguments of a collective to an operation of the engine.
// Threads: any. path: data
#pragma once

#include "api/check.hpp"

namespace espalier::api {

// `call` holds what the caller gave, not checked; nor is `team`. Returns when this rank's part is
// complete. AUTO options.
esp_status run_call(esp_team* team, Call& call, Purpose purpose = Purpose::kUser);
// The same, only started; `options`, `notify` and `request` as they were given.
esp_status start_call(esp_team* team, Call call, const esp_coll_options* options,
                      const esp_notify* notify, esp_request** request);
// A persistent request for it.
esp_status init_call(esp_team* team, Call call, const esp_coll_options* options,
                     const esp_notify* notify, esp_request** request);

// With EXPLAIN: the first member says what is chosen for the call, and why; once for each
// collective and size of a team.
[[gnu::cold, gnu::noinline]] void explain_once(esp_team& handle, const Call& call);

// After the short path, when the team has failed or callbacks have entered its next operations.
[[gnu::cold, gnu::noinline]] esp_status conclude_slowly(esp_team& handle, bool completed) noexcept;

}  // namespace espalier::api
