// SimDatagramPort: one rank's adapter in a simulated DatagramNet, as an InfiniBand UD queue pair
// behaves: a send queue, receive packets that arrivals fill, and one completion queue for both.
//
// What comes while no receive packet waits is dropped. A completion queue that overruns breaks the
// port for good: poll() answers a negative number. The world's faults refuse sends without a reason
// (`retry`) and packets (`no-memory`). Sending and receiving charge the level's overheads.
//
// What arrives, and room after a refusal, give the rank a turn (World::set_turn).
//
// Ownership: borrows net and world. Threads: owner. path: data
#pragma once

#include <span>
#include <vector>

#include "net/sim/datagram_net.hpp"
#include "net/sim/port_packets.hpp"

namespace espalier::sim {

struct PortOptions {
  std::uint32_t packet_bytes = 4096;
  std::uint32_t send_packets = 256;
  std::uint32_t receive_packets = 512;
  std::uint32_t send_depth = 128;        // sends that have not been collected by poll()
  std::uint32_t completion_depth = 640;  // at least send_depth + receive_packets: never overruns
};

class SimDatagramPort final : public rdma::DatagramPort {
 public:
  SimDatagramPort(DatagramNet& net, Rank rank, const PortOptions& options = {});
  ~SimDatagramPort();
  SimDatagramPort(const SimDatagramPort&) = delete;
  SimDatagramPort& operator=(const SimDatagramPort&) = delete;

  static rdma::PortAddress address_of(Rank rank) noexcept;

  rdma::PortAddress address() const noexcept override { return address_of(rank_); }
  std::uint32_t packet_bytes() const noexcept override { return options_.packet_bytes; }
  std::uint32_t receive_depth() const noexcept override { return options_.receive_packets; }
  Result<rdma::PathId> open_path(const rdma::PortAddress& to) override;
  rdma::Packet* take() noexcept override;
  void give(rdma::Packet& packet) noexcept override { packets_.give(packet); }
  bool send(rdma::PathId to, rdma::Packet& packet, bool more) noexcept override;
  int poll(rdma::DatagramSink& sink, int budget) noexcept override;
  const Status& fault() const noexcept override { return fault_; }
  int descriptor() const noexcept override { return -1; }
  bool arm() noexcept override { return completions_ == 0 && fault_.ok(); }

  // Packets that somebody outside holds: none when all is quiet.
  std::size_t held() const noexcept { return packets_.held(); }

 private:
  friend class DatagramNet;
  void note_left(rdma::Packet& packet);
  // False: no packet waits for it.
  bool note_arrival(Rank from, std::span<const std::byte> bytes);
  bool add_completion();

  DatagramNet& net_;
  World& world_;
  const Rank rank_;
  const PortOptions options_;
  PortPackets packets_;
  std::vector<rdma::Packet*> left_;  // sends to collect, in their order
  std::uint32_t sends_ = 0;          // in the send queue
  std::uint32_t completions_ = 0;
  bool starved_ = false;  // refused something for want of what completions bring
  Status fault_;
};

}  // namespace espalier::sim
