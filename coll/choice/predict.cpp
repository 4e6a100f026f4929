#include "coll/choice/predict.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <unordered_map>
#include <vector>

namespace espalier {
namespace {

constexpr std::int32_t kRanksMax = 1024;
constexpr std::uint64_t kIndicesMax = 1 << 20;
constexpr double kUnknown = std::numeric_limits<double>::infinity();

// A vertex of one rank.
struct State {
  const Plan* plan = nullptr;
  const Vertex* vertex = nullptr;
  std::size_t first = 0;      // state of the rank's first vertex
  std::uint32_t next = 0;     // the first index that has not begun
  std::vector<double> ended;  // by index
};

struct Turn {
  double ready;
  std::size_t state;
  std::uint32_t index;
  // Ties go by place, so that equal requests are predicted alike.
  bool operator<(const Turn& other) const {
    return std::tie(ready, state, index) > std::tie(other.ready, other.state, other.index);
  }
};

class Play {
 public:
  Play(const std::vector<Plan>& plans, const TeamNodes* nodes, const Costs& costs)
      : plans_(plans), nodes_(nodes), costs_(costs) {
    for (const Plan& plan : plans) {
      const std::size_t first = states_.size();
      for (const Vertex& v : plan.vertices) {
        states_.push_back({&plan, &v, first, 0, {}});
        states_.back().ended.assign(v.indices.count, kUnknown);
      }
    }
    ports_out_.assign(nodes != nullptr ? static_cast<std::size_t>(nodes->count()) : 1, 0);
    ports_in_ = ports_out_;
    const auto shared = ports_out_.size() * static_cast<std::size_t>(costs.cores);
    cores_.assign(costs.cores != 0 ? shared : plans.size(), 0);
  }

  std::optional<double> run() {
    for (std::size_t s = 0; s < states_.size(); ++s) advance(s);
    double end = 0;
    while (!turns_.empty()) {
      const Turn turn = turns_.top();
      turns_.pop();
      end = std::max(end, begin(turn));
    }
    for (const State& state : states_) {
      if (state.next < state.vertex->indices.count) return {};  // not a plan that completes
    }
    return end;
  }

 private:
  std::int32_t node_of(std::int32_t rank) const {
    return nodes_ != nullptr ? nodes_->node_of(rank) : 0;
  }
  // What goes to the network's group leaves the node also for members of the same one.
  bool is_inside(const State& s, std::int32_t peer) const {
    return node_of(peer) == node_of(s.plan->rank) && s.vertex->transfer.path != Path::kMulticast;
  }
  double& core_of(std::int32_t rank) {
    if (costs_.cores == 0) return cores_[static_cast<std::size_t>(rank)];
    const std::int32_t place = nodes_ != nullptr ? nodes_->place(rank) : rank;
    return cores_[static_cast<std::size_t>(node_of(rank) * costs_.cores + place % costs_.cores)];
  }
  static std::uint64_t bytes_of(const State& s, std::uint32_t i) {
    return s.plan->length_elements(*s.vertex, i) * s.plan->element_bytes;
  }
  static bool is_skipped(const State& s, std::uint32_t i) {
    const Vertex& v = *s.vertex;
    if (!v.skips_empty) return false;
    const bool has_peer = v.action != Action::kPublish && !is_local(v.action);
    return bytes_of(s, i) == 0 || (has_peer && s.plan->peer(v, i) == s.plan->rank);
  }
  std::uint64_t key(std::int32_t from, std::int32_t to, const State& s, std::uint32_t i) const {
    const auto ranks = static_cast<std::uint64_t>(plans_.size());
    const std::uint64_t pair =
        static_cast<std::uint64_t>(from) * ranks + static_cast<std::uint64_t>(to);
    return (pair << 8 | s.vertex->channel) << 32 | s.plan->position(*s.vertex, i).ordinal;
  }
  static bool receives(Action action) {
    return action == Action::kRecv || action == Action::kRecvView;
  }

  // When what index i needs is there; kUnknown: not known yet.
  double ready(std::size_t at, std::uint32_t i) {
    const State& s = states_[at];
    double ready = 0;
    for (const Dependency& need : s.vertex->needs) {
      const State& other = states_[s.first + need.vertex];
      if (need.whole) {
        const Indices theirs = other.vertex->indices;
        const std::uint32_t first =
            need.batch > 0 ? s.vertex->indices.before_batch(theirs, i, need.batch) : theirs.count;
        for (std::uint32_t k = 0; k < first; ++k) ready = std::max(ready, other.ended[k]);
        continue;
      }
      const std::int64_t k = static_cast<std::int64_t>(i) - need.distance(s.vertex->indices.inner);
      if (k < 0 || k >= static_cast<std::int64_t>(other.ended.size())) continue;
      ready = std::max(ready, other.ended[static_cast<std::size_t>(k)]);
    }
    if (!receives(s.vertex->action) || is_skipped(s, i)) return ready;
    const std::uint64_t flow = key(s.plan->peer(*s.vertex, i), s.plan->rank, s, i);
    const auto arrival = arrivals_.find(flow);
    if (arrival != arrivals_.end()) return std::max(ready, arrival->second);
    waiting_[flow] = at;
    return kUnknown;
  }

  void advance(std::size_t at) {
    State& s = states_[at];
    while (s.next < s.vertex->indices.count) {
      const double when = ready(at, s.next);
      if (when == kUnknown) return;
      turns_.push({when, at, s.next++});
    }
  }

