// C API: point-to-point flows. Contracts in espalier.h.
//
// A blocking operation whose segments all travel without a grant goes straight to the wire;
// everything else is an instance of a plan with one vertex. path: short (small blocking), data
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "api/api.hpp"

using espalier::Engine;
using espalier::Finish;
using espalier::FlowId;
using espalier::kEagerSegments;
using espalier::Partition;
using espalier::Posted;
using espalier::RecvOp;
using espalier::Send;
using espalier::SendOp;
using espalier::Status;
using espalier::Team;
using espalier::TraceKind;
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

// The next message of a flow, which both sides cut into the same segments.
struct Message {
  esp_team& handle;
  int peer;
  unsigned channel;
  Partition parts;
  std::uint64_t sequence;  // of the flow

  espalier::Wire& wire() const noexcept {
    return handle.team.wire_to(static_cast<std::size_t>(peer));
  }
  std::uint64_t begin(std::uint32_t segment) const noexcept {
    return segment * parts.piece_elements;
  }
  std::uint64_t length(std::uint32_t segment) const noexcept {
    return std::min(parts.piece_elements, parts.elements - begin(segment));
  }
  espalier::SegmentId first() const noexcept {
    const Team& team = handle.team;
    espalier::SegmentId id;
    id.peer = team.members[static_cast<std::size_t>(peer)];
    id.flow = FlowId(team.id, FlowId::kPointToPoint + channel, sequence);
    id.total = parts.pieces;
    id.signature = espalier::flow_signature(parts.elements);
    return id;
  }
  // As the engine's subjects of messages.
  espalier::TraceSubject traced(const espalier::SegmentId& id) const noexcept {
    espalier::TraceSubject s;
    s.team = static_cast<std::uint16_t>(handle.team.id);
    s.vertex = static_cast<std::uint16_t>(256 + channel);
    s.sequence = static_cast<std::uint32_t>(sequence);
    s.index = id.ordinal;
    s.peer = id.peer;
    s.value = static_cast<std::uint32_t>(length(id.ordinal));
    return s;
  }
};

// The message that a call sends or receives now.
Message make_message(esp_team& handle, int peer, unsigned channel, std::uint64_t bytes,
                     std::uint64_t sequence) noexcept {
  return {handle, peer, channel, handle.job->engine->partition(handle.team, peer, bytes), sequence};
}

// For the watchdog.
void begin_wait(const Message& message, bool sends) noexcept {
  Team& team = message.handle.team;
  ++team.flow_waits;
  team.flow_peer = message.peer;
  team.flow_bytes = message.parts.elements;
  team.flow_sequence = message.sequence;
  team.flow_channel = static_cast<std::uint16_t>(message.channel);
  team.flow_sends = sends;
}
void end_wait(const Message& message) noexcept {
  Team& team = message.handle.team;
  ++team.flow_waits;
  if (team.blames_for == &team.flow_waits) [[unlikely]]
    team.withdraw_blame();
}

// The operations of one call that have not completed.
struct Outstanding {
  std::uint32_t count = 0;
  Status status;
};
template <typename Op>
struct Counted : Op {
  Counted() {
    this->on_complete = [](espalier::Completion& c, Status result) noexcept {
      Outstanding& open = *std::exchange(static_cast<Counted&>(c).of, nullptr);
      --open.count;
      if (open.status.ok()) open.status = result;
    };
  }
  Outstanding* of = nullptr;  // while pending
};

// kMost: 1, or as many as travel without a grant. A single segment should not pay for sixteen.
template <std::size_t kMost>
esp_status send_segments(const Message& message, const void* buffer) {
  const api::Caller caller(message.handle);
  esp_job& job = *message.handle.job;
  Team& team = message.handle.team;
  espalier::Wire& wire = message.wire();
  Outstanding open;
  std::array<Counted<SendOp>, kMost> ops;
  Send send;
  send.segment = message.first();
  send.flow_bytes = message.parts.elements;
  begin_wait(message, true);
  for (std::uint32_t i = 0; i < message.parts.pieces; ++i) {
    send.segment.ordinal = i;
    send.data = static_cast<const std::byte*>(buffer) + message.begin(i);
    send.bytes = message.length(i);
    Posted posted = wire.send(send, ops[i]);
    if (posted == Posted::kRetry) [[unlikely]] {
      job.worker->wait([&] {
        // Looked at again after it held: what is sent is not sent twice.
        if (posted == Posted::kRetry) posted = wire.send(send, ops[i]);
        return posted != Posted::kRetry || team.failed();
      });
    }
    if (posted == Posted::kPending) {
      ops[i].of = &open;
      ++open.count;
    }
    if (team.failed()) [[unlikely]]
      break;
  }
  if (open.count > 0) {
    job.worker->wait([&] { return open.count == 0 || team.failed(); });
    for (auto& op : ops) {
      if (op.of != nullptr) wire.cancel(static_cast<SendOp&>(op));
    }
  }
  if (!open.status.ok() && !team.failed()) [[unlikely]] {
    job.engine->fail(team, open.status,
                     fmt::format("point-to-point: sending {} bytes: {}", message.parts.elements,
                                 esp_status_text(open.status.code())));
  }
  end_wait(message);
  api::flush(job);
  if (team.failed()) [[unlikely]]
    return api::fail_team(message.handle, team.fault);
  return ESP_OK;
}

