// C API: point-to-point flows. Contracts in espalier.h.
//
// A blocking operation of one segment goes straight to the wire; everything else is an instance of
// a plan with one vertex. path: short (small blocking), data
#include <fmt/format.h>

#include <limits>

#include "bootstrap/api.hpp"

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

using espalier::kSingleSegmentBytes;

esp_status check(esp_team* handle, const void* buffer, size_t bytes, int peer, unsigned channel) {
  if (handle == nullptr) return ESP_ERR_ARGUMENT;
  Team& team = handle->team;
  if (buffer == nullptr && bytes > 0) [[unlikely]] {
    return api::fail(*handle->job, ESP_ERR_ARGUMENT, "the buffer is NULL");
  }
  if (peer < 0 || peer >= team.size() || peer == team.rank) [[unlikely]] {
    return api::fail(
        *handle->job, ESP_ERR_ARGUMENT,
        fmt::format("peer {} for rank {} in a team of {}", peer, team.rank, team.size()));
  }
  if (channel >= 256) [[unlikely]] {
    return api::fail(*handle->job, ESP_ERR_ARGUMENT, fmt::format("channel {} >= 256", channel));
  }
  if (bytes > std::numeric_limits<std::uint64_t>::max() / 2) [[unlikely]] {
    return api::fail(*handle->job, ESP_ERR_ARGUMENT, "the size is absurd (was it negative?)");
  }
  const bool here = !handle->job->threaded;  // Otherwise start_flow looks, on the owner.
  if (here && team.failed()) [[unlikely]]
    return api::fail_team(*handle, team.fault);
  return ESP_OK;
}

espalier::SegmentId segment_of(Team& team, int peer, unsigned channel, std::uint64_t sequence) {
  espalier::SegmentId id;
  id.peer = team.members[static_cast<std::size_t>(peer)];
  id.flow = FlowId(team.id, 256 + channel, sequence);
  return id;
}

// For the watchdog.
void begin_wait(Team& team, int peer) noexcept {
  ++team.flow_waits;
  team.flow_peer = peer;
}

struct Flag {
  bool done = false;
  Status status;
};
struct FlaggedSend : SendOp {
  Flag flag;
};
struct FlaggedRecv : RecvOp {
  Flag flag;
};

esp_status send_single(esp_team& handle, const void* buffer, std::uint64_t bytes, int peer,
                       unsigned channel) {
  esp_job& job = *handle.job;
  Team& team = handle.team;
  espalier::Wire& wire = *team.wires[static_cast<std::size_t>(peer)];
  Send send;
  send.segment = segment_of(team, peer, channel, ++team.flow(peer, channel).sent);
  send.data = buffer;
  send.bytes = send.flow_bytes = bytes;
  FlaggedSend op;
  op.on_complete = [](espalier::Completion& c, Status status) noexcept {
    static_cast<FlaggedSend&>(c).flag = {true, status};
  };
  Posted posted = wire.send(send, op);
  begin_wait(team, peer);
  if (posted == Posted::kRetry) [[unlikely]] {
    job.worker->wait([&] {
      // Looked at again after it held: what is sent is not sent twice.
      if (posted == Posted::kRetry) posted = wire.send(send, op);
      return posted != Posted::kRetry || team.failed();
    });
  }
  if (posted == Posted::kPending) {
    job.worker->wait([&] { return op.flag.done || team.failed(); });
    if (!op.flag.done) wire.cancel(static_cast<SendOp&>(op));
  }
  ++team.flow_waits;
  if (team.failed()) [[unlikely]]
    return api::fail_team(handle, team.fault);
  return ESP_OK;
}

