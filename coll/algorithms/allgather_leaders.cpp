// Allgather by leaders: one member of each node, its head, talks to other nodes (HierKNEM: Ma's
// thesis, section 5.1.4). Blocks may differ in length (allgatherv).
//
//   member   own block --> head                                 head's publications --> all blocks
//   head     own block, members' blocks --> the node's run of blocks
//            the node's run --step 0--> the right head     a run from the left head --> one step
//            later to the right head, and all runs as publications to the members
//
// A run is the blocks of one node, in one piece and one message. It goes around the ring of heads,
// which is in the order of nodes, segment by segment, and each segment is published as soon as it
// is there; what is published readers copy for themselves.
//
// By multicast (NodePlan::multicast) there is no ring: each head publishes its node's run to all
// other heads. The head of node k begins when it has the runs of nodes 0 to k - 4, so few publish
// at a time, and everybody takes the runs in the same order. To its members it publishes them in
// four parts, each as it comes: 0 to k - 4, k - 3 to k - 1, the own one, and those after it. Where
// nodes have several leaders, parts of nodes stand for nodes here.
//
// Runs lie in the output where nodes hold consecutive ranks, else in a scratch buffer in the order
// of nodes, from which all copy their results. So do irregular blocks, which may lie apart in the
// output.
#include <algorithm>
#include <array>

#include "coll/algorithms/allgather.hpp"

namespace espalier {
namespace {

// Heads whose runs are under way by multicast at the same time. A receiver's port is full with one;
// the next ones hide how long it takes until that is everywhere.
constexpr std::int32_t kSourcesAtOnce = 4;

class Leaders : AllgatherParts {
 public:
  Leaders(const PlanRequest& request, const TeamNodes& nodes)
      : AllgatherParts(request, static_cast<std::uint32_t>(nodes.largest)),
        nodes_(nodes),
        by_group_(request.nodes.multicast),
        node_(nodes.node_of(me_)),
        head_(by_group_ ? nodes.group_member(node_) : nodes.head(node_)) {
    std::vector<std::int32_t> firsts, members;
    for (std::int32_t node = 0; node < nodes.count(); ++node) {
      firsts.push_back(nodes.begin[static_cast<std::size_t>(node)]);
      members.push_back(nodes.members(node));
    }
    firsts_ = builder_.plan().add_table(std::move(firsts));
    members_ = builder_.plan().add_table(std::move(members));
    order_ = members_in_order(&nodes);
    add_runs();
  }

  Result<Plan> make() {
    const bool leads = me_ == head_;
    const std::vector<VertexId> have = by_group_
                                           ? leads ? make_head_of_group() : make_member_of_group()
                                       : leads ? make_head()
                                               : make_member();
    if (runs_ != Place::kOutput) unpack(runs_, order_, have);
    return builder_.finish();
  }

 private:
  // Where the runs are.
  void add_runs() {
    const Plan& plan = builder_.plan();
    const Layout& output = plan.layout(Place::kOutput);
    if (nodes_.in_order() && !plan.irregular) {
      runs_ = Place::kOutput;
      return;
    }
    Layout layout = output;
    if (plan.irregular && !nodes_.in_order()) {
      layout.order = static_cast<std::int16_t>(plan.tables.size() - 1);
    }
    runs_ = builder_.add_scratch(layout);
  }

  // A run a step: of node `from`, of the one before it, and so on; by multicast of the one after
  // it.
  Vertex walk(Action action, std::int32_t from, std::int32_t steps) {
    Vertex v = vertex(action, 0, 0);
    v.shape = runs_;
    (action == Action::kRecv ? v.dst : v.src) = runs_;
    v.steps = static_cast<std::uint32_t>(steps);
    v.block = firsts_;
    v.runs = members_;
    v.block.first = v.runs.first = from;
    v.block.stride = v.runs.stride = by_group_ ? 1 : -1;
    // Of regular runs all have as many pieces, and the last ones of short runs are empty.
    v.skips_empty = builder_.plan().irregular || builder_.request().elements == 0;
    return v;
  }

  VertexId add_from_head(std::int32_t from, std::int32_t steps, std::uint8_t channel = 0) {
    Vertex recv = walk(Action::kRecv, from, steps);
    recv.peer = Steps::constant(head_);
    recv.channel = channel;
    return builder_.add(std::move(recv));
  }
  void add_to_head() {
    Vertex send = vertex(Action::kSend, 0);
    send.src = send.shape = Place::kInput;
    send.peer = Steps::constant(head_);
    builder_.add(std::move(send));
  }

  std::vector<VertexId> make_member() {
    const VertexId received = add_from_head(node_, nodes_.count());
    add_to_head();
    return {received};
  }

  // What is there before anything has come from other nodes.
  std::vector<VertexId> add_own_run() {
    std::vector<VertexId> have;
    if (nodes_.members(node_) > 1) have.push_back(add_gather());
    have.push_back(copy_own(runs_, nodes_.position_of(me_)));
    return have;
  }

  std::vector<VertexId> make_head() {
    std::vector<VertexId> have = add_own_run();
    const std::int32_t nodes = nodes_.count();
    VertexId received = kNoVertex;
    if (nodes > 1) {
      const std::int32_t left = (node_ + nodes - 1) % nodes;
      Vertex recv = walk(Action::kRecv, left, nodes - 1);
      recv.peer = Steps::constant(nodes_.head(left));
      received = builder_.add(std::move(recv));
      Vertex send = walk(Action::kSend, node_, nodes - 1);
      send.peer = Steps::constant(nodes_.head((node_ + 1) % nodes));
      need_runs(builder_.add(std::move(send)), have, received);
    }
    if (nodes_.members(node_) > 1) {
      Vertex publish = walk(Action::kPublish, node_, nodes);
      publish.peers = others_;
      need_runs(builder_.add(std::move(publish)), have, received);
    }
    if (received != kNoVertex) have.push_back(received);
    return have;
  }

