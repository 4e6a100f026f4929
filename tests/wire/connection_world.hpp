// ConnectionWorld: n RdmaLinks (connections, and datagrams that carry their letters) with their
// FrameWires over simulated ports, perhaps with faults.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/log.hpp"
#include "net/rdma/connection_link.hpp"
#include "net/rdma/rdma_link.hpp"
#include "net/sim/sim_connection_port.hpp"
#include "net/sim/sim_datagram_port.hpp"
#include "sim_frame_world.hpp"

namespace espalier::test {

struct ConnectionWorldOptions {
  std::string faults;                  // as in net/sim/faults.hpp
  std::uint32_t connections_max = 64;  // per rank; the others get datagrams
  bool registers = false;              // large buffers, for one operation each
  std::uint64_t place_from_bytes = 16 << 10;
  // A frame that waits at its sender for a receive keeps a world from settling.
  std::uint64_t pull_from_bytes = kNever;
  sim::ConnectionLimits adapter;
  std::uint64_t give_up_ns = 200'000'000;
  Log log = Log();
};

class ConnectionWorld : public SimFrameWorld {
 public:
  ConnectionWorld(int ranks, const ConnectionWorldOptions& options);
  ~ConnectionWorld() override;

  std::byte* shared(Rank r, std::uint64_t bytes) override;
  void close(Rank r) noexcept override;
  // Connections that broke under frames.
  std::uint64_t faults() override;
  rdma::DatagramLink& datagrams(Rank r) noexcept {
    return *nodes_[static_cast<std::size_t>(r)].datagrams;
  }
  rdma::ConnectionLink& connections(Rank r) noexcept {
    return *nodes_[static_cast<std::size_t>(r)].connections;
  }
  rdma::RdmaLink& rdma(Rank r) noexcept { return static_cast<rdma::RdmaLink&>(link(r)); }
  sim::ConnectionNet& connection_net() noexcept { return connection_net_; }
  sim::DatagramNet& datagram_net() noexcept { return datagram_net_; }

 private:
  struct Node {
    std::unique_ptr<sim::SimDatagramPort> datagram_port;
    std::unique_ptr<sim::SimConnectionPort> connection_port;
    std::unique_ptr<rdma::DatagramLink> datagrams;
    std::unique_ptr<rdma::ConnectionLink> connections;
  };
  bool under_way() const noexcept override {
    return datagram_net_.under_way() > 0 || connection_net_.under_way() > 0;
  }

  sim::DatagramNet datagram_net_;
  sim::ConnectionNet connection_net_;
  std::vector<Node> nodes_;
};

}  // namespace espalier::test
