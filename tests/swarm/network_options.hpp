// What the ranks of the RDMA stage have: options, and what no link may do.
#pragma once

#include <functional>
#include <string>

#include "net/rdma/connection_link.hpp"
#include "net/rdma/datagram_link.hpp"
#include "tests/swarm/scenario.hpp"

namespace espalier::swarm {

inline constexpr std::uint64_t kEpoch = 2;              // of the job; ghosts are of the one before
inline constexpr std::uint64_t kFarNs = 1'000'000'000;  // signs of life have no part in this

rdma::DatagramLinkOptions datagram_options(const Scenario& scenario, Rank rank,
                                           std::uint64_t epoch);
rdma::ConnectionOptions connection_options(const Scenario& scenario, Rank rank);

// A job that ended while its packets were under way had the same ranks at the same addresses: lets
// links of it send their last words. Before the job's own links are made.
using PortOf = std::function<rdma::DatagramPort&(Rank)>;
using ClockOf = std::function<Clock&(Rank)>;
void leave_ghosts(const Scenario& scenario, const PortOf& port, const ClockOf& clock);

// What the link of a rank has done wrong; empty: nothing. `lives` says which ranks do.
using Lives = std::function<bool(Rank)>;
std::string misconduct(const Scenario& scenario, Rank rank, const rdma::DatagramLink& link,
                       const Lives& lives);
std::string misconduct(const Scenario& scenario, Rank rank, const rdma::ConnectionLink& link,
                       const Lives& lives);
bool has_lost(const rdma::DatagramLink& link, Rank peer);
bool has_lost(const rdma::ConnectionLink& link, Rank peer);
// Of all receivers: they run dry by chance only, or because an adapter tells things twice, which
// takes packets that nobody has granted.
std::string ran_dry(const Scenario& scenario, const sim::ConnectionNet& net);

}  // namespace espalier::swarm
