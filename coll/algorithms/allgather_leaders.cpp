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
// Runs lie in the output where nodes hold consecutive ranks, else in a scratch buffer in the order
// of nodes, from which all copy their results. So do irregular blocks, which may lie apart in the
// output.
#include "coll/algorithms/allgather.hpp"

namespace espalier {
namespace {

class Leaders : AllgatherParts {
 public:
  Leaders(const PlanRequest& request, const TeamNodes& nodes)
      : AllgatherParts(request, static_cast<std::uint32_t>(nodes.largest)),
        nodes_(nodes),
        node_(nodes.node_of(me_)),
        head_(nodes.head(node_)) {
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
    const std::vector<VertexId> have = me_ == head_ ? make_head() : make_member();
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

  // A run a step: of node `from`, of the one before it, and so on.
  Vertex walk(Action action, std::int32_t from, std::int32_t steps) {
    Vertex v = vertex(action, 0, 0);
    v.shape = runs_;
    (action == Action::kRecv ? v.dst : v.src) = runs_;
    v.steps = static_cast<std::uint32_t>(steps);
    v.block = firsts_;
    v.runs = members_;
    v.block.first = v.runs.first = from;
    v.block.stride = v.runs.stride = -1;
    // Of regular runs all have as many pieces, and the last ones of short runs are empty.
    v.skips_empty = builder_.plan().irregular || builder_.request().elements == 0;
    return v;
  }

  std::vector<VertexId> make_member() {
    Vertex recv = walk(Action::kRecv, node_, nodes_.count());
    recv.peer = Steps::constant(head_);
    const VertexId received = builder_.add(std::move(recv));
    Vertex send = vertex(Action::kSend, 0);
    send.src = send.shape = Place::kInput;
    send.peer = Steps::constant(head_);
    builder_.add(std::move(send));
    return {received};
  }

  std::vector<VertexId> make_head() {
    std::vector<VertexId> have;
    if (nodes_.members(node_) > 1) have.push_back(add_gather());
    have.push_back(copy_own(runs_, nodes_.position_of(me_)));
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
  std::int32_t node_, head_;
  Steps firsts_, members_;  // of the nodes: the position of their first member, and how many
  Steps order_;             // members by position
  Place runs_ = Place::kNone;
  std::vector<std::int32_t> others_;  // of the head's node
};

}  // namespace

Result<Plan> make_allgather_by_leaders(const PlanRequest& request) {
  return make_on_nodes(request,
                       [&](const TeamNodes& nodes) { return Leaders(request, nodes).make(); });
}

}  // namespace espalier