// The segment into `op.dst`. Not ok: what is wrong with it, or the team's failure.
Status receive_segment(const Message& message, const espalier::SegmentId& id, Counted<RecvOp>& op) {
  esp_job& job = *message.handle.job;
  Team& team = message.handle.team;
  espalier::Wire& wire = message.wire();
  Posted posted = wire.take(id, op);
  // Across nodes nothing comes without progress, which the wait below makes.
  const std::uint32_t spins = team.network == nullptr ? job.worker->spins() : 0;
  for (std::uint32_t spin = spins; posted == Posted::kRetry && spin > 0; --spin) {
    espalier::Worker::pause();
    posted = wire.take(id, op);
  }
  if (posted == Posted::kRetry) posted = wire.recv(id, 1, op);
  if (posted == Posted::kDone) return op.status;
  Outstanding open{1, {}};
  op.of = &open;
  begin_wait(message, false);
  const espalier::TraceSubject subject = message.traced(id);
  job.trace.begin(TraceKind::kRecv, subject);
  job.worker->wait([&] { return open.count == 0 || team.failed(); });
  end_wait(message);
  if (open.count == 0) {
    job.trace.end(TraceKind::kRecv, subject);
    return open.status;
  }
  job.trace.cancel(TraceKind::kRecv, subject);
  wire.cancel(static_cast<RecvOp&>(op));
  return team.fault;
}

// A sender that has given up has its buffer back: what was read from it since must not count, and
// reading it may have failed, for it may be gone. Bytes that came in a cell were copied before
// that.
Status reported(const Message& message, Status status) noexcept {
  const Team& team = message.handle.team;
  const bool blameless =
      status.ok() || status.code() == ESP_ERR_SYSTEM || status.code() == ESP_ERR_PEER_DIED;
  if (!blameless || !team.board || message.parts.elements <= team.inline_limit) return status;
  const Status report = team.board.reported();
  return report.ok() ? status : espalier::as_told(report);
}

// `own`: what the receive itself came to; `status`: with what the team's members have reported.
void fail_receive(const Message& message, Status own, Status status) {
  const std::uint64_t bytes = message.parts.elements;
  const Team& team = message.handle.team;
  std::string text = fmt::format("point-to-point: receiving {} bytes from rank {}: ", bytes,
                                 team.members[static_cast<std::size_t>(message.peer)]);
  if (status != own) {
    text += espalier::explain_report(status);
  } else if (own.code() == ESP_ERR_MISMATCH) {
    text = espalier::explain_other_size(status.rank(), message.channel, bytes);
  } else {
    text += esp_status_text(status.code());
  }
  message.handle.job->engine->fail(message.handle.team, status, std::move(text));
}

esp_status receive_segments(const Message& message, void* buffer) {
  const api::Caller caller(message.handle);
  Team& team = message.handle.team;
  Counted<RecvOp> op;
  auto id = message.first();
  Status status;
  for (std::uint32_t i = 0; i < message.parts.pieces && status.ok(); ++i) {
    id.ordinal = i;
    op.dst = static_cast<std::byte*>(buffer) + message.begin(i);
    op.bytes = message.length(i);
    status = receive_segment(message, id, op);
  }
  // What the sender is told of messages that were here already.
  api::flush(*message.handle.job);
  const Status own = status;
  status = reported(message, own);
  if (status.ok()) [[likely]]
    return ESP_OK;
  if (!team.failed()) fail_receive(message, own, status);
  return api::fail_team(message.handle, status);
}

// Non-blocking operations that need nothing remembered: a send that fits into a cell, a receive
// whose message of that size is already here. False: nothing happened, or the team has failed.
bool done_at_once(esp_team& handle, const Engine::Flow& flow) {
  esp_job& job = *handle.job;
  if (job.threaded || job.worker->in_progress() || flow.bytes > handle.team.inline_limit) {
    return false;
  }
  const bool sends = flow.direction == Engine::Direction::kSend;
  auto& counter = handle.team.flow(flow.peer, flow.channel);
  std::uint64_t& count = sends ? counter.sent : counter.received;
  const Message message = make_message(handle, flow.peer, flow.channel, flow.bytes, count + 1);
  if (message.parts.pieces != 1) return false;
  if (sends) {
    Send send;
    send.segment = message.first();
    send.data = flow.buffer;
    send.bytes = send.flow_bytes = flow.bytes;
    SendOp op;
    const Posted posted = message.wire().send(send, op);
    // It fails later, as does that of the operation which is made for it now.
    if (posted == Posted::kPending) message.wire().cancel(op);
    if (posted != Posted::kDone) return false;
    ++count;
    ++job.counters.operations;
    return true;
  }
  RecvOp op;
  op.dst = flow.buffer;
  op.bytes = flow.bytes;
  if (message.wire().take(message.first(), op) != Posted::kDone) return false;
  ++count;
  ++job.counters.operations;
  if (!op.status.ok()) fail_receive(message, op.status, op.status);
  return op.status.ok();
}

