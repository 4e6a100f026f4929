#include "tests/unit/plan_checker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <span>

#include "core/prng.hpp"
#include "tests/unit/plan_checker_state.hpp"
#include "tests/unit/plan_results.hpp"

namespace espalier::plan_check {
namespace {

class Interpreter {
 public:
  Interpreter(const std::vector<Plan>& plans, const PlanRequest& request, const Schedule& schedule)
      : own_plans_(with_an_element(plans, request)),
        plans_(own_plans_.empty() ? plans : own_plans_),
        request_(request),
        schedule_(schedule),
        results_(plans_, request, schedule.graph),
        random_(schedule.seed) {}

  Report run() {
    report_.bytes_sent.assign(plans_.size(), 0);
    report_.bytes_received.assign(plans_.size(), 0);
    make_states();
    make_memory();
    wire_flows();
    if (report_.ok()) execute();
    if (report_.ok()) check_completion();
    if (report_.ok()) check_result();
    return std::move(report_);
  }

 private:
  // A barrier is a reduction of nothing: it is looked at as one of an element.
  static std::vector<Plan> with_an_element(const std::vector<Plan>& plans,
                                           const PlanRequest& request) {
    if (request.collective != Collective::kBarrier) return {};
    std::vector<Plan> copies = plans;
    for (Plan& plan : copies) {
      for (Layout& layout : plan.layouts) layout.elements = 1;
    }
    return copies;
  }

  std::int32_t size() const { return static_cast<std::int32_t>(plans_.size()); }
  const Layout& output(std::size_t rank) const {
    return plans_[rank].layout(results_.output(rank));
  }
  std::uint64_t bytes(const State& s, std::uint32_t i) const {
    if (request_.collective == Collective::kBarrier) return 0;
    return s.plan->length_elements(*s.vertex, i) * s.plan->element_bytes;
  }

  template <typename... Arguments>
  void fail(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    if (report_.ok()) report_.error = fmt::format(format, std::forward<Arguments>(arguments)...);
  }
  std::string name(const State& s, std::uint32_t i) const {
    return fmt::format("rank {} v{}[{}]", s.plan->rank, s.vertex - s.plan->vertices.data(), i);
  }

  // ---- set-up ----

  void make_states() {
    for (const Plan& plan : plans_) {
      const auto first = static_cast<std::int32_t>(states_.size());
      for (const Vertex& v : plan.vertices) {
        State& s = states_.emplace_back();
        s.plan = &plan;
        s.vertex = &v;
        s.first_of_rank = first;
        if (v.action == Action::kRecvView) {
          s.views.resize(v.indices.count);
          s.arrived.resize(v.indices.count);
        }
        if (v.action == Action::kPublish) s.unread.resize(64);
        const std::size_t peers = v.action == Action::kPublish ? v.peers.size()
                                  : v.peer.is_constant()       ? 1
                                                               : v.steps;
        if (!is_local(v.action)) s.ends.resize(peers);
      }
    }
  }

  // Elements that a buffer may hold, gaps between blocks included.
  static std::uint64_t cells_of(const Plan& plan, const Layout& layout) {
    if (layout.kind == Layout::Kind::kRing) {
      return layout.blocks * plan.ring_slot_bytes(layout) / plan.element_bytes;
    }
    std::uint64_t end = 0;
    for (std::uint32_t b = 0; b < layout.blocks; ++b) {
      end = std::max(end, layout.begin(b) + layout.length(b));
    }
    return end;
  }

  void make_memory() {
    memories_.resize(plans_.size());
    for (std::size_t r = 0; r < plans_.size(); ++r) {
      const Plan& plan = plans_[r];
      Memory& memory = memories_[r];
      for (const Layout& layout : plan.layouts) {
        memory.buffers.emplace_back(cells_of(plan, layout));
      }
      // The plan of an alltoall in place is another one.
      const bool replaces = replaces_blocks(request_.collective);
      const bool asked = request_.in_place || (schedule_.in_place && !replaces);
      memory.in_place = results_.shares_memory(r, memory.input_at) && asked;
      const Layout& input = plan.layout(results_.input(r));
      if (memory.in_place) {
        std::vector<Cell>& shared = memory.buffers[buffer_of(Place::kOutput)];
        const std::uint64_t end = memory.input_at + cells_of(plan, input);
        if (shared.size() < end) shared.resize(end);
      }
      for (std::uint32_t b = 0; results_.has_input(r) && b < input.blocks; ++b) {
        for (std::uint64_t e = 0; e < input.length(b); ++e) {
          const std::uint64_t at = input.begin(b) + e;
          memory.at(results_.input(r), at)->value = {results_.name(r), 1, at};
        }
      }
    }
  }

