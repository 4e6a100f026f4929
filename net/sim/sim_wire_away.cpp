// SimWire, segments that lie on the sender's device.
//
//   sender:  a message without bytes; its send waits until the place is let go
//   reader:  opens the place for a receive that takes it so. Else, for who wants bytes or cannot
//            reach the place, the message goes back, and its receive is posted again
//   sender:  fetches the segment into memory of the host, and sends it from there
// path: data
#include <utility>

#include "net/sim/sim_wire.hpp"

namespace espalier::sim {

// Whether devices of both reach each other.
bool SimWire::reaches(Rank peer) const noexcept {
  const Machine& machine = world_.machine_;
  if (away_ == nullptr || peer == rank_ || !machine.device.reaches_peers()) return false;
  const SimWire* other = world_.processors_[static_cast<std::size_t>(peer)].wire;
  const auto node = static_cast<std::size_t>(machine.find_level("node"));
  return other != nullptr && other->away_ != nullptr && level_to(peer) >= node;
}

// False: the sender is asked for bytes.
bool SimWire::take_away(Message& m, RecvOp& op) noexcept {
  const SimWire* owner = world_.processors_[static_cast<std::size_t>(m.peer)].wire;
  if (op.takes_away && reaches(m.peer)) {
    op.view = away_->open(m.peer, owner->away_->name_of(m.source));
    op.is_away = op.view != nullptr;
  }
  if (!op.is_away) {
    world_.want_bytes(m);
    return false;
  }
  op.token = reinterpret_cast<std::uint64_t>(std::exchange(m.acknowledge, nullptr));
  counters_.device_shared_bytes += m.bytes;
  return true;
}

void SimWire::enqueue_wanted(Message& m) noexcept {
  Message** last = &wanted_;
  while (*last != nullptr) last = &(*last)->next;
  m.next = nullptr;
  *last = &m;
}

int SimWire::serve_wanted() noexcept {
  int served = 0;
  for (; wanted_ != nullptr; ++served) fetch_wanted(*std::exchange(wanted_, wanted_->next));
  return served;
}

// Of a send that is taken back the memory may be gone.
void SimWire::fetch_wanted(Message& m) noexcept {
  if (m.acknowledge->chain == nullptr || away_ == nullptr) return world_.drop(m);
  AwayFetch& fetch = world_.fetches_.take();
  fetch.on_complete = on_fetched;
  fetch.wire = this;
  fetch.message = &m;
  fetch.memory = away_->allocate(m.bytes);
  ESP_ASSERT(fetch.memory != nullptr);  // Else there is no memory for what is simulated.
  fetch.next = std::exchange(fetching_, &fetch);
  const Posted posted = away_->fetch(fetch.memory, m.source, m.bytes, fetch);
  ESP_ASSERT(posted != Posted::kRetry);
  if (posted == Posted::kDone) on_fetched(fetch, {});
}

void SimWire::on_fetched(Completion& completion, Status status) noexcept {
  ESP_ASSERT(status.ok());
  auto& fetch = static_cast<AwayFetch&>(completion);
  SimWire& self = *fetch.wire;
  Message& m = *fetch.message;
  if (self.world_.options_.carry_data) m.payload = Payload::copy_of(fetch.memory, m.bytes);
  self.end_fetch(fetch);
  self.send_fetched(m);
}

void SimWire::end_fetch(AwayFetch& fetch) noexcept {
  Completion** link = &fetching_;
  while (*link != &fetch) link = &(*link)->next;
  *link = fetch.next;
  away_->release(fetch.memory, fetch.message->bytes);
  world_.fetches_.give_back(fetch);
}

// Of a send that is taken back: its memory is not read any more.
void SimWire::stop_fetches(const PendingSend& send) noexcept {
  for (Completion* next = fetching_; next != nullptr;) {
    auto& fetch = static_cast<AwayFetch&>(*std::exchange(next, next->next));
    Message& m = *fetch.message;
    if (m.acknowledge != &send) continue;
    away_->cancel(fetch);
    end_fetch(fetch);
    world_.drop(m);
  }
}

// As any other message, but that its send is complete when the receiver has taken it.
void SimWire::send_fetched(Message& m) noexcept {
  m.away = false;
  (void)world_.charge(rank_, world_.tariff(m).overhead_send);
  const bool copies = world_.tariff(m).carrier != Carrier::kDevice;
  m.carrier = copies ? Carrier::kCopy : Carrier::kDevice;
  if (copies) {
    world_.copy(rank_, m, false);
    counters_.copy_in_bytes += m.bytes;
  }
  world_.launch(m, nullptr);
}

}  // namespace espalier::sim
