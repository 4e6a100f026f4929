// RdmaWorld: n FrameWires over RDMA links over simulated ports (rdma_ranks.hpp), one rank per node,
// perhaps with faults. Virtual time moves when progress() finds nothing to do, as with SimWorld.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/sim/sim_group_port.hpp"
#include "net/sim/sim_placing_port.hpp"
#include "tests/harness/frame_world.hpp"
#include "tests/harness/rdma_ranks.hpp"
#include "tests/harness/sim_bed.hpp"

namespace espalier::test {

struct RdmaWorldOptions : RdmaRanksOptions {
  std::string faults;      // as in net/sim/faults.hpp
  bool registers = false;  // large buffers, for one operation each
  std::uint64_t place_from_bytes = 16 << 10;
  // A frame that waits at its sender for a receive keeps a world from settling.
  std::uint64_t pull_from_bytes = kNever;
  std::uint64_t give_up_ns = 200'000'000;
  // Groups of the network, with ports like this.
  std::optional<sim::GroupPortOptions> groups;
  std::uint32_t groups_max = 8;
  // With lanes, for frames of so many bytes or more; ports of those ranks register nothing, or
  // cannot be opened.
  std::optional<sim::PlacingPortOptions> lanes;
  std::uint64_t lane_from_bytes = 16 << 10;
  std::uint32_t lanes_max = 8;
  std::vector<Rank> registers_nothing, without_lanes;
};

class RdmaWorld : public FrameWorld {
 public:
  explicit RdmaWorld(int ranks, const RdmaWorldOptions& options = {});
  ~RdmaWorld() override;

  // The wire of a rank, which makes the world go on when it has nothing to do itself.
  Wire& wire(Rank r) noexcept override { return *drivers_[static_cast<std::size_t>(r)]; }
  // Registered, as memory of esp_alloc is.
  std::byte* shared(Rank r, std::uint64_t bytes) override;
  void close(Rank r) noexcept override;
  // Packets that were sent again, and frames, because connections broke under them.
  std::uint64_t faults() override;
  // Time in which no rank looks at its wire.
  void pass(std::uint64_t time_ns);

  rdma::DatagramLink& datagrams(Rank r) noexcept { return *ranks_[r].datagrams; }
  rdma::ConnectionLink& connections(Rank r) noexcept override { return *ranks_[r].connections; }
  sim::ConnectionNet& connection_net() noexcept { return ranks_.connection_net(); }
  sim::DatagramNet& datagram_net() noexcept { return ranks_.datagram_net(); }
  sim::GroupNet& group_net() noexcept { return *group_net_; }
  sim::World& world() noexcept { return bed_.world; }

 private:
  class Driver;
  class Ports;
  bool step() noexcept;
  void use_groups(Rank r, const RdmaWorldOptions& options);

  SimBed bed_;
  RdmaRanks ranks_;
  std::optional<sim::GroupNet> group_net_;
  std::vector<std::unique_ptr<Ports>> ports_;
  std::vector<std::unique_ptr<Wire>> drivers_;
  bool woken_ = false;
};

// Of datagrams alone.
inline RdmaWorldOptions datagrams_alone(const std::string& faults = {}) {
  RdmaWorldOptions options;
  options.paths = Paths::kDatagrams;
  options.faults = faults;
  return options;
}

}  // namespace espalier::test
