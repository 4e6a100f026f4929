// DatagramPort: what an adapter offers without connections: datagrams that may be lost, repeated,
// reordered or (in simulation) damaged. The verbs-free logic above (reliable delivery, making of
// connections) is written against this seam; below it are libibverbs UD queue pairs (net/verbs)
// and the simulator with its faults (net/sim).
//
// Packets are pieces of registered memory that belong to the port. A sender takes one, writes into
// it, and keeps it until the peer has acknowledged it: a retransmission sends the same packet
// again. A receiver may keep what it was handed, up to the port's number of packets.
//
// Threads: the owner of the worker. path: data
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/status.hpp"

namespace espalier::rdma {

struct Packet {
  std::byte* data = nullptr;    // begin of what the layers above write and read
  std::uint32_t capacity = 0;   // bytes: the path's MTU less the headers below
  std::uint32_t bytes = 0;      // in use
  std::uint32_t in_flight = 0;  // the port's: sends of it that the adapter has not completed
  bool surrendered = false;     // the port's: given back while in flight
  Packet* next = nullptr;       // of whoever holds it
  std::uint64_t port_data = 0;  // the port's
};

// Where a port is reached; opaque to the layers above, travels in the card.
struct PortAddress {
  std::array<std::byte, 40> bytes = {};
  friend bool operator==(const PortAddress&, const PortAddress&) = default;
};

// A peer's address made ready for use (an address handle).
enum class PathId : std::uint32_t {};

// What a port has had its adapter do, for measurements and for tests that count. Simulated ports
// leave it at 0: their networks count.
struct PortCounts {
  std::uint64_t sends = 0;                           // operations
  std::uint64_t doorbells = 0;                       // calls that handed them over
  std::uint64_t refills = 0;                         // calls that handed over packets for arrivals
  std::uint64_t looks = 0;                           // at the completion queue
  std::uint64_t arrivals = 0, send_completions = 0;  // completions
};

class DatagramSink {
 public:
  // The receiver owns the packet until it gives it back to the port.
  virtual void arrived(Packet& packet) noexcept = 0;

 protected:
  ~DatagramSink() = default;
};

class DatagramPort {
 public:
  virtual ~DatagramPort() = default;

  virtual PortAddress address() const noexcept = 0;
  virtual std::uint32_t packet_bytes() const noexcept = 0;
  // No damaged packet arrives: the network's own checksum covers it from adapter to adapter.
  virtual bool intact() const noexcept { return false; }
  // Packets for arrivals: so many may wait for poll() or be held by the receiver, but for a few
  // that are posted again late; what comes beyond is lost.
  virtual std::uint32_t receive_depth() const noexcept = 0;
  // Checks the address, which comes from elsewhere.
  virtual Result<PathId> open_path(const PortAddress& to) = 0;

  // A packet for sending, or nullptr: all are in use; some come back through give() and poll().
  virtual Packet* take() noexcept = 0;
  // Packets in flight are reused when the adapter is done with them.
  virtual void give(Packet& packet) noexcept = 0;

  // Queues packet.bytes bytes, which stay as they are while packet.in_flight > 0. False: the queue
  // is full, try again after poll(). `more`: another send or flush() follows at once, so the
  // doorbell may wait for it.
  virtual bool send(PathId to, Packet& packet, bool more) noexcept = 0;
  virtual void flush() noexcept {}

  // Hands over arrivals, at most `budget`, and collects completions. Returns the number of events;
  // negative: the adapter is gone, fault() says why.
  virtual int poll(DatagramSink& sink, int budget) noexcept = 0;
  virtual const Status& fault() const noexcept = 0;
  // Whether the network's port works, as far as the adapter has told; it may come back.
  virtual bool link_up() const noexcept { return true; }

  // Sleeping: as in net/link.hpp.
  virtual int descriptor() const noexcept = 0;
  virtual bool arm() noexcept = 0;

  const PortCounts& counts() const noexcept { return counts_; }

 protected:
  PortCounts counts_;
};

}  // namespace espalier::rdma
