// UdpGroupPort: net/multicast/group_port.hpp on a UDP socket that is in an IP multicast group
// (group_socket.hpp), for jobs whose machines have no RDMA.
//
// It joins at once, or never: then the log says why. Datagrams wait in the socket while all packets
// for arrivals are held. What the kernel has no room for stays in the send queue; what it cannot
// send at all (the link is down, a firewall) is lost, like any datagram. Anybody may send to a
// group: what a stranger sends arrives, too, unless it is longer than a packet. What a port sends
// comes back to it.
//
// Sends and looks are system calls, for up to kBatch datagrams each; nothing is allocated after
// creation.
//
// Ownership: owns the socket, which leaves the group when it ends, and the packets. Threads: owner.
// path: data
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <memory>
#include <vector>

#include "net/udp/group_socket.hpp"

namespace espalier::net {

struct UdpGroupCounts {
  std::uint64_t lost = 0;      // sends that the kernel refused for good
  std::uint64_t too_long = 0;  // arrivals
};

class UdpGroupPort final : public multicast::GroupPort {
 public:
  // An error: `options` are wrong. What the kernel refuses fails the port that is returned.
  static Result<std::unique_ptr<UdpGroupPort>> create(const UdpGroupOptions& options,
                                                      const Log& log);
  UdpGroupPort(const UdpGroupPort&) = delete;
  UdpGroupPort& operator=(const UdpGroupPort&) = delete;

  multicast::Joined joined() noexcept override {
    return fault_.ok() ? multicast::Joined::kYes : multicast::Joined::kFailed;
  }
  std::uint32_t packet_bytes() const noexcept override { return packet_bytes_; }
  // What the socket's buffer holds: at most the number of packets.
  std::uint32_t receive_depth() const noexcept override { return receive_depth_; }
  rdma::Packet* take() noexcept override;
  void give(rdma::Packet& packet) noexcept override;
  bool send(rdma::Packet& packet, bool more) noexcept override;
  void flush() noexcept override { (void)send_queued(); }
  int poll(rdma::DatagramSink& sink, int budget) noexcept override;
  const Status& fault() const noexcept override { return fault_; }
  int descriptor() const noexcept override { return socket_.fd(); }
  bool arm() noexcept override;

  const UdpGroupCounts& udp_counts() const noexcept { return udp_counts_; }

 private:
  static constexpr std::uint32_t kBatch = 32;

  UdpGroupPort(const UdpGroupOptions& options, GroupSocket socket, const Status& fault);
  bool for_arrivals(const rdma::Packet& packet) const noexcept;
  // What stands at this position of the send queue, whose depth is a power of two.
  rdma::Packet*& queued(std::uint32_t position) noexcept {
    return queue_[position & (queue_.size() - 1)];
  }
  std::uint32_t send_queued() noexcept;
  void retire(std::uint32_t sends) noexcept;
  void expose_packets() noexcept;
  std::uint32_t receive(rdma::DatagramSink& sink, std::uint32_t most) noexcept;

  Descriptor socket_;
  const Status fault_;
  const std::uint32_t packet_bytes_, receive_depth_, send_packets_;
  sockaddr_in group_;
  UdpGroupCounts udp_counts_;

  std::unique_ptr<std::byte[]> memory_;
  std::vector<rdma::Packet> packets_;  // for sending, then for arrivals
  rdma::Packet* free_ = nullptr;
  rdma::Packet* vacant_ = nullptr;  // for arrivals
  // Positions [head_, tail_) wait for the kernel.
  std::vector<rdma::Packet*> queue_;
  std::uint32_t head_ = 0, tail_ = 0;

  // Each message has its place of the same number.
  std::array<mmsghdr, kBatch> leaving_ = {}, coming_ = {};
  std::array<iovec, kBatch> leaving_places_ = {}, coming_places_ = {};
  std::array<rdma::Packet*, kBatch> exposed_ = {};  // the first so many are filled next
  std::uint32_t exposed_count_ = 0;
};

}  // namespace espalier::net
