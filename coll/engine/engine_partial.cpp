// Engine: what comes from outside while an operation is under way, and what goes there: awaits and
// deliveries (coll/engine/gate.hpp). path: data
#include <bit>

#include "coll/engine/engine.hpp"
#include "core/plant.hpp"

namespace espalier {

// Of what is packed, `data` is the beginning of the caller's buffer.
Portion Engine::portion(const Instance& instance, const Vertex& vertex, Indices indices,
                        std::uint32_t index) noexcept {
  const Plan& plan = *instance.plan;
  const Steps& block = vertex.elsewhere ? vertex.from : vertex.block;
  Portion portion;
  portion.index = index;
  portion.order = plan.order;
  portion.block = static_cast<std::uint32_t>(block.at(indices.step(index)));
  portion.offset = plan.piece_elements * Plan::piece(vertex, indices, index) * plan.element_bytes;
  portion.at = plan.offset_bytes(instance.layouts, vertex, indices, index, vertex.src, block);
  portion.bytes =
      plan.length_elements(instance.layouts, vertex, indices, index) * plan.element_bytes;
  portion.data = instance.buffers[buffer_of(vertex.src)];
  const bool lies_there = vertex.src < Place::kUserInput && portion.data != nullptr;
  if (lies_there) portion.data += portion.at;
  return portion;
}

// Of these indices, those whose portion is there. What no vertex needs is all of the input.
std::uint64_t Engine::opened(const Instance& instance, const Vertex& vertex,
                             const VertexState& state, std::uint64_t possible) noexcept {
  const Gate& gate = instance.call.gate;
  std::uint64_t open = 0;
  for (std::uint64_t left = possible; left != 0; left &= left - 1) {
    const auto bit = static_cast<std::uint32_t>(std::countr_zero(left));
    Portion of = portion(instance, vertex, state.indices, state.base + bit);
    if (vertex.feeds.empty()) of.bytes = Portion::kAll;
    const bool there = of.bytes == 0 || gate.function(gate.context, of);
    if (ESP_PLANT(80, there, true)) open |= std::uint64_t{1} << bit;
  }
  return open;
}

void Engine::look_at_gates(Team& team) noexcept {
  for (Instance* i = team.active; i != nullptr; i = i->active_next) {
    if (i->call.gate.function == nullptr) continue;
    const auto vertices = static_cast<std::uint16_t>(i->states.size());
    for (std::uint16_t v = 0; v < vertices; ++v) {
      const VertexState& state = i->states[v];
      const bool waits =
          i->plan->vertices[v].action == Action::kAwait && state.base < state.indices.count;
      if (ESP_PLANT(84, waits, waits && state.base == 0)) queue_vertex(*i, v);
    }
    make_ready(*i);
  }
}

// False: the consumer has no memory for them.
bool Engine::expect_portions(const Instance& instance) noexcept {
  const Consumer& consumer = instance.call.consumer;
  if (consumer.expect == nullptr) return true;
  std::uint64_t portions = 0;
  for (std::size_t v = 0; v < instance.states.size(); ++v) {
    if (instance.plan->vertices[v].action != Action::kDeliver) continue;
    portions += instance.states[v].indices.count;
  }
  return consumer.expect(consumer.context, portions);
}

Posted Engine::deliver(Instance& instance, std::uint16_t number, std::uint32_t index) noexcept {
  if (ESP_PLANT(82, starting_, false)) return Posted::kRetry;
  const Vertex& vertex = instance.plan->vertices[number];
  const Consumer& consumer = instance.call.consumer;
  const Portion landed = portion(instance, vertex, instance.states[number].indices, index);
  if (!consumer.function(consumer.context, landed)) return Posted::kRetry;
  ++counters_.portions_delivered;
  return Posted::kDone;
}

}  // namespace espalier
