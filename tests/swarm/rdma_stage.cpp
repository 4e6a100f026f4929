// The RDMA stage: the library's FrameWires over RdmaLinks: connections whose letters travel as
// datagrams, and datagrams for all that has no connection, not yet or never. Both suffer what they
// suffer alone.
//
// Beside what the job checks: what the stages of either link do, and what RdmaLink promises. How
// many frames go by connections is told: where none ever did, nothing would be found.
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
    const auto ranks = static_cast<Rank>(scenario.ranks);
    for (Rank r = 0; r < ranks; ++r) {
      node(r).datagram_port =
          std::make_unique<sim::SimDatagramPort>(datagram_net_, r, scenario.port);
    }
    leave_ghosts(
        scenario, [this](Rank rank) -> rdma::DatagramPort& { return *node(rank).datagram_port; },
        [this](Rank rank) -> Clock& { return world_.clock(rank); });
    for (Rank r = 0; r < ranks; ++r) open(r);
    for (const auto& [one, other] : scenario.apart) {
      node(one).link->use_datagrams(other);
      node(other).link->use_datagrams(one);
    }
  }
  ~RdmaStage() override { take_down(); }

  Wire& wire(Rank rank) override { return *node(rank).wire; }
  Counters& counters(Rank rank) override { return node(rank).counters; }
  bool cut_off(Rank rank) const override {
    return !nodes_[static_cast<std::size_t>(rank)].connection_port->fault().ok();
  }
  void set_turn(Turn turn, void* context) override {
    turn_ = turn;
    context_ = context;
    world_.set_turn(on_turn, this);
  }

  std::uint64_t connection_frames() const override {
    std::uint64_t frames = 0;
    for (const Node& n : nodes_) frames += n.connections->statistics().frames;
    return frames;
  }

  std::string leftovers() override {
    const auto under_way = datagram_net_.under_way() + connection_net_.under_way();
    if (under_way > 0) return fmt::format("{} datagrams or operations are under way", under_way);
    for (std::size_t r = 0; r < nodes_.size(); ++r) {
      const Node& n = nodes_[r];
      if (!n.link->drained()) return fmt::format("rank {} waits for its peers", r);
      if (n.link->holds()) return fmt::format("rank {} holds frames for connections", r);
      if (n.datagram_port->held() > kSpares) return fmt::format("rank {} holds datagrams", r);
      if (n.connection_port->packets_posted() != n.connection_port->packets_provided()) {
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
    // Ranks are lost on purpose: nobody wants to read that.
    n.link = std::make_unique<rdma::RdmaLink>(*n.datagrams, n.connections.get(), scenario_.ranks,
                                              scenario_.connections_max, -1, Log(LogLevel::kError));
    n.wire = std::make_unique<net::FrameWire>(*n.link, net::FrameWireOptions{}, n.counters);
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
    const auto lives = [this](Rank rank) { return !crashed(rank) && !cut_off(rank); };
    std::string wrong = ran_dry(scenario_, connection_net_);
    for (std::size_t r = 0; r < nodes_.size() && wrong.empty(); ++r) {
      const auto rank = static_cast<Rank>(r);
      wrong = swarm::misconduct(scenario_, rank, *nodes_[r].datagrams, lives);
      if (wrong.empty()) wrong = swarm::misconduct(scenario_, rank, *nodes_[r].connections, lives);
      if (wrong.empty()) wrong = broken_promises(rank);
    }
    return wrong;
  }

  // Of the RdmaLink: a peer lost by one path is lost by both, and no more connections than allowed.
  std::string broken_promises(Rank rank) {
    const Node& n = node(rank);
    std::uint32_t connected = 0;
    for (Rank p = 0; p < static_cast<Rank>(scenario_.ranks) && !crashed(rank) && !cut_off(rank);
         ++p) {
      connected += n.link->connected(p) ? 1 : 0;
      if (has_lost(*n.datagrams, p) != has_lost(*n.connections, p)) {
        return fmt::format("rank {} has lost rank {} by one path only", rank, p);
      }
    }
    if (connected <= scenario_.connections_max) return {};
    return fmt::format("rank {} has {} connections to send by, {} are allowed", rank, connected,
                       scenario_.connections_max);
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
