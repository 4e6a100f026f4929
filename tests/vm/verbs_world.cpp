#include "tests/vm/verbs_world.hpp"

#include <poll.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "net/rdma/rdma_link.hpp"

namespace espalier::test {
namespace {

template <typename T>
T must(Result<T> made) {
  if (!made) {
    std::fprintf(stderr, "%s\n", made.error().text.c_str());
    std::abort();
  }
  return std::move(*made);
}

}  // namespace

VerbsWorld::VerbsWorld(int ranks, Over over, const std::string& netem,
                       const rdma::DirectMemoryOptions& memory) {
  for (int node = 0; node < 2 && !netem.empty(); ++node) {
    faults_.push_back(std::make_unique<verbs::Netem>(node, netem));
    EXPECT_TRUE(faults_.back()->works()) << "the network is good: tc knows no netem here";
  }
  verbs::Options options;
  // 16 ms: what is lost is soon sent again, but a busy machine is not taken for a loss
  // (docs/verbs.md).
  if (!netem.empty()) options.ack_timeout = 12;
  for (const verbs::PortInfo& info : verbs::usable_ports(2)) {
    adapters_.push_back(must(verbs::open_adapter(info, options)));
  }
  for (Rank r = 0; r < ranks; ++r) {
    verbs::Adapter& adapter = *adapters_[static_cast<std::size_t>(r) % adapters_.size()];
    Node node;
    node.datagram_port = must(adapter.open_datagrams({}));
    if (over == Over::kConnections) node.connection_port = must(adapter.open_connections({}));
    nodes_.push_back(std::move(node));
  }
  for (Rank r = 0; r < ranks; ++r) {
    auto counters = std::make_unique<Counters>();
    auto link = make_link(r, over, memory, *counters);
    add(std::move(counters), std::move(link));
  }
}

VerbsWorld::~VerbsWorld() {
  for (Rank r = 0; r < size(); ++r) {
    if (is_open(r)) close(r);
  }
}

std::unique_ptr<net::Link> VerbsWorld::make_link(Rank rank, Over over,
                                                 const rdma::DirectMemoryOptions& memory,
                                                 Counters& counters) {
  Node& node = nodes_[static_cast<std::size_t>(rank)];
  const auto ranks = static_cast<std::uint32_t>(nodes_.size());
  const rdma::AddressBook& book = *this;
  rdma::DatagramLinkOptions datagrams;
  datagrams.me = {1, rank, ranks};
  node.datagrams =
      std::make_unique<rdma::DatagramLink>(*node.datagram_port, clock_, book, datagrams);
  if (over == Over::kConnections) {
    rdma::ConnectionOptions connections;
    connections.memory = memory;
    connections.counters = &counters;
    if (memory.cache_bytes > 0) node.watch = must(MemoryWatch::create());
    connections.memory.watch = node.watch.get();
    node.connections = must(rdma::ConnectionLink::create(*node.connection_port, *node.datagrams,
                                                         clock_, rank, ranks, connections));
  }
  return std::make_unique<rdma::RdmaLink>(*node.datagrams, node.connections.get(), ranks, ranks);
}

void VerbsWorld::close(Rank r) noexcept {
  FrameWorld::close(r);
  Node& node = nodes_[static_cast<std::size_t>(r)];
  node.connections.reset();
  node.datagrams.reset();
  node.connection_port.reset();
  // The datagram port stays: others may still ask for its address.
}

std::uint64_t VerbsWorld::faults() {
  std::uint64_t dropped = 0;
  for (const auto& netem : faults_) dropped += netem->dropped();
  return dropped;
}

// Gives the network time while something is under way, and ranks theirs when a timer is due.
void VerbsWorld::rest() noexcept {
  bool under_way = false;
  for (Rank r = 0; r < size(); ++r) under_way = under_way || (is_open(r) && !link(r).drained());
  if (under_way) (void)::poll(nullptr, 0, 1);
}

}  // namespace espalier::test
