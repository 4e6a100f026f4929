#include "coll/engine/engine.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/plant.hpp"

namespace espalier {
namespace {

// Bit b: is index begin + b of the vertex complete (or outside its index space)?
std::uint64_t complete_from(std::int64_t begin, const VertexState& state,
                            std::uint32_t count) noexcept {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  const std::int64_t ahead = static_cast<std::int64_t>(state.base) - begin;
  std::uint64_t mask = 0;
  if (ahead >= 64) {
    mask = kAll;
  } else if (ahead > 0) {
    mask = state.done << ahead | (kAll >> (64 - ahead));
  } else if (ahead > -64) {
    mask = state.done >> -ahead;
  }
  const std::int64_t left = static_cast<std::int64_t>(count) - begin;
  if (left <= 0) {
    mask = kAll;
  } else if (left < 64) {
    mask |= kAll << left;
  }
  if (begin < 0) mask |= begin <= -64 ? kAll : kAll >> (64 + begin);
  return mask;
}

}  // namespace

// Before anything is entered: the same call may be made once more.
Error Engine::no_memory() {
  return error(ESP_ERR_NO_MEMORY, "no memory for an operation");
}

Result<Instance*> Engine::bind(Team& team, const Call& call, bool among_heads) {
  if (mover_ != nullptr && call.mover == nullptr) [[unlikely]] {
    Call moved = call;
    moved.mover = mover_;
    return bind(team, moved, among_heads);
  }
  auto entry = plan_for(team, call, among_heads);
  if (!entry) return entry.error();
  Instance* instance = team.plans.take(**entry);
  if (instance == nullptr) return no_memory();
  instance->engine = this;
  instance->team = &team;
  instance->channel = 0;
  instance->among_heads = among_heads;
  instance->persistent = call.purpose == Purpose::kPersistent;
  instance->call = call;
  if (const Outcome bound = instance->bind_buffers(); !bound) {
    team.plans.give_back(*instance);
    if (call.reduction == nullptr) return bound.error();
    // What the mover combines takes more memory, of kinds of its own.
    Call with_less = call;
    if (!std::exchange(with_less.shares, false)) with_less.reduction = nullptr;
    return bind(team, with_less, among_heads);
  }
  if (!expect_portions(*instance)) {
    team.plans.give_back(*instance);
    return no_memory();
  }
  instance->entered = call.signature();
  if (instance->persistent) instance->entered.options ^= kPersistentBit;
  return instance;
}

Result<Instance*> Engine::bind_flow(Team& team, const Flow& flow) {
  auto entry = plan_for_flow(team, flow);
  if (!entry) return entry.error();
  Instance* instance = team.plans.take(**entry);
  if (instance == nullptr) return no_memory();
  PointToPointCounter& counter = team.flow(flow.peer, flow.channel);
  instance->engine = this;
  instance->team = &team;
  instance->channel = static_cast<std::uint16_t>(256 + flow.channel);
  instance->among_heads = false;
  instance->flow_count = flow.direction == Direction::kReceive ? &counter.received : &counter.sent;
  instance->signature = flow_signature(flow.bytes);
  instance->persistent = flow.persistent;
  instance->call = {};
  instance->call.collective = Collective::kPointToPoint;
  instance->call.output = flow.buffer;
  instance->call.count = flow.bytes;
  instance->call.root = flow.peer;
  instance->call.mover = flow.mover;
  if (flow.mover != nullptr) {
    instance->call.pattern = flow.pattern != nullptr ? flow.pattern : &bytes_;
  }
  instance->call.gate = flow.gate;
  instance->call.consumer = flow.consumer;
  const Outcome has_buffers = instance->bind_buffers();
  if (has_buffers.ok() && expect_portions(*instance)) return instance;
  team.plans.give_back(*instance);
  return no_memory();
}

Result<Engine::Started> Engine::start(Team& team, const Call& call, const Finish& finish) {
  auto instance = bind(team, call);
  if (!instance) return instance.error();
  return start(**instance, finish);
}

Result<Engine::Started> Engine::start_flow(Team& team, const Flow& flow, const Finish& finish) {
  auto instance = bind_flow(team, flow);
  if (!instance) return instance.error();
  return start(**instance, finish);
}

Engine::Started Engine::start(Instance& instance, const Finish& finish) noexcept {
  Team& team = *instance.team;
  if (instance.channel == 0) {
    team.enter(instance.entered);
    instance.sequence = team.sequence;
    instance.signature = static_cast<std::uint32_t>(team.history);
  } else {
    instance.sequence = ++*instance.flow_count;
  }
  return launch(instance, finish);
}

Result<Engine::Started> Engine::start_among_heads(Team& team, const Call& call, Entered entered,
                                                  const Finish& finish) {
  auto bound = bind(team, call, true);
  if (!bound) return bound.error();
  Instance& instance = **bound;
  instance.sequence = entered.sequence;
  instance.signature = static_cast<std::uint32_t>(entered.history);
  return launch(instance, finish);
}

void Engine::give_back(Instance& instance) noexcept {
  instance.persistent = false;
  instance.team->plans.give_back(instance);
}

Engine::Started Engine::launch(Instance& instance, const Finish& finish) noexcept {
  instance.finish = finish;
  instance.status = {};
  instance.ended = instance.ready = instance.stalled = false;
  instance.queued = 0;
  instance.serial = ++started_;
  instance.unfinished = 0;
  if (instance.plan->places) [[unlikely]]
    instance.place_nothing();
  Team& team = *instance.team;
  instance.active_prev = nullptr;
  instance.active_next = team.active;
  if (team.active != nullptr) team.active->active_prev = &instance;
  team.active = &instance;
  if (!instance.among_heads) ++counters_.operations;
  if (!instance.among_heads && trace_.enabled())
    trace_.begin(trace_kind(instance.call.collective), subject(instance));
  const auto vertices = static_cast<std::uint16_t>(instance.states.size());
  for (std::uint16_t v = 0; v < vertices; ++v) {
    VertexState& state = instance.states[v];
    state.base = 0;
    state.done = state.posted = 0;
    state.queued = state.stalled = false;
    ++instance.unfinished;  // no vertex is without indices
  }
  // Receives were listed first by the plan makers; the stack is worked from its top.
  for (std::uint16_t v = vertices; v-- > 0;) {
    queue_vertex(instance, v);
  }
  const bool outer = std::exchange(starting_, true);
  (void)run(instance);
  starting_ = outer;
  if (instance.status.ok() && instance.unfinished > 0) return Started{};
  if (!instance.status.ok() && inquires(instance)) return Started{};
  instance.finish = {};
  if (settle(instance)) return Started{true, team.fault};
  instance.finish = finish;
  return Started{};
}

// Ends an instance that has nothing left to do or has failed. A member that has given up has its
// buffers back: what was read from them since must not count, and reading them may have failed.
bool Engine::settle(Instance& instance) noexcept {
  Team& team = *instance.team;
  if (instance.status.ok() && instance.unfinished > 0) return false;
  const bool blameless =
      ESP_PLANT(17, instance.status.ok() || instance.status.code() == ESP_ERR_SYSTEM,
                instance.status.code() == ESP_ERR_SYSTEM) ||
      instance.status.code() == ESP_ERR_PEER_DIED;
  if (team.board && blameless && !team.board.reported().ok()) {
    instance.status = as_told(team.board.reported());
  }
  if (instance.status.ok()) {
    end(instance);
  } else if (inquires(instance)) {
    return false;
  } else {
    fail(team, instance.status, explain(instance));
  }
  return true;
}

// On one node everybody's calls can be read. A member of another node is asked before the team
// fails, so that the text can say what it called.
bool Engine::inquires(const Instance& instance) noexcept {
  const Status status = instance.status;
  Team& team = *instance.team;
  if (status.code() != ESP_ERR_MISMATCH || instance.channel != 0) return false;
  if (listener_ == nullptr || team.nodes() == nullptr) return false;
  std::uint64_t sequence = 0;
  int member = -1;
  CallSignature mine, theirs;
  if (find_difference(team, sequence, member, mine, theirs)) return false;
  return listener_->inquire(team, status.rank());
}

void Engine::look_again(Team& team) noexcept {
  for (Instance* i = team.active; i != nullptr; i = i->active_next) {
    if (!i->status.ok()) make_ready(*i);
  }
}

void Engine::queue_vertex(Instance& instance, std::uint16_t vertex) noexcept {
  VertexState& state = instance.states[vertex];
  if (state.queued) return;
  state.queued = true;
  instance.queue[instance.queued++] = vertex;
}

void Engine::make_ready(Instance& instance) noexcept {
  if (instance.ready) return;
  instance.ready = true;
  instance.next = ready_;
  ready_ = &instance;
}

int Engine::progress() noexcept {
  int events = 0;
  // What stalled gets another try; what stalls again goes to the list anew.
  Instance* stalled = std::exchange(stalled_, nullptr);
  while (stalled != nullptr) {
    Instance* instance = stalled;
    stalled = std::exchange(instance->stalled_next, nullptr);
    instance->stalled = false;
    const auto vertices = static_cast<std::uint16_t>(instance->states.size());
    for (std::uint16_t v = 0; v < vertices; ++v) {
      if (ESP_PLANT(4, false, instance->queued > 0)) break;
      if (std::exchange(instance->states[v].stalled, false)) queue_vertex(*instance, v);
    }
    make_ready(*instance);
  }
  while (ready_ != nullptr) {
    Instance* instance = ready_;
    ready_ = std::exchange(instance->next, nullptr);
    instance->ready = false;
    events += run(*instance);
    if (settle(*instance)) ++events;
  }
  if (!failed_.empty()) [[unlikely]] {
    events += tell_failed();
  }
  return events;
}

int Engine::tell_failed() noexcept {
  const auto failed = std::exchange(failed_, {});
  for (const auto& [finish, status] : failed) finish.function(finish.context, status);
  return static_cast<int>(failed.size());
}

// Posts everything that is possible now. Returns how much was.
int Engine::run(Instance& instance) noexcept {
  int events = 0;
  while (instance.queued > 0 && instance.status.ok()) {
    events += look_at(instance, instance.queue[--instance.queued]);
  }
  return events;
}

namespace {

// Receives are posted in their order, whatever the order in which moves make room for them: what a
// receiver grants for one it grants for all before it.
bool receivable(const VertexState& state, std::uint32_t index) noexcept {
  const bool in_order = index - state.base == static_cast<unsigned>(std::countr_one(state.posted));
  return ESP_PLANT(53, in_order, true) && !state.recvs[index % state.slots].busy;
}

}  // namespace

// A vertex that could post more lets the others go first: the children of a rank are served segment
// by segment, not window by window. While it is looked at it counts as queued.
int Engine::look_at(Instance& instance, std::uint16_t number) noexcept {
  const Vertex& vertex = instance.plan->vertices[number];
  VertexState& state = instance.states[number];
  int events = 0;
  std::uint64_t possible = startable(instance, vertex, state);
  while (possible != 0) {
    const std::uint32_t index = state.base + static_cast<std::uint32_t>(std::countr_zero(possible));
    if (state.recvs != nullptr && !receivable(state, index)) break;
    const Posted posted = post(instance, number, index);
    if (posted == Posted::kRetry) {
      state.stalled = true;
      if (!std::exchange(instance.stalled, true)) {
        instance.stalled_next = stalled_;
        stalled_ = &instance;
      }
      break;
    }
    ++events;
    state.posted |= std::uint64_t{1} << (index - state.base);
    if (posted == Posted::kDone) mark(instance, number, index);
    if (!instance.status.ok()) break;
    possible = startable(instance, vertex, state);
    if (possible != 0 && instance.queued > 0) {
      queue_last(instance, number);
      return events;
    }
  }
  state.queued = false;
  return events;
}

// Beneath all others. A rank has few children: moving what waits is cheaper than a ring.
void Engine::queue_last(Instance& instance, std::uint16_t vertex) noexcept {
  std::uint16_t* end = instance.queue + instance.queued++;
  std::copy_backward(instance.queue, end, end + 1);
  instance.queue[0] = vertex;
}

namespace {

// The same for a dependency in batches, of a vertex that is not complete.
std::uint64_t opened_from(const VertexState& state, const VertexState& needed,
                          std::uint32_t batch) noexcept {
  const std::uint64_t open = state.indices.opened(needed.indices, needed.base, batch) - state.base;
  return open >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << open) - 1;
}

}  // namespace