  // ---- by multicast ----

  // Nodes whose runs a head hands to its members by one publication. Their sizes and numbers follow
  // from the node alone, so its members know them.
  struct Part {
    std::int32_t begin, end;
    std::int32_t steps() const { return end - begin; }
  };
  static constexpr std::uint8_t kParts = 4, kEarlier = 0, kOwn = 2;  // by channel
  std::array<Part, kParts> parts() const {
    const std::int32_t earlier = std::max(0, node_ - kSourcesAtOnce + 1);
    return {{{0, earlier}, {earlier, node_}, {node_, node_ + 1}, {node_ + 1, nodes_.count()}}};
  }

  std::vector<VertexId> make_member_of_group() {
    std::vector<VertexId> received;
    const std::array<Part, kParts> all = parts();
    for (std::uint8_t k = 0; k < kParts; ++k) {
      if (all[k].steps() > 0) received.push_back(add_from_head(all[k].begin, all[k].steps(), k));
    }
    add_to_head();
    return received;
  }

  std::vector<VertexId> make_head_of_group() {
    heads_ = table_by_node(builder_.plan(), nodes_,
                           [&](std::int32_t node) { return nodes_.group_member(node); });
    const std::vector<VertexId> own = add_own_run();
    std::vector<VertexId> have = own;
    VertexId earlier = kNoVertex;
    const std::array<Part, kParts> all = parts();
    for (std::uint8_t k = 0; k < kParts; ++k) {
      const Part& part = all[k];
      if (part.steps() == 0) continue;
      VertexId received = kNoVertex;
      if (k == kOwn) {
        add_multicast_of_run(own, earlier);
      } else {
        received = add_from_group(part);
        have.push_back(received);
      }
      if (k == kEarlier) earlier = received;
      if (nodes_.members(node_) > 1) add_part(part, k, own, received);
    }
    return have;
  }

  void add_multicast_of_run(const std::vector<VertexId>& own, VertexId earlier) {
    const std::int32_t first = nodes_.begin[static_cast<std::size_t>(node_)];
    Vertex publish =
        vertex(Action::kPublish, first, static_cast<std::uint32_t>(nodes_.members(node_)));
    publish.src = publish.shape = runs_;
    publish.transfer.path = Path::kMulticast;
    publish.peers = others_of_group(builder_.request());
    const VertexId id = builder_.add(std::move(publish));
    for (const VertexId other : own) builder_.need_all(id, other);
    if (earlier != kNoVertex) builder_.need_all(id, earlier);
  }

  VertexId add_from_group(const Part& part) {
    Vertex recv = walk(Action::kRecv, part.begin, part.steps());
    recv.peer = heads_;
    recv.peer.first = part.begin;
    recv.skips_empty = true;  // each run is a flow of its own, of as many pieces as it has
    recv.transfer.path = Path::kMulticast;
    return builder_.add(std::move(recv));
  }

  void add_part(const Part& part, std::uint8_t channel, const std::vector<VertexId>& own,
                VertexId received) {
    Vertex publish = walk(Action::kPublish, part.begin, part.steps());
    publish.channel = channel;
    publish.peers = others_;
    const VertexId id = builder_.add(std::move(publish));
    if (received != kNoVertex) {
      builder_.need_source(id, received);
      return;
    }
    for (const VertexId other : own) builder_.need_all(id, other);
  }

  // The blocks of the node's other members, which say where they belong.
  VertexId add_gather() {
    std::vector<std::int32_t> positions;
    const std::int32_t first = nodes_.begin[static_cast<std::size_t>(node_)];
    for (std::int32_t at = first; at < first + nodes_.members(node_); ++at) {
      if (nodes_.member_at(at) == me_) continue;
      positions.push_back(at);
      others_.push_back(nodes_.member_at(at));
    }
    Vertex recv = vertex(Action::kRecv, 0);
    recv.dst = recv.shape = runs_;
    recv.steps = static_cast<std::uint32_t>(others_.size());
    recv.block = builder_.plan().add_table(std::move(positions));
    recv.peer = builder_.plan().add_table(others_);
    return builder_.add(std::move(recv));
  }

  // What passes runs on: the own one when it is there, the others as they come.
  void need_runs(VertexId vertex, const std::vector<VertexId>& own, VertexId received) {
    for (const VertexId other : own) builder_.need_all(vertex, other);
    if (received != kNoVertex) builder_.need_source(vertex, received, 1);
  }

  const TeamNodes& nodes_;
  bool by_group_;
  std::int32_t node_, head_;
  Steps firsts_, members_;  // of the nodes: the position of their first member, and how many
  Steps heads_;             // by node, where they are members of the network's group
  Steps order_;             // members by position
  Place runs_ = Place::kNone;
  std::vector<std::int32_t> others_;  // of the head's node
};

}  // namespace

Result<Plan> make_allgather_by_leaders(const PlanRequest& request) {
  return make_on_nodes(request, [&](const TeamNodes& nodes) {
    return Leaders(request, request.nodes.multicast ? nodes.of_group() : nodes).make();
  });
}

}  // namespace espalier