esp_status start_flow(esp_team& handle, const Engine::Flow& flow, const esp_notify* notify,
                      esp_request** request) {
  esp_job& job = *handle.job;
  if (notify == nullptr && request != nullptr && done_at_once(handle, flow)) {
    *request = &job.completed;
    return ESP_OK;
  }
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
  const api::Caller caller(handle);
  esp_request* request = nullptr;
  const esp_status started = start_flow(handle, flow, nullptr, &request);
  if (started != ESP_OK) return started;
  const esp_status status = esp_request_wait(&request);
  return status == ESP_OK ? ESP_OK : api::fail_team(handle, Status(status));
}

}  // namespace

extern "C" {

esp_status esp_send(esp_team* team, const void* buffer, size_t bytes, int peer, unsigned channel) {
  const esp_status status = check(__func__, team, buffer, bytes, peer, channel);
  if (status != ESP_OK) return status;
  if (!api::may_block(*team->job)) return api::refuse_blocking(*team->job, __func__);
  if (!team->job->threaded) {
    std::uint64_t& sent = team->team.flow(peer, channel).sent;
    const Message message = make_message(*team, peer, channel, bytes, sent + 1);
    if (message.parts.pieces <= kEagerSegments) {
      ++sent;
      ++team->job->counters.operations;
      return message.parts.pieces == 1 ? send_segments<1>(message, buffer)
                                       : send_segments<kEagerSegments>(message, buffer);
    }
  }
  return run_flow(*team,
                  {Engine::Direction::kSend, const_cast<void*>(buffer), bytes, peer, channel});
}

esp_status esp_recv(esp_team* team, void* buffer, size_t bytes, int peer, unsigned channel) {
  const esp_status status = check(__func__, team, buffer, bytes, peer, channel);
  if (status != ESP_OK) return status;
  if (!api::may_block(*team->job)) return api::refuse_blocking(*team->job, __func__);
  if (!team->job->threaded) {
    std::uint64_t& received = team->team.flow(peer, channel).received;
    const Message message = make_message(*team, peer, channel, bytes, received + 1);
    if (message.parts.pieces <= kEagerSegments) {
      ++received;
      ++team->job->counters.operations;
      return receive_segments(message, buffer);
    }
  }
  return run_flow(*team, {Engine::Direction::kReceive, buffer, bytes, peer, channel});
}

esp_status esp_send_start(esp_team* team, const void* buffer, size_t bytes, int peer,
                          unsigned channel, const esp_notify* notify, esp_request** request) {
  if (request != nullptr) *request = nullptr;
  esp_status status = check(__func__, team, buffer, bytes, peer, channel);
  if (status == ESP_OK) status = api::check_report(*team->job, __func__, notify, request);
  if (status != ESP_OK) return status;
  return start_flow(*team,
                    {Engine::Direction::kSend, const_cast<void*>(buffer), bytes, peer, channel},
                    notify, request);
}

esp_status esp_recv_start(esp_team* team, void* buffer, size_t bytes, int peer, unsigned channel,
                          const esp_notify* notify, esp_request** request) {
  if (request != nullptr) *request = nullptr;
  esp_status status = check(__func__, team, buffer, bytes, peer, channel);
  if (status == ESP_OK) status = api::check_report(*team->job, __func__, notify, request);
  if (status != ESP_OK) return status;
  return start_flow(*team, {Engine::Direction::kReceive, buffer, bytes, peer, channel}, notify,
                    request);
}

esp_status esp_send_init(esp_team* team, const void* buffer, size_t bytes, int peer,
                         unsigned channel, const esp_notify* notify, esp_request** request) {
  if (request != nullptr) *request = nullptr;
  const esp_status status = check(__func__, team, buffer, bytes, peer, channel);
  if (status != ESP_OK) return status;
  const Engine::Flow flow = {
      Engine::Direction::kSend, const_cast<void*>(buffer), bytes, peer, channel, true};
  return api::init_request(*team, __func__, flow, notify, request);
}

esp_status esp_recv_init(esp_team* team, void* buffer, size_t bytes, int peer, unsigned channel,
                         const esp_notify* notify, esp_request** request) {
  if (request != nullptr) *request = nullptr;
  const esp_status status = check(__func__, team, buffer, bytes, peer, channel);
  if (status != ESP_OK) return status;
  const Engine::Flow flow = {Engine::Direction::kReceive, buffer, bytes, peer, channel, true};
  return api::init_request(*team, __func__, flow, notify, request);
}

}  // extern "C"
