// The network under a library: what a plain socket does between ranks 0 and 1, and what it costs a
// library to have one more peer. path: setup
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "esp-bench/backend.hpp"
#include "esp-bench/floors.hpp"
#include "esp-bench/options.hpp"

namespace espalier::bench {

// Over one TCP connection, per size of --bytes: half a round trip ("socket-..."), one of many
// messages in one direction ("stream-..."), and the processor time of both ends of the sleeping
// stream ("work"). Buffers rotate as those of operations, a stream's are written anew before each
// sample. "...-sleep" blocks in the kernel, "...-spin" looks again and again. On rank 0; empty
// elsewhere. Two ranks.
std::vector<Floor> measure_sockets(Backend& backend, const Options& options);

// Rank 0 exchanges 8 bytes with every other rank, one after the other, the first exchange timed
// alone. Per peer: first and later exchanges in us; and rank 0's resident KiB before and after.
// Call it before anything else has communicated.
nlohmann::json measure_peers(Backend& backend, bool table);

}  // namespace espalier::bench
