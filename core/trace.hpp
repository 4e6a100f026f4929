// Trace: what one worker did and when, in a ring of fixed-size events that overwrites the oldest.
//
// Off (no ring): one predictable branch per call, no clock is read. Writer and reader: the worker's
// owner thread only. Times are monotonic and comparable between the processes of one machine.
// Export: core/trace_export.hpp. path: data
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/clock.hpp"
#include "core/status.hpp"

namespace espalier {

// The first ones are whole operations, in the order of coll's Collective.
enum class TraceKind : std::uint8_t {
  kBarrier,
  kBcast,
  kReduce,
  kAllreduce,
  kAllgather,
  kAllgatherv,
  kAlltoall,
  kAlltoallv,
  kScan,
  kExscan,
  kGather,
  kGatherv,
  kScatter,
  kScatterv,
  kReduceScatterBlock,
  kReduceScatter,
  kAlltoallw,
  kNeighborAllgather,
  kNeighborAllgatherv,
  kNeighborAlltoall,
  kNeighborAlltoallv,
  kNeighborAlltoallw,
  kPointToPoint,
  kRecv,     // from post to completion
  kSend,     // from post to completion
  kPublish,  // from publication until the buffer may be used again
  kCombine,
  kPack,      // by a mover: from memory of a device, as a rule
  kUnpack,    // likewise, into it
  kCopy,      // between user buffer and shared memory
  kCma,       // one call of process_vm_readv or process_vm_writev
  kGrant,     // credit given to a peer
  kRetry,     // a post that found no resource
  kWait,      // spinning or yielding in a blocking call
  kPark,      // asleep
  kWakeup,    // a sleeping peer was woken
  kCallback,  // code of the user
  kTimer,
  kMark,  // anything else; `value` tells
  kCount
};
const char* trace_kind_name(TraceKind kind) noexcept;

// kCancel: an end without completion (the operation was taken back).
enum class TracePhase : std::uint8_t { kBegin, kEnd, kCancel, kInstant };

// What an event is about. Begin and end of one thing carry the same team, sequence, vertex, index
// and peer. Point-to-point messages are counted per peer and channel: `vertex` is the channel then.
struct TraceSubject {
  std::uint16_t team = 0;
  std::uint16_t vertex = 0;
  std::uint32_t sequence = 0;  // of the operation within the team
  std::uint32_t index = 0;
  std::int32_t peer = kNoRank;  // rank of the job
  std::uint32_t value = 0;      // bytes, mostly
  friend bool operator==(const TraceSubject&, const TraceSubject&) = default;
};

struct TraceEvent {
  std::uint64_t time_ns;
  TraceSubject subject;
  TraceKind kind;
  TracePhase phase;
};
static_assert(sizeof(TraceEvent) == 32);

class Trace {
 public:
  Trace() = default;  // off
  // Rounded up to a power of two. The clock must outlive the trace.
  static Result<Trace> create(std::size_t events, Clock& clock);

  bool enabled() const noexcept { return ring_ != nullptr; }
  void begin(TraceKind kind, const TraceSubject& subject) noexcept {
    record(kind, TracePhase::kBegin, subject, now_ns());
  }
  // A begin that turned out afterwards to be one; `begin_ns`: what now_ns() said then.
  void begin_at(TraceKind kind, const TraceSubject& subject, std::uint64_t begin_ns) noexcept {
    record(kind, TracePhase::kBegin, subject, begin_ns);
  }
  void end(TraceKind kind, const TraceSubject& subject) noexcept {
    record(kind, TracePhase::kEnd, subject, now_ns());
  }
  void cancel(TraceKind kind, const TraceSubject& subject) noexcept {
    record(kind, TracePhase::kCancel, subject, now_ns());
  }
  void instant(TraceKind kind, const TraceSubject& subject) noexcept {
    record(kind, TracePhase::kInstant, subject, now_ns());
  }
  // 0 when off.
  std::uint64_t now_ns() const noexcept { return enabled() ? clock_->now_ns() : 0; }

  // Events recorded so far, including overwritten ones.
  std::uint64_t recorded_count() const noexcept { return recorded_count_; }
  // What is left in the ring, oldest first.
  std::vector<TraceEvent> events() const;

 private:
  void record(TraceKind kind, TracePhase phase, const TraceSubject& subject,
              std::uint64_t time_ns) noexcept {
    if (ring_ != nullptr) [[unlikely]] {
      ring_[recorded_count_++ & mask_] = {time_ns, subject, kind, phase};
    }
  }

  std::unique_ptr<TraceEvent[]> ring_;
  std::size_t mask_ = 0;
  std::uint64_t recorded_count_ = 0;
  Clock* clock_ = nullptr;
};

// Begin now, end at the end of the block.
class TraceScope {
 public:
  TraceScope(Trace& trace, TraceKind kind, const TraceSubject& subject) noexcept
      : trace_(trace), subject_(subject), kind_(kind) {
    trace_.begin(kind_, subject_);
  }
  ~TraceScope() { trace_.end(kind_, subject_); }
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  Trace& trace_;
  const TraceSubject subject_;
  const TraceKind kind_;
};

}  // namespace espalier
