// The RDMA stage: the library's FrameWires over simulated ports with faults (tests/harness/
// rdma_ranks.hpp): over DatagramLinks; over ConnectionLinks, whose connections break, receivers run
// dry and letters are lost, repeated and overtaken; or over RdmaLinks, where connections have
// datagrams for letters, and datagrams carry all that has no connection, not yet or never.
//
// Beside what the job checks: no rank gives up one that lives, nobody sends without permission,
// every time-out is followed by a longer one, packets of an earlier job change nothing, no receiver
// runs dry but by chance, and RdmaLink keeps what it promises. Where there are connections alone,
// ranks put into each other's memory and get from it, and every byte is right. When all is quiet
// everything is complete, all packets are free or posted, and nothing is registered any more that
// was so for one operation. How many frames go by connections is told: where none ever did beside
// datagrams, nothing would be found.
#include <fmt/format.h>

#include <vector>

#include "net/frame_wire.hpp"
#include "tests/harness/accesses.hpp"
#include "tests/harness/rdma_ranks.hpp"
#include "tests/swarm/network_options.hpp"
#include "tests/swarm/world_stage.hpp"

namespace espalier::swarm {
namespace {

test::RdmaRanksOptions ranks_options(const Scenario& scenario) {
  test::RdmaRanksOptions options;
  options.paths = scenario.stage == StageKind::kDatagrams     ? test::Paths::kDatagrams
                  : scenario.stage == StageKind::kConnections ? test::Paths::kConnections
                                                              : test::Paths::kBoth;
  options.ports = scenario.port;
  options.adapter = scenario.adapter;
  options.connections_max = scenario.connections_max;
  options.log = Log(LogLevel::kError);  // Ranks are lost on purpose: nobody wants to read that.
  return options;
}

class RdmaStage final : public WorldStage {
 public:
  explicit RdmaStage(const Scenario& scenario)
      : WorldStage(scenario),
        scenario_(scenario),
        size_(static_cast<Rank>(scenario.ranks)),
        ranks_(world_, ranks_options(scenario)),
        accesses_(scenario.ranks, scenario.accesses, scenario.whims, ~scenario.seed) {
    leave_ghosts(
        scenario, [this](Rank rank) -> rdma::DatagramPort& { return *ranks_[rank].datagram_port; },
        [this](Rank rank) -> Clock& { return world_.clock(rank); });
    for (Rank r = 0; r < size_; ++r) {
      ranks_.open(r, world_.clock(r), datagram_options(scenario, r, kEpoch),
                  connection_options(scenario, r));
      wires_.push_back(std::make_unique<net::FrameWire>(ranks_[r].link(), net::FrameWireOptions{},
                                                        *ranks_[r].counters));
    }
    for (const auto& [one, other] : scenario.apart) {
      ranks_[one].both->use_datagrams(other);
      ranks_[other].both->use_datagrams(one);
    }
    std::vector<rdma::ConnectionLink*> links;
    for (Rank r = 0; r < size_; ++r) links.push_back(ranks_[r].connections.get());
    accesses_.expose(links);
  }
  ~RdmaStage() override { take_down(); }

  Wire& wire(Rank rank) override { return *wires_[static_cast<std::size_t>(rank)]; }
  Counters& counters(Rank rank) override { return *ranks_[rank].counters; }
  bool cut_off(Rank rank) const override {
    return ranks_.has_connections() && !ranks_[rank].connection_port->fault().ok();
  }
  std::uint64_t connection_frames() const override {
    std::uint64_t frames = 0;
    for (Rank r = 0; r < size_ && scenario_.stage == StageKind::kRdma; ++r) {
      frames += ranks_[r].connections->statistics().frames;
    }
    return frames;
  }

  std::string leftovers() override {
    if (const std::size_t count = ranks_.under_way(); count > 0) {
      return fmt::format("{} datagrams or operations are under way", count);
    }
    for (Rank r = 0; r < size_; ++r) {
      if (accesses_.open(r)) return fmt::format("an access of rank {} hangs", r);
      for (Rank to = 0; to < size_ && scenario_.accesses > 0; ++to) {
        if (to == r || !ranks_[r].connections->up(to) || accesses_.done(r, to)) continue;
        return fmt::format("rank {} never got to all its accesses to rank {}", r, to);
      }
      if (const char* what = ranks_.held(r, accesses_.registered(r))) {
        return fmt::format("rank {} {}", r, what);
      }
      if (wires_[static_cast<std::size_t>(r)]->held_bytes() > 0) {
        return fmt::format("the wire of rank {} holds segments", r);
      }
    }
    return {};
  }
  std::string close() override {
    std::string wrong = misconduct();
    take_down();
    return wrong;
  }

 private:
  void look(Rank rank) override {
    const net::Link& link = ranks_[rank].link();
    constexpr std::uint64_t kAtOnce = 1;
    std::uint64_t due = 0;
    for (int events = 1; events > 0 || due == kAtOnce;) {
      events = wire(rank).progress();
      events += take_turn(rank);
      events += reach_over(rank);
      due = link.deadline_ns();
    }
    if (due > 0 && due < world_.now_ns() + kFarNs) world_.wake_at(rank, due);
  }

  // The next put or get to each rank that this one has a connection with.
  int reach_over(Rank rank) {
    int started = 0;
    for (Rank to = 0; to < size_ && scenario_.accesses > 0; ++to) {
      if (to == rank || accesses_.done(rank, to)) continue;
      started += accesses_.turn(rank, to) == test::Accesses::Turn::kDone ? 1 : 0;
    }
    return started;
  }

  std::string misconduct() {
    if (!accesses_.failure().empty()) return accesses_.failure();
    const auto lives = [this](Rank rank) { return !crashed(rank) && !cut_off(rank); };
    std::string wrong;
    if (ranks_.has_connections()) wrong = ran_dry(scenario_, ranks_.connection_net());
    for (Rank r = 0; r < size_ && wrong.empty(); ++r) {
      const test::RdmaRank& rank = ranks_[r];
      if (rank.datagrams) wrong = swarm::misconduct(scenario_, r, *rank.datagrams, lives);
      if (rank.connections && wrong.empty()) {
        wrong = swarm::misconduct(scenario_, r, *rank.connections, lives);
      }
      if (rank.both && wrong.empty() && lives(r)) wrong = broken_promises(r, rank);
    }
    return wrong;
  }

  // Of the RdmaLink: a peer lost by one path is lost by both, and no more connections than allowed.
  std::string broken_promises(Rank r, const test::RdmaRank& rank) const {
    std::uint32_t connected = 0;
    for (Rank p = 0; p < size_; ++p) {
      connected += rank.both->connected(p) ? 1 : 0;
      if (has_lost(*rank.datagrams, p) != has_lost(*rank.connections, p)) {
        return fmt::format("rank {} has lost rank {} by one path only", r, p);
      }
    }
    if (connected <= scenario_.connections_max) return {};
    return fmt::format("rank {} has {} connections to send by, {} are allowed", r, connected,
                       scenario_.connections_max);
  }

  void take_down() {
    wires_.clear();
    for (Rank r = 0; r < size_; ++r) ranks_.close(r);
  }

  const Scenario& scenario_;
  const Rank size_;
  test::RdmaRanks ranks_;
  test::Accesses accesses_;
  std::vector<std::unique_ptr<net::FrameWire>> wires_;
};

}  // namespace

std::unique_ptr<Stage> make_rdma_stage(const Scenario& scenario) {
  return std::make_unique<RdmaStage>(scenario);
}

}  // namespace espalier::swarm
