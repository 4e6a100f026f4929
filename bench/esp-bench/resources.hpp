// What a rank costs besides time: resident memory, and CPU while it waits.
// path: setup
#pragma once

#include <nlohmann/json.hpp>

#include "esp-bench/backend.hpp"
#include "esp-bench/buffer_memory.hpp"
#include "esp-bench/options.hpp"

namespace espalier::bench {

// Resident set of every rank, KiB: before joining the job, after joining, after small calls of
// every collective in --op, after large ones. `before_kib` is this process's reading before open().
nlohmann::json measure_memory(Backend& backend, BufferMemory& memory, double before_kib,
                              const Options& options);

// The last rank sleeps for --seconds; the others wait for it in a barrier. CPU time of the waiters.
nlohmann::json measure_idle(Backend& backend, const Options& options);

// --calls calls of each operation in --op at the first size. Rank --late enters each call 2 ms
// (outside the call) after the others have, and so finds its data ready: what an instruction
// counter sees on that rank is the call and no waiting.
void make_calls(Backend& backend, BufferMemory& memory, const Options& options);

}  // namespace espalier::bench
