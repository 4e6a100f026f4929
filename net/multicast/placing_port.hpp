// PlacingPort: what a network offers for one lane (docs/multicast.md, "Large segments"): a group of
// the network of one source, whose packets are received where they belong. Each receive that is
// posted, a place, has room of the port's for the packet's header and, apart from it, memory of the
// caller's for its payload.
//
// Places are used up in the order of their posts, each by one packet, whatever packet it is: after
// a loss packets come into places of others. A packet that finds no place is lost.
//
// Memory is registered with the port's adapter: by enroll(), or by any port of the same adapter.
// Threads: the owner of the worker. path: data
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/status.hpp"
#include "net/multicast/group_port.hpp"
#include "net/rdma/connection_port.hpp"

namespace espalier::multicast {

// In front of every payload of a lane; what stands in it is the affair of those above the port.
inline constexpr std::uint32_t kLaneHeaderBytes = 32;
using LaneHeader = std::span<const std::byte, kLaneHeaderBytes>;

class PlacingSink {
 public:
  // A packet has used up this place; so many bytes of payload are in its memory. `header` is the
  // port's, during the call.
  virtual void placed(std::uint64_t token, LaneHeader header, std::uint32_t bytes) noexcept = 0;
  // The place has been taken back. Its memory may have been written to: what a packet has left
  // there nobody knows.
  virtual void returned(std::uint64_t token) noexcept = 0;

 protected:
  ~PlacingSink() = default;
};

class PlacingPort {
 public:
  virtual ~PlacingPort() = default;

  // As those of GroupPort. Packets arrive from kYes on.
  virtual Joined joined() noexcept = 0;
  // Payload of a packet, at most.
  virtual std::uint32_t payload_bytes() const noexcept = 0;
  // Places that may be posted at a time.
  virtual std::uint32_t depth() const noexcept = 0;

  // An error: this memory is not for lanes, what belongs there goes by copying.
  virtual Result<rdma::Region> enroll(const void* begin, std::uint64_t bytes) = 0;
  virtual void withdraw(const rdma::Region& region) noexcept = 0;

  // A place of payload_bytes() or less: longer packets break the queue, as said at poll(). It is
  // the adapter's from the next show_places() on, at the latest. False: there are depth() already.
  virtual bool post_place(std::byte* memory, std::uint32_t bytes, std::uint32_t key,
                          std::uint64_t token) noexcept = 0;
  virtual void show_places() noexcept = 0;
  // Takes all places back. Before it returns all that have been used up are told by placed(), the
  // others by returned(), and nothing is written to any of them afterwards. Packets that come
  // meanwhile are lost, and so are those that were to be sent: their payload is not read any more.
  // An adapter that is gone, which poll() tells, returns none.
  virtual void flush_places(PlacingSink& sink) noexcept = 0;

  // To all members: a header, which is copied, and payload that stays as it is until sending()
  // does not count it any more, or flush_places(). False: the queue is full, try again after
  // poll(). `more`: another send or flush() follows at once.
  virtual bool send(LaneHeader header, const std::byte* payload, std::uint32_t bytes,
                    std::uint32_t key, bool more) noexcept = 0;
  virtual void flush() noexcept {}
  // Packets that the adapter has not completed.
  virtual std::uint32_t sending() const noexcept = 0;

  // Hands over packets, at most `budget`, and collects completions. A queue that broke is taken
  // into use again; its places come back by returned(). Returns the number of events; negative: the
  // adapter is gone and touches no memory any more, fault() says why.
  virtual int poll(PlacingSink& sink, int budget) noexcept = 0;
  virtual const Status& fault() const noexcept = 0;

  // Sleeping: as in net/link.hpp.
  virtual int descriptor() const noexcept = 0;
  virtual bool arm() noexcept = 0;

  const rdma::PortCounts& counts() const noexcept { return counts_; }

 protected:
  rdma::PortCounts counts_;
};

}  // namespace espalier::multicast
