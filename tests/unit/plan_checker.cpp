#include "tests/unit/plan_checker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "core/prng.hpp"
#include "tests/unit/plan_checker_state.hpp"

namespace espalier::plan_check {
namespace {

class Interpreter {
 public:
  Interpreter(const std::vector<Plan>& plans, const PlanRequest& request, const Schedule& schedule)
      : plans_(plans), request_(request), schedule_(schedule), random_(schedule.seed) {}

  Report run() {
    report_.bytes_sent.assign(plans_.size(), 0);
    report_.bytes_received.assign(plans_.size(), 0);
    check_partition();
    make_states();
    make_cells();
    wire_flows();
    if (report_.ok()) execute();
    if (report_.ok()) check_completion();
    if (report_.ok()) check_result();
    return std::move(report_);
  }

 private:
  std::int32_t size() const { return static_cast<std::int32_t>(plans_.size()); }
  const Partition& partition() const { return plans_[0].partition; }
  std::uint64_t segments() const {
    return static_cast<std::uint64_t>(partition().blocks) * partition().pieces;
  }
  static std::uint64_t segment(const State& s, std::uint32_t i) {
    return static_cast<std::uint64_t>(s.plan->block(*s.vertex, i)) * s.plan->partition.pieces +
           s.plan->piece(*s.vertex, i);
  }
  static std::uint64_t bytes(const State& s, std::uint32_t i) {
    return s.plan->length_elements(*s.vertex, i) * s.plan->partition.element_bytes;
  }

  template <typename... Arguments>
  void fail(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    if (report_.ok()) report_.error = fmt::format(format, std::forward<Arguments>(arguments)...);
  }
  std::string name(const State& s, std::uint32_t i) const {
    return fmt::format("rank {} v{}[{}]", s.plan->rank, s.vertex - s.plan->vertices.data(), i);
  }

  // ---- set-up ----

  // The segments tile the message.
  void check_partition() {
    const Partition& p = partition();
    std::uint64_t at = 0;
    for (std::uint32_t b = 0; b < p.blocks; ++b) {
      for (std::uint32_t k = 0; k < p.pieces; ++k) {
        if (p.begin(b, k) != at)
          fail("block {} piece {} begins at {}, not {}", b, k, p.begin(b, k), at);
        if (p.length(b, k) > p.piece_elements) fail("block {} piece {} is too long", b, k);
        at += p.length(b, k);
      }
    }
    if (at != p.elements) fail("the segments hold {} of {} elements", at, p.elements);
    for (const Plan& plan : plans_) {
      if (!(plan.partition == p)) fail("rank {} cuts the message differently", plan.rank);
    }
  }

  void make_states() {
    for (const Plan& plan : plans_) {
      const auto first = static_cast<std::int32_t>(states_.size());
      for (const Vertex& v : plan.vertices) {
        State& s = states_.emplace_back();
        s.plan = &plan;
        s.vertex = &v;
        s.first_of_rank = first;
        if (v.action == Action::kRecvView) s.views.resize(v.count);
        if (v.action == Action::kPublish) s.unread.resize(64);
        const std::size_t peers = v.action == Action::kPublish ? v.peers.size() : v.count / v.inner;
        if (v.action != Action::kCombine) s.ends.resize(peers);
      }
    }
  }

