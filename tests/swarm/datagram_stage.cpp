// The datagram stage: the library's FrameWires over DatagramLinks, over simulated ports with
// faults.
//
// Beside what the job checks: no rank gives up one that lives, nobody sends without permission,
// every time-out is followed by a longer one, packets of an earlier job change nothing, and when
// all is quiet everything is acknowledged and no packet is held.
#include <fmt/format.h>

#include <vector>

#include "net/frame_wire.hpp"
#include "tests/swarm/network_options.hpp"
#include "tests/swarm/world_stage.hpp"

namespace espalier::swarm {
namespace {

class DatagramStage final : public WorldStage {
 public:
  explicit DatagramStage(const Scenario& scenario)
      : WorldStage(scenario), scenario_(scenario), net_(world_), nodes_(scenario.ranks) {
    for (std::uint32_t r = 0; r < scenario.ranks; ++r) {
      nodes_[r].port =
          std::make_unique<sim::SimDatagramPort>(net_, static_cast<Rank>(r), scenario.port);
    }
    leave_ghosts(
        scenario, [this](Rank rank) -> rdma::DatagramPort& { return *node(rank).port; },
        [this](Rank rank) -> Clock& { return world_.clock(rank); });
    for (std::uint32_t r = 0; r < scenario.ranks; ++r) {
      const auto rank = static_cast<Rank>(r);
      Node& node = nodes_[r];
      node.link = std::make_unique<rdma::DatagramLink>(
          *node.port, world_.clock(rank), address_book(), datagram_options(scenario, rank, kEpoch));
      node.wire =
          std::make_unique<net::FrameWire>(*node.link, net::FrameWireOptions{}, node.counters);
    }
  }
  ~DatagramStage() override { take_down(); }

  Wire& wire(Rank rank) override { return *node(rank).wire; }
  Counters& counters(Rank rank) override { return node(rank).counters; }
  void set_turn(Turn turn, void* context) override {
    turn_ = turn;
    context_ = context;
    world_.set_turn(on_turn, this);
  }

  std::string leftovers() override {
    if (net_.under_way() > 0) return fmt::format("{} datagrams are under way", net_.under_way());
    for (std::size_t r = 0; r < nodes_.size(); ++r) {
      const Node& n = nodes_[r];
      if (!n.link->drained()) return fmt::format("rank {} waits for acknowledgements", r);
      if (n.port->held() > kSpares) return fmt::format("rank {} holds packets", r);
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
    std::unique_ptr<sim::SimDatagramPort> port;
    std::unique_ptr<rdma::DatagramLink> link;
    std::unique_ptr<net::FrameWire> wire;
  };
  Node& node(Rank rank) noexcept { return nodes_[static_cast<std::size_t>(rank)]; }

  static void on_turn(void* stage, Rank rank) {
    auto& self = *static_cast<DatagramStage*>(stage);
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
    const auto lives = [this](Rank rank) { return !crashed(rank); };
    std::string wrong;
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
  sim::DatagramNet net_;
  std::vector<Node> nodes_;
  Turn turn_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace

std::unique_ptr<Stage> make_datagram_stage(const Scenario& scenario) {
  return std::make_unique<DatagramStage>(scenario);
}

}  // namespace espalier::swarm
