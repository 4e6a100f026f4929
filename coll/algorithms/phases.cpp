// The phases of collectives: reduction up a tree, broadcast down a tree, publication.
//
// The three variants of Luo et al. (HPDC '18) are the same vertices with more dependencies:
//   event     (Alg. 3)  data only: a segment is sent on when it is there, each child and each
//                       segment by itself
//   waitall   (Alg. 2)  iteration i posts the sends of segment i to all children and the receive of
//                       segment i + 1, and waits for all of them
//   blocking  (Alg. 1)  one transfer at a time, child after child, segment after segment
#include <algorithm>
#include <array>
#include <utility>

#include "coll/algorithms/builder.hpp"

namespace espalier {
namespace {

std::vector<VertexId> add_views(Builder& builder, const Lane& lane) {
  std::vector<VertexId> views;
  for (const TreeChild& child : lane.node.children) {
    views.push_back(
        builder.add(transfer(lane, Action::kRecvView, child.rank, builder.window_recv())));
  }
  return views;
}

// Own contribution and views in order of combination; never on a leaf.
VertexId add_combine(Builder& builder, const Lane& lane, const std::vector<VertexId>& views) {
  Vertex combine = transfer(lane, Action::kCombine, -1, builder.window_recv());
  combine.dst = lane.node.parent < 0 ? Place::kOutput : Place::kScratch;
  for (const VertexId view : views) combine.operands.push_back({Place::kView, view});
  combine.operands.insert(combine.operands.begin() + static_cast<std::ptrdiff_t>(lane.node.before),
                          Operand{Place::kInput, 0});
  const VertexId id = builder.add(std::move(combine));
  for (const VertexId view : views) {
    builder.need(id, view);
    builder.need(view, id, builder.window_recv());  // so many views are held at most
  }
  return id;
}

// The scratch ring has as many slots as the send window. With more, segments that overtake others
// could fill the window with sends that the parent cannot take yet, and the one it waits for would
// never be sent.
void add_scratch(Builder& builder, const Lane& lane, const Reduced& reduced) {
  const std::uint32_t slots = std::min<std::uint32_t>(builder.window_send(), lane.count);
  builder.need(reduced.combine, reduced.send, static_cast<std::int32_t>(slots));
  const Place ring = builder.add_ring(slots);
  builder.plan().vertices[reduced.combine].dst = ring;
  builder.plan().vertices[reduced.send].src = ring;
}

// The dependencies of the control variants; windows of 1 give the rest.
void order_reduction(Builder& builder, const std::vector<VertexId>& views, const Reduced& reduced) {
  if (views.empty() || !builder.controlled()) return;
  if (builder.blocking()) {
    for (std::size_t c = 1; c < views.size(); ++c) builder.need(views[c], views[c - 1]);
    if (reduced.send != kNoVertex) builder.need(views[0], reduced.send, 1);
    return;
  }
  if (reduced.send == kNoVertex) return;
  for (const VertexId view : views) builder.need(view, reduced.send, 2);
}

void order_broadcast(Builder& builder, VertexId recv, const std::vector<VertexId>& sends) {
  if (sends.empty() || !builder.controlled()) return;
  if (builder.blocking()) {
    for (std::size_t c = 1; c < sends.size(); ++c) builder.need(sends[c], sends[c - 1]);
    const VertexId first = recv == kNoVertex ? sends.front() : recv;
    if (first != sends.back()) builder.need(first, sends.back(), 1);
    return;
  }
  for (const VertexId send : sends) {
    for (const VertexId other : sends) {
      if (other != send) builder.need(send, other, 1);
    }
    if (recv != kNoVertex) builder.need(recv, send, 2);
  }
}

// Index 0 of `vertex` needs the last index of `phase`.
void need_last(Builder& builder, std::uint32_t count, VertexId vertex, VertexId phase) {
  if (count > 1) builder.need_last(vertex, phase);
}

// The control variants of an allreduce are a reduction and then a broadcast, as two calls one after
// the other would be. Later indices wait because they need the one before: the sends by
// need_source(), the receive by the edge added here.
void order_phases(Builder& builder, const Lane& lane, const Reduced& before, VertexId recv,
                  const std::vector<VertexId>& sends) {
  if (!builder.controlled()) return;
  if (recv != kNoVertex && before.send != kNoVertex) {
    need_last(builder, lane.count, recv, before.send);
    builder.need(recv, recv, 1);
  }
  if (recv == kNoVertex && before.combine != kNoVertex) {
    for (const VertexId send : sends) need_last(builder, lane.count, send, before.combine);
  }
}

// Of a tree that follows nodes: one copy serves all children of the own node that are on one level.
// Children of different levels are as far away as a socket is, and have windows of their own. The
// control variants serve child after child.
constexpr std::size_t kNoPublication = kLocalityLevels + 1;
std::size_t publication_of(const Builder& builder, std::int32_t child) {
  const PlanRequest& request = builder.request();
  const NodePlan& nodes = request.nodes;
  if (!nodes.follow || builder.controlled()) return kNoPublication;
  const TeamNodes& down = nodes.multicast ? nodes.nodes->of_group() : *nodes.nodes;
  if (!down.together(request.rank, child)) return kNoPublication;
  return down.shared_levels(request.rank, child);
}

// What comes from another member of the group says so; the rest is make_plan's to say.
Transfer transfer_from(const PlanRequest& request, std::int32_t parent) {
  const NodePlan& nodes = request.nodes;
  const bool by_group = nodes.multicast && !nodes.nodes->of_group().together(request.rank, parent);
  return {.path = by_group ? Path::kMulticast : Path::kAny};
}

// The child with the largest subtree first, so that the longest way down starts first.
std::vector<TreeChild> children_by_subtree(const TreeNode& node) {
  std::vector<TreeChild> children = node.children;
  std::stable_sort(children.begin(), children.end(), [](const TreeChild& a, const TreeChild& b) {
    return a.subtree_ranks > b.subtree_ranks;
  });
  return children;
}

}  // namespace

Vertex transfer(const Lane& lane, Action action, std::int32_t peer, std::uint16_t window) {
  Vertex vertex;
  vertex.action = action;
  vertex.channel = lane.channel;
  vertex.window = window;
  vertex.peer = Steps::constant(peer);
  vertex.lane = lane.piece;
  vertex.lanes = lane.stride;
  return vertex;
}

Reduced add_reduction(Builder& builder, const Lane& lane) {
  const bool root = lane.node.parent < 0;
  const bool leaf = lane.node.children.empty();
  const std::vector<VertexId> views = add_views(builder, lane);
  Reduced reduced;
  if (!leaf) reduced.combine = add_combine(builder, lane, views);
  if (!root) {
    Vertex send = transfer(lane, Action::kSend, lane.node.parent, builder.window_send());
    send.src = leaf ? Place::kInput : Place::kScratch;
    reduced.send = builder.add(std::move(send));
    if (!leaf) {
      builder.need(reduced.send, reduced.combine);
      add_scratch(builder, lane, reduced);
    }
  }
  order_reduction(builder, views, reduced);
  return reduced;
}

void add_broadcast(Builder& builder, const Lane& lane, const Reduced& before) {
  VertexId recv = kNoVertex;
  if (lane.node.parent >= 0) {
    Vertex vertex = transfer(lane, Action::kRecv, lane.node.parent, builder.window_recv());
    vertex.dst = Place::kOutput;
    vertex.transfer = transfer_from(builder.request(), lane.node.parent);
    recv = builder.add(std::move(vertex));
  }
  const VertexId source = recv != kNoVertex ? recv : before.combine;
  std::vector<VertexId> sends;
  std::array<std::vector<std::int32_t>, kNoPublication> readers;  // of each publication
  for (const TreeChild& child : children_by_subtree(lane.node)) {
    const std::size_t publication = publication_of(builder, child.rank);
    if (publication != kNoPublication) {
      readers[publication].push_back(child.rank);
      continue;
    }
    Vertex vertex = transfer(lane, Action::kSend, child.rank, builder.window_send());
    vertex.src = Place::kOutput;
    sends.push_back(builder.add(std::move(vertex)));
    if (source != kNoVertex) builder.need_source(sends.back(), source);
  }
  order_phases(builder, lane, before, recv, sends);
  order_broadcast(builder, recv, sends);
  if (lane.multicasts) {
    Vertex publish = transfer(lane, Action::kPublish, -1, builder.window_send());
    publish.src = Place::kOutput;
    publish.transfer.path = Path::kMulticast;
    add_publish(builder, std::move(publish), others_of_group(builder.request()), source);
  }
  for (std::vector<std::int32_t>& some : readers) {  // the farthest first
    if (some.empty()) continue;
    Vertex publish = transfer(lane, Action::kPublish, -1, builder.window_send());
    publish.src = Place::kOutput;
    add_publish(builder, std::move(publish), std::move(some), source);
  }
}

void add_publish(Builder& builder, Vertex publish, std::vector<std::int32_t> readers,
                 VertexId source, std::int32_t steps) {
  publish.peers = std::move(readers);
  const VertexId id = builder.add(std::move(publish));
  if (source != kNoVertex) builder.need_source(id, source, steps);
}

void add_publication(Builder& builder, std::int32_t root, std::uint8_t channel, VertexId source) {
  const PlanRequest& request = builder.request();
  const TreeNode nobody;
  const Lane lane{.node = nobody, .channel = channel, .count = builder.pieces()};
  if (request.rank != root) {
    Vertex recv = transfer(lane, Action::kRecv, root, builder.window_recv());
    recv.dst = Place::kOutput;
    builder.add(std::move(recv));
    return;
  }
  Vertex publish = transfer(lane, Action::kPublish, -1, builder.window_send());
  publish.src = Place::kOutput;
  std::vector<std::int32_t> readers;
  for (std::int64_t k = 1; k < request.size; ++k) {
    readers.push_back(static_cast<std::int32_t>((root + k) % request.size));
  }
  add_publish(builder, std::move(publish), std::move(readers), source);
}

}  // namespace espalier
