// What esp-verbs measures between two ends: ping-pong, a stream, puts and gets, late receives, the
// first frame, memory of peers.
//
// Every message is checked (a pattern of its number), the checks outside of what is timed.
// Threads: one. path: setup
#pragma once

#include <nlohmann/json.hpp>

#include "verbs/end.hpp"

namespace espalier::bench {

// Where receives point to.
enum class Memory {
  kRegistered,    // with the link: large segments are announced and placed by the adapter
  kUnregistered,  // copied through packets
  kCached,        // registered by the link when it is first used, and kept (EndOptions::cache)
};

struct Task {
  std::uint64_t bytes = 8;
  std::uint32_t iterations = 1000;
  std::uint32_t window = 16;  // receives that are posted at once (stream)
  Memory memory = Memory::kRegistered;
};

// One segment of `bytes` there and back, `iterations` times: half of the round trip in
// microseconds, and what one segment cost both sides in counts.
nlohmann::json measure_latency(End& end, const Task& task);
// A flow of `iterations` segments from rank 0 to rank 1; MiB/s (perftest's MB/s), until the
// receiver has said that it has all.
nlohmann::json measure_bandwidth(End& end, const Task& task);
// Rank 0 puts to or gets from rank 1's memory, `window` at a time: how long one takes (with a
// window of 1: its time), and MiB/s. Connections only.
nlohmann::json measure_access(End& end, const Task& task, bool put);
// Single messages, each followed by a note; their receives are posted when the note has come, and
// the next message leaves when the one before is there: MiB/s of all that.
nlohmann::json measure_late(End& end, const Task& task);
// Memory of a peer: this process's heap and the queues of its connection, without any traffic.
nlohmann::json measure_memory(const std::string& device);

}  // namespace espalier::bench
