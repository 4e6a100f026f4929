// Reduce-scatter by leaders: each node's blocks are combined inside it before anything crosses.
//
//   member   own blocks --run by run--> head                                own block <--- head
//   head     views of its members' runs --combine--> sums --run of node k--> head of node k
//            views of its own run from the other heads, one after the other --> sums --> members
//
// A run is the blocks of one node, in one piece. A head goes through the runs from its own on to
// the left, so what others send to it meets a sum that is there. Between nodes go nodes - 1
// messages of each head, and each node sends (nodes - 1) / nodes of the message, where blocks sent
// straight to their owners cross once for each member.
//
// Contributions are combined in the order of nodes from the owner's on (k, k + 1, ...), inside each
// in that of its members. Where nodes do not hold consecutive ranks, blocks are put in the order of
// nodes before.
#include <utility>

#include "coll/algorithms/builder.hpp"

namespace espalier {
namespace {

class ReduceByLeaders {
 public:
  ReduceByLeaders(const PlanRequest& request, const TeamNodes& nodes)
      : builder_(request, 1, static_cast<std::uint32_t>(nodes.largest)),
        nodes_(nodes),
        me_(request.rank),
        node_(nodes.node_of(me_)),
        head_(nodes.head(node_)) {
    firsts_ = by_node([&](std::int32_t node) { return begin(node); });
    members_ = by_node([&](std::int32_t node) { return nodes_.members(node); });
  }

  Result<Plan> make() {
    if (!nodes_.in_order()) put_in_order();
    if (me_ == head_) {
      make_head();
    } else {
      make_member();
    }
    return builder_.finish();
  }

 private:
  std::int32_t begin(std::int32_t node) const {
    return nodes_.begin[static_cast<std::size_t>(node)];
  }
  template <typename Entry>
  Steps by_node(Entry&& entry) {
    return table_by_node(builder_.plan(), nodes_, std::forward<Entry>(entry));
  }
  Layout all_blocks() { return builder_.plan().layout(Place::kInput); }

  Vertex vertex(Action action, Place place, std::int32_t steps) const {
    Vertex v;
    v.action = action;
    v.window = action == Action::kSend ? builder_.window_send() : builder_.window_recv();
    v.shape = place;
    v.steps = static_cast<std::uint32_t>(steps);
    // A combine gives its views back, also of no elements.
    v.skips_empty = action != Action::kCombine && builder_.request().elements == 0;
    return v;
  }
  // The runs of so many nodes, from this one to the left. All have as many pieces as the longest.
  Vertex walk(Action action, Place place, std::int32_t from, std::int32_t steps) const {
    Vertex v = vertex(action, place, steps);
    v.run = 0;
    v.block = firsts_;
    v.runs = members_;
    v.block.first = v.runs.first = from;
    v.block.stride = v.runs.stride = -1;
    return v;
  }
  void release(VertexId view, VertexId combine) {
    builder_.need(combine, view);
    builder_.need(view, combine, builder_.window_recv());
  }

  void put_in_order() {
    input_ = builder_.add_scratch(all_blocks());
    std::vector<std::int32_t> order;
    for (std::int32_t at = 0; at < nodes_.size(); ++at) order.push_back(nodes_.member_at(at));
    Vertex copy = vertex(Action::kCombine, input_, nodes_.size());
    copy.dst = input_;
    copy.operands = {{.place = Place::kInput}};
    copy.block = Steps::affine(0, 1, nodes_.size());
    copy.elsewhere = true;
    copy.from = builder_.plan().add_table(std::move(order));
    packed_ = builder_.add(std::move(copy));
  }
  void need_input(VertexId reader) {
    if (packed_ != kNoVertex) builder_.need_all(reader, packed_);
  }

  // Of the caller's input.
  VertexId last_reader(VertexId of_blocks) const {
    return packed_ == kNoVertex ? of_blocks : packed_;
  }

  void make_member() {
    Vertex send = walk(Action::kSend, input_, node_, nodes_.count());
    send.src = input_;
    send.peer = Steps::constant(head_);
    const VertexId sent = builder_.add(std::move(send));
    need_input(sent);
    Vertex recv = vertex(Action::kRecv, Place::kOutput, 1);
    recv.dst = Place::kOutput;
    recv.peer = Steps::constant(head_);
    const VertexId received = builder_.add(std::move(recv));
    if (builder_.request().in_place) builder_.need_all(received, last_reader(sent));
  }

