// ConnectionPort: what an adapter offers with connections (RC queue pairs): messages that arrive
// once and in order or break the connection, with or without immediate data, writes with immediate
// data, reads and atomics on registered memory. One shared receive queue, one completion queue.
// Below are libibverbs (net/verbs) and the simulator, in which connections break, receive queues
// run dry and completion queues overrun (net/sim).
//
// Connections are named by small numbers that are reused only after destroy(). A connection lives
// from create() over connect() to the moment it breaks or is stopped; then it takes nothing in and
// sends nothing, and is good for destroy() only. What it had taken in before is still handed over:
// a poll() that answers 0 has handed over all of it.
//
// Operations on one connection happen in the order of their posts. A completed one has been placed
// at the peer, whether or not the peer has looked; one that failed may have been placed as well.
//
// Threads: the owner of the worker. path: data
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/status.hpp"
#include "net/rdma/datagram_port.hpp"
#include "net/remote_memory.hpp"

namespace espalier::rdma {

enum class ConnectionId : std::uint32_t {};

// Of one end of a connection; opaque, travels in the handshake.
struct ConnectionAddress {
  std::array<std::byte, 40> bytes = {};
};

// Memory that the adapter may touch.
struct Region {
  const std::byte* begin = nullptr;
  std::uint64_t bytes = 0;
  std::uint32_t local_key = 0, remote_key = 0;
  std::uint64_t handle = 0;  // the port's
  bool writable = true;      // by the adapter
};
using net::RemoteMemory;

enum class Atomic : std::uint8_t { kFetchAdd, kCompareSwap };

// One operation on a connection. `cookie` comes back with its completion; `signaled` off: it is
// complete when a later one of the same connection is, and takes its place in the send queue until
// then. `local` stays as it is until then, but for inline ones (region == nullptr). 0 bytes need
// neither region nor valid remote memory.
struct Transfer {
  const void* local = nullptr;
  const Region* region = nullptr;  // that `local` lies in; nullptr: bytes <= inline_bytes()
  std::uint64_t bytes = 0;
  std::uint64_t cookie = 0;
  bool signaled = true;
  bool more = false;  // another post follows at once
};

enum class Fault : std::uint8_t {
  kRetryExceeded,     // the peer does not answer
  kReceiverNotReady,  // it had no receive posted for too long
  kRemoteAccess,      // it did not allow the access
  kRemoteOperation,
  kOutOfSequence,  // the link's own finding
  kLocal,          // length, protection, queue: an error of this side
  kFlushed,        // the connection was broken before the operation began
};

class ConnectionSink {
 public:
  // A message, in a packet of the shared receive queue: the sink owns it until repost().
  virtual void received(ConnectionId from, Packet& packet) noexcept = 0;
  // The same, of a message with this immediate.
  virtual void received_immediate(ConnectionId from, Packet& packet,
                                  std::uint32_t immediate) noexcept = 0;
  // A write with this immediate has been placed in full.
  virtual void placed(ConnectionId from, std::uint32_t immediate, std::uint32_t bytes) noexcept = 0;
  virtual void completed(ConnectionId on, std::uint64_t cookie) noexcept = 0;
  // Broken for good: told once per connection (not for one that was stopped), then failed() for
  // each operation still posted, unsignaled ones, too. The peer is not told by anybody.
  virtual void broken(ConnectionId which, Fault why) noexcept = 0;
  virtual void failed(ConnectionId on, std::uint64_t cookie, Fault why) noexcept = 0;

 protected:
  ~ConnectionSink() = default;
};

class ConnectionPort {
 public:
  virtual ~ConnectionPort() = default;

  virtual std::uint32_t inline_bytes() const noexcept = 0;
  virtual std::uint32_t packet_bytes() const noexcept = 0;  // of the shared receive queue
  virtual std::uint32_t send_depth() const noexcept = 0;    // posts per connection
  // Packets for arrivals, of all connections together. A message takes one until repost(), a write
  // with immediate one until placed() returns. Where there is none the sender is made to wait, and
  // breaks after a while (kReceiverNotReady). Fewer after connections that have taken one along in
  // their end.
  virtual std::uint32_t receive_depth() const noexcept = 0;
  // From now on at least so many are in the queue, or with the caller; at first none are. Again
  // after a connection has ended. They are used in turn, so a few for few peers stay in caches that
  // all of them would sweep through.
  virtual void provide(std::uint32_t packets) noexcept = 0;

  virtual Result<ConnectionId> create() = 0;
  virtual ConnectionAddress address(ConnectionId which) const noexcept = 0;
  // Ready to receive and to send; both ends do it.
  virtual Outcome connect(ConnectionId which, const ConnectionAddress& to) = 0;
  // As if it broke. Nothing is written to this process's memory through it any more.
  virtual void stop(ConnectionId which) noexcept = 0;
  // Of one that is broken, stopped or was never connected; what it has not handed over is dropped.
  virtual void destroy(ConnectionId which) noexcept = 0;

  virtual Result<Region> enroll(const void* begin, std::uint64_t bytes) = 0;
  // Memory of a device, by a file (dma-buf) of these pages; `begin` is what it is called. Ended as
  // those of enroll(). ESP_ERR_UNSUPPORTED: this adapter takes none.
  virtual Result<Region> enroll_file(int file, const std::byte* begin, std::uint64_t bytes) {
    (void)file;
    (void)begin;
    (void)bytes;
    return error(ESP_ERR_UNSUPPORTED, "this adapter takes no memory of devices");
  }
  virtual void withdraw(const Region& region) noexcept = 0;

  // False: the send queue is full.
  virtual bool send(ConnectionId on, const Transfer& what) noexcept = 0;
  virtual bool send_immediate(ConnectionId on, const Transfer& what,
                              std::uint32_t immediate) noexcept = 0;
  virtual bool write(ConnectionId on, const Transfer& what, RemoteMemory to, bool with_immediate,
                     std::uint32_t immediate) noexcept = 0;
  virtual bool read(ConnectionId on, const Transfer& what, RemoteMemory from) noexcept = 0;
  virtual bool atomic(ConnectionId on, const Transfer& result, RemoteMemory at, Atomic kind,
                      std::uint64_t operand, std::uint64_t compare) noexcept = 0;
  // Back into the shared receive queue.
  virtual void repost(Packet& packet) noexcept = 0;

  // Hands over arrivals and completions, at most `budget`. Returns how many; negative: the adapter
  // is gone, fault() says why.
  virtual int poll(ConnectionSink& sink, int budget) noexcept = 0;
  virtual const Status& fault() const noexcept = 0;
  // Sleeping: as in net/link.hpp.
  virtual int descriptor() const noexcept = 0;
  virtual bool arm() noexcept = 0;

  const PortCounts& counts() const noexcept { return counts_; }

 protected:
  PortCounts counts_;
};

}  // namespace espalier::rdma
