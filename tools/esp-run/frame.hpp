// The messages between the root and its node daemons, and the stream that carries them.
//
//   node                                            root
//    | -- kHello (secret) ---------------------------> |   once, before anything else is accepted
//    | -- kRankStarted, kStartFailed, kRankEnded,     |
//    |    kAbort ------------------------------------> |
//    | -- kFence, kLookup ---------------------------> |
//    | <- kFenceDone, kLookup, kLookupAnswer --------- |
//    | -- kLookupAnswer -----------------------------> |
//    | <- kRankDied, kSignal, kShutdown -------------- |
//    | <- kAskRanks ---------------------------------- |
//    | -- kRanksDo ----------------------------------> |
//
// Both ends are the same binary on the same machine, so numbers travel as they lie in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/descriptor.hpp"

namespace esp_run {

enum class FrameKind : std::uint32_t {
  kHello = 1,     // node; payload: the job's secret
  kNodeFailed,    // payload: why this node cannot go on
  kRankStarted,   // rank; status: its pid, the number of its process group
  kStartFailed,   // rank; status: errno; id: StartStep
  kRankEnded,     // rank; status: as from waitpid; id: RankLeft
  kAbort,         // rank; status: exit code the rank asked for; payload: its message
  kFence,         // id: the node's own number; status: FenceStatus; payload: FencePayload
  kFenceDone,     // id: that number; status: FenceStatus; payload: data of all nodes, concatenated
  kLookup,        // id; rank: whose data is wanted
  kLookupAnswer,  // id; status: 0 found; payload: the data
  kRankDied,      // rank; status: DeathKind: to be reported to the ranks of the node
  kSignal,        // status: signal for all ranks of the node
  kShutdown,      // all ranks of all nodes have ended
  kAskRanks,      // id: what do your ranks do?
  kRanksDo,       // id; payload: pack_reports()
  // Only within a node, from libpmix to the daemon:
  kConnected,  // rank
  kFinalized,  // rank
};

enum class FenceStatus : std::int32_t { kComplete = 0, kPartial = 1 };
enum class RankLeft : std::uint64_t { kProperly = 0, kWithoutFinalize = 1 };
enum class DeathKind : std::int32_t { kFailed = 0, kKilled = 1, kWithoutFinalize = 2 };

struct Frame {
  FrameKind kind{};
  std::int32_t rank = -1;  // For kHello: the node.
  std::int32_t status = 0;
  std::uint64_t id = 0;
  std::string payload;
};

// Participants of a fence (empty: the whole job) followed by the data of one node.
struct FencePayload {
  std::vector<std::int32_t> ranks;
  std::string data;
};
std::string pack_fence(const std::vector<std::int32_t>& ranks, const char* data, std::size_t bytes);
std::optional<FencePayload> unpack_fence(const std::string& payload);

// A connected, non-blocking socket that carries frames both ways. Writes what the socket takes and
// keeps the rest until flush(). Not thread-safe.
class FrameStream {
 public:
  // A peer that announces a larger payload is cut off; a stranger gets no more than a hello needs.
  FrameStream(espalier::Descriptor socket, std::uint32_t payload_bytes_max);

  int fd() const { return socket_.fd(); }
  bool is_open() const { return socket_.is_open(); }
  bool has_unsent() const { return unsent_start_ < unsent_.size(); }
  void allow_payloads(std::uint32_t payload_bytes_max) { payload_bytes_max_ = payload_bytes_max; }
  void send(const Frame& frame);
  void flush();
  // Frames that have arrived completely: read(), then next() until there is none. The stream closes
  // itself at its end or on an error; what has arrived before remains.
  std::vector<Frame> receive();
  void read();
  std::optional<Frame> next();
  void close() { socket_.close(); }

 private:
  espalier::Descriptor socket_;
  std::uint32_t payload_bytes_max_;
  std::string received_;
  std::size_t received_start_ = 0;  // What lies before it has been handed out.
  std::string unsent_;
  std::size_t unsent_start_ = 0;
};

inline constexpr std::uint32_t kPayloadBytesMax = 1U << 30;

}  // namespace esp_run
