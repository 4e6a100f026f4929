// Alltoall by leaders: blocks that go to one node are one message (Kowalewski's aggregation, with
// nodes for groups).
//
//   member   own blocks --run by run--> head                        all blocks <--- head
//   head     members' runs --> bundles --> heads of other nodes
//            bundles from other nodes --> in the order of their readers --> members
//
// A run is what one member has for one node, a bundle what one node has for another: run after run.
// So what the runs of a bundle have for one member lies apart, and is put together before it is
// handed out. Each block is copied three times and crosses once; between nodes go nodes - 1
// messages of each head instead of one for each pair of members.
#include <utility>

#include "coll/algorithms/builder.hpp"

namespace espalier {
namespace {

class Bundles {
 public:
  Bundles(const PlanRequest& request, const TeamNodes& nodes)
      : builder_(request, 1, blocks_of_a_bundle(nodes)),
        nodes_(nodes),
        me_(request.rank),
        size_(request.size),
        node_(nodes.node_of(me_)),
        head_(nodes.head(node_)),
        members_(nodes.members(node_)) {}

  Result<Plan> make() {
    const bool is_head = me_ == head_;
    const std::int32_t bundles = members_ * size_;
    if (!nodes_.in_order()) {
      std::vector<std::int32_t> order;
      for (std::int32_t at = 0; at < size_; ++at) order.push_back(nodes_.member_at(at));
      order_ = builder_.plan().add_table(std::move(order));
    }
    // One buffer for all: blocks in the order of nodes, and the bundles of a head.
    const std::int32_t blocks = (nodes_.in_order() ? 0 : size_) + (is_head ? 3 * bundles : 0);
    if (blocks > 0) {
      work_ = builder_.add_scratch({.kind = Layout::Kind::kUniform,
                                    .blocks = static_cast<std::uint32_t>(blocks),
                                    .elements = builder_.request().elements});
    }
    out_ = nodes_.in_order() ? 0 : size_;
    in_ = out_ + bundles;
    handed_ = in_ + bundles;
    blocks_ = blocks;
    if (is_head) {
      make_head();
    } else {
      make_member();
    }
    return builder_.finish();
  }

 private:
  static std::uint32_t blocks_of_a_bundle(const TeamNodes& nodes) {
    return static_cast<std::uint32_t>(nodes.largest) * static_cast<std::uint32_t>(nodes.largest);
  }
  Vertex vertex(Action action) const {
    Vertex v;
    v.action = action;
    v.window = action == Action::kSend ? builder_.window_send() : builder_.window_recv();
    v.skips_empty = true;
    return v;
  }
  std::int32_t begin(std::int32_t node) const {
    return nodes_.begin[static_cast<std::size_t>(node)];
  }
  Steps counting(std::int32_t first, std::int32_t stride = 1) const {
    return Steps::affine(first, stride, blocks_);
  }
  // Of single blocks.
  VertexId add_copy(std::int32_t steps, Place dst, const Steps& to, Place src, const Steps& from) {
    Vertex copy = vertex(Action::kCombine);
    copy.steps = static_cast<std::uint32_t>(steps);
    copy.dst = copy.shape = dst;
    copy.block = to;
    copy.operands = {{.place = src}};
    copy.elsewhere = true;
    copy.from = from;
    return builder_.add(std::move(copy));
  }
  template <typename Entry>
  Steps by_node(Entry&& entry) {
    return table_by_node(builder_.plan(), nodes_, std::forward<Entry>(entry));
  }
  // A member's runs, one for each node, to or from its head: as many pieces of each, of which the
  // last ones of short runs are empty.
  Vertex runs(Action action, Place place, const Steps& firsts) {
    Vertex v = vertex(action);
    v.shape = place;
    (action == Action::kSend ? v.src : v.dst) = place;
    v.steps = static_cast<std::uint32_t>(nodes_.count());
    v.block = firsts;
    v.run = 0;
    v.runs = by_node([&](std::int32_t node) { return nodes_.members(node); });
    v.skips_empty = builder_.request().elements == 0;
    return v;
  }
  // All blocks of one member, in the order of nodes.
  Vertex handed(Action action, Place place, std::int32_t first) const {
    Vertex v = vertex(action);
    v.shape = place;
    (action == Action::kSend ? v.src : v.dst) = place;
    v.block = Steps::constant(first);
    v.run = static_cast<std::uint32_t>(size_);
    return v;
  }

  void make_member() {
    const bool ordered = nodes_.in_order();
    VertexId packed = kNoVertex;
    if (!ordered) packed = add_copy(size_, work_, counting(0), Place::kInput, order_);
    Vertex send = runs(Action::kSend, ordered ? Place::kInput : work_,
                       by_node([&](std::int32_t node) { return begin(node); }));
    send.peer = Steps::constant(head_);
    const VertexId sent = builder_.add(std::move(send));
    if (!ordered) builder_.need_all(sent, packed);
    Vertex recv = handed(Action::kRecv, ordered ? Place::kOutput : work_, 0);
    recv.peer = Steps::constant(head_);
    const VertexId received = builder_.add(std::move(recv));
    // It replaces what is sent: in place, or the packed blocks.
    if (builder_.request().in_place || !ordered) builder_.need_all(received, sent);
    if (ordered) return;
    const VertexId done = add_copy(size_, Place::kOutput, order_, work_, counting(0));
    builder_.need_all(done, received);
  }

