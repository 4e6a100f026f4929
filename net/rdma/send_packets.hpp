// SendPackets: registered memory in pieces of one packet, for messages and for payloads that are
// not registered themselves (bounce buffers).
//
// Ownership: owns memory and registration; a packet is the taker's until give(). Threads: owner.
// path: data
#pragma once

#include <memory>
#include <vector>

#include "net/rdma/connection_port.hpp"

namespace espalier::rdma {

class SendPackets {
 public:
  static Result<std::unique_ptr<SendPackets>> create(ConnectionPort& port, std::uint32_t count);
  ~SendPackets() {
    if (region_.bytes > 0) port_.withdraw(region_);
  }
  SendPackets(const SendPackets&) = delete;
  SendPackets& operator=(const SendPackets&) = delete;

  // nullptr: all are in use.
  Packet* take() noexcept {
    Packet* packet = free_;
    if (packet == nullptr) return nullptr;
    free_ = packet->next;
    packet->next = nullptr;
    packet->bytes = 0;
    --free_count_;
    return packet;
  }
  void give(Packet& packet) noexcept {
    packet.next = free_;
    free_ = &packet;
    ++free_count_;
  }
  const Region& region() const noexcept { return region_; }
  std::size_t free_count() const noexcept { return free_count_; }
  std::size_t count() const noexcept { return packets_.size(); }

 private:
  SendPackets(ConnectionPort& port, std::uint32_t count);

  ConnectionPort& port_;
  std::unique_ptr<std::byte[]> memory_;
  std::vector<Packet> packets_;
  Region region_;
  Packet* free_ = nullptr;
  std::size_t free_count_ = 0;
};

}  // namespace espalier::rdma
