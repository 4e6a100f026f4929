// Allreduces over several nodes: up inside each node, between the heads, down inside each node.
// Safe in place as all of them (allreduce.cpp).
#include "coll/algorithms/builder.hpp"
#include "coll/algorithms/exchange_steps.hpp"
#include "core/assert.hpp"

namespace espalier {
namespace {

// What a flow is for, in a node up and down and between heads: the channel of an exchange.
enum Use : std::uint8_t { kUp, kAcross, kDown };

// Combines the sums of these heads in their order into kOutput: the own one stands in `sum`, `made`
// by this vertex (kNoVertex: it is the input) and under way by `sends`; the others come. Whoever
// combines the same heads has the same bits.
VertexId combine_heads(Builder& builder, const Lane& lane, const std::vector<std::int32_t>& heads,
                       Place sum, VertexId made, const std::vector<VertexId>& sends = {}) {
  Vertex combine = transfer(lane, Action::kCombine, -1, builder.window_recv());
  combine.dst = Place::kOutput;
  std::vector<VertexId> views;
  for (const std::int32_t head : heads) {
    if (head == builder.request().rank) {
      combine.operands.push_back({sum, 0});
      continue;
    }
    views.push_back(builder.add(transfer(lane, Action::kRecvView, head, builder.window_recv())));
    combine.operands.push_back({Place::kView, views.back()});
  }
  const VertexId id = builder.add(std::move(combine));
  for (const VertexId view : views) {
    builder.need(id, view);
    builder.need(view, id, builder.window_recv());
  }
  for (const VertexId send : sends) builder.need(id, send);
  if (made != kNoVertex) builder.need(id, made);
  return id;
}

// A step: the heads of a group send each other their sums.
//
//   own sum --> send to each other head --\ (kOutput may not be written before they are out)
//         \--------------------------------> combine --> next step, or down
//   view of each other head --------------/
VertexId add_step(Builder& builder, const Lane& lane, const std::vector<std::int32_t>& group,
                  VertexId made) {
  const Place sum = made == kNoVertex ? Place::kInput : Place::kOutput;
  std::vector<VertexId> sends;
  for (const std::int32_t head : group) {
    if (head == builder.request().rank) continue;
    Vertex send = transfer(lane, Action::kSend, head, builder.window_send());
    send.src = sum;
    send.leaves = true;  // All of the group wait for theirs before they combine.
    sends.push_back(builder.add(std::move(send)));
    if (made != kNoVertex) builder.need_source(sends.back(), made);
  }
  return combine_heads(builder, lane, group, sum, made, sends);
}

// After step k every head has the sum of a run of nodes: as many as the steps so far reach.
VertexId add_exchange(Builder& builder, const Lane& up, const Reduced& reduced) {
  Lane across = up;
  across.channel = kAcross;
  const PlanRequest& request = builder.request();
  const TeamNodes& nodes = *request.nodes.nodes;
  const std::int32_t mine = nodes.node_of(request.rank);
  const ExchangeSteps steps = exchange_steps(nodes.count(), request.nodes.exchange_radix);
  VertexId made = reduced.combine;
  std::int32_t run = 1;
  for (std::size_t k = 0; k < steps.count; ++k) {
    const std::int32_t digit = mine / run % steps.groups[k];
    std::vector<std::int32_t> group;
    for (std::int32_t d = 0; d < steps.groups[k]; ++d) {
      group.push_back(nodes.head(mine + (d - digit) * run));
    }
    made = add_step(builder, across, group, made);
    run *= steps.groups[k];
  }
  return made;
}

// Reduce-scatter and allgather between heads. Lane k holds every n-th of the segments, n nodes,
// from the k-th on; the head of node k combines them.
//
//   other head: own sum --> send --> owner: view --\                                          .
//   owner:      own sum ----------------------------> combine --> send --> other head: recv
//
// A head's sum stands in kOutput, or in kInput if it is alone. Its place is written by the result
// alone, which is made of it.
class NodeSpread {
 public:
  explicit NodeSpread(const PlanRequest& request)
      : builder_(request),
        nodes_(*request.nodes.nodes),
        me_(request.rank),
        inside_(tree_node_inside({.size = request.size, .nodes = request.nodes}, request.rank)) {
    ESP_ASSERT(nodes_.count() <= kSpreadNodesMax);
  }