  struct Flow {
    End from;
    End to;
  };

  // Pairs the ends of every flow (sender, receiver, channel) and compares their segments.
  void wire_flows() {
    const std::size_t p = plans_.size();
    std::size_t channels = 1;
    for (const State& s : states_) {
      channels = std::max<std::size_t>(channels, std::size_t{s.vertex->channel} + 1);
    }
    std::vector<Flow> flows(p * p * channels);
    const auto flow = [&](std::int32_t from, std::int32_t to, std::uint8_t channel) -> Flow& {
      return flows[(static_cast<std::size_t>(from) * p + static_cast<std::size_t>(to)) * channels +
                   channel];
    };
    const auto each_end = [&](auto&& use) {
      for (std::size_t id = 0; id < states_.size(); ++id) {
        State& s = states_[id];
        for (std::size_t k = 0; k < s.ends.size(); ++k) {
          const Vertex& v = *s.vertex;
          const bool many = v.action == Action::kPublish;
          const auto base = many ? 0u : static_cast<std::uint32_t>(k) * v.indices.inner;
          const std::int32_t peer = many ? v.peers[k] : s.plan->peer(v, base);
          if (peer == s.plan->rank) continue;  // idle
          Flow& f =
              sends(v) ? flow(s.plan->rank, peer, v.channel) : flow(peer, s.plan->rank, v.channel);
          use(s, s.ends[k], sends(v) ? f.from : f.to, sends(v) ? f.to : f.from,
              End{static_cast<std::int32_t>(id), base});
        }
      }
    };
    each_end([&](State& s, End&, End& mine, End&, End self) {
      if (mine.state >= 0) fail("{} shares its flow with another vertex", name(s, self.base));
      mine = self;
    });
    each_end([&](State& s, End& other_end, End&, End& theirs, End self) {
      other_end = theirs;
      if (theirs.state < 0) {
        if (!is_empty(s, self)) fail("{} has no counterpart", name(s, self.base));
      } else {
        compare_ends(s, self, states_[static_cast<std::size_t>(theirs.state)], theirs);
      }
    });
  }

  // Indices of one flow, from its end's base on.
  static std::uint32_t indices_of_flow(const State& s) {
    const Vertex& v = *s.vertex;
    const bool one = v.peer.is_constant();
    return one ? v.indices.count : v.indices.inner;
  }
  bool is_empty(const State& s, End at) const {
    for (std::uint32_t k = 0; k < indices_of_flow(s); ++k) {
      if (!is_skipped(*s.plan, *s.vertex, at.base + k)) return false;
    }
    return true;
  }

  // The last segment says that it is: receives are granted in lots, and the last lot may be short.
  void check_total(const State& s, End at) {
    if (!s.plan->irregular) return;
    std::uint32_t moved = 0;
    for (std::uint32_t k = 0; k < indices_of_flow(s); ++k) {
      if (!is_skipped(*s.plan, *s.vertex, at.base + k)) ++moved;
    }
    for (std::uint32_t k = 0; k < indices_of_flow(s) && moved > 0; ++k) {
      const std::uint32_t i = at.base + k;
      if (is_skipped(*s.plan, *s.vertex, i)) continue;
      const std::uint32_t total = s.plan->position(*s.vertex, i).total;
      if (total != moved) fail("{} is of {} segments, not of {}", name(s, i), moved, total);
    }
  }

