// SendPackets: registered memory in pieces of one packet, for messages and for payloads that are
// not registered themselves (bounce buffers). One more than were asked for is kept for what is sent
// again: a placement that needs a packet then may stand before messages that hold all others.
//
// Ownership: owns memory and registration; a packet is the taker's until give(). Threads: owner.
// path: data
#pragma once

#include <memory>
#include <vector>

#include "net/rdma/adapter_memory.hpp"
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

  // Whether take() has one.
  bool any(bool to_repeat) const noexcept { return free_count_ > (to_repeat ? 0 : 1); }
  // nullptr: all are in use, but perhaps the one for what is sent again.
  Packet* take(bool to_repeat) noexcept {
    if (!any(to_repeat)) return nullptr;
    Packet* packet = free_;
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

 private:
  SendPackets(ConnectionPort& port, std::uint32_t count, std::unique_ptr<AdapterMemory> memory);

  ConnectionPort& port_;
  const std::unique_ptr<AdapterMemory> memory_;
  std::vector<Packet> packets_;
  Region region_;
  Packet* free_ = nullptr;
  std::size_t free_count_ = 0;
};

}  // namespace espalier::rdma
