// C API: the short path while the trace is on. The quick ways in know nothing of traces, so that
// they stay short; then all calls go the long way, which comes here. path: slow
#include "api/check.hpp"

namespace espalier::api {
namespace {

TraceSubject subject_of(const Team& team, const Call& call) noexcept {
  TraceSubject subject;
  subject.team = static_cast<std::uint16_t>(team.id);
  subject.sequence = static_cast<std::uint32_t>(team.sequence);
  subject.value = static_cast<std::uint32_t>(call.bytes());
  return subject;
}

CombineKernel kernel_of(const esp_job& job, const Call& call) noexcept {
  if (static_cast<unsigned>(call.op) >= ESP_OP_BUILTIN_COUNT) return nullptr;
  return job.short_tables
      .kernels[static_cast<std::size_t>(call.op)][static_cast<std::size_t>(call.type)];
}

// By the quick way in, which is the only one that ShortPath::bcast() and reduce() are called from:
// a second caller, and they would be inlined in neither.
bool run_quickly(esp_team& handle, const Call& call) noexcept {
  Team& team = handle.team;
  team.traces_short_path = false;
  team.short_path = true;
  esp_status status = ESP_OK;
  if (call.collective == Collective::kBcast) {
    status = esp_bcast(&handle, call.output, call.count, call.type, call.root);
  } else {
    const bool in_place = team.rank == call.root && call.input == call.output && call.count > 0;
    status = esp_reduce(&handle, in_place ? ESP_IN_PLACE : call.input, call.output, call.count,
                        call.type, call.op, call.root);
  }
  team.short_path = false;
  team.traces_short_path = true;
  return status == ESP_OK;
}

bool run_short(esp_team& handle, const Call& call) noexcept {
  Team& team = handle.team;
  CallSignature signature;
  signature.collective = static_cast<std::uint8_t>(call.collective);
  signature.type = static_cast<std::uint8_t>(call.type);
  signature.op = static_cast<std::uint8_t>(call.op);
  signature.options = static_cast<std::uint8_t>(call.purpose);
  signature.root = call.root;
  signature.count = call.count;
  team.enter(signature);
  ++handle.job->counters.short_operations;
  ShortPath& path = *handle.job->short_path;
  if (call.collective == Collective::kBarrier) return path.barrier(team);
  return path.allreduce(
      team, {call.input, call.output, call.count, call.bytes(), kernel_of(*handle.job, call)});
}

bool has_short_path(Collective collective) noexcept {
  return collective <= Collective::kAllreduce;
}

}  // namespace

bool takes_traced_short_path(const esp_team& handle, const Call& call) noexcept {
  const Team& team = handle.team;
  return team.traces_short_path && !team.failed() && has_short_path(call.collective) &&
         call.bytes() <= team.board.short_bytes() &&
         (!traits_of(call.collective).reduces || kernel_of(*handle.job, call) != nullptr);
}

// What the others call quickly must not differ from this in anything that they compare.
bool run_traced_short_path(esp_team& handle, const Call& call) noexcept {
  esp_job& job = *handle.job;
  Team& team = handle.team;
  TraceSubject subject = subject_of(team, call);
  ++subject.sequence;  // It is entered below.
  const TraceKind kind = trace_kind(call.collective);
  job.trace.begin(kind, subject);
  const bool quickly =
      call.collective == Collective::kBcast || call.collective == Collective::kReduce;
  const bool completed = quickly ? run_quickly(handle, call) : run_short(handle, call);
  if (completed) {
    job.trace.end(kind, subject);
  } else {
    job.trace.cancel(kind, subject);
  }
  return completed;
}

}  // namespace espalier::api