  // Both sides move the same segments, under the same ordinals. Where the message has one layout on
  // all ranks they are of the same elements, too.
  void compare_ends(const State& a, End at_a, const State& b, End at_b) {
    const bool skips = a.vertex->skips_empty && b.vertex->skips_empty;
    if (!skips && indices_of_flow(a) != indices_of_flow(b)) {
      fail("{} and {} differ in segments per peer", name(a, at_a.base), name(b, at_b.base));
      return;
    }
    check_total(a, at_a);
    for (std::uint32_t k = 0; k < std::max(indices_of_flow(a), indices_of_flow(b)); ++k) {
      const std::uint32_t i = at_a.base + k, j = at_b.base + k;
      const bool none_a = k >= indices_of_flow(a) || is_skipped(*a.plan, *a.vertex, i);
      const bool none_b = k >= indices_of_flow(b) || is_skipped(*b.plan, *b.vertex, j);
      if (none_a && none_b) continue;
      const bool equal =
          none_a == none_b && bytes(a, i) == bytes(b, j) &&
          a.plan->position(*a.vertex, i).ordinal == b.plan->position(*b.vertex, j).ordinal &&
          a.plan->position(*a.vertex, i).total == b.plan->position(*b.vertex, j).total &&
          (!is_one_message(a, b) || element_of(a, i) == element_of(b, j));
      if (equal) continue;
      fail("{} and {} speak of different segments", name(a, i), name(b, j));
      return;
    }
  }
  static bool is_one_message(const State& a, const State& b) {
    const auto is_even = [](const State& s) {
      return s.plan->layout(s.vertex->shape).kind == Layout::Kind::kEven;
    };
    return is_even(a) && is_even(b);
  }
  // First element of the message.
  static std::uint64_t element_of(const State& s, std::uint32_t i) {
    const Place shape = s.vertex->shape;
    return s.plan->offset_bytes(*s.vertex, i, shape) / s.plan->element_bytes;
  }

  // ---- memory ----

  Range cells(const State& s, Place place, std::uint32_t i, bool reads) {
    if (place == Place::kAccumulator) {
      place = i < s.vertex->indices.inner ? Place::kInput : Place::kOutput;
    }
    const Plan& plan = *s.plan;
    const std::uint64_t at =
        reads ? plan.source_bytes(*s.vertex, i, place) : plan.offset_bytes(*s.vertex, i, place);
    Memory& memory = memories_[static_cast<std::size_t>(plan.rank)];
    return {memory.at(place, at / plan.element_bytes), plan.length_elements(*s.vertex, i)};
  }

  Range readable(const State& s, Place place, std::uint32_t i) {
    const Range range = cells(s, place, i, true);
    for (const Cell* from = range.begin; from != range.end(); ++from) {
      if (from->writing) fail("{} reads a place that is being written", name(s, i));
      if (from->value.length == 0) fail("{} reads before anything is there", name(s, i));
    }
    return range;
  }

  Values read(const State& s, Place place, std::uint32_t i) {
    const Range range = readable(s, place, i);
    Values values;
    values.reserve(range.elements);
    for (const Cell* from = range.begin; from != range.end(); ++from) {
      values.push_back(from->value);
    }
    return values;
  }

  Range writable(const State& s, std::uint32_t i) {
    const Range range = cells(s, s.vertex->dst, i, false);
    for (const Cell* to = range.begin; to != range.end(); ++to) {
      if (to->writing) fail("{} writes a place that is being written", name(s, i));
      if (to->readers > 0) fail("{} overwrites a place that is being sent", name(s, i));
    }
    return range;
  }

  // ---- execution ----

  // Which of the indices at..at+63 of `s` are complete; indices that do not exist count as such.
  static std::uint64_t done_from(const State& s, std::int64_t at) {
    const std::int64_t low = static_cast<std::int64_t>(s.prefix) - at;    // bits below: done
    const std::int64_t high = static_cast<std::int64_t>(s.count()) - at;  // bits from: none
    std::uint64_t mask = low >= 64 ? ~0ull : low > 0 ? (1ull << low) - 1 : 0;
    if (low > -64 && low < 64) mask |= low >= 0 ? s.done << low : s.done >> -low;
    if (high < 64) mask |= high <= 0 ? ~0ull : ~0ull << high;
    return mask;
  }

