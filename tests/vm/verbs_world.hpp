// VerbsWorld: n FrameWires in one thread over real RDMA ports; ranks alternate between the nodes.
// Frames go over reliable datagrams (UD), or over connections (RC), whose handshakes the datagrams
// carry; large segments are placed by the adapter. The network between the nodes may be made bad.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "net/rdma/connection_link.hpp"
#include "net/rdma/datagram_link.hpp"
#include "tests/harness/frame_world.hpp"
#include "tests/vm/nodes.hpp"

namespace espalier::test {

enum class Over { kDatagrams, kConnections };

class VerbsWorld : public FrameWorld, private rdma::AddressBook {
 public:
  // `netem`: as in `tc qdisc ... netem`; empty: nothing. `memory`: of what is not registered; with
  // cache_bytes each rank has a watch of its own.
  VerbsWorld(int ranks, Over over, const std::string& netem,
             const rdma::DirectMemoryOptions& memory = {.register_from_bytes = 16 << 10});
  ~VerbsWorld() override;

  void close(Rank r) noexcept override;
  void rest() noexcept override;
  // Packets that the network was made to lose.
  std::uint64_t faults() override;

  // What they count. Over::kConnections: of the connections.
  rdma::ConnectionLink& connections(Rank r) noexcept override { return *at(r).connections; }
  const rdma::DatagramLinkCounts& datagrams(Rank r) { return at(r).datagrams->counts(); }
  const rdma::PortCounts& port(Rank r) {
    return at(r).connection_port ? at(r).connection_port->counts() : at(r).datagram_port->counts();
  }

 private:
  struct Node {
    std::unique_ptr<MemoryWatch> watch;
    std::unique_ptr<rdma::DatagramPort> datagram_port;
    std::unique_ptr<rdma::ConnectionPort> connection_port;
    std::unique_ptr<rdma::DatagramLink> datagrams;
    std::unique_ptr<rdma::ConnectionLink> connections;
  };

  Result<rdma::PortAddress> address_of(Rank rank) const override {
    return nodes_[static_cast<std::size_t>(rank)].datagram_port->address();
  }
  std::unique_ptr<net::Link> make_link(Rank rank, Over over,
                                       const rdma::DirectMemoryOptions& memory, Counters& counters);
  Node& at(Rank r) { return nodes_[static_cast<std::size_t>(r)]; }

  SteadyClock clock_;
  std::vector<std::unique_ptr<verbs::Netem>> faults_;
  std::vector<std::unique_ptr<verbs::Adapter>> adapters_;
  std::vector<Node> nodes_;
};

}  // namespace espalier::test
