// Allreduce, and barrier as an allreduce of nothing.
//
// In place (input == output) every algorithm is safe by causality: kOutput of a segment is written
// at a rank only by its own combine, which reads the same place first, or by a segment of the
// result, which does not exist before every rank's contribution to it has been received.
#include "coll/algorithms/builder.hpp"

namespace espalier {
namespace {

// Channels of the way down; the way up uses the tree's number, 0 or 1.
constexpr std::uint8_t kDown = 2;

constexpr std::uint8_t kAcross = 1;  // between heads

// A step: the sums of the heads of a group, in the order of nodes, into kOutput. `sum`: where the
// own one stands, `made` by this vertex (kNoVertex: it is the input). Every head of the group
// combines the same operands in the same order: the same bits everywhere.
//
//   own sum --> send to each other head --\ (kOutput may not be written before they are out)
//         \--------------------------------> combine --> next step, or down
//   view of each other head --------------/
VertexId add_step(Builder& builder, const Lane& up, const std::vector<std::int32_t>& group,
                  VertexId made) {
  Vertex send;
  send.action = Action::kSend;
  send.channel = kAcross;
  send.src = made == kNoVertex ? Place::kInput : Place::kOutput;
  send.window = builder.window_send();
  send.count = send.inner = up.count;
  Vertex view = send;
  view.action = Action::kRecvView;
  view.src = Place::kNone;
  view.window = builder.window_recv();
  Vertex combine = view;
  combine.action = Action::kCombine;
  combine.dst = Place::kOutput;
  std::vector<VertexId> views, sends;
  for (const std::int32_t head : group) {
    if (head == builder.request().rank) {
      combine.operands.push_back({send.src, 0});
      continue;
    }
    view.peer = send.peer = head;
    views.push_back(builder.add(view));
    combine.operands.push_back({Place::kView, views.back()});
    sends.push_back(builder.add(send));
    if (made != kNoVertex) builder.need_source(sends.back(), made);
  }
  const VertexId id = builder.add(std::move(combine));
  for (const VertexId from : views) {
    builder.need(id, from);
    builder.need(from, id, builder.window_recv());
  }
  for (const VertexId to : sends) builder.need(id, to);
  if (made != kNoVertex) builder.need(id, made);
  return id;
}

// After step k every head has the sum of a run of nodes: as many as the steps so far reach.
VertexId add_exchange(Builder& builder, const Lane& up, const Reduced& reduced) {
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
      group.push_back(nodes.member(mine + (d - digit) * run, 0));
    }
    made = add_step(builder, up, group, made);
    run *= steps.groups[k];
  }
  return made;
}