// Bit b: index base + b may be posted now.
std::uint64_t Engine::startable(const Instance& instance, const Vertex& vertex,
                                const VertexState& state) const noexcept {
  const std::uint32_t left = state.indices.count - state.base;
  const std::uint32_t window =
      std::min<std::uint32_t>({ESP_PLANT(1, vertex.window, vertex.window + 1U), left, 64});
  if (window == 0) return 0;
  std::uint64_t possible = ~state.posted & (~std::uint64_t{0} >> (64 - window));
  if (vertex.action == Action::kAwait) [[unlikely]] {
    possible = opened(instance, vertex, state, possible);
  }
  for (const Dependency& need : vertex.needs) {
    if (possible == 0) break;
    if (ESP_PLANT(2, false, need.shift > 1)) continue;
    if (ESP_PLANT(27, false, instance.call.collective == Collective::kBarrier)) continue;
    const VertexState& needed = instance.states[need.vertex];
    if (need.whole) {
      if (ESP_PLANT(30, needed.base == needed.indices.count, true)) continue;
      if (need.batch == 0) return 0;
      possible &= opened_from(state, needed, need.batch);
      continue;
    }
    possible &=
        complete_from(static_cast<std::int64_t>(state.base) - need.distance(state.indices.inner),
                      needed, needed.indices.count);
  }
  return possible;
}