  std::uint64_t startable(const State& s) const {
    const std::uint32_t left = s.count() - s.prefix;
    std::uint64_t mask = ~s.started & (left >= 64 ? ~0ull : (1ull << left) - 1);
    const std::uint64_t first = mask & (~mask + 1);
    for (const Dependency& need : s.vertex->needs) {
      const State& other = states_[static_cast<std::size_t>(s.first_of_rank + need.vertex)];
      if (need.whole) {
        if (other.complete()) continue;
        if (need.batch == 0) return 0;
        const std::uint64_t open =
            s.vertex->indices.opened(other.vertex->indices, other.prefix, need.batch) - s.prefix;
        mask &= open >= 64 ? ~0ull : (1ull << open) - 1;
        if (mask == 0) return 0;
        continue;
      }
      const std::int64_t distance = need.distance(s.vertex->indices.inner);
      mask &= done_from(other, static_cast<std::int64_t>(s.prefix) - distance);
      if (mask == 0) return 0;
    }
    return schedule_.in_order_posts ? mask & first : mask;
  }

  void enqueue(std::int32_t id) {
    State& s = states_[static_cast<std::size_t>(id)];
    if (s.queued) return;
    s.queued = true;
    queue_.push_back(id);
  }

  // Starts all that may start, until nothing changes.
  void settle() {
    while (!queue_.empty() && report_.ok()) {
      const std::int32_t id = queue_.back();
      queue_.pop_back();
      State& s = states_[static_cast<std::size_t>(id)];
      s.queued = false;
      while (s.in_flight < s.vertex->window && !s.complete() && report_.ok()) {
        const std::uint64_t mask = startable(s);
        if (mask == 0) break;
        start(id, s, s.prefix + static_cast<std::uint32_t>(std::countr_zero(mask)));
      }
    }
  }

  void start(std::int32_t id, State& s, std::uint32_t i) {
    s.started |= 1ull << (i - s.prefix);
    ++s.in_flight;
    const Vertex& v = *s.vertex;
    if (is_skipped(*s.plan, v, i)) {
      complete(id, i);
      return;
    }
    switch (v.action) {
      case Action::kCombine:
        if (schedule_.late_moves) return begin_move(id, s, i);
        combine(s, i);
        complete(id, i);
        return;
      case Action::kAwait:
      case Action::kDeliver:
        complete(id, i);
        return;
      case Action::kRecvView:
        if (++s.held > v.window) fail("{} holds more views than its window", name(s, i));
        break;
      case Action::kRecv:
        break;
      default:
        for (Cell& from : range_of(readable(s, v.src, i))) ++from.readers;
        report_.bytes_sent[static_cast<std::size_t>(s.plan->rank)] += bytes(s, i);
        if (v.action == Action::kPublish)
          s.unread[i % 64] = static_cast<std::uint32_t>(v.peers.size());
    }
    meet(id, s, i);
  }

  // Makes transfers of what has now been posted at both ends.
  void meet(std::int32_t id, State& s, std::uint32_t i) {
    const Vertex& v = *s.vertex;
    const bool many = v.action == Action::kPublish;
    const std::uint32_t local = v.peer.is_constant() ? i : v.indices.piece(i);
    for (std::size_t k = 0; k < (many ? s.ends.size() : 1); ++k) {
      const End end = s.ends[many ? k : v.peer.is_constant() ? 0 : v.indices.step(i)];
      const std::uint32_t j = end.base + local;
      if (!is_posted(end.state, j)) continue;
      if (sends(v)) {
        if (many && schedule_.all_or_none) return publish(id, i);
        begin_transfer({id, i, end.state, j, {}});
      } else if (schedule_.all_or_none && publishes(end.state)) {
        publish(end.state, j);
      } else {
        begin_transfer({end.state, j, id, i, {}});
      }
    }
  }

