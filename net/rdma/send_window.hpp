// SendWindow: the packets to one peer that have not been acknowledged, and when to send them
// (again).
//
//   first unacknowledged ......... next ......... limit
//        in flight, or lost          may be sent
//
// A packet is lost when three that were sent after it have arrived (fast retransmission; counted in
// transmissions, so that a lost repetition is noticed, too), or when nothing was acknowledged for
// the time-out of RFC 6298. Selectively acknowledged packets are done: receivers never give back
// what they have acknowledged.
//
// Knows neither port nor clock. Ownership: holds Flights of the caller, from sent() until they come
// back from acknowledge() or drop(). Threads: owner. path: data
#pragma once

#include <cstdint>

#include "core/clock.hpp"
#include "net/rdma/congestion.hpp"
#include "net/rdma/datagram_port.hpp"
#include "net/rdma/packet_header.hpp"
#include "net/rdma/round_trip.hpp"

namespace espalier::rdma {

// One packet under way.
struct Flight {
  Packet* packet = nullptr;
  Flight* next = nullptr;
  std::uint64_t sent_ns = 0;  // last
  Sequence sequence;
  std::uint32_t order = 0;  // of its last transmission among all to this peer
  std::uint16_t sends = 0;
  bool lost = false;
};

// Permission that every receiver gives before anything was said.
inline constexpr std::uint32_t kFirstPermission = 4;

class SendWindow {
 public:
  explicit SendWindow(Sequence first) noexcept
      : first_(first), next_(first), limit_(first + kFirstPermission) {}
  SendWindow(const SendWindow&) = delete;
  SendWindow& operator=(const SendWindow&) = delete;

  // A new packet may go out: the peer has room, the network has, and the acknowledgement reaches
  // it.
  bool open() const noexcept;
  // ... and it is the last that may, until something is acknowledged.
  bool closing() const noexcept {
    return in_flight_ + 1 >= congestion_.window() || !(next_ + 1).before(limit_);
  }
  Sequence next() const noexcept { return next_; }
  // The packet with number next() has been sent.
  void sent(Flight& flight, std::uint64_t now_ns, const RoundTripLimits& limits) noexcept;

  // A lost packet that may be sent again now, or nullptr.
  Flight* lost() noexcept;
  void sent_again(Flight& flight, std::uint64_t now_ns) noexcept;

  // What the acknowledgement ends, as a list through `next`; the caller takes it over.
  Flight* acknowledge(const Acknowledgement& ack, std::uint64_t now_ns,
                      const RoundTripLimits& limits) noexcept;
  // All that is left, for a peer that is given up.
  Flight* drop() noexcept;

  bool idle() const noexcept { return head_ == nullptr; }
  // Sent and not acknowledged, those beyond a gap included.
  std::uint32_t reach() const noexcept { return static_cast<std::uint32_t>(next_ - first_); }
  // kNever: nothing is waited for.
  std::uint64_t deadline_ns() const noexcept { return deadline_ns_; }
  // At the deadline: everything that has left is lost, and the next time-out is longer.
  void time_out(std::uint64_t now_ns, const RoundTripLimits& limits) noexcept;

  // Time-outs in a row in which nothing was acknowledged, and since when.
  std::uint32_t attempts() const noexcept { return attempts_; }
  std::uint64_t unanswered_since_ns() const noexcept { return unanswered_since_ns_; }

  const RoundTrip& round_trip() const noexcept { return round_trip_; }
  const Congestion& congestion() const noexcept { return congestion_; }
  std::uint32_t in_flight() const noexcept { return in_flight_; }
  std::uint64_t fast() const noexcept { return fast_; }

 private:
  Flight* take_acknowledged(const Acknowledgement& ack, std::uint64_t now_ns) noexcept;
  void note(Flight& flight, Sequence newest, std::uint32_t held_ns, std::uint64_t now_ns) noexcept;
  void find_lost() noexcept;
  void lose(Flight& flight) noexcept;

  Flight* head_ = nullptr;  // in the order of their sequence
  Flight* tail_ = nullptr;
  Sequence first_, next_, limit_;
  std::uint32_t in_flight_ = 0;  // without the lost ones
  std::uint32_t lost_ = 0;
  std::uint32_t order_next_ = 0;
  std::uint32_t order_arrived_ = 0;  // one after the latest transmission known to have arrived
  std::uint32_t attempts_ = 0;
  std::uint32_t fast_ = 0;
  std::uint64_t deadline_ns_ = kNever;
  std::uint64_t unanswered_since_ns_ = 0;
  RoundTrip round_trip_;
  Congestion congestion_;
};

}  // namespace espalier::rdma
