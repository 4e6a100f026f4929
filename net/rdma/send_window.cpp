#include "net/rdma/send_window.hpp"

#include <utility>

#include "core/plant.hpp"

namespace espalier::rdma {
namespace {

// Transmissions that must have overtaken one before it counts as lost (RFC 5681, section 3.2).
constexpr std::int32_t kOvertaken = 3;

// The newest packet that the acknowledgement speaks of.
Sequence newest_of(const Acknowledgement& ack) noexcept {
  const std::uint32_t width = ack.arrived.width();
  return width > 0 ? ack.expected + width : ack.expected + ~std::uint32_t{0};
}

}  // namespace

bool SendWindow::open() const noexcept {
  if (!ESP_PLANT(43, next_.before(limit_), true)) return false;
  return in_flight_ < congestion_.window() &&
         next_ - first_ < static_cast<std::int32_t>(kWindowMax);
}

void SendWindow::sent(Flight& flight, std::uint64_t now_ns,
                      const RoundTripLimits& limits) noexcept {
  flight.sequence = next_;
  flight.next = nullptr;
  flight.lost = false;
  flight.sends = 0;
  next_ = next_ + 1;
  if (head_ == nullptr) {
    head_ = &flight;
    unanswered_since_ns_ = now_ns;
    deadline_ns_ = ESP_PLANT(44, now_ns + round_trip_.timeout_ns(limits), kNever);
  } else {
    tail_->next = &flight;
  }
  tail_ = &flight;
  ++lost_;
  flight.lost = true;
  sent_again(flight, now_ns);
}

Flight* SendWindow::lost() noexcept {
  if (lost_ == 0 || in_flight_ >= congestion_.window()) return nullptr;
  Flight* flight = head_;
  while (!flight->lost) flight = flight->next;
  return flight;
}

void SendWindow::sent_again(Flight& flight, std::uint64_t now_ns) noexcept {
  ESP_ASSERT(flight.lost && lost_ > 0);
  flight.lost = false;
  --lost_;
  ++in_flight_;
  flight.sent_ns = now_ns;
  flight.order = order_next_++;
  if (flight.sends < UINT16_MAX) ++flight.sends;
}

Flight* SendWindow::acknowledge(const Acknowledgement& ack, std::uint64_t now_ns,
                                const RoundTripLimits& limits) noexcept {
  // One that was overtaken says nothing new; one beyond what was sent is not for us.
  if (ack.expected.before(first_) || next_.before(ack.expected)) return nullptr;
  const std::int32_t room = ack.limit - ack.expected;
  if (room <= static_cast<std::int32_t>(kWindowMax) && limit_.before(ack.limit)) {
    limit_ = ack.limit;
  }
  Flight* done = take_acknowledged(ack, now_ns);
  first_ = ack.expected;
  if (done == nullptr) return nullptr;
  congestion_.advanced(first_);
  find_lost();
  attempts_ = 0;
  unanswered_since_ns_ = now_ns;
  deadline_ns_ = head_ == nullptr ? kNever : now_ns + round_trip_.timeout_ns(limits);
  return done;
}

// Unlinks what has arrived, whether in order or not.
Flight* SendWindow::take_acknowledged(const Acknowledgement& ack, std::uint64_t now_ns) noexcept {
  const bool gaps = ack.arrived.any();
  const Sequence newest = newest_of(ack);
  Flight* done = nullptr;
  Flight** link = &head_;
  Flight* before = nullptr;
  while (*link != nullptr) {
    Flight& flight = **link;
    const std::int32_t ahead = flight.sequence - ack.expected;
    if (ahead >= 0 && !gaps) break;
    const bool arrived =
        ahead < 0 ||
        (ahead > 0 && ack.arrived.test(static_cast<std::uint32_t>(ahead) - ESP_PLANT(45, 1U, 0U)));
    if (!arrived) {
      before = &flight;
      link = &flight.next;
      continue;
    }
    *link = flight.next;
    if (tail_ == &flight) tail_ = before;
    note(flight, newest, ack.held_ns, now_ns);
    flight.next = std::exchange(done, &flight);
  }
  return done;
}

// One packet has arrived.
void SendWindow::note(Flight& flight, Sequence newest, std::uint32_t held_ns,
                      std::uint64_t now_ns) noexcept {
  --(flight.lost ? lost_ : in_flight_);
  congestion_.acknowledged();
  const std::uint64_t since = now_ns - flight.sent_ns;
  // Karn's rule: of one that was sent twice nobody knows which has arrived.
  if (flight.sends == 1 && flight.sequence == newest && since >= held_ns) {
    round_trip_.sample(since - held_ns);
  }
  // An answer that comes sooner than any ever did is one to an earlier transmission.
  const bool latest = flight.sends == 1 || since >= round_trip_.shortest_ns();
  if (latest && static_cast<std::int32_t>(flight.order + 1 - order_arrived_) > 0) {
    order_arrived_ = flight.order + 1;
  }
}

void SendWindow::find_lost() noexcept {
  for (Flight* flight = head_; flight != nullptr; flight = flight->next) {
    const auto overtaken = static_cast<std::int32_t>(order_arrived_ - 1 - flight->order);
    if (flight->lost || flight->packet->in_flight > 0 || overtaken < kOvertaken) continue;
    ++fast_;
    congestion_.lost(flight->sequence, next_);
    lose(*flight);
  }
}

void SendWindow::lose(Flight& flight) noexcept {
  flight.lost = true;
  ++lost_;
  --in_flight_;
}

void SendWindow::time_out(std::uint64_t now_ns, const RoundTripLimits& limits) noexcept {
  ++attempts_;  // Also if nothing could be sent: an adapter may keep what it was given for ever.
  // What has not left the adapter cannot be lost, and must not be changed.
  for (Flight* flight = head_; flight != nullptr; flight = flight->next) {
    if (!flight->lost && flight->packet->in_flight == 0) lose(*flight);
  }
  congestion_.timed_out(next_);
  if (ESP_PLANT(42, true, false)) round_trip_.back_off();
  deadline_ns_ = now_ns + round_trip_.timeout_ns(limits);
}

Flight* SendWindow::drop() noexcept {
  in_flight_ = lost_ = 0;
  deadline_ns_ = kNever;
  tail_ = nullptr;
  return std::exchange(head_, nullptr);
}

}  // namespace espalier::rdma