// Up inside each node, across between all heads, down inside each node.
Result<Plan> make_exchange_allreduce(const PlanRequest& request) {
  Builder builder(request, 1);
  TreeSpec spec{.size = request.size, .nodes = request.nodes};
  const TreeNode node = tree_node_inside(spec, request.rank);
  const Lane up{.node = node, .channel = 0, .count = builder.pieces()};
  Reduced reduced = add_reduction(builder, up);
  if (node.parent < 0) reduced.combine = add_exchange(builder, up, reduced);
  Lane down = up;
  down.channel = kDown;
  add_broadcast(builder, down, reduced);
  return builder.finish(describe_algorithm(request, builder.plan().partition));
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
      : builder_(request, 1),
        nodes_(*request.nodes.nodes),
        me_(request.rank),
        inside_(tree_node_inside({.size = request.size, .nodes = request.nodes}, request.rank)) {
    ESP_ASSERT(nodes_.count() <= kSpreadNodesMax);
  }

  Result<Plan> make() {
    const std::int32_t mine = nodes_.node_of(me_);
    for (std::int32_t k = 0; k < nodes_.count(); ++k) add_lane((mine + k) % nodes_.count());
    return builder_.finish(describe_algorithm(builder_.request(), builder_.plan().partition));
  }

 private:
  // Of the flows of a lane: in a node up and down, and between heads. Two heads use a lane in one
  // direction to its owner, and in the other for its result.
  enum Use : std::uint8_t { kUp, kAcrossLane, kDownLane };
  std::uint8_t channel(Use use, std::int32_t lane) const {
    return static_cast<std::uint8_t>(use * kSpreadNodesMax + lane);
  }
  std::int32_t owner(std::int32_t lane) const { return nodes_.member(lane, 0); }

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
      lane.channel = channel(kAcrossLane, k);
      reduced.combine = owner(k) == me_ ? add_owned(lane, reduced) : add_lent(lane, k, reduced);
    }
    lane.channel = channel(kDownLane, k);
    add_broadcast(builder_, lane, reduced);
  }

  Vertex across(const Lane& lane, Action action, std::int32_t peer) const {
    const bool sends = action == Action::kSend;
    return transfer(lane, action, peer, sends ? builder_.window_send() : builder_.window_recv());
  }

  static Place sum_of(const Reduced& reduced) {
    return reduced.combine == kNoVertex ? Place::kInput : Place::kOutput;
  }

  // In the order of nodes.
  VertexId add_owned(const Lane& lane, const Reduced& reduced) {
    Vertex combine = across(lane, Action::kCombine, -1);
    combine.dst = Place::kOutput;
    std::vector<VertexId> views;
    for (std::int32_t n = 0; n < nodes_.count(); ++n) {
      const std::int32_t head = nodes_.member(n, 0);
      if (head == me_) {
        combine.operands.push_back({sum_of(reduced), 0});
        continue;
      }
      views.push_back(builder_.add(across(lane, Action::kRecvView, head)));
      combine.operands.push_back({Place::kView, views.back()});
    }
    const VertexId id = builder_.add(std::move(combine));
    for (const VertexId view : views) {
      builder_.need(id, view);
      builder_.need(view, id, builder_.window_recv());
    }
    if (reduced.combine != kNoVertex) builder_.need(id, reduced.combine);
    for (std::int32_t n = 0; n < nodes_.count(); ++n) {
      const std::int32_t head = nodes_.member(n, 0);
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

Result<Plan> make_tree_allreduce(const PlanRequest& request) {
  if (request.nodes.exchange_radix > 0) return make_exchange_allreduce(request);
  if (request.nodes.spread) return NodeSpread(request).make();
  Builder builder(request, 1);
  // With rank 0 as root, rotated rank order is rank order.
  for_each_tree(builder, 0, [&](const Lane& up) {
    Lane down = up;
    down.channel = static_cast<std::uint8_t>(up.channel + kDown);
    add_broadcast(builder, down, add_reduction(builder, up));
  });
  return builder.finish(describe_algorithm(request, builder.plan().partition));
}

Result<Plan> make_publish_allreduce(const PlanRequest& request) {
  PlanRequest flat = request;
  flat.shape = ESP_SHAPE_FLAT;
  flat.levels = {};
  flat.nodes.follow = false;
  Builder builder(flat, 1);
  for_each_tree(builder, 0, [&](const Lane& up) {
    add_publication(builder, 0, kDown, add_reduction(builder, up).combine);
  });
  return builder.finish(describe_algorithm(request, builder.plan().partition));
}

// Direct reduce-scatter and allgather: rank r owns block r.
//
// In step k = 1, 2, ... each rank sends its part of block r - k to rank r - k and reads its own
// block's part from rank r + k: index i of the sends of one rank meets index i of the views of
// another, so the steps pair up without buffering. Block r is combined in the order r, r + 1, ...
//
//   send ----------------------------------------------> owner of the block
//   view --same index--> combine --last step--> publish --> everybody else
//          (window)  <--/      ^--one step earlier
//   recv below, recv above: the others' finished blocks, in order of owners
//
// Everybody reads the blocks in the same order, 0 to size - 1 (the own one left out, which makes it
// two vertices). Were each rank to start with its right neighbour's, blocks of more segments than
// the window would deadlock: each publisher would wait for its last reader, which waits for
// another publisher's next segment.
class Spread {
 public:
  explicit Spread(const PlanRequest& request)
      : builder_(request, static_cast<std::uint32_t>(request.size)),
        me_(request.rank),
        size_(request.size),
        pieces_(builder_.pieces()) {}

  Result<Plan> make() {
    add_sends();
    add_gather(add_combine(add_view()));
    add_recv(0, me_);
    add_recv(me_ + 1, size_);
    return builder_.finish(describe_algorithm(builder_.request(), builder_.plan().partition));
  }

 private:
  static constexpr std::uint8_t kScatter = 0;
  static constexpr std::uint8_t kGather = 1;

  // A pass over `peers` ranks, all pieces of a block with each.
  Vertex exchange(Action action, std::uint8_t channel, std::int32_t peers) const {
    Vertex vertex;
    vertex.action = action;
    vertex.channel = channel;
    vertex.window = builder_.window_recv();
    vertex.count = static_cast<std::uint32_t>(peers) * pieces_;
    vertex.inner = pieces_;
    vertex.block = static_cast<std::uint32_t>(me_);
    return vertex;
  }

  void add_sends() {
    Vertex send = exchange(Action::kSend, kScatter, size_ - 1);
    send.src = Place::kInput;
    send.window = builder_.window_send();
    send.peer = (me_ + size_ - 1) % size_;
    send.peer_step = -1;
    send.block = static_cast<std::uint32_t>(send.peer);
    send.block_step = -1;
    builder_.add(std::move(send));
  }

  VertexId add_view() {
    Vertex view = exchange(Action::kRecvView, kScatter, size_ - 1);
    view.peer = (me_ + 1) % size_;
    view.peer_step = 1;
    return builder_.add(std::move(view));
  }

  VertexId add_combine(VertexId view) {
    Vertex combine = exchange(Action::kCombine, kScatter, size_ - 1);
    combine.dst = Place::kOutput;
    combine.operands = {{Place::kAccumulator, 0}, {Place::kView, view}};
    const VertexId id = builder_.add(std::move(combine));
    builder_.need(id, view);
    builder_.need(view, id, builder_.window_recv());
    if (size_ > 2) builder_.need(id, id, static_cast<std::int32_t>(pieces_));
    return id;
  }

  void add_gather(VertexId combine) {
    Vertex publish = exchange(Action::kPublish, kGather, 1);
    publish.src = Place::kOutput;
    publish.window = builder_.window_send();
    std::vector<std::int32_t> readers;
    for (std::int32_t k = 1; k < size_; ++k) readers.push_back((me_ + k) % size_);
    add_publish(builder_, std::move(publish), readers, combine,
                -(size_ - 2) * static_cast<std::int32_t>(pieces_));
  }

  // The blocks of owners [begin, end).
  void add_recv(std::int32_t begin, std::int32_t end) {
    if (begin == end) return;
    Vertex recv = exchange(Action::kRecv, kGather, end - begin);
    recv.dst = Place::kOutput;
    recv.peer = begin;
    recv.peer_step = 1;
    recv.block = static_cast<std::uint32_t>(begin);
    recv.block_step = 1;
    builder_.add(std::move(recv));
  }

  Builder builder_;
  std::int32_t me_;
  std::int32_t size_;
  std::uint32_t pieces_;
};

}  // namespace

Result<Plan> make_allreduce(const PlanRequest& request) {
  switch (request.algorithm) {
    case ESP_ALGORITHM_PUBLISH:
      return make_publish_allreduce(request);
    case ESP_ALGORITHM_SPREAD:
      return Spread(request).make();
    default:
      return make_tree_allreduce(request);
  }
}

}  // namespace espalier
