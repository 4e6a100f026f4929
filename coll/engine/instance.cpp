#include "coll/engine/instance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "coll/engine/engine.hpp"

namespace espalier {
namespace {

constexpr std::size_t kAlign = 64;
constexpr std::size_t up(std::size_t n) {
  return (n + kAlign - 1) & ~(kAlign - 1);
}

bool is_send(const Vertex& v) {
  return v.action == Action::kSend || v.action == Action::kPublish;
}
bool is_recv(const Vertex& v) {
  return v.action == Action::kRecv || v.action == Action::kRecvView;
}
// Operation slots of a vertex: index i uses slot i % slots.
std::size_t slots(const Vertex& v) {
  if (is_local(v.action) && v.action != Action::kCombine) return 0;
  // Of irregular plans the count comes with the call.
  const std::uint32_t most = v.indices.count;
  return most > 0 ? std::min<std::size_t>(v.window, most) : v.window;
}

// Is what belongs to the plan's buffers measured by each call, or not to be kept?
bool has_own_memory(const Plan& plan) {
  return plan.irregular || plan.packs_input || plan.packs_output || plan.places || plan.combines;
}

// Where the parts of an instance's block begin.
struct BlockLayout {
  std::size_t states, send_slots, recvs, moves, queue, operands, scratch, total;

