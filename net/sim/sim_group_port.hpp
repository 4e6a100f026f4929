// SimGroupPort: one rank's membership of a multicast group in a simulated GroupNet, as a UD queue
// pair that is attached to a group behaves: a send queue, and packets that arrivals fill.
//
// It joins so long after it was made; before that it sends nothing and nothing comes. What comes
// while no packet waits is dropped. The world's faults refuse sends without a reason (`retry`) and
// packets (`no-memory`). What arrives, room after a refusal, and the end of joining give the rank a
// turn (World::set_turn).
//
// Ownership: borrows net and world. Threads: owner. path: data
#pragma once

#include <span>
#include <vector>

#include "net/sim/group_net.hpp"
#include "net/sim/port_packets.hpp"

namespace espalier::sim {

struct GroupPortOptions {
  std::uint32_t packet_bytes = 4096;
  std::uint32_t send_packets = 256;
  std::uint32_t receive_packets = 512;
  std::uint32_t send_depth = 128;  // sends that have not been collected by poll()
  std::uint64_t join_ns = 0;       // kNever: the network never answers
  bool join_fails = false;         // when that time is over
};

class SimGroupPort final : public multicast::GroupPort {
 public:
  // A rank has one port at most in a group.
  SimGroupPort(GroupNet& net, Rank rank, const multicast::GroupAddress& address,
               const GroupPortOptions& options = {});
  ~SimGroupPort();
  SimGroupPort(const SimGroupPort&) = delete;
  SimGroupPort& operator=(const SimGroupPort&) = delete;

  multicast::Joined joined() noexcept override;
  std::uint32_t packet_bytes() const noexcept override { return options_.packet_bytes; }
  std::uint32_t receive_depth() const noexcept override { return options_.receive_packets; }
  rdma::Packet* take() noexcept override;
  void give(rdma::Packet& packet) noexcept override { packets_.give(packet); }
  bool send(rdma::Packet& packet, bool more) noexcept override;
  int poll(rdma::DatagramSink& sink, int budget) noexcept override;
  const Status& fault() const noexcept override { return fault_; }
  int descriptor() const noexcept override { return -1; }
  bool arm() noexcept override;

  // Packets that somebody outside holds: none when all is quiet.
  std::size_t held() const noexcept { return packets_.held(); }

 private:
  friend class GroupNet;
  bool is_member() const noexcept;
  void note_left(rdma::Packet& packet);
  // False: no packet waits for it.
  bool note_arrival(Rank from, std::span<const std::byte> bytes);

  GroupNet& net_;
  World& world_;
  const Rank rank_;
  const GroupPortOptions options_;
  const std::uint64_t join_over_ns_;
  PortPackets packets_;
  std::vector<rdma::Packet*> left_;  // sends to collect, in their order
  std::uint32_t sends_ = 0;          // in the send queue
  bool starved_ = false;             // refused something for want of what completions bring
  Status fault_;
  // The net's.
  GroupNet::Group* group_ = nullptr;
  std::uint64_t core_ = 0, card_ = 0;
};

}  // namespace espalier::sim
