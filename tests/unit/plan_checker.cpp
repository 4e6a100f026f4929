#include "tests/unit/plan_checker.hpp"

#include <algorithm>
#include <bit>
#include <span>

#include "core/prng.hpp"
#include "tests/unit/plan_checker_run.hpp"

namespace espalier::plan_check {
namespace {

// A barrier is a reduction of nothing: it is looked at as one of an element.
std::vector<Plan> with_an_element(const std::vector<Plan>& plans, const PlanRequest& request) {
  if (request.collective != Collective::kBarrier) return {};
  std::vector<Plan> copies = plans;
  for (Plan& plan : copies) {
    for (Layout& layout : plan.layouts) layout.elements = 1;
  }
  return copies;
}

class Interpreter : Run {
 public:
  Interpreter(const std::vector<Plan>& of, const PlanRequest& call, const Schedule& order)
      : Run(of, call, order), random_(order.seed) {}

  Report run() {
    make_memory();
    pair_flows();
    if (report.ok()) execute();
    if (report.ok()) check_completion();
    if (report.ok()) check_result();
    return std::move(report);
  }

 private:
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
      const State& other = states[static_cast<std::size_t>(s.first_of_rank + need.vertex)];
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
    return schedule.in_order_posts ? mask & first : mask;
  }

  void enqueue(std::int32_t id) {
    State& s = states[static_cast<std::size_t>(id)];
    if (s.queued) return;
    s.queued = true;
    queue_.push_back(id);
  }

  // Starts all that may start, until nothing changes.
  void settle() {
    while (!queue_.empty() && report.ok()) {
      const std::int32_t id = queue_.back();
      queue_.pop_back();
      State& s = states[static_cast<std::size_t>(id)];
      s.queued = false;
      while (s.in_flight < s.vertex->window && !s.complete() && report.ok()) {
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
        if (schedule.late_moves) return begin_move(id, s, i);
        combine(s, i);
        complete(id, i);
        return;
      case Action::kAwait:
        transfers_.push_back({-1, 0, id, i, {}});  // opened when its turn comes
        return;
      case Action::kDeliver:
        for (Cell& cell : range_of(readable(s, v.src, i))) ++cell.deliveries;
        complete(id, i);
        return;
      case Action::kRecvView:
        if (++s.held > v.window) fail("{} holds more views than its window", name(s, i));
        break;
      case Action::kRecv:
        break;
      default:
        for (Cell& from : range_of(readable(s, v.src, i))) ++from.readers;
        report.bytes_sent[static_cast<std::size_t>(s.plan->rank)] += bytes(s, i);
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
        if (many && schedule.all_or_none) return publish(id, i);
        begin_transfer({id, i, end.state, j, {}});
      } else if (schedule.all_or_none && publishes(end.state)) {
        publish(end.state, j);
      } else {
        begin_transfer({end.state, j, id, i, {}});
      }
    }
  }

  bool publishes(std::int32_t id) const {
    return states[static_cast<std::size_t>(id)].vertex->action == Action::kPublish;
  }
  bool is_posted(std::int32_t id, std::uint32_t i) const {
    const State& s = states[static_cast<std::size_t>(id)];
    if (i < s.prefix || i - s.prefix >= 64) return false;
    return (s.started & ~s.done & 1ull << (i - s.prefix)) != 0;
  }
  // To all readers, if they are there.
  void publish(std::int32_t id, std::uint32_t i) {
    const std::vector<End>& readers = states[static_cast<std::size_t>(id)].ends;
    const bool all = std::all_of(readers.begin(), readers.end(), [&](const End& reader) {
      return is_posted(reader.state, reader.base + i);
    });
    if (!all) return;
    for (const End& reader : readers) begin_transfer({id, i, reader.state, reader.base + i, {}});
  }

  static std::span<Cell> range_of(const Range& range) { return {range.begin, range.elements}; }

  void begin_transfer(Transfer t) {
    State& from = states[static_cast<std::size_t>(t.send)];
    State& to = states[static_cast<std::size_t>(t.recv)];
    const Range source = cells(from, from.vertex->src, t.send_index, true);
    t.values.reserve(source.elements);
    for (const Cell& cell : range_of(source)) {
      t.values.push_back(cell.value);
    }
    if (to.vertex->action == Action::kRecv) {
      for (Cell& cell : range_of(writable(to, t.recv_index))) cell.writing = true;
    }
    const bool starved = from.plan->rank == schedule.starved || to.plan->rank == schedule.starved;
    (schedule.order == Order::kStarve && starved ? starved_ : transfers_).push_back(std::move(t));
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
    State& s = states[static_cast<std::size_t>(t.recv)];
    const std::uint32_t i = t.recv_index;
    if (s.vertex->action == Action::kAwait) {
      for (Cell& cell : range_of(cells(s, s.vertex->src, i, true))) cell.closed = false;
      complete(t.recv, i);
      return;
    }
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
    State& from = states[static_cast<std::size_t>(t.send)];
    State& to = states[static_cast<std::size_t>(t.recv)];
    report.bytes_received[static_cast<std::size_t>(to.plan->rank)] += bytes(to, t.recv_index);
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
    const bool is_held = to.vertex->action == Action::kRecvView || to.vertex->stays;
    const bool is_empty = bytes(to, t.recv_index) == 0;
    if (schedule.holds_views && is_held && !is_empty && !from.vertex->leaves) {
      to.holds.push_back({t.recv_index, t.send, t.send_index});
    } else {
      end_send(t.send, t.send_index);
    }
    complete(t.recv, t.recv_index);
  }

