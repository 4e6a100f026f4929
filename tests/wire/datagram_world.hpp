// DatagramWorld: n DatagramLinks with their FrameWires over simulated datagram ports, perhaps with
// faults. Virtual time moves when progress() finds nothing to do, as with SimWorld.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frame_world.hpp"
#include "net/rdma/datagram_link.hpp"
#include "net/sim/sim_datagram_port.hpp"

namespace espalier::test {

class DatagramWorld : public FrameWorld {
 public:
  // `faults` as in net/sim/faults.hpp.
  DatagramWorld(int ranks, const std::string& faults, const sim::PortOptions& ports = {});
  ~DatagramWorld() override;

  Wire& wire(Rank r) noexcept override { return *drivers_[static_cast<std::size_t>(r)]; }
  void close(Rank r) noexcept override;
  rdma::DatagramLink& datagrams(Rank r) noexcept {
    return static_cast<rdma::DatagramLink&>(link(r));
  }

 private:
  // The wire of a rank, which makes the world go on when it has nothing to do itself.
  class Driver;
  bool step() noexcept;

  const sim::Machine machine_;
  const sim::Map map_;
  sim::World world_;
  sim::DatagramNet net_;
  std::vector<std::unique_ptr<sim::SimDatagramPort>> ports_;
  std::vector<std::unique_ptr<Wire>> drivers_;
  bool woken_ = false;
};

}  // namespace espalier::test