esp_status recv_single(esp_team& handle, void* buffer, std::uint64_t bytes, int peer,
                       unsigned channel) {
  esp_job& job = *handle.job;
  Team& team = handle.team;
  espalier::Wire& wire = *team.wires[static_cast<std::size_t>(peer)];
  FlaggedRecv op;
  op.on_complete = [](espalier::Completion& c, Status status) noexcept {
    static_cast<FlaggedRecv&>(c).flag = {true, status};
  };
  op.dst = buffer;
  op.bytes = bytes;
  const auto id = segment_of(team, peer, channel, ++team.flow(peer, channel).received);
  Status status;
  Posted posted = wire.take(id, op);
  for (std::uint32_t spin = job.worker->policy().spins; posted == Posted::kRetry && spin > 0;
       --spin) {
    espalier::Worker::pause();
    posted = wire.take(id, op);
  }
  if (posted == Posted::kRetry) posted = wire.recv(id, 1, op);
  if (posted == Posted::kDone) {
    status = op.status;
  } else {
    begin_wait(team, peer);
    job.worker->wait([&] { return op.flag.done || team.failed(); });
    ++team.flow_waits;
    if (!op.flag.done) {
      wire.cancel(static_cast<RecvOp&>(op));
      return api::fail_team(handle, team.fault);
    }
    status = op.flag.status;
  }
  if (status.ok()) [[likely]]
    return ESP_OK;
  job.engine->fail(
      team, status,
      status.code() == ESP_ERR_MISMATCH
          ? fmt::format("point-to-point: rank {} sent a message of another size than the {} bytes "
                        "expected here",
                        status.rank(), bytes)
          : fmt::format("point-to-point: receiving {} bytes from rank {}: {}", bytes, status.rank(),
                        esp_status_text(status.code())));
  return api::fail_team(handle, status);
}

esp_status start_flow(esp_team& handle, const Engine::Flow& flow, const esp_notify* notify,
                      esp_request** request) {
  esp_job& job = *handle.job;
  esp_status status = ESP_OK;
  api::on_owner(job, [&] {
    if (handle.team.failed()) {
      status = api::fail_team(handle, handle.team.fault);
      return;
    }
    auto pending = api::make_request(job, notify, request);
    if (!pending) {
      status = api::fail(job, pending.error());
      return;
    }
    auto started = job.engine->start_flow(handle.team, flow, Finish{api::finish_request, *pending});
    status = api::conclude(job, *pending, started, request);
  });
  return status;
}

esp_status run_flow(esp_team& handle, const Engine::Flow& flow) {
  esp_request* request = nullptr;
  const esp_status started = start_flow(handle, flow, nullptr, &request);
  if (started != ESP_OK) return started;
  const esp_status status = esp_request_wait(&request);
  return status == ESP_OK ? ESP_OK : api::fail_team(handle, Status(status));
}

}  // namespace

extern "C" {

esp_status esp_send(esp_team* team, const void* buffer, size_t bytes, int peer, unsigned channel) {
  const esp_status status = check(team, buffer, bytes, peer, channel);
  if (status != ESP_OK) return status;
  if (!api::may_block(*team->job)) {
    return api::fail(*team->job, ESP_ERR_STATE, "a blocking call inside a callback");
  }
  if (bytes <= kSingleSegmentBytes && !team->job->threaded) {
    return send_single(*team, buffer, bytes, peer, channel);
  }
  return run_flow(*team,
                  {Engine::Direction::kSend, const_cast<void*>(buffer), bytes, peer, channel});
}

esp_status esp_recv(esp_team* team, void* buffer, size_t bytes, int peer, unsigned channel) {
  const esp_status status = check(team, buffer, bytes, peer, channel);
  if (status != ESP_OK) return status;
  if (!api::may_block(*team->job)) {
    return api::fail(*team->job, ESP_ERR_STATE, "a blocking call inside a callback");
  }
  if (bytes <= kSingleSegmentBytes && !team->job->threaded) {
    return recv_single(*team, buffer, bytes, peer, channel);
  }
  return run_flow(*team, {Engine::Direction::kReceive, buffer, bytes, peer, channel});
}

esp_status esp_send_start(esp_team* team, const void* buffer, size_t bytes, int peer,
                          unsigned channel, const esp_notify* notify, esp_request** request) {
  if (request != nullptr) *request = nullptr;
  const esp_status status = check(team, buffer, bytes, peer, channel);
  if (status != ESP_OK) return status;
  return start_flow(*team,
                    {Engine::Direction::kSend, const_cast<void*>(buffer), bytes, peer, channel},
                    notify, request);
}

esp_status esp_recv_start(esp_team* team, void* buffer, size_t bytes, int peer, unsigned channel,
                          const esp_notify* notify, esp_request** request) {
  if (request != nullptr) *request = nullptr;
  const esp_status status = check(team, buffer, bytes, peer, channel);
  if (status != ESP_OK) return status;
  return start_flow(*team, {Engine::Direction::kReceive, buffer, bytes, peer, channel}, notify,
                    request);
}

}  // extern "C"
