// Engine: copies and combinations, by the calling processor or a mover. path: data
#include <algorithm>
#include <utility>

#include "coll/engine/engine.hpp"
#include "core/copy.hpp"
#include "core/plant.hpp"

namespace espalier {

// Only what nobody of this plan reads again, and is not in the caches as an operand: the result of
// a reduction's root.
Store Engine::store_of(const Instance& instance, const Vertex& vertex) const noexcept {
  const Call& call = instance.call;
  if (vertex.dst != Place::kOutput || call.collective != Collective::kReduce) return Store::kCached;
  const std::uint64_t limit = tuning_.past_cache_bytes;
  const bool is_long = limit > 0 && call.bytes() >= limit;
  const bool is_new = call.input != call.output;
  return is_long && is_new && call.combiner.can_store_past() ? Store::kPastCaches : Store::kCached;
}

Posted Engine::combine(Instance& instance, std::uint16_t number, std::uint32_t index) noexcept {
  const Plan& plan = *instance.plan;
  const Vertex& vertex = plan.vertices[number];
  const Indices indices = instance.states[number].indices;
  const std::uint64_t elements = plan.length_elements(instance.layouts, vertex, indices, index);
  if (elements == 0) {  // Nor has it a place: buffers and displacements may be anything.
    release_operands(instance, number, index);
    return Posted::kDone;
  }
  if (vertex.shape >= Place::kUserInput || vertex.dst == Place::kUserOutput) [[unlikely]] {
    return repack(instance, number, index, elements * plan.element_bytes);
  }
  if (vertex.operands[0].stays) [[unlikely]]
    return bring(instance, number, index, elements * plan.element_bytes);
  std::size_t k = 0;
  for (const Operand& operand : vertex.operands) {
    if (operand.place == Place::kView) {
      const VertexState& from = instance.states[operand.vertex];
      instance.operands[k++] = from.recvs[index % from.slots].view;
    } else {
      instance.operands[k++] = read(instance, operand.place, vertex, indices, index);
    }
  }
  if (ESP_PLANT(9, false, k > 1)) std::swap(instance.operands[0], instance.operands[1]);
  if (vertex.places) [[unlikely]]
    instance.place(static_cast<std::uint32_t>(vertex.block.at(indices.step(index))));
  std::byte* dst = written(instance, vertex, indices, index);
  const bool stands_there = k == 1 && dst == instance.operands[0];
  if (instance.call.mover != nullptr && !stands_there) [[unlikely]] {
    const Move what{.dst = dst,
                    .operands = instance.operands,
                    .operand_count = k,
                    .elements = elements,
                    .element_bytes = plan.element_bytes,
                    .combiner = &instance.call.combiner,
                    .reduction = k > 1 || plan.on_device ? instance.call.reduction : nullptr,
                    .behind = instance.call.order};
    return move(instance, number, index, what);
  }
  const std::uint64_t bytes = elements * plan.element_bytes;
  if (k > 1) {
    const Store store = store_of(instance, vertex);
    instance.call.combiner.combine(dst, instance.operands, k, elements, instance.team->user_scratch,
                                   store);
    if (store == Store::kPastCaches) counters_.past_cache_bytes += bytes;
  } else if (!stands_there) {
    copy_bytes(dst, instance.operands[0], bytes);
  }
  ++counters_.combines;
  counters_.combine_bytes += bytes * k;
  release_operands(instance, number, index);
  return Posted::kDone;
}

// Between the caller's elements and the run that they are packed in. Blocks with displacements
// begin where these say; others follow each other, so that a place in the run is one in memory.
Posted Engine::repack(Instance& instance, std::uint16_t number, std::uint32_t index,
                      std::uint64_t bytes) noexcept {
  const Plan& plan = *instance.plan;
  const Vertex& vertex = plan.vertices[number];
  const Indices indices = instance.states[number].indices;
  const bool packs = vertex.dst != Place::kUserOutput;
  const Place user = packs ? vertex.operands[0].place : vertex.dst;
  const Place packed = packs ? vertex.dst : vertex.operands[0].place;
  std::byte* run = locate(instance, packed, vertex, indices, index, vertex.block);
  if (vertex.operands[0].stays) run = where_it_stays(instance, vertex.operands[0], index, run);
  const auto block = static_cast<std::uint32_t>(vertex.block.at(indices.step(index)));
  const Layout& layout = instance.layouts[buffer_of(packed)];
  const UserElements elements = instance.user_elements(user, block);
  const std::uint64_t begin = elements.apart ? layout.begin(block) * plan.element_bytes : 0;
  const std::uint64_t at =
      plan.offset_bytes(instance.layouts, vertex, indices, index, packed, vertex.block) - begin;
  if (vertex.operands[0].stays && run == static_cast<std::byte*>(elements.begin) + at) {
    release_operands(instance, number, index);  // An adapter has brought it there.
    return Posted::kDone;
  }
  const Repack what{elements.pattern,   instance.call.form, elements.begin, run, at, bytes, packs,
                    instance.call.order};
  if (instance.call.mover != nullptr) [[unlikely]]
    return move(instance, number, index, what);
  if (packs) {
    pack(*what.pattern, what.form, run, what.elements, at, bytes);
  } else {
    unpack(*what.pattern, what.form, what.elements, run, at, bytes);
  }
  ++counters_.combines;
  counters_.combine_bytes += bytes;
  return Posted::kDone;
}

// What was left on a device is copied to where it would have come to.
Posted Engine::bring(Instance& instance, std::uint16_t number, std::uint32_t index,
                     std::uint64_t bytes) noexcept {
  const Vertex& vertex = instance.plan->vertices[number];
  const Indices indices = instance.states[number].indices;
  std::byte* const run = written(instance, vertex, indices, index);
  std::byte* const lies = where_it_stays(instance, vertex.operands[0], index, run);
  if (lies == run) return Posted::kDone;
  const Repack what{instance.call.pattern, nullptr, lies, run, 0, bytes, true};
  return move(instance, number, index, what);
}

// The device's, if it lies there; else it has come to `otherwise`.
std::byte* Engine::where_it_stays(const Instance& instance, const Operand& operand,
                                  std::uint32_t index, std::byte* otherwise) noexcept {
  const VertexState& from = instance.states[operand.vertex];
  const RecvSlot& slot = from.recvs[index % from.slots];
  if (!slot.busy) return otherwise;
  return static_cast<std::byte*>(const_cast<void*>(slot.view));
}

void Engine::release_operands(Instance& instance, std::uint16_t number,
                              std::uint32_t index) noexcept {
  for (const Operand& operand : instance.plan->vertices[number].operands) {
    const bool last = ESP_PLANT(33, !operand.keeps, true);
    if ((operand.place == Place::kView || operand.stays) && last)
      release(instance, operand.vertex, index);
  }
}

namespace {

Posted post_to(Mover& mover, const Move& what, Completion& op) noexcept {
  return mover.move(what, op);
}
Posted post_to(Mover& mover, const Repack& what, Completion& op) noexcept {
  return mover.repack(what, op);
}
std::uint64_t moved_bytes(const Move& what) noexcept {
  return what.bytes() * what.operand_count;
}
std::uint64_t moved_bytes(const Repack& what) noexcept {
  return what.bytes;
}

}  // namespace

template <typename What>
Posted Engine::move(Instance& instance, std::uint16_t number, std::uint32_t index,
                    const What& what) noexcept {
  VertexState& state = instance.states[number];
  MoveSlot& slot = state.moves[index % state.slots];
  slot.index = index;
  slot.on_complete = on_move;
  const std::uint64_t begin_ns = trace_.now_ns();
  const Posted posted = post_to(*instance.call.mover, what, slot);
  if (posted == Posted::kRetry) return posted;
  if (trace_.enabled()) trace_post(trace_, instance, number, index, posted, begin_ns);
  slot.pending = posted == Posted::kPending;
  ++counters_.combines;
  counters_.combine_bytes += moved_bytes(what);
  if (ESP_PLANT(50, !slot.pending, true)) release_operands(instance, number, index);
  return posted;
}

void Engine::on_move(Completion& op, Status status) noexcept {
  auto& slot = static_cast<MoveSlot&>(op);
  Instance& instance = *slot.instance;
  Engine& engine = *instance.engine;
  slot.pending = false;
  if (ESP_PLANT(51, !status.ok(), false)) engine.note_failure(instance, status);
  if (ESP_PLANT(50, true, false)) engine.release_operands(instance, slot.vertex, slot.index);
  Trace& trace = engine.trace_;
  if (trace.enabled()) trace_end(trace, instance, slot.vertex, slot.index, TracePhase::kEnd);
  engine.mark(instance, slot.vertex, slot.index);
  engine.make_ready(instance);
}

void Engine::release(Instance& instance, std::uint16_t view, std::uint32_t index) noexcept {
  VertexState& from = instance.states[view];
  RecvSlot& slot = from.recvs[ESP_PLANT(6, index, index + 1) % from.slots];
  if (!slot.busy) return;  // Nothing was to come.
  if (slot.dst == nullptr || slot.is_away) [[likely]]
    instance.team->wire_to(peer_of(instance, view, index), slot.transfer.path).release(slot);
  slot.busy = false;
  queue_vertex(instance, view);
}

std::size_t Engine::peer_of(const Instance& instance, std::uint16_t number,
                            std::uint32_t index) noexcept {
  const Vertex& vertex = instance.plan->vertices[number];
  return instance.member(vertex.peer.at(instance.states[number].indices.step(index)));
}

}  // namespace espalier
