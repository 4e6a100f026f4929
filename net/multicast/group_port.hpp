// GroupPort: what a network offers for one multicast group: a packet that is sent once reaches
// every port that has joined, unless it is lost; it may be repeated, reordered or (in simulation)
// damaged on the way. Reliable delivery above (net/multicast/group.hpp) is written against this
// seam; below it are UD queue pairs attached to a group (net/verbs) and the simulator.
//
// Packets are the port's, as those of net/rdma/datagram_port.hpp: a sender takes one, writes into
// it, and may keep it to send it again; a receiver may keep what it was handed, up to the port's
// number of packets. What a port has sent may come back to it.
//
// Threads: the owner of the worker. path: data
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/status.hpp"
#include "net/rdma/datagram_port.hpp"

namespace espalier::multicast {

// A group of the network: on RoCE v2 and IPv4 the address of an IP group. Members agree on it.
struct GroupAddress {
  std::array<std::byte, 16> gid = {};
  std::uint32_t key = 0;  // that packets carry (Q_Key)
  friend bool operator==(const GroupAddress&, const GroupAddress&) = default;
};

enum class Joined : std::uint8_t {
  kNotYet,  // the network has been asked
  kYes,
  kFailed,  // fault() says why: nothing is sent or arrives any more
};

class GroupPort {
 public:
  virtual ~GroupPort() = default;

  // Looks; a port that has been made is joining. Packets arrive from kYes on.
  virtual Joined joined() noexcept = 0;
  virtual std::uint32_t packet_bytes() const noexcept = 0;
  // No damaged packet arrives.
  virtual bool intact() const noexcept { return false; }
  // Packets for arrivals: what comes while all are held or waiting for poll() is lost.
  virtual std::uint32_t receive_depth() const noexcept = 0;

  // A packet for sending, or nullptr: all are in use; some come back through give() and poll().
  virtual rdma::Packet* take() noexcept = 0;
  // Packets in flight are reused when the adapter is done with them.
  virtual void give(rdma::Packet& packet) noexcept = 0;

  // To all members: queues packet.bytes bytes, which stay as they are while packet.in_flight > 0.
  // False: the queue is full, try again after poll(). `more`: another send or flush() follows at
  // once.
  virtual bool send(rdma::Packet& packet, bool more) noexcept = 0;
  virtual void flush() noexcept {}

  // Hands over arrivals, at most `budget`, and collects completions. Returns the number of events;
  // negative: the adapter is gone, fault() says why.
  virtual int poll(rdma::DatagramSink& sink, int budget) noexcept = 0;
  virtual const Status& fault() const noexcept = 0;

  // Sleeping: as in net/link.hpp.
  virtual int descriptor() const noexcept = 0;
  virtual bool arm() noexcept = 0;

  const rdma::PortCounts& counts() const noexcept { return counts_; }

 protected:
  rdma::PortCounts counts_;
};

// Messages to one member beside the group, by a link that is reliable: each arrives once, whole and
// in the order of their posts, or the member is lost.
class MemberMail {
 public:
  // Copies it. False: no room, try again after progress.
  virtual bool post(Rank to, std::span<const std::byte> message) noexcept = 0;

 protected:
  ~MemberMail() = default;
};

}  // namespace espalier::multicast
