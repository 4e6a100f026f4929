// Traces as Chrome/Perfetto JSON (the "Trace Event Format": open in ui.perfetto.dev or
// chrome://tracing).
//
// One process (pid) per rank, one lane (tid) per kind and peer: "send to 3". Segments of one edge
// overlap, and a viewer cannot draw overlapping slices in one lane, so overlapping ones go to
// further lanes of the same name. What has begun and not completed is marked "(unfinished)": a
// stuck receive is drawn up to the last event, one that was taken back up to then. Ends without a
// begin (overwritten) are left out. Files of several ranks merge by joining their lists. Threads:
// any. path: setup
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/trace.hpp"

namespace espalier {

struct TraceSlice {
  TraceKind kind;
  TraceSubject subject;
  std::uint64_t begin_ns;
  std::uint64_t end_ns;  // == begin_ns for instants
  std::uint32_t lane;    // 0, 1, ... among slices of the same kind and peer
  bool instant;
  bool unfinished;
};

// Pairs begins with ends and gives lanes; in order of begin.
std::vector<TraceSlice> trace_slices(std::span<const TraceEvent> events);

// The whole file. `dropped_count` (overwritten events) is noted in it.
std::string trace_json(std::span<const TraceEvent> events, Rank rank, std::uint64_t dropped_count);

// Writes trace_json() of everything the ring still holds.
Outcome write_trace(const Trace& trace, Rank rank, const std::string& path);

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using OpenFile = std::unique_ptr<std::FILE, CloseFile>;

// The file to which a rank's trace is written at the end, made at once: a path that is wrong is
// told before the job begins, and the program may go to another folder.
class TraceFile {
 public:
  static Result<TraceFile> create(const std::string& path);
  Outcome write(const Trace& trace, Rank rank);  // once

 private:
  OpenFile file_;
  std::string path_;
};

// Joins what trace_json() has written, without looking into it.
class TraceJoin {
 public:
  static Result<TraceJoin> create(const std::string& path);
  // False: there is no such file, or it is not a whole one.
  bool add(const std::string& path);
  Outcome finish();

 private:
  OpenFile file_;
  std::string path_;
  std::uint64_t dropped_count_ = 0;
  bool empty_ = true;
};

}  // namespace espalier
