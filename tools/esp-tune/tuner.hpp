// Goes through all that is to be measured. Rank 0 of the job says what comes next, keeps the
// notebook and talks; the others follow. Threads: one. path: setup
#pragma once

#include <vector>

#include "tools/esp-tune/notebook.hpp"
#include "tools/esp-tune/options.hpp"
#include "tools/esp-tune/places.hpp"

namespace esp_tune {

// The sizes that are measured at first; `bytes` empty: powers of 4, 8 B to 4 MiB, of blocks up
// to 16 MiB together. What needs more memory than Call::kBufferBytesMax is left out. A barrier has
// the size 0.
std::vector<std::uint64_t> sizes_of(espalier::Collective collective, int ranks,
                                    const std::vector<std::uint64_t>& bytes);
// A size between the two, a power of 2 from the lower; 0: there is none.
std::uint64_t size_between(std::uint64_t below, std::uint64_t above);

// Collective over the job; the exit code, equal on all ranks: 0, 1 or 2. Throws std::runtime_error
// when a call fails.
int tune(esp_job* job, const Options& options);

}  // namespace esp_tune