void Engine::mark(Instance& instance, std::uint16_t number, std::uint32_t index) noexcept {
  const Vertex& vertex = instance.plan->vertices[number];
  VertexState& state = instance.states[number];
  ESP_ASSERT(index >= state.base && index - state.base < 64);
  state.done |= std::uint64_t{1} << (index - state.base);
  const int completed = std::countr_one(state.done);
  if (completed > 0) {
    state.base += static_cast<std::uint32_t>(completed);
    if (completed == 64) {
      state.done = state.posted = 0;
    } else {
      state.done >>= completed;
      state.posted >>= completed;
    }
    if (state.base == state.indices.count) {
      --instance.unfinished;
    } else {
      queue_vertex(instance, number);
    }
  }
  // The queue is a stack: the first of them runs first, as the plan's maker wanted (a broadcast
  // serves its largest subtree first).
  for (auto fed = vertex.feeds.rbegin(); fed != vertex.feeds.rend(); ++fed) {
    queue_vertex(instance, *fed);
  }
}

void Engine::end(Instance& instance) noexcept {
  Team& team = *instance.team;
  if (team.blames_for == &instance) [[unlikely]] {
    team.withdraw_blame();
  }
  if (trace_.enabled() && !instance.among_heads) {
    trace_.end(trace_kind(instance.call.collective), subject(instance));
  }
  if (instance.active_prev != nullptr) {
    instance.active_prev->active_next = instance.active_next;
  } else {
    team.active = instance.active_next;
  }
  if (instance.active_next != nullptr) instance.active_next->active_prev = instance.active_prev;
  // A vertex that stalled may have been posted since, by a completion that feeds it.
  if (ESP_PLANT(10, instance.stalled || instance.ready, instance.ready)) [[unlikely]] {
    drop_from_lists(instance);
  }
  const Finish finish = instance.finish;
  const Status status = instance.status;
  if (!instance.persistent) team.plans.give_back(instance);
  if (finish.function != nullptr) finish.function(finish.context, status);
}

}  // namespace espalier
