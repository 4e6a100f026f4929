// DatagramWorld: n DatagramLinks with their FrameWires over simulated datagram ports, perhaps with
// faults.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "net/sim/sim_datagram_port.hpp"
#include "sim_frame_world.hpp"

namespace espalier::test {

class DatagramWorld : public SimFrameWorld {
 public:
  // `faults` as in net/sim/faults.hpp.
  DatagramWorld(int ranks, const std::string& faults, const sim::PortOptions& ports = {});
  ~DatagramWorld() override;

  void close(Rank r) noexcept override;
  // Packets that were sent again.
  std::uint64_t faults() override;
  rdma::DatagramLink& datagrams(Rank r) noexcept {
    return static_cast<rdma::DatagramLink&>(link(r));
  }

 private:
  bool under_way() const noexcept override { return net_.under_way() > 0; }

  sim::DatagramNet net_;
  std::vector<std::unique_ptr<sim::SimDatagramPort>> ports_;
};

}  // namespace espalier::test
