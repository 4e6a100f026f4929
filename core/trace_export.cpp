#include "core/trace_export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace espalier {
namespace {

// What a begin and its end have in common.
auto pair_key(const TraceEvent& event) {
  const TraceSubject& s = event.subject;
  return std::tuple(event.kind, s.team, s.sequence, s.vertex, s.index, s.peer);
}
using PairKey = decltype(pair_key(TraceEvent{}));

// Matches begins and ends. Equal keys nest: an end closes the latest begin.
std::vector<TraceSlice> pair_events(std::span<const TraceEvent> events) {
  std::vector<TraceSlice> slices;
  std::map<PairKey, std::vector<std::size_t>> open;
  for (const TraceEvent& event : events) {
    const bool instant = event.phase == TracePhase::kInstant;
    if (event.phase == TracePhase::kEnd || event.phase == TracePhase::kCancel) {
      auto found = open.find(pair_key(event));
      if (found == open.end() || found->second.empty()) continue;
      TraceSlice& slice = slices[found->second.back()];
      found->second.pop_back();
      slice.end_ns = event.time_ns;
      slice.unfinished = event.phase == TracePhase::kCancel;
      continue;
    }
    if (!instant) open[pair_key(event)].push_back(slices.size());
    const std::uint64_t end_ns = instant ? event.time_ns : events.back().time_ns;
    slices.push_back({event.kind, event.subject, event.time_ns, end_ns, 0, instant, !instant});
  }
  return slices;
}

// Puts each slice into the first lane of its (kind, peer) that is free at its begin.
void assign_lanes(std::vector<TraceSlice>& slices) {
  std::map<std::pair<TraceKind, Rank>, std::vector<std::uint64_t>> lanes_end_ns;
  for (TraceSlice& slice : slices) {
    if (slice.instant) continue;
    auto& ends = lanes_end_ns[{slice.kind, slice.subject.peer}];
    const auto free = std::find_if(ends.begin(), ends.end(),
                                   [&](std::uint64_t end_ns) { return end_ns <= slice.begin_ns; });
    slice.lane = static_cast<std::uint32_t>(free - ends.begin());
    if (free == ends.end()) {
      ends.push_back(slice.end_ns);
    } else {
      *free = slice.end_ns;
    }
  }
}

// Lanes in the order in which a viewer shows them: operations first, then by kind, peer and lane.
using LaneKey = std::tuple<TraceKind, Rank, std::uint32_t>;
LaneKey lane_key(const TraceSlice& slice) {
  return {slice.kind, slice.subject.peer, slice.lane};
}

std::string lane_name(const LaneKey& key) {
  const auto [kind, peer, lane] = key;
  if (peer == kNoRank) return trace_kind_name(kind);
  const char* preposition = kind == TraceKind::kRecv           ? "from"
                            : kind == TraceKind::kPointToPoint ? "with"
                                                               : "to";
  return fmt::format("{} {} {}", trace_kind_name(kind), preposition, peer);
}

std::string microseconds(std::uint64_t ns) {
  return fmt::format("{}.{:03}", ns / 1000, ns % 1000);
}

void append_metadata(std::string& json, Rank rank,
                     const std::map<LaneKey, std::uint32_t>& lane_ids) {
  json += fmt::format(
      R"({{"ph":"M","name":"process_name","pid":{0},"args":{{"name":"rank {0}"}}}},)"
      "\n"
      R"({{"ph":"M","name":"process_sort_index","pid":{0},"args":{{"sort_index":{0}}}}})",
      rank);
  for (const auto& [key, id] : lane_ids) {
    json += fmt::format(
        ",\n"
        R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},)",
        rank, id);
    json += fmt::format(R"("args":{{"name":"{}"}}}},)", lane_name(key));
    json += fmt::format(
        "\n"
        R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},)",
        rank, id);
    json += fmt::format(R"("args":{{"sort_index":{}}}}})", id);
  }
}

void append_slice(std::string& json, const TraceSlice& slice, Rank rank, std::uint32_t lane_id) {
  const TraceSubject& s = slice.subject;
  json += fmt::format(
      ",\n"
      R"({{"name":"{}{}","pid":{},"tid":{},"ts":{},)",
      trace_kind_name(slice.kind), slice.unfinished ? " (unfinished)" : "", rank, lane_id,
      microseconds(slice.begin_ns));
  if (slice.instant) {
    json += R"("ph":"i","s":"t",)";
  } else {
    json += fmt::format(R"("ph":"X","dur":{},)", microseconds(slice.end_ns - slice.begin_ns));
  }
  json += fmt::format(
      R"("args":{{"team":{},"sequence":{},"vertex":{},"index":{},"peer":{},"value":{}}}}})", s.team,
      s.sequence, s.vertex, s.index, s.peer, s.value);
}

