#include "core/trace.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <new>

namespace espalier {

const char* trace_kind_name(TraceKind kind) noexcept {
  static constexpr const char* kNames[] = {"barrier",
                                           "bcast",
                                           "reduce",
                                           "allreduce",
                                           "allgather",
                                           "allgatherv",
                                           "alltoall",
                                           "alltoallv",
                                           "scan",
                                           "exscan",
                                           "gather",
                                           "gatherv",
                                           "scatter",
                                           "scatterv",
                                           "reduce_scatter_block",
                                           "reduce_scatter",
                                           "alltoallw",
                                           "neighbor_allgather",
                                           "neighbor_allgatherv",
                                           "neighbor_alltoall",
                                           "neighbor_alltoallv",
                                           "neighbor_alltoallw",
                                           "point-to-point",
                                           "recv",
                                           "send",
                                           "publish",
                                           "combine",
                                           "pack",
                                           "unpack",
                                           "copy",
                                           "cma",
                                           "grant",
                                           "retry",
                                           "wait",
                                           "park",
                                           "wakeup",
                                           "callback",
                                           "timer",
                                           "mark"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(TraceKind::kCount));
  const auto index = static_cast<std::size_t>(kind);
  return index < std::size(kNames) ? kNames[index] : "?";
}

Result<Trace> Trace::create(std::size_t events, Clock& clock) {
  ESP_ASSERT(events <= std::size_t{1} << 32);
  const std::size_t size = std::bit_ceil(std::max<std::size_t>(events, 1));
  Trace trace;
  // Touched now, so that recording never takes a page fault.
  trace.ring_.reset(new (std::nothrow) TraceEvent[size]());
  if (trace.ring_ == nullptr) return error(ESP_ERR_NO_MEMORY, "no memory for the trace ring");
  trace.mask_ = size - 1;
  trace.clock_ = &clock;
  return trace;
}

std::vector<TraceEvent> Trace::events() const {
  if (!enabled()) return {};
  const std::uint64_t first = recorded_count_ > mask_ ? recorded_count_ - mask_ - 1 : 0;
  std::vector<TraceEvent> kept;
  kept.reserve(static_cast<std::size_t>(recorded_count_ - first));
  for (std::uint64_t i = first; i < recorded_count_; ++i) kept.push_back(ring_[i & mask_]);
  return kept;
}

}  // namespace espalier
