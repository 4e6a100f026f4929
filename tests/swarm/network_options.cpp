#include "tests/swarm/network_options.hpp"

#include <fmt/format.h>

#include <vector>

#include "tests/harness/sim_bed.hpp"

namespace espalier::swarm {
namespace {

// Between the shortest and the longest time-out, and until a peer is given up.
constexpr std::uint64_t kTimeOutsInARow = 16;

// Who waits for one whose adapter has failed learns of it by asking: when nothing else happens any
// more, or the world would go on for ever.
std::uint64_t keepalive_ns(const Scenario& scenario) {
  return scenario.world.faults.overruns > 0 ? 2 * kFarNs : 1000 * kFarNs;
}

}  // namespace

rdma::DatagramLinkOptions datagram_options(const Scenario& scenario, Rank rank,
                                           std::uint64_t epoch) {
  rdma::DatagramLinkOptions options;
  options.me = {epoch, rank, scenario.ranks};
  options.round_trip = {200'000, 50'000, 5'000'000};
  options.answer_delay_ns = 10'000;
  options.keepalive_ns = keepalive_ns(scenario);
  options.give_up_ns = 40'000'000;
  options.posts_max = 64;
  options.first.value = scenario.first_sequence;
  return options;
}

rdma::ConnectionOptions connection_options(const Scenario& scenario, Rank rank) {
  rdma::ConnectionOptions options = scenario.connections;
  options.letter_ns = 200'000;
  // Nothing else ends a rebuild towards a dead rank: keepalives are far.
  options.answer_ns = 60'000'000;
  options.tail_ns = 100'000;
  options.keepalive_ns = keepalive_ns(scenario);
  options.rebuilds_max = 1'000'000;
  options.posts_max = 64;
  if (scenario.odd_ranks_copy && rank % 2 == 1) options.memory.register_from_bytes = kNever;
  return options;
}

void leave_ghosts(const Scenario& scenario, const PortOf& port, const ClockOf& clock) {
  Prng prng(scenario.world.seed ^ 0x67686f7374ULL);
  for (std::uint32_t i = 0; i < scenario.ghosts; ++i) {
    const auto from = static_cast<Rank>(prng.below(scenario.ranks));
    const auto to = static_cast<Rank>(
        (static_cast<std::uint64_t>(from) + 1 + prng.below(scenario.ranks - 1)) % scenario.ranks);
    rdma::DatagramLink dying(port(from), clock(from), test::sim_addresses(),
                             datagram_options(scenario, from, kEpoch - 1));
    net::FrameHeader header;
    header.kind = net::FrameKind::kControl;
    header.bytes = 1 + prng.below(60);
    const std::vector<std::byte> payload(header.bytes, std::byte{0x9e});
    if (scenario.has_connections() && i % 2 == 1) {
      dying.post(to, payload);  // a letter
      continue;
    }
    Completion nobody;
    (void)dying.post(to, header, payload.data(), nobody);
  }
}

bool has_lost(const rdma::DatagramLink& link, Rank peer) {
  const rdma::DatagramPeer* known = link.find(peer);
  return known != nullptr && known->life.lost();
}

bool has_lost(const rdma::ConnectionLink& link, Rank peer) {
  return link.describe(peer).starts_with("lost");
}

std::string misconduct(const Scenario& scenario, Rank rank, const rdma::DatagramLink& link,
                       const Lives& lives) {
  const rdma::DatagramLinkCounts& counts = link.counts();
  if (counts.forbidden > 0) return fmt::format("somebody sent rank {} too much", rank);
  if (counts.time_outs > kTimeOutsInARow * (counts.data_sent + 1)) {
    return fmt::format("rank {} had {} time-outs for {} packets", rank, counts.time_outs,
                       counts.data_sent);
  }
  for (Rank p = 0; p < static_cast<Rank>(scenario.ranks) && lives(rank); ++p) {
    if (!has_lost(link, p) || !lives(p)) continue;
    return fmt::format("rank {} has given up rank {}, which lives", rank, p);
  }
  return {};
}

std::string misconduct(const Scenario& scenario, Rank rank, const rdma::ConnectionLink& link,
                       const Lives& lives) {
  for (Rank p = 0; p < static_cast<Rank>(scenario.ranks) && lives(rank); ++p) {
    if (!has_lost(link, p) || !lives(p)) continue;
    return fmt::format("rank {} has given up rank {}, which lives: {}", rank, p, link.describe(p));
  }
  return {};
}

std::string ran_dry(const Scenario& scenario, const sim::ConnectionNet& net) {
  const sim::FaultSpec& faults = scenario.world.faults;
  if (faults.rnr > 0 || faults.echo > 0 || net.counts().not_ready == 0) return {};
  return fmt::format("receivers ran dry {} times", net.counts().not_ready);
}

}  // namespace espalier::swarm