  void make_cells() {
    const std::uint64_t n = segments();
    input_.resize(n * plans_.size());
    if (!schedule_.in_place) output_.resize(n * plans_.size());
    for (std::int32_t r = 0; r < size(); ++r) {
      slots_ = std::max<std::uint64_t>(slots_, plans_[static_cast<std::size_t>(r)].scratch_slots);
      const bool bcast = request_.collective == Collective::kBcast;
      if (bcast && r != request_.root) continue;
      for (std::uint64_t g = 0; g < n; ++g) {
        std::vector<Cell>& home = bcast && !schedule_.in_place ? output_ : input_;
        home[static_cast<std::uint64_t>(r) * n + g].value = {r, 1, g};
      }
    }
    scratch_.resize(slots_ * plans_.size());
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
          const auto base =
              v.action == Action::kPublish ? 0u : static_cast<std::uint32_t>(k) * v.inner;
          const std::int32_t peer =
              v.action == Action::kPublish ? v.peers[k] : s.plan->peer(v, base);
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
        fail("{} has no counterpart", name(s, self.base));
      } else {
        compare_ends(s, self, states_[static_cast<std::size_t>(theirs.state)], theirs);
      }
    });
  }

  void compare_ends(const State& a, End at_a, const State& b, End at_b) {
    if (a.vertex->inner != b.vertex->inner) {
      fail("{} and {} differ in segments per peer", name(a, at_a.base), name(b, at_b.base));
      return;
    }
    for (std::uint32_t k = 0; k < a.vertex->inner; ++k) {
      if (segment(a, at_a.base + k) != segment(b, at_b.base + k) ||
          bytes(a, at_a.base + k) != bytes(b, at_b.base + k)) {
        fail("{} and {} speak of different segments", name(a, at_a.base + k),
             name(b, at_b.base + k));
        return;
      }
    }
  }

  // ---- memory ----

  Cell& cell(const State& s, Place place, std::uint32_t i) {
    const auto rank = static_cast<std::uint64_t>(s.plan->rank);
    if (place == Place::kScratch) return scratch_[rank * slots_ + i % s.plan->scratch_slots];
    const bool input =
        place == Place::kInput || (place == Place::kAccumulator && i < s.vertex->inner);
    std::vector<Cell>& cells = input || schedule_.in_place ? input_ : output_;
    return cells[rank * segments() + segment(s, i)];
  }

  const Value& read(const State& s, Place place, std::uint32_t i) {
    const Cell& from = cell(s, place, i);
    if (from.writing) fail("{} reads a place that is being written", name(s, i));
    if (from.value.length == 0) fail("{} reads before anything is there", name(s, i));
    if (from.value.segment != segment(s, i)) fail("{} reads another segment", name(s, i));
    return from.value;
  }

  void assert_writable(const State& s, const Cell& to, std::uint32_t i) {
    if (to.writing) fail("{} writes a place that is being written", name(s, i));
    if (to.readers > 0) fail("{} overwrites a place that is being sent", name(s, i));
  }

  // ---- execution ----

  // Which of the indices at..at+63 of `s` are complete; indices that do not exist count as such.
  static std::uint64_t done_from(const State& s, std::int64_t at) {
    const std::int64_t low = static_cast<std::int64_t>(s.prefix) - at;          // bits below: done
    const std::int64_t high = static_cast<std::int64_t>(s.vertex->count) - at;  // bits from: none
    std::uint64_t mask = low >= 64 ? ~0ull : low > 0 ? (1ull << low) - 1 : 0;
    if (low > -64 && low < 64) mask |= low >= 0 ? s.done << low : s.done >> -low;
    if (high < 64) mask |= high <= 0 ? ~0ull : ~0ull << high;
    return mask;
  }

  std::uint64_t startable(const State& s) const {
    const std::uint32_t left = s.vertex->count - s.prefix;
    std::uint64_t mask = ~s.started & (left >= 64 ? ~0ull : (1ull << left) - 1);
    const std::uint64_t first = mask & (~mask + 1);
    for (const Dependency& need : s.vertex->needs) {
      const State& other = states_[static_cast<std::size_t>(s.first_of_rank + need.vertex)];
      mask &= done_from(other, static_cast<std::int64_t>(s.prefix) - need.shift);
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
    switch (v.action) {
      case Action::kCombine:
        combine(s, i);
        complete(id, i);
        return;
      case Action::kRecvView:
        if (++s.held > v.window) fail("{} holds more views than its window", name(s, i));
        break;
      case Action::kRecv:
        break;
      default:
        read(s, v.src, i);
        ++cell(s, v.src, i).readers;
        report_.bytes_sent[static_cast<std::size_t>(s.plan->rank)] += bytes(s, i);
        if (v.action == Action::kPublish)
          s.unread[i % 64] = static_cast<std::uint32_t>(v.peers.size());
    }
    meet(id, s, i);
  }

  // Makes transfers of what has now been posted at both ends.
  void meet(std::int32_t id, State& s, std::uint32_t i) {
    const std::uint32_t inner = s.vertex->inner;
    const std::size_t peers = s.vertex->action == Action::kPublish ? s.ends.size() : 1;
    for (std::size_t k = 0; k < peers; ++k) {
      const End end = s.ends[s.vertex->action == Action::kPublish ? k : i / inner];
      State& other = states_[static_cast<std::size_t>(end.state)];
      const std::uint32_t j = end.base + i % inner;
      if (j < other.prefix || j - other.prefix >= 64) continue;
      const std::uint64_t bit = 1ull << (j - other.prefix);
      if ((other.started & ~other.done & bit) == 0) continue;
      if (sends(*s.vertex)) {
        begin_transfer({id, i, end.state, j, {}});
      } else {
        begin_transfer({end.state, j, id, i, {}});
      }
    }
  }

  void begin_transfer(Transfer t) {
    State& from = states_[static_cast<std::size_t>(t.send)];
    State& to = states_[static_cast<std::size_t>(t.recv)];
    t.value = cell(from, from.vertex->src, t.send_index).value;
    if (to.vertex->action == Action::kRecv) {
      Cell& place = cell(to, to.vertex->dst, t.recv_index);
      assert_writable(to, place, t.recv_index);
      place.writing = true;
    }
    const bool starved = from.plan->rank == schedule_.starved || to.plan->rank == schedule_.starved;
    (schedule_.order == Order::kStarve && starved ? starved_ : transfers_).push_back(t);
  }

  void end_transfer(const Transfer& t) {
    State& from = states_[static_cast<std::size_t>(t.send)];
    State& to = states_[static_cast<std::size_t>(t.recv)];
    report_.bytes_received[static_cast<std::size_t>(to.plan->rank)] += bytes(to, t.recv_index);
    if (to.vertex->action == Action::kRecv) {
      Cell& place = cell(to, to.vertex->dst, t.recv_index);
      place.value = t.value;
      place.writing = false;
      ++place.arrivals;
    } else {
      to.views[t.recv_index] = t.value;
    }
    const bool last = from.vertex->action == Action::kSend || --from.unread[t.send_index % 64] == 0;
    if (last) {
      --cell(from, from.vertex->src, t.send_index).readers;
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

  Value read_operand(const State& s, const Operand& operand, std::uint32_t i) {
    if (operand.place != Place::kView) return read(s, operand.place, i);
    State& view = states_[static_cast<std::size_t>(s.first_of_rank + operand.vertex)];
    const Value value = view.views[i];
    if (value.length == 0) fail("{} combines a view that is not there", name(s, i));
    view.views[i] = {};
    --view.held;
    return value;
  }

  void combine(State& s, std::uint32_t i) {
    Value sum;
    for (const Operand& operand : s.vertex->operands) {
      const Value value = read_operand(s, operand, i);
      if (sum.length == 0) {
        sum = value;
      } else if (value.segment != sum.segment) {
        fail("{} combines different segments", name(s, i));
      } else if (value.first != (sum.first + sum.length) % size() ||
                 sum.length + value.length > size()) {
        fail("{} combines ranks {}+{} with {}+{}", name(s, i), sum.first, sum.length, value.first,
             value.length);
      } else {
        sum.length += value.length;
      }
    }
    if (sum.segment != segment(s, i)) fail("{} combines another segment", name(s, i));
    Cell& to = cell(s, s.vertex->dst, i);
    assert_writable(s, to, i);
    to.value = sum;
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
        end_transfer(take());
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
    const Transfer t = from[at];
    if (schedule_.order == Order::kFifo) {
      if (++taken_ == from.size()) {
        from.clear();
        taken_ = 0;
      }
    } else {
      from[at] = from.back();
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
    for (const Transfer& t : transfers_) {
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
    for (const Transfer& t : chosen) end_transfer(t);
  }

  // ---- the end ----

  void check_completion() {
    for (const State& s : states_) {
      if (!s.complete()) fail("deadlock: {} does not complete", name(s, s.prefix));
      if (s.held > 0) fail("{} is not released", name(s, 0));
    }
  }

  // Who makes segment g of the result, and the rank its combination begins with.
  std::int32_t maker(std::uint64_t g) const {
    if (request_.collective == Collective::kBcast || request_.collective == Collective::kReduce) {
      return request_.root;
    }
    if (request_.algorithm == ESP_ALGORITHM_SPREAD) {
      return static_cast<std::int32_t>(g / partition().pieces);
    }
    if (!request_.nodes.spread) return 0;
    const auto count = static_cast<std::uint64_t>(request_.nodes.nodes->count());
    return request_.nodes.nodes->begin[g % count];
  }
  // Every head makes the result of an exchange. Members are numbered in the order of nodes here.
  bool makes(std::int32_t r, std::uint64_t g) const {
    if (request_.nodes.exchange_radix == 0) return r == maker(g);
    const std::vector<std::int32_t>& heads = request_.nodes.nodes->begin;
    return std::binary_search(heads.begin(), heads.end(), r);
  }
  Value expected(std::uint64_t g) const {
    if (request_.collective == Collective::kBcast) return {request_.root, 1, g};
    return {request_.commutative ? maker(g) : 0, size(), g};
  }

  void check_result() {
    const std::vector<Cell>& cells = schedule_.in_place ? input_ : output_;
    const bool everywhere = request_.collective != Collective::kReduce;
    const bool moves_nothing = size() == 1 && (request_.collective == Collective::kBarrier);
    for (std::int32_t r = 0; r < size() && !moves_nothing; ++r) {
      for (std::uint64_t g = 0; g < segments(); ++g) {
        const Cell& c = cells[static_cast<std::uint64_t>(r) * segments() + g];
        const bool has_result = everywhere || r == request_.root;
        if (has_result && !(c.value == expected(g))) {
          fail("rank {} segment {}: contributions {}+{} instead of {}+{}", r, g, c.value.first,
               c.value.length, expected(g).first, expected(g).length);
        }
        const std::uint32_t arrivals = everywhere && !makes(r, g) ? 1 : 0;
        if (c.arrivals != arrivals) fail("rank {} segment {} arrived {} times", r, g, c.arrivals);
      }
    }
  }

  const std::vector<Plan>& plans_;
  const PlanRequest& request_;
  const Schedule& schedule_;
  std::uint64_t random_;
  Report report_;
  std::vector<State> states_;
  std::vector<Cell> input_, output_, scratch_;  // rank-major
  std::uint64_t slots_ = 0;
  std::vector<std::int32_t> queue_;
  std::vector<Transfer> transfers_, starved_;
  std::size_t taken_ = 0;  // kFifo: transfers before this one are done
};

}  // namespace

Report check(const std::vector<Plan>& plans, const PlanRequest& request, const Schedule& schedule) {
  return Interpreter(plans, request, schedule).run();
}

}  // namespace espalier::plan_check