  // Returns its end.
  double begin(const Turn& turn) {
    State& s = states_[turn.state];
    double end = turn.ready;
    if (!is_skipped(s, turn.index)) {
      double& core = core_of(s.plan->rank);
      end = std::max(core, turn.ready) + costs_.index;
      end = work(s, turn.index, end);
      core = end;
    }
    s.ended[turn.index] = end;
    for (const std::uint16_t fed : s.vertex->feeds) advance(s.first + fed);
    return end;
  }

  double work(const State& s, std::uint32_t i, double now) {
    const Vertex& v = *s.vertex;
    const auto bytes = static_cast<double>(bytes_of(s, i));
    switch (v.action) {
      case Action::kCombine: {
        const auto reads = static_cast<double>(v.operands.size());
        const bool copies = v.operands.size() == 1;
        return now +
               bytes * (copies ? costs_.inside.copy_per_byte : reads * costs_.combine_per_byte);
      }
      case Action::kSend:
        return send(s, i, s.plan->peer(v, i), bytes, now, true);
      case Action::kPublish: {
        if (v.transfer.path == Path::kMulticast) return multicast(s, i, bytes, now);
        bool first = true;  // of those of this node, who read one copy
        for (const std::int32_t peer : v.peers) {
          const bool inside = node_of(peer) == node_of(s.plan->rank);
          now = send(s, i, peer, bytes, now, !inside || first);
          first = first && !inside;
        }
        return now;
      }
      case Action::kRecv:
      case Action::kRecvView: {
        const bool inside = is_inside(s, s.plan->peer(v, i));
        const LinkCosts& link = inside ? costs_.inside : costs_.between;
        const bool view = v.action == Action::kRecvView;
        const bool pulls = inside && bytes > 0 && bytes >= static_cast<double>(costs_.pull_bytes);
        return now + link.message + (pulls ? costs_.pull_message : 0) +
               (view ? 0 : bytes * link.copy_per_byte);
      }
      default:
        return now;
    }
  }

  double send(const State& s, std::uint32_t i, std::int32_t peer, double bytes, double now,
              bool copies) {
    const std::int32_t me = s.plan->rank;
    const bool inside = node_of(peer) == node_of(me);
    const LinkCosts& link = inside ? costs_.inside : costs_.between;
    const bool pulled = inside && bytes >= static_cast<double>(costs_.pull_bytes);
    if (copies) now += link.message + (pulled ? 0 : bytes * link.copy_per_byte);
    arrive(s, i, peer, inside ? now : taken(peer, bytes, sent(me, bytes, now)));
    return now;
  }

  // To all readers by one message, which the port of each node takes.
  double multicast(const State& s, std::uint32_t i, double bytes, double now) {
    now += costs_.between.message + bytes * costs_.between.copy_per_byte;
    const double out = sent(s.plan->rank, bytes, now);
    std::unordered_map<std::int32_t, double> at_node = {{node_of(s.plan->rank), out}};
    for (const std::int32_t peer : s.vertex->peers) {
      const auto [known, is_new] = at_node.try_emplace(node_of(peer), 0);
      if (is_new) known->second = taken(peer, bytes, out);
      arrive(s, i, peer, known->second);
    }
    return now;
  }

  // When it has left the port of the rank's node, and when it is in that of another.
  double sent(std::int32_t rank, double bytes, double now) {
    double& out = ports_out_[static_cast<std::size_t>(node_of(rank))];
    return out = std::max(out, now) + busy(bytes);
  }
  double taken(std::int32_t rank, double bytes, double out) {
    double& in = ports_in_[static_cast<std::size_t>(node_of(rank))];
    return in = std::max(in + busy(bytes), out);
  }
  double busy(double bytes) const {
    return std::max(costs_.between.port_message, bytes * costs_.between.port_per_byte);
  }

  void arrive(const State& s, std::uint32_t i, std::int32_t peer, double at_port) {
    const std::int32_t me = s.plan->rank;
    const LinkCosts& link = is_inside(s, peer) ? costs_.inside : costs_.between;
    const double arrival = at_port + link.latency + (costs_.cores != 0 ? costs_.turn : 0);
    const std::uint64_t flow = key(me, peer, s, i);
    arrivals_[flow] = arrival;
    if (const auto waiter = waiting_.find(flow); waiter != waiting_.end()) {
      const std::size_t at = waiter->second;
      waiting_.erase(waiter);
      advance(at);
    }
  }

  const std::vector<Plan>& plans_;
  const TeamNodes* nodes_;
  const Costs& costs_;
  std::vector<State> states_;
  std::vector<double> cores_, ports_out_, ports_in_;  // when they are free
  std::priority_queue<Turn> turns_;
  std::unordered_map<std::uint64_t, double> arrivals_;
  std::unordered_map<std::uint64_t, std::size_t> waiting_;
};

}  // namespace

std::optional<double> predict(const PlanRequest& request, const Costs& costs) {
  if (request.size > kRanksMax || is_irregular(request.collective) ||
      traits_of(request.collective).neighbors || request.variant != ESP_VARIANT_EVENT) {
    return {};
  }
  std::vector<Plan> plans;
  std::uint64_t indices = 0;
  for (std::int32_t rank = 0; rank < request.size; ++rank) {
    PlanRequest own = request;
    own.rank = rank;
    own.packs_input = own.packs_output = own.moves = own.shares = own.direct = own.combines = false;
    auto plan = make_plan(own);
    if (!plan) return {};
    for (const Vertex& v : plan->vertices) {
      indices += std::uint64_t{v.indices.count} * std::max<std::size_t>(1, v.peers.size());
    }
    if (indices > kIndicesMax) return {};
    plans.push_back(std::move(*plan));
  }
  return Play(plans, request.nodes.nodes, costs).run();
}

}  // namespace espalier
