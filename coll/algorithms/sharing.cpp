// Sharing: members of one node read each other's device memory where it lies, without the host
// (Chu et al., section 3: handles that are opened once; ADAPT, section 4: the flush to the own
// device beside what is passed on).
//
//   pack --> kInput --> send             becomes   kUserInput --> send
//   recv --> kOutput --> unpack          becomes   recv (stays) --> unpack, from where it lies
//                   \--> near send                        |            \--> kUserOutput --> near
//                   send
//                   \--> far send                         \--> copy --> kOutput --> far send
//
// Only what goes to members who reach it, and comes from them: those of the own node, and where an
// adapter reads and writes memory of devices those of others, too (GPUDirect RDMA; reductions
// apart, where partial results come and go in the place of the last). Else the network's segments
// are in memory of the host as before. Either side does it by itself: wires bring bytes to who
// takes no address. What lies on a device is read there once it is final, so a send follows the
// unpacking of its piece, which has nothing to do where an adapter has brought it.
#include <algorithm>
#include <utility>

#include "coll/algorithms/builder.hpp"

namespace espalier {
namespace {

bool is_send(const Vertex& v) {
  return v.action == Action::kSend || v.action == Action::kPublish;
}

// Copies the caller's elements into the run, or out of it.
bool packs(const Vertex& v) {
  return v.action == Action::kCombine && v.operands.size() == 1 &&
         v.operands[0].place >= Place::kUserInput;
}
bool unpacks(const Vertex& v) {
  return v.action == Action::kCombine && v.dst == Place::kUserOutput;
}

class SharingPass {
 public:
  SharingPass(Plan& plan, const TeamNodes* nodes, Sharing with)
      : plan_(plan), nodes_(nodes), with_(with) {
    with_.far = with_.far && !plan.reduces;
  }

  void apply() {
    for (Vertex& v : plan_.vertices) {
      if (is_send(v)) read_in_place(v);
    }
    keep_needed();
    for (std::size_t id = plan_.vertices.size(); id-- > 0;) {
      if (unpacks(plan_.vertices[id])) let_stay(static_cast<VertexId>(id));
    }
    place_brought();
    if (plan_.combines) let_views_stay();
  }

 private:
  bool is_near(std::int32_t member) const {
    if (nodes_ == nullptr) return with_.near;
    return nodes_->node_of(member) == nodes_->node_of(plan_.rank);
  }
  // False of all, if it goes through the network's group.
  template <typename Holds>
  bool all_peers(const Vertex& v, Holds&& holds) const {
    if (v.transfer.path == Path::kMulticast) return false;
    if (v.action == Action::kPublish) return std::all_of(v.peers.begin(), v.peers.end(), holds);
    for (std::uint32_t step = 0; step < (v.peer.is_constant() ? 1 : v.steps); ++step) {
      if (!holds(v.peer.at(step))) return false;
    }
    return true;
  }
  bool all_near(const Vertex& v) const {
    return all_peers(v, [&](std::int32_t peer) { return is_near(peer); });
  }
  bool all_reach(const Vertex& v) const {
    return all_peers(v, [&](std::int32_t peer) { return is_near(peer) ? with_.near : with_.far; });
  }

  // The vertex that unpacks all that `writer` writes, index by index.
  VertexId unpacking_of(VertexId writer) const {
    for (std::size_t id = 0; id < plan_.vertices.size(); ++id) {
      const Vertex& v = plan_.vertices[id];
      const bool follows = v.needs.size() == 1 && v.needs[0] == Dependency{.vertex = writer};
      if (unpacks(v) && v.since == 0 && follows) return static_cast<VertexId>(id);
    }
    return kNoVertex;
  }

  void read_in_place(Vertex& send) {
    const bool is_taken = !plan_.reduces || plan_.combines;  // as it lies, by kernels of the others
    const bool in = send.src == Place::kInput && plan_.packs_input && is_taken;
    const bool out = send.src == Place::kOutput && plan_.packs_output;
    if (!(in || out) || send.leaves || !all_reach(send)) return;
    std::vector<Dependency> needs;
    bool is_ordered = in;
    for (Dependency need : send.needs) {
      const Vertex& of = plan_.vertices[need.vertex];
      if (of.dst == send.src) {
        is_ordered = true;
        if (packs(of)) continue;
        need.vertex = unpacking_of(need.vertex);
        if (need.vertex == kNoVertex) return;
      }
      needs.push_back(need);
    }
    if (!is_ordered) return;
    send.src = in ? Place::kUserInput : Place::kUserOutput;
    send.needs = std::move(needs);
  }

