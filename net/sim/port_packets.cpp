#include "net/sim/port_packets.hpp"

#include <algorithm>
#include <utility>

#include "core/assert.hpp"

namespace espalier::sim {

void PortPackets::Queue::push(rdma::Packet& packet) noexcept {
  packet.next = nullptr;
  (first == nullptr ? first : last->next) = &packet;
  last = &packet;
}

rdma::Packet* PortPackets::Queue::pop() noexcept {
  rdma::Packet* packet = first;
  if (packet != nullptr) first = std::exchange(packet->next, nullptr);
  return packet;
}

PortPackets::PortPackets(std::uint32_t packet_bytes, std::uint32_t for_sending,
                         std::uint32_t for_arrivals)
    : packet_bytes_(packet_bytes) {
  const std::size_t count = std::size_t{for_sending} + for_arrivals;
  memory_ = std::make_unique_for_overwrite<std::byte[]>(count * packet_bytes);
  packets_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    rdma::Packet& packet = packets_[i];
    packet.data = memory_.get() + i * packet_bytes;
    packet.capacity = packet_bytes;
    packet.port_data = i < for_sending ? 0 : kForArrivals;
    recycle(packet);
  }
}

rdma::Packet* PortPackets::take() noexcept {
  rdma::Packet* packet = free_.pop();
  if (packet == nullptr) return nullptr;
  ++held_;
  packet->bytes = 0;
  return packet;
}

void PortPackets::give(rdma::Packet& packet) noexcept {
  ESP_ASSERT(held_ > 0 && !packet.surrendered);
  --held_;
  if (packet.in_flight > 0) {
    packet.surrendered = true;
  } else {
    recycle(packet);
  }
}

void PortPackets::collect(rdma::Packet& packet) noexcept {
  ESP_ASSERT(packet.in_flight > 0);
  if (--packet.in_flight == 0 && packet.surrendered) recycle(packet);
}

void PortPackets::recycle(rdma::Packet& packet) noexcept {
  packet.surrendered = false;
  ((packet.port_data & kForArrivals) != 0 ? waiting_ : free_).push(packet);
}

bool PortPackets::fill(Rank from, std::span<const std::byte> bytes) noexcept {
  if (waiting_.first == nullptr || bytes.size() > packet_bytes_) return false;
  rdma::Packet& packet = *waiting_.pop();
  std::copy(bytes.begin(), bytes.end(), packet.data);
  packet.bytes = static_cast<std::uint32_t>(bytes.size());
  packet.port_data = static_cast<std::uint64_t>(from) << 1 | kForArrivals;
  arrived_.push(packet);
  return true;
}

rdma::Packet* PortPackets::next_arrival() noexcept {
  rdma::Packet* packet = arrived_.pop();
  if (packet != nullptr) ++held_;
  return packet;
}

}  // namespace espalier::sim
