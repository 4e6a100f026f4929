// C API: point-to-point flows. Contracts in espalier.h.
//
// A message is an instance of a plan with one vertex. What needs nothing remembered goes straight
// to the wire. path: short (small ones), data
#include <fmt/format.h>

#include <limits>

#include "api/api.hpp"

using espalier::Engine;
using espalier::Finish;
using espalier::FlowId;
using espalier::Posted;
using espalier::RecvOp;
using espalier::Send;
using espalier::SendOp;
using espalier::Status;
using espalier::Team;
namespace api = espalier::api;

namespace {

esp_status check(const char* caller, esp_team* handle, const void* buffer, size_t bytes, int peer,
                 unsigned channel) {
  if (handle == nullptr) return ESP_ERR_ARGUMENT;
  esp_job& job = *handle->job;
  Team& team = handle->team;
  if (buffer == nullptr && bytes > 0) [[unlikely]] {
    return api::bad_argument(job, caller, fmt::format("{} bytes, but the buffer is NULL", bytes));
  }
  if (peer < 0 || peer >= team.size() || peer == team.rank) [[unlikely]] {
    return api::bad_argument(job, caller,
                             peer == team.rank
                                 ? fmt::format("peer {} is this rank itself", peer)
                                 : fmt::format("peer {} in a team of {}", peer, team.size()));
  }
  if (channel >= 256) [[unlikely]] {
    return api::bad_argument(job, caller, fmt::format("channel {} >= 256", channel));
  }
  if (bytes > std::numeric_limits<std::uint64_t>::max() / 2) [[unlikely]] {
    return api::bad_argument(job, caller, "the size is absurd (was it negative?)");
  }
  const bool here = !job.threaded;  // Otherwise start_flow looks, on the owner.
  if (here && team.failed()) [[unlikely]]
    return api::fail_team(*handle, team.fault);
  return ESP_OK;
}

// The next segment of a flow, whole.
espalier::SegmentId next_segment(const Team& team, const Engine::Flow& flow,
                                 std::uint64_t sequence) noexcept {
  espalier::SegmentId segment;
  segment.peer = team.members[static_cast<std::size_t>(flow.peer)];
  segment.flow = FlowId(team.id, FlowId::kPointToPoint + flow.channel, sequence);
  segment.signature = espalier::flow_signature(flow.bytes);
  return segment;
}

// What fits into a cell is refused for want of room alone: then it is tried again, so many times.
Posted send_at_once(Team& team, const Engine::Flow& flow, std::uint64_t sequence,
                    std::uint32_t looks) noexcept {
  Send send;
  send.segment = next_segment(team, flow, sequence);
  send.data = flow.buffer;
  send.bytes = send.flow_bytes = flow.bytes;
  send.at_once = true;
  SendOp op;
  espalier::Wire& wire = team.wire_to(static_cast<std::size_t>(flow.peer));
  Posted posted = wire.send(send, op);
  if (posted == Posted::kDone || flow.bytes > team.inline_limit) return posted;
  for (; posted == Posted::kRetry && looks > 0; --looks) {
    espalier::Worker::pause();
    posted = wire.send(send, op);
  }
  return posted;
}

Posted take_at_once(Team& team, const Engine::Flow& flow, std::uint64_t sequence,
                    std::uint32_t looks, Status& status) noexcept {
  const espalier::SegmentId segment = next_segment(team, flow, sequence);
  RecvOp op;
  op.dst = flow.buffer;
  op.bytes = flow.bytes;
  espalier::Wire& wire = team.wire_to(static_cast<std::size_t>(flow.peer));
  Posted posted = wire.take(segment, op);
  for (; posted == Posted::kRetry && looks > 0; --looks) {
    espalier::Worker::pause();
    posted = wire.take(segment, op);
  }
  status = op.status;
  return posted;
}

// Operations that need nothing remembered: a send whose buffer is free again when the wire has it,
// a receive whose message is here, or comes within so many looks at the wire. False: nothing
// happened, or the team has failed.
bool done_at_once(esp_team& handle, const Engine::Flow& flow, std::uint32_t looks) {
  esp_job& job = *handle.job;
  Team& team = handle.team;
  if (flow.mover != nullptr || job.threaded || job.worker->in_progress()) return false;
  if (flow.bytes > team.inline_limit && job.trace.enabled()) return false;  // It is shown.
  if (job.engine->partition(team, flow.peer, flow.bytes).pieces != 1) return false;
  auto& counter = team.flow(flow.peer, flow.channel);
  if (flow.direction == Engine::Direction::kSend) {
    if (send_at_once(team, flow, counter.sent + 1, looks) != Posted::kDone) return false;
    ++counter.sent;
    ++job.counters.operations;
    return true;
  }
  Status status;
  if (take_at_once(team, flow, counter.received + 1, looks, status) != Posted::kDone) return false;
  ++counter.received;
  ++job.counters.operations;
  if (status.ok()) [[likely]]
    return true;
  job.engine->fail(team, status,
                   espalier::explain_other_size(status.rank(), flow.channel, flow.bytes));
  return false;
}

esp_status start_on_engine(esp_team& handle, const Engine::Flow& flow, const esp_notify* notify,
                           esp_request** request) {
  const Engine::Direction direction = flow.direction;
  return api::start_on_team(
      handle, notify, request,
      [team = &handle, direction, buffer = flow.buffer, bytes = flow.bytes, peer = flow.peer,
       channel = flow.channel, mover = flow.mover](esp_request* pending) {
        return team->job->engine->start_flow(
            team->team, {direction, buffer, bytes, peer, channel, false, mover},
            Finish{api::finish_request, pending});
      });
}

// With who reaches its buffer, if it is memory of a device.
esp_status check(const char* caller, esp_team* handle, Engine::Flow& flow) {
  const esp_status status = check(caller, handle, flow.buffer, flow.bytes, flow.peer, flow.channel);
  if (status != ESP_OK || !handle->job->devices->may_be()) [[likely]]
    return status;
  return handle->job->devices->look_at(caller, *handle, flow.buffer, flow.mover);
}

esp_status start_flow(const char* caller, esp_team* handle, Engine::Flow flow,
                      const esp_notify* notify, esp_request** request) {
  if (request != nullptr) *request = nullptr;
  esp_status status = check(caller, handle, flow);
  if (status == ESP_OK) status = api::check_report(*handle->job, caller, notify, request);
  if (status != ESP_OK) return status;
  if (notify == nullptr && done_at_once(*handle, flow, 0)) {
    *request = &handle->job->completed;
    return ESP_OK;
  }
  return start_on_engine(*handle, flow, notify, request);
}

esp_status run_flow(const char* caller, esp_team* handle, Engine::Flow flow) {
  const esp_status status = check(caller, handle, flow);
  if (status != ESP_OK) return status;
  esp_job& job = *handle->job;
  if (!api::may_block(job)) return api::refuse_blocking(job, caller);
  // Across nodes nothing comes without progress, and in threaded mode the worker is another's.
  const bool spins = !job.threaded && handle->team.network == nullptr;
  const std::uint32_t looks = spins ? job.worker->spins() : 0;
  if (done_at_once(*handle, flow, looks)) {
    api::flush(job);
    return ESP_OK;
  }
  const api::Caller under_way(*handle);
  esp_request* request = nullptr;
  const esp_status started = start_on_engine(*handle, flow, nullptr, &request);
  if (started != ESP_OK) return started;
  const esp_status ended = esp_request_wait(&request);
  return ended == ESP_OK ? ESP_OK : api::fail_team(*handle, Status(ended));
}

esp_status bind_flow(const char* caller, esp_team* handle, Engine::Flow flow,
                     const esp_notify* notify, esp_request** request) {
  if (request != nullptr) *request = nullptr;
  const esp_status status = check(caller, handle, flow);
  if (status != ESP_OK) return status;
  flow.persistent = true;
  return api::init_request(*handle, caller, flow, nullptr, notify, request);
}

esp_status bind_parts(const char* caller, esp_team* handle, Engine::Flow flow, int partitions,
                      const esp_notify* notify, esp_request** request) {
  if (request != nullptr) *request = nullptr;
  const esp_status status = check(caller, handle, flow);
  if (status != ESP_OK) return status;
  espalier::Result<api::Partial*> partial = static_cast<api::Partial*>(nullptr);
  api::on_owner(*handle->job, [&] { partial = api::make_partial(*handle, flow, partitions); });
  if (!partial) {
    const espalier::Error& refused = partial.error();
    return api::fail(*handle->job, refused.status.code(),
                     fmt::format("{}: {}", caller, refused.text));
  }
  flow.persistent = true;
  return api::init_request(*handle, caller, flow, *partial, notify, request);
}

Engine::Flow sent(const void* buffer, size_t bytes, int peer, unsigned channel) noexcept {
  return {Engine::Direction::kSend, const_cast<void*>(buffer), bytes, peer, channel};
}
Engine::Flow received(void* buffer, size_t bytes, int peer, unsigned channel) noexcept {
  return {Engine::Direction::kReceive, buffer, bytes, peer, channel};
}

}  // namespace