  bool publishes(std::int32_t id) const {
    return states_[static_cast<std::size_t>(id)].vertex->action == Action::kPublish;
  }
  bool is_posted(std::int32_t id, std::uint32_t i) const {
    const State& s = states_[static_cast<std::size_t>(id)];
    if (i < s.prefix || i - s.prefix >= 64) return false;
    return (s.started & ~s.done & 1ull << (i - s.prefix)) != 0;
  }
  // To all readers, if they are there.
  void publish(std::int32_t id, std::uint32_t i) {
    const std::vector<End>& readers = states_[static_cast<std::size_t>(id)].ends;
    const bool all = std::all_of(readers.begin(), readers.end(), [&](const End& reader) {
      return is_posted(reader.state, reader.base + i);
    });
    if (!all) return;
    for (const End& reader : readers) begin_transfer({id, i, reader.state, reader.base + i, {}});
  }

  static std::span<Cell> range_of(const Range& range) { return {range.begin, range.elements}; }

  void begin_transfer(Transfer t) {
    State& from = states_[static_cast<std::size_t>(t.send)];
    State& to = states_[static_cast<std::size_t>(t.recv)];
    const Range source = cells(from, from.vertex->src, t.send_index, true);
    t.values.reserve(source.elements);
    for (const Cell& cell : range_of(source)) {
      t.values.push_back(cell.value);
    }
    if (to.vertex->action == Action::kRecv) {
      for (Cell& cell : range_of(writable(to, t.recv_index))) cell.writing = true;
    }
    const bool starved = from.plan->rank == schedule_.starved || to.plan->rank == schedule_.starved;
    (schedule_.order == Order::kStarve && starved ? starved_ : transfers_).push_back(std::move(t));
  }

  // A move under way locks what it reads and writes. Views are the mover's until it is complete.
  void begin_move(std::int32_t id, State& s, std::uint32_t i) {
    const bool nothing = copies_to_itself(s, i);
    if (!nothing) lock_operands(s, i, 1);
    Transfer t;
    t.send = -1;
    t.recv = id;
    t.recv_index = i;
    if (!nothing && !writes_operand(s, i)) {
      for (Cell& cell : range_of(writable(s, i))) cell.writing = true;
    }
    transfers_.push_back(std::move(t));
  }
  void end_move(const Transfer& t) {
    State& s = states_[static_cast<std::size_t>(t.recv)];
    const std::uint32_t i = t.recv_index;
    if (!copies_to_itself(s, i)) {
      lock_operands(s, i, -1);
      for (Cell& cell : range_of(cells(s, s.vertex->dst, i, false))) cell.writing = false;
    }
    combine(s, i);
    complete(t.recv, i);
  }
  void lock_operands(State& s, std::uint32_t i, int step) {
    for (const Operand& operand : s.vertex->operands) {
      if (operand.place == Place::kView) continue;
      const Range range =
          step > 0 ? readable(s, operand.place, i) : cells(s, operand.place, i, true);
      for (Cell& cell : range_of(range)) cell.readers += static_cast<std::uint32_t>(step);
    }
  }
  bool writes_operand(const State& s, std::uint32_t i) {
    const Cell* to = cells(s, s.vertex->dst, i, false).begin;
    return std::any_of(
        s.vertex->operands.begin(), s.vertex->operands.end(), [&](const Operand& operand) {
          return operand.place != Place::kView && cells(s, operand.place, i, true).begin == to;
        });
  }

  void end_transfer(Transfer& t) {
    if (t.send < 0) return end_move(t);
    State& from = states_[static_cast<std::size_t>(t.send)];
    State& to = states_[static_cast<std::size_t>(t.recv)];
    report_.bytes_received[static_cast<std::size_t>(to.plan->rank)] += bytes(to, t.recv_index);
    if (to.vertex->action == Action::kRecv) {
      const Range range = cells(to, to.vertex->dst, t.recv_index, false);
      for (std::uint64_t e = 0; e < range.elements; ++e) {
        range.begin[e].value = t.values[e];
        range.begin[e].writing = false;
        ++range.begin[e].arrivals;
      }
    } else {
      to.views[t.recv_index] = std::move(t.values);
      to.arrived[t.recv_index] = true;
    }
    const bool last = from.vertex->action == Action::kSend || --from.unread[t.send_index % 64] == 0;
    if (last) {
      for (Cell& cell : range_of(cells(from, from.vertex->src, t.send_index, true))) --cell.readers;
      complete(t.send, t.send_index);
    }
    complete(t.recv, t.recv_index);
  }

