// What a rank did when, and the file that shows it: Chrome trace format, one lane per rank, which
// Perfetto (ui.perfetto.dev) and chrome://tracing open.
//
// Times are seconds of a clock that all ranks of a machine share (esp_time). Single thread.
// path: data (add), setup (the rest)
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <vector>

namespace asp {

enum class SpanKind : std::int32_t { kSetup, kCompute, kBroadcast, kEvaluate, kCount };

struct Span {
  SpanKind kind = SpanKind::kSetup;
  std::int32_t step = -1;  // Step of Floyd-Warshall, -1: none.
  double begin = 0;
  double end = 0;
};
static_assert(sizeof(Span) == 24);

class Timeline {
 public:
  // Records nothing unless `enabled`.
  explicit Timeline(bool enabled) : enabled_(enabled) {}

  void reserve(std::size_t spans) {
    if (enabled_) spans_.reserve(spans);
  }
  void add(const Span& span) {
    if (enabled_) spans_.push_back(span);
  }
  bool enabled() const { return enabled_; }
  const std::vector<Span>& spans() const { return spans_; }

 private:
  bool enabled_;
  std::vector<Span> spans_;
};

// Writes the spans of all ranks (index: rank), times relative to the earliest.
void write_timeline(std::ostream& out, const std::vector<std::vector<Span>>& spans_by_rank);

}  // namespace asp