  // One reader has it.
  void end_send(std::int32_t id, std::uint32_t i) {
    State& from = states[static_cast<std::size_t>(id)];
    if (from.vertex->action == Action::kPublish && --from.unread[i % 64] > 0) return;
    for (Cell& cell : range_of(cells(from, from.vertex->src, i, true))) --cell.readers;
    complete(id, i);
  }
  // What was read in its sender's memory is not read any more.
  void let_go(State& view, std::uint32_t i) {
    const auto held = std::find_if(view.holds.begin(), view.holds.end(),
                                   [&](const Hold& hold) { return hold.index == i; });
    if (held == view.holds.end()) return;
    const Hold hold = *held;
    view.holds.erase(held);
    end_send(hold.send, hold.send_index);
  }

  void complete(std::int32_t id, std::uint32_t i) {
    State& s = states[static_cast<std::size_t>(id)];
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
    if (operand.stays && !operand.keeps) {
      let_go(states[static_cast<std::size_t>(s.first_of_rank + operand.vertex)], i);
    }
    if (operand.place != Place::kView) return read(s, operand.place, i);
    State& view = states[static_cast<std::size_t>(s.first_of_rank + operand.vertex)];
    if (is_skipped(*view.plan, *view.vertex, i)) return {};
    if (i >= view.count() || !view.arrived[i]) {
      fail("{} combines a view that is not there", name(s, i));
      return {};
    }
    if (operand.keeps) return view.views[i];
    view.arrived[i] = false;
    --view.held;
    let_go(view, i);
    return std::move(view.views[i]);
  }

  void combine(State& s, std::uint32_t i) {
    if (copies_to_itself(s, i)) return;
    Values sum = read_operand(s, s.vertex->operands.front(), i);
    for (std::size_t k = 1; k < s.vertex->operands.size(); ++k) {
      const Values more = read_operand(s, s.vertex->operands[k], i);
      for (std::size_t e = 0; e < sum.size() && report.ok(); ++e) {
        if (e < more.size()) add(s, i, sum[e], more[e]);
      }
    }
    const Range to = writable(s, i);
    if (sum.size() != to.elements) fail("{} combines {} elements", name(s, i), sum.size());
    for (std::size_t e = 0; e < sum.size() && report.ok(); ++e) to.begin[e].value = sum[e];
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
    for (std::size_t id = 0; id < states.size(); ++id) enqueue(static_cast<std::int32_t>(id));
    settle();
    while (report.ok() && (!transfers_.empty() || !starved_.empty())) {
      if (schedule.order == Order::kRounds) {
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
    if (schedule.order == Order::kFifo) at = taken_;
    if (schedule.order == Order::kRandom || schedule.order == Order::kStarve) {
      at = static_cast<std::size_t>(random(from.size()));
    }
    Transfer t = std::move(from[at]);
    if (schedule.order == Order::kFifo) {
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
    const std::uint64_t round = ++report.rounds;
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
      State& from = states[static_cast<std::size_t>(t.send)];
      State& to = states[static_cast<std::size_t>(t.recv)];
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

  std::uint64_t random_;
  std::vector<std::int32_t> queue_;
  std::vector<Transfer> transfers_, starved_;
  std::size_t taken_ = 0;  // kFifo: transfers before this one are done
};

}  // namespace

Run::Run(const std::vector<Plan>& of, const PlanRequest& call, const Schedule& order)
    : own_plans(with_an_element(of, call)),
      plans(own_plans.empty() ? of : own_plans),
      request(call),
      schedule(order),
      results(plans, call, order.graph) {
  report.bytes_sent.assign(plans.size(), 0);
  report.bytes_received.assign(plans.size(), 0);
  for (const Plan& plan : plans) {
    const auto first = static_cast<std::int32_t>(states.size());
    for (const Vertex& v : plan.vertices) {
      State& s = states.emplace_back();
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

Report check(const std::vector<Plan>& plans, const PlanRequest& request, const Schedule& schedule) {
  return Interpreter(plans, request, schedule).run();
}

}  // namespace espalier::plan_check