  void complete(std::int32_t id, std::uint32_t i) {
    State& s = states_[static_cast<std::size_t>(id)];
    s.done |= 1ull << (i - s.prefix);
    --s.in_flight;
    const int advance = std::countr_one(s.done);
    s.prefix += static_cast<std::uint32_t>(advance);
    s.done = advance == 64 ? 0 : s.done >> advance;
    s.started = advance == 64 ? 0 : s.started >> advance;
    enqueue(id);
    for (const std::uint16_t fed : s.vertex->feeds) enqueue(s.first_of_rank + fed);
  }

  Values read_operand(const State& s, const Operand& operand, std::uint32_t i) {
    if (operand.place != Place::kView) return read(s, operand.place, i);
    State& view = states_[static_cast<std::size_t>(s.first_of_rank + operand.vertex)];
    if (is_skipped(*view.plan, *view.vertex, i)) return {};
    if (!view.arrived[i]) fail("{} combines a view that is not there", name(s, i));
    if (operand.keeps) return view.views[i];
    view.arrived[i] = false;
    --view.held;
    return std::move(view.views[i]);
  }

  void combine(State& s, std::uint32_t i) {
    if (copies_to_itself(s, i)) return;
    Values sum = read_operand(s, s.vertex->operands.front(), i);
    for (std::size_t k = 1; k < s.vertex->operands.size(); ++k) {
      const Values more = read_operand(s, s.vertex->operands[k], i);
      for (std::size_t e = 0; e < sum.size() && report_.ok(); ++e) {
        if (e < more.size()) add(s, i, sum[e], more[e]);
      }
    }
    const Range to = writable(s, i);
    if (sum.size() != to.elements) fail("{} combines {} elements", name(s, i), sum.size());
    for (std::size_t e = 0; e < sum.size() && report_.ok(); ++e) to.begin[e].value = sum[e];
  }

  // What stands in its place already is not written.
  bool copies_to_itself(const State& s, std::uint32_t i) {
    const std::vector<Operand>& operands = s.vertex->operands;
    if (operands.size() != 1 || operands[0].place == Place::kView) return false;
    return cells(s, operands[0].place, i, true).begin == cells(s, s.vertex->dst, i, false).begin;
  }

  void add(const State& s, std::uint32_t i, Value& sum, const Value& value) {
    if (value.element != sum.element) {
      fail("{} combines different elements", name(s, i));
    } else if (value.first != (sum.first + sum.length) % size() ||
               sum.length + value.length > size()) {
      fail("{} combines ranks {}+{} with {}+{}", name(s, i), sum.first, sum.length, value.first,
           value.length);
    } else {
      sum.length += value.length;
    }
  }

  // ---- order of completion ----

  std::uint64_t random(std::uint64_t below) { return splitmix64(random_) % below; }

  void execute() {
    for (std::size_t id = 0; id < states_.size(); ++id) enqueue(static_cast<std::int32_t>(id));
    settle();
    while (report_.ok() && (!transfers_.empty() || !starved_.empty())) {
      if (schedule_.order == Order::kRounds) {
        execute_round();
      } else {
        Transfer next = take();
        end_transfer(next);
      }
      settle();
    }
  }

  Transfer take() {
    std::vector<Transfer>& from = transfers_.empty() ? starved_ : transfers_;
    std::size_t at = from.size() - 1;
    if (schedule_.order == Order::kFifo) at = taken_;
    if (schedule_.order == Order::kRandom || schedule_.order == Order::kStarve) {
      at = static_cast<std::size_t>(random(from.size()));
    }
    Transfer t = std::move(from[at]);
    if (schedule_.order == Order::kFifo) {
      if (++taken_ == from.size()) {
        from.clear();
        taken_ = 0;
      }
    } else {
      if (at + 1 != from.size()) from[at] = std::move(from.back());
      from.pop_back();
    }
    return t;
  }