// Before the list of events, and after it: what joining goes by.
constexpr std::string_view kJsonBegin = "{\"traceEvents\":[\n";
constexpr std::string_view kJsonEnd =
    "\n],\"displayTimeUnit\":\"ns\",\"otherData\":{\"dropped_events\":";

std::string json_end(std::uint64_t dropped_count) {
  return fmt::format("{}{}}}}}\n", kJsonEnd, dropped_count);
}

Error cannot_write(const std::string& path) {
  const int number = errno;
  return error(ESP_ERR_SYSTEM, fmt::format("cannot write {}: {}", path, std::strerror(number)),
               kNoRank, number);
}

bool put(const OpenFile& file, std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
}

Outcome close(OpenFile& file, const std::string& path) {
  if (std::fclose(file.release()) != 0) return cannot_write(path);
  return Unit{};
}

// Empty: it cannot be read.
std::string content_of(const std::string& path) {
  const OpenFile file(std::fopen(path.c_str(), "re"));
  std::string text;
  std::array<char, 1 << 16> part;
  while (file != nullptr) {
    const std::size_t bytes = std::fread(part.data(), 1, part.size(), file.get());
    if (bytes == 0) break;
    text.append(part.data(), bytes);
  }
  return text;
}

}  // namespace

std::vector<TraceSlice> trace_slices(std::span<const TraceEvent> events) {
  std::vector<TraceSlice> slices = pair_events(events);
  assign_lanes(slices);
  return slices;
}

std::string trace_json(std::span<const TraceEvent> events, Rank rank, std::uint64_t dropped_count) {
  const std::vector<TraceSlice> slices = trace_slices(events);
  std::map<LaneKey, std::uint32_t> lane_ids;
  for (const TraceSlice& slice : slices) lane_ids[lane_key(slice)] = 0;
  std::uint32_t next_id = 1;
  for (auto& [key, id] : lane_ids) id = next_id++;

  std::string json(kJsonBegin);
  append_metadata(json, rank, lane_ids);
  for (const TraceSlice& slice : slices) {
    append_slice(json, slice, rank, lane_ids[lane_key(slice)]);
  }
  json += json_end(dropped_count);
  return json;
}

Outcome write_trace(const Trace& trace, Rank rank, const std::string& path) {
  if (!trace.enabled()) {
    return error(ESP_ERR_STATE, "nothing was traced: set ESPALIER_TRACE=1 before the job starts");
  }
  auto file = TraceFile::create(path);
  return file ? file->write(trace, rank) : file.error();
}

Result<TraceFile> TraceFile::create(const std::string& path) {
  TraceFile made;
  made.file_ = OpenFile(std::fopen(path.c_str(), "we"));
  made.path_ = path;
  if (made.file_ == nullptr) return cannot_write(path);
  return made;
}

Outcome TraceFile::write(const Trace& trace, Rank rank) {
  const std::vector<TraceEvent> events = trace.events();
  const std::string json = trace_json(events, rank, trace.recorded_count() - events.size());
  if (!put(file_, json)) return cannot_write(path_);
  return close(file_, path_);
}

Result<TraceJoin> TraceJoin::create(const std::string& path) {
  TraceJoin made;
  made.file_ = OpenFile(std::fopen(path.c_str(), "we"));
  made.path_ = path;
  if (made.file_ == nullptr || !put(made.file_, kJsonBegin)) return cannot_write(path);
  return made;
}

bool TraceJoin::add(const std::string& path) {
  const std::string json = content_of(path);
  const std::size_t end = json.rfind(kJsonEnd);
  if (!json.starts_with(kJsonBegin) || end == std::string::npos) return false;
  dropped_count_ += std::strtoull(json.c_str() + end + kJsonEnd.size(), nullptr, 10);
  const std::string_view list(json.data() + kJsonBegin.size(), end - kJsonBegin.size());
  if (!std::exchange(empty_, false)) (void)put(file_, ",\n");
  (void)put(file_, list);  // What fails is found at the end.
  return true;
}

Outcome TraceJoin::finish() {
  (void)put(file_, json_end(dropped_count_));
  if (std::ferror(file_.get()) != 0) return cannot_write(path_);
  return close(file_, path_);
}

}  // namespace espalier