  void make_head() {
    sums_ = builder_.add_scratch(all_blocks());
    const VertexId inside = add_node_sums();
    const VertexId sum = nodes_.count() > 1 ? add_exchange(inside) : inside;
    add_hand_out(sum);
    Vertex copy = vertex(Action::kCombine, Place::kOutput, 1);
    copy.dst = Place::kOutput;
    copy.operands = {{.place = sums_}};
    copy.elsewhere = true;
    copy.from = Steps::constant(nodes_.position_of(me_));
    const VertexId own = builder_.add(std::move(copy));
    builder_.need_all(own, sum);
    const bool replaces = builder_.request().in_place && packed_ == kNoVertex;
    if (replaces) builder_.need_all(own, inside);
  }

  // Of all runs, the own one first.
  VertexId add_node_sums() {
    Vertex combine = walk(Action::kCombine, sums_, node_, nodes_.count());
    combine.dst = sums_;
    std::vector<VertexId> views;
    for (std::int32_t place = 0; place < nodes_.members(node_); ++place) {
      const std::int32_t member = nodes_.member(node_, place);
      if (member == me_) {
        combine.operands.push_back({.place = input_});
        continue;
      }
      Vertex view = walk(Action::kRecvView, sums_, node_, nodes_.count());
      view.peer = Steps::constant(member);
      views.push_back(builder_.add(std::move(view)));
      combine.operands.push_back({.place = Place::kView, .vertex = views.back()});
    }
    const VertexId id = builder_.add(std::move(combine));
    for (const VertexId view : views) release(view, id);
    need_input(id);
    return id;
  }

  // The sums of other nodes' runs go out, those of the own one come in.
  VertexId add_exchange(VertexId inside) {
    const std::int32_t nodes = nodes_.count(), others = nodes - 1;
    Vertex send = walk(Action::kSend, sums_, (node_ + others) % nodes, others);
    send.src = sums_;
    const Steps heads = by_node([&](std::int32_t node) { return nodes_.head(node); });
    send.peer = heads;
    send.peer.first = (node_ + others) % nodes;
    send.peer.stride = -1;
    send.skips_empty = true;  // a flow to each head, which ends with its run
    builder_.need_source(builder_.add(std::move(send)), inside, -1);

    const auto own = [&](Action action) {
      Vertex v = walk(action, sums_, node_, others);
      v.block.stride = v.runs.stride = 0;
      return v;
    };
    Vertex view = own(Action::kRecvView);
    view.peer = heads;
    view.peer.first = (node_ + 1) % nodes;
    view.peer.stride = 1;
    view.skips_empty = true;
    const VertexId came = builder_.add(std::move(view));
    Vertex combine = own(Action::kCombine);
    combine.dst = sums_;
    combine.operands = {{.place = sums_}, {.place = Place::kView, .vertex = came}};
    const VertexId sum = builder_.add(std::move(combine));
    release(came, sum);
    builder_.need(sum, inside);
    builder_.need_step(sum, sum, 1);
    return sum;
  }

  void add_hand_out(VertexId sum) {
    std::vector<std::int32_t> positions, members;
    for (std::int32_t at = begin(node_); at < begin(node_) + nodes_.members(node_); ++at) {
      if (nodes_.member_at(at) == me_) continue;
      positions.push_back(at);
      members.push_back(nodes_.member_at(at));
    }
    if (members.empty()) return;
    Vertex send = vertex(Action::kSend, sums_, static_cast<std::int32_t>(members.size()));
    send.src = sums_;
    send.block = builder_.plan().add_table(std::move(positions));
    send.peer = builder_.plan().add_table(std::move(members));
    builder_.need_all(builder_.add(std::move(send)), sum);
  }

  Builder builder_;
  const TeamNodes& nodes_;
  std::int32_t me_, node_, head_;
  Steps firsts_, members_;       // of the nodes: the position of their first member, and how many
  Place input_ = Place::kInput;  // in the order of nodes
  Place sums_ = Place::kNone;    // likewise: of the node
  VertexId packed_ = kNoVertex;
};

}  // namespace

Result<Plan> make_reduce_scatter_by_leaders(const PlanRequest& request) {
  return make_on_nodes(
      request, [&](const TeamNodes& nodes) { return ReduceByLeaders(request, nodes).make(); });
}

}  // namespace espalier
