// Memory of one peer: many peers are made, none is talked to, and what has grown is divided.
#include <malloc.h>

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include "verbs/measure.hpp"

namespace espalier::bench {
namespace {

constexpr std::uint32_t kConnections = 32, kDatagramPeers = 1024;

std::uint64_t heap_bytes() {
  const struct mallinfo2 now = mallinfo2();
  return now.uordblks + now.hblkhd;
}

// What the driver shares with this process: queues.
std::uint64_t queue_bytes() {
  std::ifstream maps("/proc/self/maps");
  std::uint64_t bytes = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("uverbs") == std::string::npos) continue;
    std::istringstream fields(line);
    std::uint64_t begin = 0, end = 0;
    char dash = 0;
    fields >> std::hex >> begin >> dash >> end;
    bytes += end - begin;
  }
  return bytes;
}

struct Nobody final : rdma::Postman {
  void post(Rank, std::span<const std::byte>) noexcept override {}
  void deliver_to(rdma::LetterBox*) noexcept override {}
};

struct OneAddress final : rdma::AddressBook {
  explicit OneAddress(const rdma::PortAddress& all) : address(all) {}
  Result<rdma::PortAddress> address_of(Rank) const override { return address; }
  rdma::PortAddress address;
};

}  // namespace

nlohmann::json measure_memory(const std::string& device) {
  verbs::Options chosen;
  chosen.device = device;
  const auto ports =
      must(verbs::choose_ports(verbs::list_ports(chosen), chosen, Machine{}, verbs::Asker{}));
  if (ports.empty()) throw std::runtime_error("no RDMA device: " + verbs::why_no_device());
  const auto adapter = must(verbs::open_adapter(ports.front(), chosen));
  const auto datagram_port = must(adapter->open_datagrams({}));
  const auto connection_port = must(adapter->open_connections({}));
  SteadyClock clock;
  Nobody nobody;
  const OneAddress book(datagram_port->address());

  auto connections =
      must(rdma::ConnectionLink::create(*connection_port, nobody, clock, 0, kConnections + 1));
  std::uint64_t heap = heap_bytes(), queues = queue_bytes();
  for (Rank r = 1; r <= static_cast<Rank>(kConnections); ++r) connections->reach(r);
  nlohmann::json result = {{"task", "memory"}};
  result["rc_heap_bytes"] = (heap_bytes() - heap) / kConnections;
  result["rc_queue_bytes"] = (queue_bytes() - queues) / kConnections;
  connections.reset();

  rdma::DatagramLinkOptions options;
  options.me = {1, 0, kDatagramPeers + 1};
  rdma::DatagramLink datagrams(*datagram_port, clock, book, options);
  heap = heap_bytes();
  queues = queue_bytes();
  for (Rank r = 1; r <= static_cast<Rank>(kDatagramPeers); ++r) datagrams.reach(r);
  result["ud_heap_bytes"] = (heap_bytes() - heap) / kDatagramPeers;
  result["ud_queue_bytes"] = (queue_bytes() - queues) / kDatagramPeers;
  return result;
}

}  // namespace espalier::bench
