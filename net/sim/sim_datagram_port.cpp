#include "net/sim/sim_datagram_port.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

namespace espalier::sim {
namespace {

constexpr std::uint32_t kAddressMark = 0x6d697365;  // "esim"

}  // namespace

SimDatagramPort::SimDatagramPort(DatagramNet& net, Rank rank, const PortOptions& options)
    : net_(net),
      world_(net.world_),
      rank_(rank),
      options_(options),
      packets_(options.packet_bytes, options.send_packets, options.receive_packets) {
  left_.reserve(options.send_depth);
  net_.attach(rank, this);
}

SimDatagramPort::~SimDatagramPort() {
  net_.detach(rank_);
}

rdma::PortAddress SimDatagramPort::address_of(Rank rank) noexcept {
  rdma::PortAddress address;
  std::memcpy(address.bytes.data(), &kAddressMark, sizeof kAddressMark);
  std::memcpy(address.bytes.data() + sizeof kAddressMark, &rank, sizeof rank);
  return address;
}

Result<rdma::PathId> SimDatagramPort::open_path(const rdma::PortAddress& to) {
  Rank rank = kNoRank;
  std::memcpy(&rank, to.bytes.data() + sizeof kAddressMark, sizeof rank);
  const bool known = rank >= 0 && static_cast<std::uint32_t>(rank) < world_.ranks();
  if (!known || to != address_of(rank)) {
    return error(ESP_ERR_ARGUMENT, "this is no address of a simulated port");
  }
  if (rank == rank_) return error(ESP_ERR_ARGUMENT, "a port has no path to itself", rank);
  std::uint32_t& refusals = net_.refusals_[static_cast<std::size_t>(rank_)];
  if (refusals > 0) {
    --refusals;
    return error(ESP_ERR_NETWORK, "the simulated port finds no path now", rank, EAGAIN);
  }
  return rdma::PathId{static_cast<std::uint32_t>(rank)};
}

rdma::Packet* SimDatagramPort::take() noexcept {
  if (world_.lacks_memory(rank_)) return nullptr;
  rdma::Packet* packet = packets_.take();
  starved_ |= packet == nullptr;
  return packet;
}

bool SimDatagramPort::send(rdma::PathId to, rdma::Packet& packet, bool) noexcept {
  ESP_ASSERT(!packet.surrendered && packet.bytes > 0 && packet.bytes <= packet.capacity);
  if (!fault_.ok() || world_.refuses(rank_)) return false;
  if (sends_ == options_.send_depth) {
    starved_ = true;
    return false;
  }
  const auto rank = static_cast<Rank>(to);
  (void)world_.charge(rank_, world_.price(rank_, rank).overhead_send_ns);
  ++sends_;
  ++packet.in_flight;
  net_.launch(rank_, rank, packet);
  return true;
}

void SimDatagramPort::note_left(rdma::Packet& packet) {
  if (!add_completion()) return;
  left_.push_back(&packet);
  if (std::exchange(starved_, false)) world_.wake(rank_);
}

bool SimDatagramPort::note_arrival(Rank from, std::span<const std::byte> bytes) {
  if (!packets_.fill(from, bytes) || !add_completion()) return false;
  world_.wake(rank_);
  return true;
}

bool SimDatagramPort::add_completion() {
  if (!fault_.ok()) return false;
  if (completions_ == options_.completion_depth) {
    fault_ = Status(ESP_ERR_SYSTEM, rank_);
    world_.wake(rank_);
    return false;
  }
  ++completions_;
  return true;
}

int SimDatagramPort::poll(rdma::DatagramSink& sink, int budget) noexcept {
  if (!fault_.ok()) return -1;
  int events = static_cast<int>(left_.size());
  for (rdma::Packet* packet : left_) packets_.collect(*packet);
  ESP_ASSERT(sends_ >= left_.size());
  sends_ -= static_cast<std::uint32_t>(left_.size());
  completions_ -= static_cast<std::uint32_t>(left_.size());
  left_.clear();
  for (; budget > 0 && packets_.has_arrivals(); --budget, ++events) {
    rdma::Packet& packet = *packets_.next_arrival();
    --completions_;
    const Rank from = PortPackets::sender_of(packet);
    (void)world_.charge(rank_, world_.price(from, rank_).overhead_recv_ns);
    sink.arrived(packet);
  }
  return events;
}

}  // namespace espalier::sim