  BlockLayout(const Plan& plan, bool has_moves) {
    std::size_t send_count = 0, recv_count = 0, move_count = 0, operand_count = 1;
    for (const Vertex& v : plan.vertices) {
      if (is_send(v)) send_count += slots(v);
      if (is_recv(v)) recv_count += slots(v);
      if (has_moves && v.action == Action::kCombine) move_count += slots(v);
      operand_count = std::max(operand_count, v.operands.size());
    }
    states = up(sizeof(Instance));
    send_slots = up(states + sizeof(VertexState) * plan.vertices.size());
    recvs = up(send_slots + sizeof(SendSlot) * send_count);
    moves = up(recvs + sizeof(RecvSlot) * recv_count);
    queue = up(moves + sizeof(MoveSlot) * move_count);
    operands = up(queue + sizeof(std::uint16_t) * plan.vertices.size());
    scratch = up(operands + sizeof(void*) * operand_count);
    total = scratch + (has_own_memory(plan) ? 0 : plan.scratch_bytes(plan.layouts.data()));
  }
};

std::uint64_t bytes_of(const Plan& plan) {
  std::uint64_t bytes = sizeof(PlanEntry) + sizeof(Vertex) * plan.vertices.size();
  for (const Vertex& v : plan.vertices) {
    bytes += 4 * sizeof(v.peers[0]) * v.peers.size();  // and what groups keep of them
    bytes += sizeof(Operand) * v.operands.size() + sizeof(Dependency) * v.needs.size() +
             sizeof(v.feeds[0]) * v.feeds.size();
  }
  for (const Table& table : plan.tables) {
    bytes += sizeof(std::int32_t) * table.entries->size();
  }
  return bytes;
}

}  // namespace

PlanEntry::PlanEntry(const PlanKey& of, Plan made)
    : key(of),
      plan(std::move(made)),
      plan_bytes(bytes_of(plan)),
      instance_bytes(BlockLayout(plan, of.moves).total) {}

PlanEntry::~PlanEntry() {
  ESP_ASSERT(in_use == 0);
  while (free != nullptr) {
    Instance* instance = free;
    free = instance->next;
    instance->irregular.reset();
    // Slots and states are trivially destructible by construction of their members.
    ::operator delete(static_cast<void*>(instance), std::align_val_t{kAlign});
  }
}

namespace {

// Of one vertex; `at` moves on.
template <typename Slot>
Slot* make_slots(Slot*& at, std::size_t count, Instance* instance, std::uint16_t vertex) {
  Slot* first = at;
  for (; at != first + count; ++at) {
    new (at) Slot;
    at->instance = instance;
    at->vertex = vertex;
  }
  return first;
}

}  // namespace

Instance* PlanEntry::take() {
  if (free != nullptr) {
    Instance* instance = free;
    free = instance->next;
    instance->next = nullptr;
    ++in_use;
    return instance;
  }
  const BlockLayout layout(plan, key.moves);
  void* memory = ::operator new(layout.total, std::align_val_t{kAlign}, std::nothrow);
  if (memory == nullptr) return nullptr;
  auto* base = static_cast<std::byte*>(memory);
  auto* instance = new (base) Instance;
  auto* states = reinterpret_cast<VertexState*>(base + layout.states);
  auto* send = reinterpret_cast<SendSlot*>(base + layout.send_slots);
  auto* recv = reinterpret_cast<RecvSlot*>(base + layout.recvs);
  auto* move = reinterpret_cast<MoveSlot*>(base + layout.moves);
  for (std::size_t v = 0; v < plan.vertices.size(); ++v) {
    auto* state = new (states + v) VertexState;
    const Vertex& vertex = plan.vertices[v];
    state->slots = static_cast<std::uint16_t>(slots(vertex));
    state->indices = vertex.indices;
    const auto number = static_cast<std::uint16_t>(v);
    if (is_send(vertex)) {
      state->sends = make_slots(send, state->slots, instance, number);
    } else if (is_recv(vertex)) {
      state->recvs = make_slots(recv, state->slots, instance, number);
    } else if (key.moves && vertex.action == Action::kCombine) {
      state->moves = make_slots(move, state->slots, instance, number);
    }
  }
  instance->states = {states, plan.vertices.size()};
  instance->queue = reinterpret_cast<std::uint16_t*>(base + layout.queue);
  instance->operands = reinterpret_cast<const void**>(base + layout.operands);
  instance->plan = &plan;
  instance->layouts = plan.layouts.data();
  if (has_own_memory(plan)) {
    instance->irregular = std::make_unique<IrregularCall>();
  } else {
    instance->place_scratch(base + layout.scratch);
  }
  instance->entry = this;
  ++in_use;
  ++instances;
  return instance;
}

void Instance::place_scratch(std::byte* at) noexcept {
  for (std::size_t k = 0; k < plan->layouts.size(); ++k) {
    if (!plan->is_own(k)) continue;
    buffers[k] = at;
    at += plan->buffer_bytes(layouts[k]);
  }
}

namespace {

// The arrays of one side of a call.
struct Arrays {
  const std::size_t** counts;
  const std::size_t** displs;
  const esp_type** types;
  std::size_t blocks;
};

template <typename T>
void keep(const T*& array, std::size_t count, std::vector<T>& in) {
  const T* copy = in.data() + in.size();
  in.insert(in.end(), array, array + count);
  array = copy;
}

}  // namespace

void Instance::keep_arrays() {
  const auto blocks = [&](Place place) -> std::size_t {
    const Layout& layout = plan->layout(place);
    return layout.kind == Layout::Kind::kCounts ? layout.blocks : 0;
  };
  const Arrays sides[] = {
      {&call.in_counts, &call.in_displs, &call.in_types, blocks(Place::kInput)},
      {&call.out_counts, &call.out_displs, &call.out_types, blocks(Place::kOutput)}};
  irregular->arrays.clear();
  irregular->types.clear();
  // So that they stay where they are.
  irregular->arrays.reserve(2 * (sides[0].blocks + sides[1].blocks));
  if (persistent) irregular->types.reserve(sides[0].blocks + sides[1].blocks);
  const bool scales = call.pattern != nullptr || call.types != nullptr;
  for (const Arrays& side : sides) {
    if (side.blocks == 0) continue;
    if (scales || persistent) {
      const std::size_t begin = irregular->arrays.size();
      keep(*side.counts, side.blocks, irregular->arrays);
      for (std::size_t b = 0; scales && b < side.blocks; ++b) {
        irregular->arrays[begin + b] *= call.pattern != nullptr
                                            ? call.pattern->elements()
                                            : call.types->find((*side.types)[b])->packed_bytes();
      }
    }
    if (!persistent) continue;
    if (*side.displs != nullptr) keep(*side.displs, side.blocks, irregular->arrays);
    if (*side.types != nullptr) keep(*side.types, side.blocks, irregular->types);
  }
}

UserElements Instance::user_elements(Place user, std::uint32_t block) const noexcept {
  const bool in = user == Place::kUserInput;
  UserElements of;
  of.begin = static_cast<std::byte*>(in ? const_cast<void*>(call.input) : call.output);
  of.pattern = call.types != nullptr
                   ? call.types->find((in ? call.in_types : call.out_types)[block])
                   : call.pattern;
  const std::size_t* displs = in ? call.in_displs : call.out_displs;
  of.apart = displs != nullptr;
  if (of.apart)
    of.begin += displs[block] * (call.types != nullptr ? 1 : of.pattern->extent_bytes());
  return of;
}

// Of the buffer that is one block. Where all know everybody's, it is the own one of these.
std::uint64_t Instance::own_elements() const noexcept {
  const CollectiveTraits& traits = traits_of(call.collective);
  const auto rank = static_cast<std::size_t>(plan->rank);
  if (traits.rooted || traits.neighbors) return call.own_count;
  if (traits.input == Extent::kOne) return call.out_counts[rank];
  return traits.output == Extent::kOne ? call.in_counts[rank] : 0;
}

namespace {

constexpr std::size_t kNowhere = ~std::size_t{0};

}  // namespace

// Regular blocks get lengths and places of their own, too.
void Instance::place_on_arrival() {
  IrregularCall& own = *irregular;
  const Layout* from = plan->irregular ? own.binding.layouts() : plan->layouts.data();
  own.layouts.assign(from, from + plan->layouts.size());
  Layout& output = own.layouts[buffer_of(Place::kOutput)];
  own.begins.resize(output.blocks);
  if (output.kind != Layout::Kind::kCounts) {
    own.counts.assign(output.blocks, output.elements);
    output.elements *= output.blocks;
    output.kind = Layout::Kind::kCounts;
    output.counts = own.counts.data();
  }
  output.begins = own.begins.data();
  layouts = own.layouts.data();
}

void Instance::place_nothing() noexcept {
  std::fill(irregular->begins.begin(), irregular->begins.end(), kNowhere);
  irregular->end = 0;
}

void Instance::place(std::uint32_t block) noexcept {
  std::size_t& begin = irregular->begins[block];
  if (begin != kNowhere) return;
  begin = irregular->end;
  irregular->end += layouts[buffer_of(Place::kOutput)].length(block);
}

Outcome Instance::bind_buffers() noexcept {
  // The engine writes only where the plan says kOutput or scratch.
  buffers[buffer_of(Place::kInput)] = static_cast<std::byte*>(const_cast<void*>(call.input));
  buffers[buffer_of(Place::kOutput)] = static_cast<std::byte*>(call.output);
  buffers[buffer_of(Place::kUserInput)] = buffers[buffer_of(Place::kInput)];
  buffers[buffer_of(Place::kUserOutput)] = buffers[buffer_of(Place::kOutput)];
  if (irregular == nullptr) return Unit{};
  if (plan->irregular) {
    keep_arrays();
    const std::uint64_t own = own_elements();
    const Outcome bound = irregular->binding.bind(*plan, {call.in_counts, call.in_displs, own},
                                                  {call.out_counts, call.out_displs, own});
    if (!bound) return bound.error();
    layouts = irregular->binding.layouts();
    for (std::size_t v = 0; v < states.size(); ++v) {
      states[v].indices = irregular->binding.indices(v);
    }
  }
  if (plan->places) place_on_arrival();
  if (plan->on_device && !take_device_scratch()) {
    return error(ESP_ERR_NO_MEMORY, "no memory of a device to combine in");
  }
  const std::uint64_t own = plan->on_device ? 0 : plan->scratch_bytes(layouts);
  const std::uint64_t bytes = own + landing_bytes();
  if (!irregular->scratch.grow(bytes, call.mover)) {
    return error(ESP_ERR_NO_MEMORY, fmt::format("no memory for {} bytes between blocks", bytes));
  }
  std::byte* const memory = irregular->scratch.begin();
  if (call.reduction != nullptr && memory != nullptr && !call.mover->reduces_in(memory)) {
    return error(ESP_ERR_NO_MEMORY, fmt::format("no memory of {} bytes to combine in", bytes));
  }
  place_scratch(plan->on_device ? irregular->on_device.begin() : memory);
  if (call.reduction != nullptr) place_landing(memory + own);
  return Unit{};
}

bool Instance::take_device_scratch() noexcept {
  const std::uint64_t bytes = plan->scratch_bytes(layouts);
  return bytes == 0 || irregular->on_device.take(bytes, *call.mover, *call.reduction);
}

std::uint64_t Instance::landing_bytes() const noexcept {
  if (call.reduction == nullptr) return 0;
  std::uint64_t slots = 0;
  for (std::size_t v = 0; v < states.size(); ++v) {
    if (plan->vertices[v].action == Action::kRecvView) slots += states[v].slots;
  }
  return slots * plan->segment_slot_bytes();
}

void Instance::place_landing(std::byte* at) noexcept {
  for (std::size_t v = 0; v < states.size(); ++v) {
    if (plan->vertices[v].action != Action::kRecvView) continue;
    states[v].landing = at;
    at += states[v].slots * plan->segment_slot_bytes();
  }
}

bool OwnMemory::grow(std::uint64_t bytes, Mover* mover) noexcept {
  if (bytes_ >= bytes) return true;
  reset();
  begin_ = mover != nullptr ? mover->allocate(bytes) : new (std::nothrow) std::byte[bytes];
  if (begin_ == nullptr) return false;
  bytes_ = bytes;
  mover_ = mover;
  return true;
}

void OwnMemory::reset() noexcept {
  if (mover_ != nullptr) {
    mover_->release(begin_, bytes_);
  } else {
    delete[] begin_;
  }
  begin_ = nullptr;
  bytes_ = 0;
  mover_ = nullptr;
}

bool DeviceScratch::take(std::uint64_t bytes, Mover& mover, const Reduction& beside) noexcept {
  reset();
  begin_ = mover.allocate_beside(beside, bytes);
  mover_ = &mover;
  return begin_ != nullptr;
}

void DeviceScratch::reset() noexcept {
  if (begin_ != nullptr) mover_->release_beside(std::exchange(begin_, nullptr));
}

// Vertices with the same readers share one.
TeamGroup& PlanEntry::group_of(std::uint16_t vertex, const Instance& instance) {
  const std::span<const std::int32_t> peers = plan.vertices[vertex].peers;
  for (const OpenGroup& open : groups) {
    if (std::equal(open.peers.begin(), open.peers.end(), peers.begin(), peers.end())) {
      return *open.group;
    }
  }
  std::vector<TeamGroup::Reader> readers;
  const Path path = plan.vertices[vertex].transfer.path;
  for (const std::int32_t peer : peers) {
    const std::size_t member = instance.member(peer);
    readers.push_back({&instance.team->wire_to(member, path), instance.team->members[member]});
  }
  groups.push_back({peers, std::make_unique<TeamGroup>(readers)});
  return *groups.back().group;
}

void PlanEntry::give_back(Instance* instance, bool keeps) noexcept {
  ESP_ASSERT(in_use > 0);
  --in_use;
  IrregularCall* own = instance->irregular.get();
  if (own != nullptr && own->scratch.bytes() > IrregularCall::kKeptBytes && !keeps) {
    own->scratch.reset();
  }
  if (own != nullptr && !keeps) own->on_device.reset();
  instance->next = free;
  free = instance;
}

}  // namespace espalier
