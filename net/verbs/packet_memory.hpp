// PacketMemory: packets in one registered piece of memory, and the posting of those that wait for
// arrivals.
//
//   | headroom (40 bytes that the adapter writes before a datagram's payload) | payload |
//
// Payloads begin at cache lines. Packets are told apart by their index, which is their port_data.
// Ownership: the memory; packets never move. Threads: owner. path: data (post), setup (create)
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "net/rdma/adapter_memory.hpp"
#include "net/verbs/adapter.hpp"

namespace espalier::verbs {

class PacketMemory {
 public:
  struct Shape {
    std::uint32_t count = 0;
    std::uint32_t bytes = 0;     // of the payload
    std::uint32_t headroom = 0;  // at most 64
  };
  static Result<std::unique_ptr<PacketMemory>> create(const VerbsAdapter& adapter,
                                                      const Shape& shape);
  PacketMemory(const PacketMemory&) = delete;
  PacketMemory& operator=(const PacketMemory&) = delete;

  rdma::Packet& operator[](std::size_t index) noexcept { return packets_[index]; }
  static std::uint32_t index(const rdma::Packet& packet) noexcept {
    return static_cast<std::uint32_t>(packet.port_data);
  }
  // The payload in use; with headroom: all that an arrival may fill.
  ibv_sge payload(const rdma::Packet& packet) const noexcept;
  ibv_sge whole(const rdma::Packet& packet) const noexcept;

 private:
  explicit PacketMemory(const Shape& shape) noexcept : shape_(shape) {}

  const Shape shape_;
  std::unique_ptr<rdma::AdapterMemory> memory_;
  std::vector<rdma::Packet> packets_;
  Registration registration_;  // ends before the memory
};

// Posts packets for arrivals, several with one call. Either on a queue pair or on a shared queue.
class ReceivePoster {
 public:
  // `refills` counts the calls; `late`: see late_of().
  ReceivePoster(PacketMemory& packets, ibv_qp* queue_pair, std::uint32_t late,
                std::uint64_t& refills) noexcept
      : packets_(packets), queue_pair_(queue_pair), late_(late), refills_(refills) {}
  ReceivePoster(PacketMemory& packets, ibv_srq* shared, std::uint32_t late,
                std::uint64_t& refills) noexcept
      : packets_(packets), shared_(shared), late_(late), refills_(refills) {}

  // Of so many packets, how many may wait for a round without arrivals to be posted again. Nobody
  // may be promised those.
  static std::uint32_t late_of(std::uint32_t packets) noexcept {
    return std::min(static_cast<std::uint32_t>(kBatch) - 1, packets / 8);
  }

  // `id` comes back with the completion. The packet is the adapter's from the next flush() on.
  void post(const rdma::Packet& packet, std::uint64_t id) noexcept;
  void flush() noexcept;
  // In a round with arrivals, which somebody waits for: leaves behind what may be late.
  void flush_surplus() noexcept {
    if (count_ > late_) flush();
  }
  void forget() noexcept { count_ = 0; }
  // Not 0: posting failed with this errno.
  int failure() const noexcept { return failure_; }

 private:
  static constexpr std::size_t kBatch = 16;

  PacketMemory& packets_;
  ibv_qp* queue_pair_ = nullptr;
  ibv_srq* shared_ = nullptr;
  const std::uint32_t late_;
  std::uint64_t& refills_;
  std::array<ibv_recv_wr, kBatch> requests_;
  std::array<ibv_sge, kBatch> places_;
  std::size_t count_ = 0;
  int failure_ = 0;
};

}  // namespace espalier::verbs
