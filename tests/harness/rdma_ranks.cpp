#include "tests/harness/rdma_ranks.hpp"

#include <utility>

#include "tests/harness/sim_bed.hpp"

namespace espalier::test {

net::Link& RdmaRank::link() const noexcept {
  if (both != nullptr) return *both;
  if (connections != nullptr) return *connections;
  return *datagrams;
}

RdmaRanks::RdmaRanks(sim::World& world, const RdmaRanksOptions& options)
    : options_(options), world_(world), datagram_net_(world), letters_(world) {
  if (has_connections()) connection_net_.emplace(world, options.adapter);
  for (std::uint32_t r = 0; r < world.ranks(); ++r) {
    ranks_.push_back(std::make_shared<RdmaRank>());
    if (!has_datagrams()) continue;
    ranks_.back()->datagram_port =
        std::make_unique<sim::SimDatagramPort>(datagram_net_, static_cast<Rank>(r), options.ports);
  }
}

void RdmaRanks::open(Rank rank, Clock& clock, rdma::DatagramLinkOptions datagrams,
                     rdma::ConnectionOptions connections) {
  RdmaRank& made = (*this)[rank];
  if (has_connections()) {
    made.connection_port = std::make_unique<sim::SimConnectionPort>(*connection_net_, rank);
  }
  if (has_datagrams()) {
    datagrams.me.rank = rank;
    datagrams.me.ranks = world_.ranks();
    datagrams.counters = made.counters.get();
    made.datagrams = std::make_unique<rdma::DatagramLink>(*made.datagram_port, clock,
                                                          sim_addresses(), datagrams);
  }
  if (!has_connections()) return;
  connections.counters = made.counters.get();
  connections.memory.registrations = &made.counters->registrations;
  rdma::Postman& postman = has_datagrams() ? *made.datagrams : letters_.postman(rank);
  while (made.connections == nullptr) {  // memory may be short
    auto link = rdma::ConnectionLink::create(*made.connection_port, postman, clock, rank,
                                             world_.ranks(), connections);
    if (link) made.connections = std::move(*link);
  }
  if (!has_datagrams()) return;
  made.both =
      std::make_unique<rdma::RdmaLink>(*made.datagrams, made.connections.get(), world_.ranks(),
                                       options_.connections_max, -1, options_.log);
}

std::size_t RdmaRanks::under_way() const noexcept {
  return datagram_net_.under_way() + (connection_net_ ? connection_net_->under_way() : 0);
}

const char* RdmaRanks::held(Rank rank, std::size_t registered) const noexcept {
  constexpr std::size_t kSpares = 4;      // packets that a DatagramLink keeps for acknowledgements
  constexpr std::size_t kOwnRegions = 1;  // of a ConnectionLink: its packets
  const RdmaRank& r = (*this)[rank];
  if (!r.link().drained()) return "waits for its peers";
  if (r.both != nullptr && r.both->holds()) return "holds frames for connections";
  if (r.datagram_port != nullptr && r.datagram_port->held() > kSpares) return "holds datagrams";
  if (r.connection_port == nullptr) return nullptr;
  if (r.connection_port->packets_posted() != r.connection_port->packets_provided()) {
    return "holds packets";
  }
  return r.connection_port->regions() > kOwnRegions + registered ? "holds registrations" : nullptr;
}

}  // namespace espalier::test
