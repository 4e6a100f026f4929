// The connection stage: the library's FrameWires over ConnectionLinks, over simulated adapters
// whose connections break and whose receivers run dry; letters are lost, repeated and overtaken.
//
// Beside what the job checks: ranks put into each other's memory and get from it, and every byte is
// right; no rank gives up one that lives, no receiver runs dry but by chance, and when all is quiet
// everything is complete, all packets are posted and nothing is registered any more that was so for
// one operation.
#include <fmt/format.h>

#include <vector>

#include "net/frame_wire.hpp"
#include "net/sim/sim_connection_port.hpp"
#include "tests/sim/connection_accesses.hpp"
#include "tests/sim/letters.hpp"
#include "tests/swarm/network_options.hpp"
#include "tests/swarm/world_stage.hpp"

namespace espalier::swarm {
namespace {

class ConnectionStage final : public WorldStage {
 public:
  explicit ConnectionStage(const Scenario& scenario)
      : WorldStage(scenario),
        scenario_(scenario),
        net_(world_, scenario.adapter),
        letters_(world_),
        accesses_(scenario.ranks, scenario.accesses, scenario.whims, ~scenario.seed),
        nodes_(scenario.ranks) {
    for (std::uint32_t r = 0; r < scenario.ranks; ++r) {
      const auto rank = static_cast<Rank>(r);
      Node& node = nodes_[r];
      node.port = std::make_unique<sim::SimConnectionPort>(net_, rank);
      while (node.link == nullptr) {  // memory may be short
        auto made =
            rdma::ConnectionLink::create(*node.port, letters_.postman(rank), world_.clock(rank),
                                         rank, scenario.ranks, connection_options(scenario, rank));
        if (made) node.link = std::move(*made);
      }
      node.wire =
          std::make_unique<net::FrameWire>(*node.link, net::FrameWireOptions{}, node.counters);
    }
    std::vector<rdma::ConnectionLink*> links;
    for (const Node& n : nodes_) links.push_back(n.link.get());
    accesses_.expose(links);
  }
  ~ConnectionStage() override { take_down(); }

  Wire& wire(Rank rank) override { return *node(rank).wire; }
  Counters& counters(Rank rank) override { return node(rank).counters; }
  bool cut_off(Rank rank) const override {
    return !nodes_[static_cast<std::size_t>(rank)].port->fault().ok();
  }
  void set_turn(Turn turn, void* context) override {
    turn_ = turn;
    context_ = context;
    world_.set_turn(on_turn, this);
  }

  std::string leftovers() override {
    if (net_.under_way() > 0) return fmt::format("{} operations are under way", net_.under_way());
    for (std::size_t r = 0; r < nodes_.size(); ++r) {
      const Node& n = nodes_[r];
      if (accesses_.open(static_cast<Rank>(r))) return fmt::format("an access of rank {} hangs", r);
      for (Rank to = 0; to < static_cast<Rank>(nodes_.size()) && scenario_.accesses > 0; ++to) {
        if (to == static_cast<Rank>(r) || !n.link->up(to)) continue;
        if (!accesses_.done(static_cast<Rank>(r), to)) {
          return fmt::format("rank {} never got to all its accesses to rank {}", r, to);
        }
      }
      if (!n.link->drained()) return fmt::format("rank {} waits for completions", r);
      if (n.port->packets_posted() != n.port->packets_provided()) {
        return fmt::format("rank {} holds packets", r);
      }
      // Of the link's own packets.
      if (n.port->regions() > 1 + accesses_.registered(static_cast<Rank>(r)))
        return fmt::format("rank {} holds registrations", r);
      if (n.wire->held_bytes() > 0) return fmt::format("the wire of rank {} holds segments", r);
    }
    return {};
  }
  std::string close() override {
    std::string wrong = misconduct();
    take_down();
    return wrong;
  }

 private:
  struct Node {
    Counters counters;
    std::unique_ptr<sim::SimConnectionPort> port;
    std::unique_ptr<rdma::ConnectionLink> link;
    std::unique_ptr<net::FrameWire> wire;
  };
  Node& node(Rank rank) noexcept { return nodes_[static_cast<std::size_t>(rank)]; }

  static void on_turn(void* stage, Rank rank) {
    auto& self = *static_cast<ConnectionStage*>(stage);
    Node& n = self.node(rank);
    for (int events = 1; events > 0;) {
      events = n.wire->progress();
      events += self.turn_(self.context_, rank);
      events += self.reach_over(rank);
    }
    const std::uint64_t due = n.link->deadline_ns();
    if (due > 0 && due < self.world_.now_ns() + kFarNs) self.world_.wake_at(rank, due);
  }

  // The next put or get to each rank that this one has a connection with.
  int reach_over(Rank rank) {
    int started = 0;
    for (std::size_t to = 0; to < nodes_.size() && scenario_.accesses > 0; ++to) {
      const auto target = static_cast<Rank>(to);
      if (target == rank || accesses_.done(rank, target)) continue;
      const auto turn = accesses_.turn(rank, target);
      started += turn == test::ConnectionAccesses::Turn::kDone ? 1 : 0;
    }
    return started;
  }

  std::string misconduct() {
    if (!accesses_.failure().empty()) return accesses_.failure();
    std::string wrong = ran_dry(scenario_, net_);
    const auto lives = [this](Rank rank) { return !crashed(rank) && !cut_off(rank); };
    for (std::size_t r = 0; r < nodes_.size() && wrong.empty(); ++r) {
      wrong = swarm::misconduct(scenario_, static_cast<Rank>(r), *nodes_[r].link, lives);
    }
    return wrong;
  }

  void take_down() {
    for (Node& n : nodes_) {
      n.wire.reset();
      n.link.reset();
      n.port.reset();
    }
  }

  const Scenario& scenario_;
  sim::ConnectionNet net_;
  test::Letters letters_;
  test::ConnectionAccesses accesses_;
  std::vector<Node> nodes_;
  Turn turn_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace

std::unique_ptr<Stage> make_connection_stage(const Scenario& scenario) {
  return std::make_unique<ConnectionStage>(scenario);
}

}  // namespace espalier::swarm
