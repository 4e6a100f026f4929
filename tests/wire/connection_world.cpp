#include "connection_world.hpp"

#include <utility>

namespace espalier::test {

ConnectionWorld::ConnectionWorld(int ranks, const ConnectionWorldOptions& options)
    : SimFrameWorld(ranks, options.faults),
      datagram_net_(world_),
      connection_net_(world_, options.adapter),
      nodes_(static_cast<std::size_t>(ranks)) {
  const auto count = static_cast<std::uint32_t>(ranks);
  for (Rank r = 0; r < ranks; ++r) {
    Node& node = nodes_[static_cast<std::size_t>(r)];
    node.datagram_port =
        std::make_unique<sim::SimDatagramPort>(datagram_net_, r, sim::PortOptions{});
    node.connection_port = std::make_unique<sim::SimConnectionPort>(connection_net_, r);
    auto counters = std::make_unique<Counters>();
    rdma::DatagramLinkOptions datagrams = datagram_options(r, ranks);
    datagrams.counters = counters.get();
    datagrams.give_up_ns = options.give_up_ns;
    node.datagrams = std::make_unique<rdma::DatagramLink>(*node.datagram_port, world_.clock(r),
                                                          book(), datagrams);
    rdma::ConnectionOptions connections;
    connections.counters = counters.get();
    connections.memory.registrations = &counters->registrations;
    connections.letter_ns = 200'000;
    connections.keepalive_ns = 20'000'000;
    connections.rebuilds_max = 1000;
    connections.place_from_bytes = options.place_from_bytes;
    if (options.registers) connections.memory.register_from_bytes = options.place_from_bytes;
    connections.pull_from_bytes = options.pull_from_bytes;
    node.connections = std::move(*rdma::ConnectionLink::create(
        *node.connection_port, *node.datagrams, world_.clock(r), r, count, connections));
    add(std::move(counters),
        std::make_unique<rdma::RdmaLink>(*node.datagrams, node.connections.get(), count,
                                         options.connections_max, -1, options.log));
  }
}

ConnectionWorld::~ConnectionWorld() {
  for (Rank r = 0; r < size(); ++r) {
    if (is_open(r)) close(r);
  }
}

// Registered, as memory of esp_alloc is.
std::byte* ConnectionWorld::shared(Rank r, std::uint64_t bytes) {
  std::byte* memory = FrameWorld::shared(r, bytes);
  if (bytes > 0) (void)connections(r).memory().add(memory, bytes);
  return memory;
}

std::uint64_t ConnectionWorld::faults() {
  std::uint64_t repeated = 0;
  for (Rank r = 0; r < size(); ++r) {
    repeated += is_open(r) ? connections(r).statistics().repeated : 0;
  }
  return repeated;
}

void ConnectionWorld::close(Rank r) noexcept {
  Node& node = nodes_[static_cast<std::size_t>(r)];
  FrameWorld::close(r);
  node.connections.reset();
  node.datagrams.reset();
  node.connection_port.reset();
  node.datagram_port.reset();
}

}  // namespace espalier::test
