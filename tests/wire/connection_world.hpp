// ConnectionWorld: n RdmaLinks (connections, and datagrams that carry their letters) with their
// FrameWires over simulated ports, perhaps with faults. Virtual time moves when progress() finds
// nothing to do, as with SimWorld.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frame_world.hpp"
#include "net/rdma/connection_link.hpp"
#include "net/rdma/datagram_link.hpp"
#include "net/rdma/rdma_link.hpp"
#include "net/sim/sim_connection_port.hpp"
#include "net/sim/sim_datagram_port.hpp"

namespace espalier::test {

struct ConnectionWorldOptions {
  std::string faults;                  // as in net/sim/faults.hpp
  std::uint32_t connections_max = 64;  // per rank; the others get datagrams
  bool registers = false;              // large buffers, for one operation each
  std::uint64_t place_from_bytes = 16 << 10;
};

class ConnectionWorld : public FrameWorld {
 public:
  ConnectionWorld(int ranks, const ConnectionWorldOptions& options);
  ~ConnectionWorld() override;

  Wire& wire(Rank r) noexcept override { return *nodes_[static_cast<std::size_t>(r)].driver; }
  std::byte* shared(Rank r, std::uint64_t bytes) override;
  void close(Rank r) noexcept override;
  rdma::ConnectionLink& connections(Rank r) noexcept {
    return *nodes_[static_cast<std::size_t>(r)].connections;
  }

 private:
  class Driver;
  struct Node {
    std::unique_ptr<sim::SimDatagramPort> datagram_port;
    std::unique_ptr<sim::SimConnectionPort> connection_port;
    std::unique_ptr<rdma::DatagramLink> datagrams;
    std::unique_ptr<rdma::ConnectionLink> connections;
    std::unique_ptr<Wire> driver;
  };
  bool step() noexcept;

  const sim::Machine machine_;
  const sim::Map map_;
  sim::World world_;
  sim::DatagramNet datagram_net_;
  sim::ConnectionNet connection_net_;
  std::vector<Node> nodes_;
  bool woken_ = false;
};

}  // namespace espalier::test