  void make_head() {
    std::vector<VertexId> filled = add_gather();
    const std::vector<VertexId> arrived = add_exchange(filled);
    for (std::int32_t place = 0; place < members_; ++place) {
      const std::int32_t reader = nodes_.member(node_, place);
      const Steps mine = counting(in_ + place, members_);
      const std::int32_t first = handed_ + place * size_;
      const bool own = reader == me_;
      const Steps order = nodes_.in_order() ? Steps::affine(0, 1, size_) : order_;
      const VertexId packed =
          add_copy(size_, own ? Place::kOutput : work_, own ? order : counting(first), work_, mine);
      for (const VertexId other : arrived) builder_.need_all(packed, other);
      if (own) continue;
      Vertex send = handed(Action::kSend, work_, first);
      send.peer = Steps::constant(reader);
      builder_.need_all(builder_.add(std::move(send)), packed);
    }
  }

  // The runs of all members, its own included, into the bundles that go out.
  std::vector<VertexId> add_gather() {
    std::vector<VertexId> filled;
    for (std::int32_t place = 0; place < members_; ++place) {
      const std::int32_t member = nodes_.member(node_, place);
      const auto first = [&](std::int32_t node) {
        return out_ + members_ * begin(node) + place * nodes_.members(node);
      };
      if (member != me_) {
        Vertex recv = runs(Action::kRecv, work_, by_node(first));
        recv.peer = Steps::constant(member);
        filled.push_back(builder_.add(std::move(recv)));
        continue;
      }
      std::vector<std::int32_t> to;
      for (std::int32_t at = 0; at < size_; ++at) {
        const std::int32_t node = nodes_.node_of(nodes_.member_at(at));
        to.push_back(first(node) + at - begin(node));
      }
      const Steps order = nodes_.in_order() ? Steps::affine(0, 1, size_) : order_;
      const Steps there = builder_.plan().add_table(std::move(to));
      filled.push_back(add_copy(size_, work_, there, Place::kInput, order));
    }
    return filled;
  }

  // Bundles to all other heads and from them, and the own one. In step k with those k nodes away.
  std::vector<VertexId> add_exchange(const std::vector<VertexId>& filled) {
    const std::int32_t nodes = nodes_.count();
    const std::int32_t own = members_ * begin(node_);
    Vertex copy = vertex(Action::kCombine);
    copy.dst = copy.shape = work_;
    copy.block = Steps::constant(in_ + own);
    copy.operands = {{.place = work_}};
    copy.elsewhere = true;
    copy.from = Steps::constant(out_ + own);
    copy.run = static_cast<std::uint32_t>(members_ * members_);
    const VertexId copied = builder_.add(std::move(copy));
    for (const VertexId other : filled) builder_.need_all(copied, other);
    if (nodes == 1) return {copied};
    const Steps heads = by_node([&](std::int32_t node) { return nodes_.head(node); });
    const Steps sizes = by_node([&](std::int32_t node) { return members_ * nodes_.members(node); });
    const auto bundles = [&](Action action, std::int32_t first, std::int32_t stride) {
      const std::int32_t region = action == Action::kSend ? out_ : in_;
      Vertex v = vertex(action);
      v.shape = work_;
      (action == Action::kSend ? v.src : v.dst) = work_;
      v.steps = static_cast<std::uint32_t>(nodes - 1);
      v.run = 0;
      v.block = by_node([&](std::int32_t node) { return region + members_ * begin(node); });
      v.runs = sizes;
      v.peer = heads;
      v.block.first = v.runs.first = v.peer.first = first;
      v.block.stride = v.runs.stride = v.peer.stride = stride;
      return builder_.add(std::move(v));
    };
    const VertexId received = bundles(Action::kRecv, (node_ + nodes - 1) % nodes, -1);
    const VertexId sent = bundles(Action::kSend, (node_ + 1) % nodes, 1);
    for (const VertexId other : filled) builder_.need_all(sent, other);
    return {copied, received};
  }

  Builder builder_;
  const TeamNodes& nodes_;
  std::int32_t me_, size_, node_, head_, members_;
  Steps order_;  // members by position, where that is not their own order
  Place work_ = Place::kNone;
  std::int32_t blocks_ = 0;                     // of it
  std::int32_t out_ = 0, in_ = 0, handed_ = 0;  // where in it bundles begin, and what members get
};

}  // namespace

Result<Plan> make_alltoall_by_leaders(const PlanRequest& request) {
  return make_on_nodes(request,
                       [&](const TeamNodes& nodes) { return Bundles(request, nodes).make(); });
}

}  // namespace espalier
