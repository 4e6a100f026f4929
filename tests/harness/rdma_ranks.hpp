// RdmaRanks: the ranks of a simulated World with their ports and links: over datagrams; over
// connections, whose letters go by a post that loses and repeats them (letters.hpp); or over both
// as in a job.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/log.hpp"
#include "net/rdma/connection_link.hpp"
#include "net/rdma/rdma_link.hpp"
#include "net/sim/sim_connection_port.hpp"
#include "net/sim/sim_datagram_port.hpp"
#include "tests/harness/letters.hpp"

namespace espalier::test {

enum class Paths { kDatagrams, kConnections, kBoth };

struct RdmaRanksOptions {
  Paths paths = Paths::kBoth;
  sim::PortOptions ports;              // of datagrams
  sim::ConnectionLimits adapter;       // of connections
  std::uint32_t connections_max = 64;  // kBoth: per rank; the others get datagrams
  Log log = Log();
};

// In the order in which they are made. The links count in the counters.
struct RdmaRank {
  net::Link& link() const noexcept;

  // They may outlive the links.
  std::shared_ptr<Counters> counters = std::make_shared<Counters>();
  std::unique_ptr<sim::SimDatagramPort> datagram_port;
  std::unique_ptr<sim::SimConnectionPort> connection_port;
  std::unique_ptr<rdma::DatagramLink> datagrams;
  std::unique_ptr<rdma::ConnectionLink> connections;
  std::unique_ptr<rdma::RdmaLink> both;
};

class RdmaRanks {
 public:
  // The datagram ports, for what is there before the links.
  RdmaRanks(sim::World& world, const RdmaRanksOptions& options);

  // The links of a rank, by a clock of its own. Who they are is filled in.
  void open(Rank rank, Clock& clock, rdma::DatagramLinkOptions datagrams,
            rdma::ConnectionOptions connections);
  void close(Rank rank) noexcept { ranks_[static_cast<std::size_t>(rank)].reset(); }

  bool has_datagrams() const noexcept { return options_.paths != Paths::kConnections; }
  bool has_connections() const noexcept { return options_.paths != Paths::kDatagrams; }
  RdmaRank& operator[](Rank rank) const noexcept { return *share(rank); }
  const std::shared_ptr<RdmaRank>& share(Rank rank) const noexcept {
    return ranks_[static_cast<std::size_t>(rank)];
  }
  // Datagrams and operations of adapters.
  std::size_t under_way() const noexcept;
  // What a rank still holds of its ports after all has ended; nullptr: nothing. `registered`:
  // pieces of memory that are so for all the time.
  const char* held(Rank rank, std::size_t registered = 0) const noexcept;
  sim::DatagramNet& datagram_net() noexcept { return datagram_net_; }
  sim::ConnectionNet& connection_net() noexcept { return *connection_net_; }

 private:
  const RdmaRanksOptions options_;
  sim::World& world_;
  sim::DatagramNet datagram_net_;
  std::optional<sim::ConnectionNet> connection_net_;
  Letters letters_;
  std::vector<std::shared_ptr<RdmaRank>> ranks_;
};

}  // namespace espalier::test