  Result<Plan> make() {
    const std::int32_t mine = nodes_.node_of(me_);
    for (std::int32_t k = 0; k < nodes_.count(); ++k) add_lane((mine + k) % nodes_.count());
    return builder_.finish();
  }

 private:
  // Of the flows of a lane. Two heads use a lane in one direction to its owner, and in the other
  // for its result.
  std::uint8_t channel(Use use, std::int32_t lane) const {
    return static_cast<std::uint8_t>(use * kSpreadNodesMax + lane);
  }
  std::int32_t owner(std::int32_t lane) const { return nodes_.head(lane); }

  void add_lane(std::int32_t k) {
    const auto first = static_cast<std::uint32_t>(k);
    const auto stride = static_cast<std::uint32_t>(nodes_.count());
    if (first >= builder_.pieces()) return;
    Lane lane{.node = inside_,
              .channel = channel(kUp, k),
              .piece = first,
              .stride = stride,
              .count = (builder_.pieces() - first + stride - 1) / stride};
    Reduced reduced = add_reduction(builder_, lane);
    if (inside_.parent < 0) {
      lane.channel = channel(kAcross, k);
      reduced.combine = owner(k) == me_ ? add_owned(lane, reduced) : add_lent(lane, k, reduced);
    }
    lane.channel = channel(kDown, k);
    add_broadcast(builder_, lane, reduced);
  }

  Vertex across(const Lane& lane, Action action, std::int32_t peer) const {
    const bool sends = action == Action::kSend;
    return transfer(lane, action, peer, sends ? builder_.window_send() : builder_.window_recv());
  }

  static Place sum_of(const Reduced& reduced) {
    return reduced.combine == kNoVertex ? Place::kInput : Place::kOutput;
  }

  VertexId add_owned(const Lane& lane, const Reduced& reduced) {
    std::vector<std::int32_t> heads;
    for (std::int32_t n = 0; n < nodes_.count(); ++n) heads.push_back(nodes_.head(n));
    const VertexId id = combine_heads(builder_, lane, heads, sum_of(reduced), reduced.combine);
    for (const std::int32_t head : heads) {
      if (head == me_) continue;
      Vertex send = across(lane, Action::kSend, head);
      send.src = Place::kOutput;
      builder_.need_source(builder_.add(std::move(send)), id);
    }
    return id;
  }

  VertexId add_lent(const Lane& lane, std::int32_t k, const Reduced& reduced) {
    Vertex send = across(lane, Action::kSend, owner(k));
    send.src = sum_of(reduced);
    const VertexId sent = builder_.add(std::move(send));
    if (reduced.combine != kNoVertex) builder_.need_source(sent, reduced.combine);
    Vertex recv = across(lane, Action::kRecv, owner(k));
    recv.dst = Place::kOutput;
    return builder_.add(std::move(recv));
  }

  Builder builder_;
  const TeamNodes& nodes_;
  std::int32_t me_;
  TreeNode inside_;
};

}  // namespace

Result<Plan> make_exchange_of_heads(const PlanRequest& request) {
  Builder builder(request);
  TreeSpec spec{.size = request.size, .nodes = request.nodes};
  const TreeNode node = tree_node_inside(spec, request.rank);
  const Lane up{.node = node, .channel = kUp, .count = builder.pieces()};
  Reduced reduced = add_reduction(builder, up);
  if (node.parent < 0) reduced.combine = add_exchange(builder, up, reduced);
  Lane down = up;
  down.channel = kDown;
  add_broadcast(builder, down, reduced);
  return builder.finish();
}

Result<Plan> make_spread_over_heads(const PlanRequest& request) {
  return NodeSpread(request).make();
}

}  // namespace espalier
