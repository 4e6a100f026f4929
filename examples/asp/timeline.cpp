#include "timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <ostream>
#include <string>

namespace asp {
namespace {

constexpr std::array<const char*, static_cast<std::size_t>(SpanKind::kCount)> kNames = {
    "setup", "compute", "broadcast", "evaluate"};

std::string lane_name(std::size_t rank) {
  return fmt::format(
      R"({{"ph":"M","pid":0,"tid":{0},"name":"thread_name","args":{{"name":"rank {0}"}}}})", rank);
}

std::string complete_event(std::size_t rank, const Span& span, double origin) {
  constexpr double kMicroseconds = 1e6;
  const std::string arguments = span.step < 0 ? "" : fmt::format(R"("step":{})", span.step);
  return fmt::format(
      R"({{"ph":"X","pid":0,"tid":{},"name":"{}","ts":{:.3f},"dur":{:.3f},"args":{{{}}}}})", rank,
      kNames.at(static_cast<std::size_t>(span.kind)), (span.begin - origin) * kMicroseconds,
      (span.end - span.begin) * kMicroseconds, arguments);
}

}  // namespace

void write_timeline(std::ostream& out, const std::vector<std::vector<Span>>& spans_by_rank) {
  double origin = std::numeric_limits<double>::max();
  for (const auto& spans : spans_by_rank) {
    for (const Span& span : spans) origin = std::min(origin, span.begin);
  }
  out << R"({"displayTimeUnit":"ms","traceEvents":[)" << '\n'
      << R"({"ph":"M","pid":0,"name":"process_name","args":{"name":"asp"}})";
  for (std::size_t rank = 0; rank < spans_by_rank.size(); ++rank) {
    out << ",\n" << lane_name(rank);
    for (const Span& span : spans_by_rank[rank]) out << ",\n" << complete_event(rank, span, origin);
  }
  out << "\n]}\n";
}

}  // namespace asp
