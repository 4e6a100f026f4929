// Allreduce, and barrier as an allreduce of nothing.
//
// In place (input == output) every algorithm is safe by causality: kOutput of a segment is written
// at a rank only by its own combine, which reads the same place first, or by a segment of the
// result, which does not exist before every rank's contribution to it has been received.
#include "coll/algorithms/builder.hpp"

namespace espalier {
namespace {

// Channels of the way down; the way up uses the tree's number.
std::uint8_t down_channel(const PlanRequest& request, std::uint8_t up) {
  return static_cast<std::uint8_t>(up + (request.nodes.stripes > 1 ? kStripesMax : 2));
}

Result<Plan> make_tree_allreduce(const PlanRequest& request) {
  if (request.nodes.exchange_radix > 0) return make_exchange_of_heads(request);
  if (request.nodes.spread) return make_spread_over_heads(request);
  if (request.nodes.multicast) return make_allreduce_by_multicast(request);
  Builder builder(request);
  // With rank 0 as root, rotated rank order is rank order.
  for_each_tree(builder, 0, [&](const Lane& up) {
    Lane down = up;
    down.channel = down_channel(request, up.channel);
    add_broadcast(builder, down, add_reduction(builder, up));
  });
  return builder.finish();
}

Result<Plan> make_publish_allreduce(const PlanRequest& request) {
  PlanRequest flat = request;
  flat.shape = ESP_SHAPE_FLAT;
  flat.nodes.follow = false;
  Builder builder(flat);
  for_each_tree(builder, 0, [&](const Lane& up) {
    add_publication(builder, 0, down_channel(flat, 0), add_reduction(builder, up).combine);
  });
  return builder.finish();
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
        size_(request.size) {}

  Result<Plan> make() {
    add_sends();
    add_gather(add_combine(add_view()));
    add_recv(0, me_);
    add_recv(me_ + 1, size_);
    return builder_.finish();
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
    vertex.steps = static_cast<std::uint32_t>(peers);
    vertex.block = Steps::constant(me_);
    return vertex;
  }

  void add_sends() {
    Vertex send = exchange(Action::kSend, kScatter, size_ - 1);
    send.src = Place::kInput;
    send.window = builder_.window_send();
    send.peer = Steps::affine((me_ + size_ - 1) % size_, -1, size_);
    send.block = send.peer;
    builder_.add(std::move(send));
  }

  VertexId add_view() {
    Vertex view = exchange(Action::kRecvView, kScatter, size_ - 1);
    view.peer = Steps::affine((me_ + 1) % size_, 1, size_);
    return builder_.add(std::move(view));
  }

  VertexId add_combine(VertexId view) {
    Vertex combine = exchange(Action::kCombine, kScatter, size_ - 1);
    combine.dst = Place::kOutput;
    combine.operands = {{Place::kAccumulator, 0}, {Place::kView, view}};
    const VertexId id = builder_.add(std::move(combine));
    builder_.need(id, view);
    builder_.need(view, id, builder_.window_recv());
    if (size_ > 2) builder_.need_step(id, id, 1);
    return id;
  }

  void add_gather(VertexId combine) {
    Vertex publish = exchange(Action::kPublish, kGather, 1);
    publish.src = Place::kOutput;
    publish.window = builder_.window_send();
    std::vector<std::int32_t> readers;
    for (std::int32_t k = 1; k < size_; ++k) readers.push_back((me_ + k) % size_);
    add_publish(builder_, std::move(publish), std::move(readers), combine, 2 - size_);
  }

  // The blocks of owners [begin, end).
  void add_recv(std::int32_t begin, std::int32_t end) {
    if (begin == end) return;
    Vertex recv = exchange(Action::kRecv, kGather, end - begin);
    recv.dst = Place::kOutput;
    recv.peer = Steps::affine(begin, 1, size_);
    recv.block = recv.peer;
    builder_.add(std::move(recv));
  }

  Builder builder_;
  std::int32_t me_;
  std::int32_t size_;
};

}  // namespace

Result<Plan> make_allreduce(const PlanRequest& request) {
  switch (request.algorithm) {
    case ESP_ALGORITHM_PUBLISH:
      return make_publish_allreduce(request);
    case ESP_ALGORITHM_SPREAD:
      return Spread(request).make();
    case ESP_ALGORITHM_RING:
    case ESP_ALGORITHM_DOUBLING:
    case ESP_ALGORITHM_HALVING:
      return make_allreduce_in_rounds(request);
    default:
      return make_tree_allreduce(request);
  }
}

}  // namespace espalier