  // Each vertex takes part in one transfer, low indices first; a publication is read by any number.
  void execute_round() {
    const std::uint64_t round = ++report_.rounds;
    std::vector<Transfer> chosen;
    std::vector<Transfer> later;
    std::stable_sort(
        transfers_.begin(), transfers_.end(),
        [](const Transfer& a, const Transfer& b) { return a.recv_index < b.recv_index; });
    for (Transfer& t : transfers_) {
      if (t.send < 0) {
        chosen.push_back(std::move(t));
        continue;
      }
      State& from = states_[static_cast<std::size_t>(t.send)];
      State& to = states_[static_cast<std::size_t>(t.recv)];
      const bool many = from.vertex->action == Action::kPublish;
      const bool free = to.busy_round != round && (many || from.busy_round != round);
      (free ? chosen : later).push_back(t);
      if (!free) continue;
      to.busy_round = round;
      if (!many) from.busy_round = round;
    }
    transfers_ = std::move(later);
    for (Transfer& t : chosen) end_transfer(t);
  }

  // ---- the end ----

  void check_completion() {
    for (const State& s : states_) {
      if (!s.complete()) fail("deadlock: {} does not complete", name(s, s.prefix));
      if (s.held > 0) fail("{} is not released", name(s, 0));
    }
  }

  void check_result() {
    const CollectiveTraits& traits = traits_of(request_.collective);
    if (size() == 1 && traits.output == Extent::kNone) return;
    if (size() == 1 && request_.collective == Collective::kExscan) return;
    for (std::size_t r = 0; r < plans_.size() && report_.ok(); ++r) {
      if (!results_.has_output(r)) continue;
      for (std::uint32_t b = 0; b < output(r).blocks; ++b) check_block(r, b);
      check_gaps(r);
    }
  }

  void check_block(std::size_t r, std::uint32_t b) {
    const Layout& layout = output(r);
    const CollectiveTraits& traits = traits_of(request_.collective);
    const Place place = results_.output(r);
    for (std::uint64_t e = 0; e < layout.length(b); ++e) {
      const Cell& c = *memories_[r].at(place, layout.begin(b) + e);
      const Value wanted = results_.expected(r, b, e, memories_[r].in_place);
      if (!(c.value == wanted)) {
        fail("rank {} block {} element {}: contributions {}+{} instead of {}+{}", r, b, e,
             c.value.first, c.value.length, wanted.first, wanted.length);
      }
      if (!results_.arrives_once() || plans_[r].packs_output) continue;
      const bool arrives =
          !traits.root_gets && !results_.makes(static_cast<std::int32_t>(r), layout.begin(b) + e);
      if (c.arrivals != (arrives && size() > 1 ? 1 : 0)) {
        fail("rank {} block {} element {} arrived {} times", r, b, e, c.arrivals);
      }
    }
  }

  // What lies between blocks belongs to the user.
  void check_gaps(std::size_t r) {
    if (memories_[r].in_place && replaces_blocks(request_.collective)) return;  // all is given up
    std::vector<Cell>& cells = memories_[r].buffers[buffer_of(results_.output(r))];
    std::vector<bool> used(cells.size(), false);
    for (std::uint32_t b = 0; b < output(r).blocks; ++b) {
      for (std::uint64_t e = 0; e < output(r).length(b); ++e) used[output(r).begin(b) + e] = true;
    }
    for (std::size_t at = 0; at < cells.size(); ++at) {
      if (!used[at] && cells[at].value.length != 0) fail("rank {}: a gap at {} is written", r, at);
    }
  }

  const std::vector<Plan> own_plans_;  // or none
  const std::vector<Plan>& plans_;
  const PlanRequest& request_;
  const Schedule& schedule_;
  Results results_;
  std::uint64_t random_;
  Report report_;
  std::vector<State> states_;
  std::vector<Memory> memories_;  // by rank
  std::vector<std::int32_t> queue_;
  std::vector<Transfer> transfers_, starved_;
  std::size_t taken_ = 0;  // kFifo: transfers before this one are done
};

}  // namespace

Report check(const std::vector<Plan>& plans, const PlanRequest& request, const Schedule& schedule) {
  return Interpreter(plans, request, schedule).run();
}

}  // namespace espalier::plan_check
