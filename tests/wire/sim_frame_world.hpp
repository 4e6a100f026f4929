// SimFrameWorld: n FrameWires over links over simulated ports, one rank per simulated node. Virtual
// time moves when progress() finds nothing to do, as with SimWorld. Worlds of a kind of link derive
// from it, add their links, and say whether anything is under way in their nets.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frame_world.hpp"
#include "net/rdma/datagram_link.hpp"
#include "net/sim/world.hpp"

namespace espalier::test {

class SimFrameWorld : public FrameWorld {
 public:
  // The wire of a rank, which makes the world go on when it has nothing to do itself.
  Wire& wire(Rank r) noexcept override { return *drivers_[static_cast<std::size_t>(r)]; }
  // Time in which no rank looks at its wire.
  void pass(std::uint64_t time_ns);

 protected:
  // `faults` as in net/sim/faults.hpp.
  SimFrameWorld(int ranks, const std::string& faults);
  ~SimFrameWorld() override;

  // Apart from what the links wait for.
  virtual bool under_way() const noexcept = 0;
  // In virtual times of this size: short round trips, peers that are given up soon.
  rdma::DatagramLinkOptions datagram_options(Rank rank, int ranks) const;
  static const rdma::AddressBook& book() noexcept;

  const sim::Machine machine_;
  const sim::Map map_;
  sim::World world_;

 private:
  class Driver;
  bool step() noexcept;

  std::vector<std::unique_ptr<Wire>> drivers_;
  bool woken_ = false;
};

}  // namespace espalier::test
