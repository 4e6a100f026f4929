// What the buffers of a collective hold, by its row and the caller's counts. path: short
#pragma once

#include "api/api.hpp"

namespace espalier::api {

struct Extents {
  std::uint64_t input = 0, output = 0;  // elements: 0 if there are none, or they do not matter here
  std::uint64_t own_bytes = 0;          // where the own block begins in the buffer of many
};

// Does this rank get anything, give anything?
bool gets_output(const Team& team, const Call& call) noexcept;
bool gives_input(const Team& team, const Call& call) noexcept;

// Which of its buffers does the operation read, and write, for their elements?
struct Sides {
  bool gives = false, gets = false;
};
Sides sides_of(const Team& team, const Call& call) noexcept;

// Looks at each entry of the arrays once, completes the call's counts (of elements of the built-in
// type; arrays stay the caller's) and says what is packed. Of a call in place the input's arrays
// become the output's. An error has been reported.
esp_status measure_buffers(esp_team& handle, Call& call, Extents& extents);

}  // namespace espalier::api
