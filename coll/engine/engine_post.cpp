// Engine: what the actions of a plan do, and how operations end badly.
// path: data (posts), slow (failure)
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "coll/engine/engine.hpp"
#include "core/open_files.hpp"
#include "core/plant.hpp"

namespace espalier {
namespace {

// What both ends of a flow must have alike. How long an irregular block is only they know: their
// numbers of segments are compared here, and each segment's length by the wire.
std::uint32_t signature_of(const Instance& instance, const FlowPosition& position) noexcept {
  const std::uint32_t segments =
      ESP_PLANT(36, instance.plan->irregular, false) ? position.total : 0;
  return instance.signature + segments * 0x9e3779b9U;
}

}  // namespace

std::byte* Engine::locate(const Instance& instance, Place place, const Vertex& vertex,
                          Indices indices, std::uint32_t index, const Steps& block) noexcept {
  if (place == Place::kAccumulator) {
    place = index < indices.inner ? Place::kInput : Place::kOutput;
  }
  return instance.buffers[buffer_of(place)] +
         instance.plan->offset_bytes(instance.layouts, vertex, indices, index, place, block);
}

std::byte* Engine::written(const Instance& instance, const Vertex& vertex, Indices indices,
                           std::uint32_t index) noexcept {
  return locate(instance, vertex.dst, vertex, indices, index, vertex.block);
}

std::byte* Engine::read(const Instance& instance, Place place, const Vertex& vertex,
                        Indices indices, std::uint32_t index) noexcept {
  return locate(instance, place, vertex, indices, index,
                vertex.elsewhere ? vertex.from : vertex.block);
}

// Nothing moves, nor does the other side expect anything.
bool Engine::is_skipped(const Instance& instance, const Vertex& vertex, Indices indices,
                        std::uint32_t index) noexcept {
  if (!vertex.skips_empty) return false;
  const Plan& plan = *instance.plan;
  const bool empty = plan.length_elements(instance.layouts, vertex, indices, index) == 0;
  const std::uint32_t step = indices.step(index);
  return ESP_PLANT(31, empty, empty && vertex.action != Action::kSend) ||
         vertex.peer.at(step) == plan.rank || step < vertex.since;
}

Posted Engine::post(Instance& instance, std::uint16_t number, std::uint32_t index) noexcept {
  const Vertex& vertex = instance.plan->vertices[number];
  if (is_skipped(instance, vertex, instance.states[number].indices, index)) return Posted::kDone;
  switch (vertex.action) {
    case Action::kRecv:
    case Action::kRecvView:
      return post_recv(instance, number, index);
    case Action::kSend:
    case Action::kPublish:
      return post_send(instance, number, index);
    case Action::kCombine:
      return combine(instance, number, index);
    case Action::kAwait:
      return Posted::kDone;
    case Action::kDeliver:
      return deliver(instance, number, index);
  }
  return Posted::kDone;
}

Posted Engine::post_send(Instance& instance, std::uint16_t number, std::uint32_t index) noexcept {
  const Plan& plan = *instance.plan;
  const Vertex& vertex = plan.vertices[number];
  Team& team = *instance.team;
  VertexState& state = instance.states[number];
  SendSlot& slot = state.sends[index % state.slots];
  slot.index = index;
  slot.on_complete = on_send;
  Send send;
  send.segment.flow = FlowId(team.id, instance.channel + vertex.channel,
                             ESP_PLANT(12, instance.sequence, instance.sequence % 4));
  const Indices indices = state.indices;
  const FlowPosition position = plan.position(instance.layouts, vertex, indices, index);
  send.segment.ordinal = ESP_PLANT(3, position.ordinal, index);
  send.segment.total = position.total;
  send.segment.signature = signature_of(instance, position);
  send.data = read(instance, vertex.src, vertex, indices, index);
  send.bytes = plan.length_elements(instance.layouts, vertex, indices, index) * plan.element_bytes;
  send.flow_bytes =
      plan.flow_elements(instance.layouts, vertex, indices, index) * plan.element_bytes;
  send.synchronous = vertex.synchronous;
  send.to_view = plan.reduces && vertex.src != Place::kOutput;
  send.leaves = vertex.leaves;
  send.away = (plan.on_device || vertex.src >= Place::kUserInput) && send.bytes > 0;
  send.transfer = vertex.transfer;
  const std::uint64_t begin_ns = trace_.now_ns();
  Posted posted;
  if (vertex.action == Action::kSend) {
    const std::size_t member = instance.member(vertex.peer.at(indices.step(index)));
    send.segment.peer = team.members[member];
    posted = team.wire_to(member).send(send, slot);
  } else {
    if (state.group == nullptr) [[unlikely]]
      state.group = &instance.entry->group_of(number, instance);
    posted = state.group->publish(send, slot);
  }
  slot.pending = posted == Posted::kPending;
  if (trace_.enabled()) trace_post(trace_, instance, number, index, posted, begin_ns);
  return posted;
}

Posted Engine::post_recv(Instance& instance, std::uint16_t number, std::uint32_t index) noexcept {
  const Plan& plan = *instance.plan;
  const Vertex& vertex = plan.vertices[number];
  Team& team = *instance.team;
  VertexState& state = instance.states[number];
  RecvSlot& slot = state.recvs[index % state.slots];
  slot.index = index;
  slot.on_complete = on_recv;
  slot.busy = true;
  slot.status = {};
  const Indices indices = state.indices;
  slot.dst = nullptr;
  if (vertex.action == Action::kRecv) {
    slot.dst = written(instance, vertex, indices, index);
    // A segment without bytes may go to a buffer that is not there. To wires, no address is a view.
    if (slot.dst == nullptr) slot.dst = reinterpret_cast<std::byte*>(&slot);
  } else if (state.landing != nullptr) [[unlikely]] {
    slot.dst = state.landing + index % state.slots * plan.segment_slot_bytes();
  }
  slot.bytes = plan.length_elements(instance.layouts, vertex, indices, index) * plan.element_bytes;
  slot.transfer = vertex.transfer;
  slot.takes_away = vertex.stays;
  slot.place = nullptr;
  if (vertex.lands) [[unlikely]]
    slot.place = locate(instance, Place::kUserOutput, vertex, indices, index, vertex.block);
  const std::size_t member = instance.member(vertex.peer.at(indices.step(index)));
  SegmentId segment;
  segment.peer = team.members[member];
  segment.flow = FlowId(team.id, instance.channel + vertex.channel,
                        ESP_PLANT(12, instance.sequence, instance.sequence % 4));
  const FlowPosition position = plan.position(instance.layouts, vertex, indices, index);
  segment.ordinal = position.ordinal;
  segment.total = position.total;
  segment.signature = signature_of(instance, position);
  const std::uint64_t begin_ns = trace_.now_ns();
  const bool ends_run = plan.irregular && plan.ends_run(instance.layouts, vertex, indices, index);
  const std::uint32_t window = ESP_PLANT(37, ends_run, false) ? 1 : state.slots;
  const Posted posted = team.wire_to(member, slot.transfer.path).recv(segment, window, slot);
  if (trace_.enabled()) trace_post(trace_, instance, number, index, posted, begin_ns);
  if (posted == Posted::kDone) {
    if (vertex.action == Action::kRecv) slot.busy = slot.is_away;
    note_landed(slot);
    if (!slot.status.ok()) note_failure(instance, slot.status, &slot);
  }
  return posted;
}

// It is read there, and the wire has nothing of it any more.
void Engine::note_landed(RecvSlot& slot) noexcept {
  if (slot.busy && slot.dst != nullptr && !slot.is_away) slot.view = slot.dst;
}

void Engine::on_send(Completion& op, Status status) noexcept {
  auto& slot = static_cast<SendSlot&>(op);
  Instance& instance = *slot.instance;
  const bool begun = std::exchange(slot.pending, false);  // A half-made publication may fail.
  if (!status.ok()) instance.engine->note_failure(instance, status);
  Trace& trace = instance.engine->trace_;
  if (trace.enabled() && begun)
    trace_end(trace, instance, slot.vertex, slot.index, TracePhase::kEnd);
  instance.engine->mark(instance, slot.vertex, slot.index);
  instance.engine->make_ready(instance);
}

void Engine::on_recv(Completion& op, Status status) noexcept {
  auto& slot = static_cast<RecvSlot&>(op);
  Instance& instance = *slot.instance;
  const Vertex& vertex = instance.plan->vertices[slot.vertex];
  if (vertex.action == Action::kRecv) slot.busy = slot.is_away;
  note_landed(slot);
  if (ESP_PLANT(19, !status.ok(), !status.ok() && slot.index == 0)) {
    instance.engine->note_failure(instance, status, &slot);
  }
  Trace& trace = instance.engine->trace_;
  if (trace.enabled()) trace_end(trace, instance, slot.vertex, slot.index, TracePhase::kEnd);
  instance.engine->mark(instance, slot.vertex, slot.index);
  instance.engine->make_ready(instance);
}

void Engine::note_failure(Instance& instance, Status status, const RecvSlot* at) noexcept {
  if (!instance.status.ok()) return;
  instance.status = status;
  if (instance.irregular) instance.irregular->refused = at;
}

void Engine::withdraw(Instance& instance, std::uint16_t number, SendSlot& slot) noexcept {
  TeamGroup* group = instance.states[number].group;
  if (group != nullptr) {
    if (slot.pending || group->is_half_made(slot)) group->cancel(slot);
  } else if (slot.pending) {
    instance.team->wire_to(peer_of(instance, number, slot.index)).cancel(slot);
  }
  if (!std::exchange(slot.pending, false)) return;
  if (trace_.enabled()) trace_end(trace_, instance, number, slot.index, TracePhase::kCancel);
}

// Gives every view back, after the moves that read it, and takes receives back.
void Engine::withdraw_receives(Instance& instance) noexcept {
  for (const VertexState& state : instance.states) {
    for (std::size_t i = 0; state.moves != nullptr && i < state.slots; ++i) {
      if (ESP_PLANT(52, std::exchange(state.moves[i].pending, false), false)) {
        const MoveSlot& slot = state.moves[i];
        instance.call.mover->cancel(state.moves[i]);
        if (trace_.enabled())
          trace_end(trace_, instance, slot.vertex, slot.index, TracePhase::kCancel);
      }
    }
  }
  for (std::size_t number = 0; number < instance.states.size(); ++number) {
    VertexState& state = instance.states[number];
    if (state.recvs == nullptr) continue;
    for (std::size_t i = ESP_PLANT(11, 0U, 1U); i < state.slots; ++i) {
      if (state.recvs[i].busy) withdraw(instance, state.recvs[i]);
    }
  }
}

void Engine::withdraw(Instance& instance, RecvSlot& slot) noexcept {
  Wire& wire =
      instance.team->wire_to(peer_of(instance, slot.vertex, slot.index), slot.transfer.path);
  const bool landed = slot.dst != nullptr && slot.view != nullptr && !slot.is_away;
  if (!landed) {
    wire.cancel(static_cast<RecvOp&>(slot));
    wire.release(slot);
  }
  slot.busy = false;
  if (trace_.enabled()) trace_end(trace_, instance, slot.vertex, slot.index, TracePhase::kCancel);
}

// Takes every operation in flight back.
void Engine::withdraw(Instance& instance) noexcept {
  withdraw_receives(instance);
  for (std::size_t number = 0; number < instance.states.size(); ++number) {
    VertexState& state = instance.states[number];
    if (state.sends == nullptr) continue;
    for (std::size_t i = ESP_PLANT(11, 0U, 1U); i < state.slots; ++i) {
      withdraw(instance, static_cast<std::uint16_t>(number), state.sends[i]);
    }
  }
}

void Engine::drop_from_lists(Instance& instance) noexcept {
  for (Instance** link = &ready_; *link != nullptr; link = &(*link)->next) {
    if (*link != &instance) continue;
    *link = std::exchange(instance.next, nullptr);
    break;
  }
  for (Instance** link = &stalled_; *link != nullptr; link = &(*link)->stalled_next) {
    if (*link != &instance) continue;
    *link = std::exchange(instance.stalled_next, nullptr);
    break;
  }
  instance.ready = instance.stalled = false;
}

void Engine::fail(Team& team, Status status, std::string text) noexcept {
  if (team.fault.ok()) {
    team.fault = status;
    team.short_path = team.quick = team.quick_allowed = false;
    team.fault_text = std::move(text);
    team.faulty.store(true, std::memory_order_release);
    const Rank me = team.members[static_cast<std::size_t>(team.rank)];
    const bool first = !team.board || team.board.report(status, me);
    for (Bell* bell : team.bells) Doorbell::ring(*bell);
    if (listener_ != nullptr && team.nodes() != nullptr) listener_->failed(team, first);
  }
  withdraw_all(team);
}

void Engine::cancel(Team& team) noexcept {
  // Nobody depends on what was only to be received here. But what is being sent may be read from
  // memory that its user has back from now on.
  bool told = team.short_operations != nullptr;
  for (const Instance* i = team.active; i != nullptr; i = i->active_next) {
    told = told || i->channel == 0 || i->plan->vertices.back().action == Action::kSend;
  }
  if (told) {
    fail(team, Status(ESP_ERR_CANCELED), "the job was finalized");
    return;
  }
  if (team.fault.ok()) {
    team.fault = Status(ESP_ERR_CANCELED);
    team.fault_text = "the job was finalized";
    team.faulty.store(true, std::memory_order_release);
  }
  team.short_path = team.quick = team.quick_allowed = false;
  withdraw_all(team);
}

// Callbacks do not run here: this may be inside a starting call. Views first, of all operations:
// wires may wait for members to let go of what is taken back.
void Engine::withdraw_all(Team& team) noexcept {
  team.plans.keep_all();
  for (Instance* i = team.active; i != nullptr; i = i->active_next) withdraw_receives(*i);
  while (team.active != nullptr) {
    Instance& instance = *team.active;
    withdraw(instance);
    drop_from_lists(instance);
    if (instance.finish.function != nullptr) failed_.emplace_back(instance.finish, team.fault);
    instance.finish = ESP_PLANT(5, Finish{}, instance.finish);
    instance.status = team.fault;
    end(instance);
  }
}

// What to tell people about an operation that ended with instance.status.
std::string Engine::explain(const Instance& instance) const {
  const Status status = instance.status;
  const std::string mine = instance.call.signature().to_text();
  const Team& team = *instance.team;
  if (status.code() == ESP_ERR_MISMATCH) {
    if (instance.channel != 0 && team.board && !team.board.reported().ok()) {
      return fmt::format("point-to-point: {} bytes: {}", instance.call.count,
                         explain_report(status));
    }
    if (instance.channel != 0)
      return explain_other_size(status.rank(), instance.channel - 256u, instance.call.count);
    const std::string lengths = explain_lengths(instance);
    if (!lengths.empty()) return lengths;
    return explain_mismatch(team, instance.call.signature(), status.rank());
  }
  if (status.code() == ESP_ERR_PEER_DIED && status.rank() != kNoRank) {
    return fmt::format("rank {} died before {} (operation {} on team {}) had its data",
                       status.rank(), mine, instance.sequence, team.id);
  }
  const bool is_mine = status.rank() == team.members[static_cast<std::size_t>(team.rank)];
  if (status.code() == ESP_ERR_DEVICE && is_mine && instance.call.mover != nullptr) {
    return fmt::format("{} (operation {} on team {}), rank {}: {}", mine, instance.sequence,
                       team.id, status.rank(), instance.call.mover->why());
  }
  return fmt::format("{} (operation {} on team {}): {}{}{}", mine, instance.sequence, team.id,
                     esp_status_text(status.code()),
                     status.rank() == kNoRank ? "" : fmt::format(", rank {}", status.rank()),
                     status.error_number() == 0
                         ? ""
                         : fmt::format(", errno {}{}", status.error_number(),
                                       open_files_hint(status.error_number())));
}

}  // namespace espalier