extern "C" {

esp_status esp_send(esp_team* team, const void* buffer, size_t bytes, int peer, unsigned channel) {
  return run_flow(__func__, team, sent(buffer, bytes, peer, channel));
}

esp_status esp_recv(esp_team* team, void* buffer, size_t bytes, int peer, unsigned channel) {
  return run_flow(__func__, team, received(buffer, bytes, peer, channel));
}

esp_status esp_send_start(esp_team* team, const void* buffer, size_t bytes, int peer,
                          unsigned channel, const esp_notify* notify, esp_request** request) {
  return start_flow(__func__, team, sent(buffer, bytes, peer, channel), notify, request);
}

esp_status esp_recv_start(esp_team* team, void* buffer, size_t bytes, int peer, unsigned channel,
                          const esp_notify* notify, esp_request** request) {
  return start_flow(__func__, team, received(buffer, bytes, peer, channel), notify, request);
}

esp_status esp_send_init(esp_team* team, const void* buffer, size_t bytes, int peer,
                         unsigned channel, const esp_notify* notify, esp_request** request) {
  return bind_flow(__func__, team, sent(buffer, bytes, peer, channel), notify, request);
}

esp_status esp_recv_init(esp_team* team, void* buffer, size_t bytes, int peer, unsigned channel,
                         const esp_notify* notify, esp_request** request) {
  return bind_flow(__func__, team, received(buffer, bytes, peer, channel), notify, request);
}

esp_status esp_partitioned_send_init(esp_team* team, const void* buffer, size_t bytes,
                                     int partitions, int peer, unsigned channel,
                                     const esp_notify* notify, esp_request** request) {
  return bind_parts(__func__, team, sent(buffer, bytes, peer, channel), partitions, notify,
                    request);
}

esp_status esp_partitioned_recv_init(esp_team* team, void* buffer, size_t bytes, int partitions,
                                     int peer, unsigned channel, const esp_notify* notify,
                                     esp_request** request) {
  return bind_parts(__func__, team, received(buffer, bytes, peer, channel), partitions, notify,
                    request);
}

}  // extern "C"
