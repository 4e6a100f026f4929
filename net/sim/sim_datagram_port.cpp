#include "net/sim/sim_datagram_port.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace espalier::sim {
namespace {

constexpr std::uint32_t kAddressMark = 0x6d697365;  // "esim"

}  // namespace

void SimDatagramPort::Queue::push(rdma::Packet& packet) noexcept {
  packet.next = nullptr;
  (first == nullptr ? first : last->next) = &packet;
  last = &packet;
}

rdma::Packet* SimDatagramPort::Queue::pop() noexcept {
  rdma::Packet* packet = first;
  if (packet != nullptr) first = std::exchange(packet->next, nullptr);
  return packet;
}

SimDatagramPort::SimDatagramPort(DatagramNet& net, Rank rank, const PortOptions& options)
    : net_(net), world_(net.world_), rank_(rank), options_(options) {
  const std::size_t count = std::size_t{options.send_packets} + options.receive_packets;
  memory_ = std::make_unique<std::byte[]>(count * options.packet_bytes);
  packets_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    rdma::Packet& packet = packets_[i];
    packet.data = memory_.get() + i * options.packet_bytes;
    packet.capacity = options.packet_bytes;
    packet.port_data = i < options.send_packets ? 0 : kForReceiving;
    recycle(packet);
  }
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
  rdma::Packet* packet = free_.pop();
  starved_ |= packet == nullptr;
  if (packet == nullptr) return nullptr;
  ++held_;
  packet->bytes = 0;
  return packet;
}

void SimDatagramPort::give(rdma::Packet& packet) noexcept {
  ESP_ASSERT(held_ > 0 && !packet.surrendered);
  --held_;
  if (packet.in_flight > 0) {
    packet.surrendered = true;
  } else {
    recycle(packet);
  }
}

void SimDatagramPort::recycle(rdma::Packet& packet) noexcept {
  packet.surrendered = false;
  ((packet.port_data & kForReceiving) != 0 ? posted_ : free_).push(packet);
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
  if (posted_.first == nullptr || bytes.size() > options_.packet_bytes) return false;
  if (!add_completion()) return false;
  rdma::Packet& packet = *posted_.pop();
  std::copy(bytes.begin(), bytes.end(), packet.data);
  packet.bytes = static_cast<std::uint32_t>(bytes.size());
  packet.port_data = static_cast<std::uint64_t>(from) << 1 | kForReceiving;
  arrived_.push(packet);
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

void SimDatagramPort::collect(rdma::Packet& packet) noexcept {
  ESP_ASSERT(packet.in_flight > 0 && sends_ > 0);
  --sends_;
  --completions_;
  if (--packet.in_flight == 0 && packet.surrendered) recycle(packet);
}

int SimDatagramPort::poll(rdma::DatagramSink& sink, int budget) noexcept {
  if (!fault_.ok()) return -1;
  int events = static_cast<int>(left_.size());
  for (rdma::Packet* packet : left_) collect(*packet);
  left_.clear();
  for (; budget > 0 && arrived_.first != nullptr; --budget, ++events) {
    rdma::Packet& packet = *arrived_.pop();
    --completions_;
    ++held_;
    (void)world_.charge(rank_, world_.price(sender_of(packet), rank_).overhead_recv_ns);
    sink.arrived(packet);
  }
  return events;
}

}  // namespace espalier::sim
