#include "tests/swarm/network_options.hpp"

#include <fmt/format.h>

namespace espalier::swarm {
namespace {

// Between the shortest and the longest time-out, and until a peer is given up.
constexpr std::uint64_t kTimeOutsInARow = 16;

struct Book final : rdma::AddressBook {
  Result<rdma::PortAddress> address_of(Rank rank) const override {
    return sim::SimDatagramPort::address_of(rank);
  }
};

}  // namespace

const rdma::AddressBook& address_book() noexcept {
  static const Book book;
  return book;
}

rdma::DatagramLinkOptions datagram_options(const Scenario& scenario, Rank rank,
                                           std::uint64_t epoch) {
  rdma::DatagramLinkOptions options;
  options.me = {epoch, rank, scenario.ranks};
  options.round_trip = {200'000, 50'000, 5'000'000};
  options.answer_delay_ns = 10'000;
  options.keepalive_ns = 1000 * kFarNs;
  options.give_up_ns = 40'000'000;
  options.posts_max = 64;
  options.first.value = scenario.first_sequence;
  return options;
}

rdma::ConnectionOptions connection_options(const Scenario& scenario, Rank rank) {
  rdma::ConnectionOptions options = scenario.connections;
  options.letter_ns = 200'000;
  options.answer_ns = 60'000'000;
  options.tail_ns = 100'000;
  options.keepalive_ns = 1000 * kFarNs;
  options.rebuilds_max = 1'000'000;
  options.posts_max = 64;
  if (scenario.odd_ranks_copy && rank % 2 == 1) options.register_from_bytes = kNever;
  return options;
}

std::string misconduct(const Scenario& scenario, Rank rank, const rdma::DatagramLink& link,
                       Lives lives) {
  const rdma::DatagramLinkCounts& counts = link.counts();
  if (counts.forbidden > 0) return fmt::format("somebody sent rank {} too much", rank);
  if (counts.time_outs > kTimeOutsInARow * (counts.data_sent + 1)) {
    return fmt::format("rank {} had {} time-outs for {} packets", rank, counts.time_outs,
                       counts.data_sent);
  }
  for (Rank p = 0; p < static_cast<Rank>(scenario.ranks) && lives(rank); ++p) {
    const rdma::DatagramPeer* peer = link.find(p);
    if (peer == nullptr || !peer->lost || !lives(p)) continue;
    return fmt::format("rank {} has given up rank {}, which lives", rank, p);
  }
  return {};
}

std::string misconduct(const Scenario& scenario, Rank rank, const rdma::ConnectionLink& link,
                       Lives lives) {
  for (Rank p = 0; p < static_cast<Rank>(scenario.ranks) && lives(rank); ++p) {
    const std::string story = link.describe(p);
    if (!story.starts_with("lost") || !lives(p)) continue;
    return fmt::format("rank {} has given up rank {}, which lives: {}", rank, p, story);
  }
  return {};
}

}  // namespace espalier::swarm