  // Unpacking comes right behind what it unpacks, so that edges go forward; packing that nobody
  // reads any more goes.
  void keep_needed() {
    std::vector<VertexId> order;
    std::vector<bool> placed(plan_.vertices.size(), false);
    for (std::size_t at = 0; at < placed.size(); ++at) {
      const auto id = static_cast<VertexId>(at);
      if (placed[id] || is_idle(plan_.vertices[id])) continue;
      order.push_back(id);
      placed[id] = true;
      const VertexId next = unpacking_of(id);
      if (next == kNoVertex || placed[next]) continue;
      order.push_back(next);
      placed[next] = true;
    }
    renumber(order);
  }
  bool is_idle(const Vertex& v) const {
    return packs(v) && std::none_of(plan_.vertices.begin(), plan_.vertices.end(),
                                    [&](const Vertex& other) { return reads_from(other, v.dst); });
  }
  void renumber(const std::vector<VertexId>& order) {
    std::vector<VertexId> number(plan_.vertices.size(), kNoVertex);
    std::vector<Vertex> vertices;
    for (std::size_t at = 0; at < order.size(); ++at) {
      number[order[at]] = static_cast<VertexId>(at);
      vertices.push_back(std::move(plan_.vertices[order[at]]));
    }
    for (Vertex& v : vertices) {
      for (Dependency& need : v.needs) need.vertex = number[need.vertex];
      std::erase_if(v.needs, [](const Dependency& need) { return need.vertex == kNoVertex; });
      for (Operand& operand : v.operands) {
        const bool names = operand.place == Place::kView || operand.stays;
        if (names) operand.vertex = number[operand.vertex];
      }
    }
    plan_.vertices = std::move(vertices);
  }

  // What is received and unpacked. Who else reads it wants it on the host: it is brought there
  // first.
  void let_stay(VertexId id) {
    const Vertex& unpacking = plan_.vertices[id];
    if (unpacking.since != 0 || unpacking.needs.size() != 1) return;
    const VertexId from = unpacking.needs[0].vertex;
    if (unpacking_of(from) != id) return;
    const Vertex& recv = plan_.vertices[from];
    if (recv.action != Action::kRecv) return;
    // Of a group the adapters of all its receivers take it.
    const bool by_group = recv.transfer.path == Path::kMulticast;
    if (!(by_group ? with_.far : all_reach(recv))) return;
    const bool near = all_near(recv);
    if (is_read_on_host() && !near) return;  // It lands where the others of the node want it.
    if (is_read_on_host()) bring(from, id);
    Vertex& receive = plan_.vertices[from];
    receive.stays = true;
    receive.lands = !near;
    receive.needs.push_back({.vertex = id, .shift = receive.window});
    plan_.vertices[id].operands[0] = {.place = Place::kOutput, .vertex = from, .stays = true};
  }
  bool is_read_on_host() const {
    return std::any_of(plan_.vertices.begin(), plan_.vertices.end(), [](const Vertex& v) {
      const bool brings = !v.operands.empty() && v.operands[0].stays;
      return !unpacks(v) && !brings &&
             (reads_from(v, Place::kOutput) || reads_from(v, Place::kAccumulator));
    });
  }
  void bring(VertexId from, VertexId unpacking) {
    Vertex bring = plan_.vertices[unpacking];
    bring.dst = Place::kOutput;
    bring.operands[0] = {.place = Place::kOutput, .vertex = from, .keeps = true, .stays = true};
    const auto brought = static_cast<VertexId>(plan_.vertices.size());
    for (std::size_t id = 0; id < plan_.vertices.size(); ++id) {
      if (id == from || unpacks(plan_.vertices[id])) continue;
      for (Dependency& need : plan_.vertices[id].needs) {
        if (need.vertex == from) need.vertex = brought;
      }
    }
    plan_.vertices[unpacking].needs.push_back({.vertex = brought});
    plan_.vertices.push_back(std::move(bring));
    brought_.emplace_back(from, brought);
  }
  // Each right behind what it brings.
  void place_brought() {
    if (brought_.empty()) return;
    std::vector<VertexId> order;
    for (std::size_t id = 0; id < plan_.vertices.size() - brought_.size(); ++id) {
      order.push_back(static_cast<VertexId>(id));
      for (const auto& [from, brought] : brought_) {
        if (from == id) order.push_back(brought);
      }
    }
    renumber(order);
  }

  // Kernels read them there. What is copied alone the processor copies.
  void let_views_stay() {
    std::vector<bool> is_copied(plan_.vertices.size(), false);
    for (const Vertex& v : plan_.vertices) {
      for (const Operand& operand : v.operands) {
        const bool alone = v.operands.size() == 1 && operand.place == Place::kView;
        if (alone) is_copied[operand.vertex] = true;
      }
    }
    for (std::size_t id = 0; id < plan_.vertices.size(); ++id) {
      Vertex& v = plan_.vertices[id];
      if (v.action == Action::kRecvView && with_.near && all_near(v)) v.stays = !is_copied[id];
    }
  }

  Plan& plan_;
  const TeamNodes* const nodes_;
  Sharing with_;
  std::vector<std::pair<VertexId, VertexId>> brought_;  // a receive, and who brings what it got
};

}  // namespace

void add_sharing(Plan& plan, const TeamNodes* nodes, Sharing with) {
  if (plan.irregular || plan.places || plan.order.at(0) >= 0) return;
  SharingPass(plan, nodes, with).apply();
}

}  // namespace espalier
