// PortPackets: the packets of a simulated port: some for sending, and some that arrivals fill,
// which wait for it, then for the port's poll(), and are then held by whoever was handed them.
//
// Ownership: owns the packets and their memory. Threads: owner. path: data
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/status.hpp"
#include "net/rdma/datagram_port.hpp"

namespace espalier::sim {

class PortPackets {
 public:
  PortPackets(std::uint32_t packet_bytes, std::uint32_t for_sending, std::uint32_t for_arrivals);
  PortPackets(const PortPackets&) = delete;
  PortPackets& operator=(const PortPackets&) = delete;

  std::uint32_t packet_bytes() const noexcept { return packet_bytes_; }
  // For sending, or nullptr: all are in use.
  rdma::Packet* take() noexcept;
  void give(rdma::Packet& packet) noexcept;
  // One send of it has been collected.
  void collect(rdma::Packet& packet) noexcept;

  // False: no packet waits for it, or it is too long.
  bool fill(Rank from, std::span<const std::byte> bytes) noexcept;
  // The oldest arrival, held from now on, or nullptr.
  rdma::Packet* next_arrival() noexcept;
  bool has_arrivals() const noexcept { return arrived_.first != nullptr; }
  static Rank sender_of(const rdma::Packet& packet) noexcept {
    return static_cast<Rank>(packet.port_data >> 1);
  }

  // Packets that somebody outside holds: none when all is quiet.
  std::size_t held() const noexcept { return held_; }

 private:
  // packet.port_data: what it is for, and of the last arrival in it the sender.
  static constexpr std::uint64_t kForArrivals = 1;
  struct Queue {
    rdma::Packet* first = nullptr;
    rdma::Packet* last = nullptr;
    void push(rdma::Packet& packet) noexcept;
    rdma::Packet* pop() noexcept;
  };

  void recycle(rdma::Packet& packet) noexcept;

  const std::uint32_t packet_bytes_;
  std::unique_ptr<std::byte[]> memory_;
  std::vector<rdma::Packet> packets_;
  Queue free_, waiting_, arrived_;
  std::size_t held_ = 0;
};

}  // namespace espalier::sim
