// The RDMA stage: the library's FrameWires over RdmaLinks: connections whose letters travel as
// datagrams, and datagrams for all that has no connection, not yet or never. Both suffer what they
// suffer alone.
//
// Beside what the job checks: what the stages of either link do.
#include <fmt/format.h>

#include <vector>

#include "net/frame_wire.hpp"
#include "net/rdma/rdma_link.hpp"
#include "net/sim/sim_connection_port.hpp"
#include "tests/swarm/network_options.hpp"
#include "tests/swarm/world_stage.hpp"

namespace espalier::swarm {
namespace {

class RdmaStage final : public WorldStage {
 public:
  explicit RdmaStage(const Scenario& scenario)
      : WorldStage(scenario),
        scenario_(scenario),
        datagram_net_(world_),
        connection_net_(world_, scenario.adapter),
        nodes_(scenario.ranks) {
    for (std::uint32_t r = 0; r < scenario.ranks; ++r) open(static_cast<Rank>(r));
  }
  ~RdmaStage() override { take_down(); }

  Wire& wire(Rank rank) override { return *node(rank).wire; }
  Counters& counters(Rank rank) override { return node(rank).counters; }
  void set_turn(Turn turn, void* context) override {
    turn_ = turn;
    context_ = context;
    world_.set_turn(on_turn, this);
  }

  std::string leftovers() override {
    const auto under_way = datagram_net_.under_way() + connection_net_.under_way();
    if (under_way > 0) return fmt::format("{} datagrams or operations are under way", under_way);
    for (std::size_t r = 0; r < nodes_.size(); ++r) {
      const Node& n = nodes_[r];
      if (!n.link->drained()) return fmt::format("rank {} waits for its peers", r);
      if (n.datagram_port->held() > kSpares) return fmt::format("rank {} holds datagrams", r);
      if (n.connection_port->packets_posted() != scenario_.adapter.receive_depth) {
        return fmt::format("rank {} holds packets", r);
      }
      // Of the link's own packets.
      if (n.connection_port->regions() > 1) return fmt::format("rank {} holds registrations", r);
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
    std::unique_ptr<sim::SimDatagramPort> datagram_port;
    std::unique_ptr<sim::SimConnectionPort> connection_port;
    std::unique_ptr<rdma::DatagramLink> datagrams;
    std::unique_ptr<rdma::ConnectionLink> connections;
    std::unique_ptr<rdma::RdmaLink> link;
    std::unique_ptr<net::FrameWire> wire;
  };
  Node& node(Rank rank) noexcept { return nodes_[static_cast<std::size_t>(rank)]; }

  void open(Rank rank) {
    Node& n = node(rank);
    n.datagram_port = std::make_unique<sim::SimDatagramPort>(datagram_net_, rank, scenario_.port);
    n.connection_port = std::make_unique<sim::SimConnectionPort>(connection_net_, rank);
    n.datagrams =
        std::make_unique<rdma::DatagramLink>(*n.datagram_port, world_.clock(rank), address_book(),
                                             datagram_options(scenario_, rank, kEpoch));
    while (n.connections == nullptr) {  // memory may be short
      auto made =
          rdma::ConnectionLink::create(*n.connection_port, *n.datagrams, world_.clock(rank), rank,
                                       scenario_.ranks, connection_options(scenario_, rank));
      if (made) n.connections = std::move(*made);
    }
    n.link = std::make_unique<rdma::RdmaLink>(*n.datagrams, n.connections.get(), scenario_.ranks,
                                              scenario_.connections_max);
    n.wire = std::make_unique<net::FrameWire>(*n.link, static_cast<int>(scenario_.ranks),
                                              net::FrameWireOptions{}, n.counters);
  }

  static void on_turn(void* stage, Rank rank) {
    auto& self = *static_cast<RdmaStage*>(stage);
    Node& n = self.node(rank);
    constexpr std::uint64_t kAtOnce = 1;
    std::uint64_t due = 0;
    for (int events = 1; events > 0 || due == kAtOnce;) {
      events = n.wire->progress();
      events += self.turn_(self.context_, rank);
      due = n.link->deadline_ns();
    }
    if (due > 0 && due < self.world_.now_ns() + kFarNs) self.world_.wake_at(rank, due);
  }

  std::string misconduct() {
    // What is told again takes packets that nobody has granted.
    const sim::FaultSpec& faults = scenario_.world.faults;
    if (faults.rnr == 0 && faults.echo == 0 && connection_net_.counts().not_ready > 0) {
      return fmt::format("receivers ran dry {} times", connection_net_.counts().not_ready);
    }
    const auto lives = [this](Rank rank) { return !crashed(rank); };
    for (std::size_t r = 0; r < nodes_.size(); ++r) {
      const auto rank = static_cast<Rank>(r);
      std::string wrong = swarm::misconduct(scenario_, rank, *nodes_[r].datagrams, lives);
      if (wrong.empty()) {
        wrong = swarm::misconduct(scenario_, rank, *nodes_[r].connections, lives);
      }
      if (!wrong.empty()) return wrong;
    }
    return {};
  }

  void take_down() {
    for (Node& n : nodes_) {
      n.wire.reset();
      n.link.reset();
      n.connections.reset();
      n.datagrams.reset();
      n.connection_port.reset();
      n.datagram_port.reset();
    }
  }

  const Scenario& scenario_;
  sim::DatagramNet datagram_net_;
  sim::ConnectionNet connection_net_;
  std::vector<Node> nodes_;
  Turn turn_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace

std::unique_ptr<Stage> make_rdma_stage(const Scenario& scenario) {
  return std::make_unique<RdmaStage>(scenario);
}

}  // namespace espalier::swarm
