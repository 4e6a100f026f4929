// The trace of a job: its ring, and the file that the setting TRACE may name.
// path: setup
#include <fmt/format.h>

#include "api/handles.hpp"
#include "bootstrap/launcher_env.hpp"

namespace espalier {

Outcome begin_trace(esp_job& job) {
  const TraceSetting& wanted = job.config.trace;
  if (!wanted.on) return Unit{};
  auto trace = Trace::create(job.config.trace_events, job.steady_clock);
  if (!trace) return trace.error();
  job.trace = std::move(*trace);
  // A program that a rank has started is rank 0 of a job of its own, and would take rank 0's file.
  if (wanted.file.empty() || read_launcher_environment().is_child_of_rank) return Unit{};
  auto file = TraceFile::create(fmt::format("{}.{}", wanted.file, job.rank));
  if (!file) {
    return error(ESP_ERR_CONFIG,
                 fmt::format("{}: {}", job.config.written_name("TRACE"), file.error().text));
  }
  job.trace_file = std::move(*file);
  return Unit{};
}

void write_trace_file(esp_job& job) {
  if (!job.trace_file) return;
  if (auto done = job.trace_file->write(job.trace, job.rank); !done) {
    job.log.error("{}: {}", job.config.written_name("TRACE"), done.error().text);
  }
  job.trace_file.reset();
}

}  // namespace espalier
