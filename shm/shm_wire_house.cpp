// ShmWire, what it does when its owner has nothing to do, or has done with a team.
// path: slow
#include <cstdlib>
#include <utility>

#include "core/copy.hpp"
#include "shm/shm_wire.hpp"

namespace espalier::shm {

// The owner has had nothing to do for a while. Looks at every ring that was ever used, and if a
// peer cannot send because this rank holds segments in its arena, moves them to private memory:
// flows of different operations share an arena and must not be able to block each other for ever.
int ShmWire::keep_house() noexcept {
  int events = 0;
  for (std::size_t i = active_.size(); i-- > 0;) {  // Backwards: see progress().
    if (i < active_.size() && !peers_[active_[i]].owed.empty()) flush_answers(peers_[active_[i]]);
  }
  for (std::size_t word = 0; word * 64 < peers_.size(); ++word) meet_senders(word);
  for (const std::uint32_t sender : senders_) events += drain(peers_[sender]);
  const auto pressed = [&](Rank rank) {
    return segment_.rank_block(local(rank)).flags.pressure.load(std::memory_order_relaxed) != 0;
  };
  for (RecvOp* op = held_; op != nullptr;) {
    RecvOp* next = op->held_next;
    if (pressed(op->peer)) evacuate(*op);
    op = next;
  }
  matcher_.for_each([&](MatchNode& node) {
    if (!node.posted && pressed(node.peer)) evacuate(static_cast<Unexpected&>(node));
  });
  if (pressed_ && options_.liveness != nullptr) take_back();
  return events;
}

void ShmWire::evacuate(RecvOp& op) noexcept {
  void* copy = std::malloc(op.bytes);
  if (copy == nullptr) return;  // It stays where it is; the next idle() tries again.
  copy_bytes(copy, op.view, op.bytes);
  release(op);
  op.view = op.evacuated = copy;
  ++counters_.evacuations;
}

void ShmWire::evacuate(Unexpected& message) noexcept {
  const Cell& cell = message.cell;
  if (cell.kind == CellKind::kInline || cell.kind == CellKind::kLost ||
      message.evacuated != nullptr || !message.failure.ok())
    return;
  if (cell.kind == CellKind::kAway) {
    // Nobody here reaches it. Its bytes come as a segment of their own.
    Answer declined = refusal_of(cell);
    declined.kind = CellKind::kDeclined;
    answer(peer(message.peer), declined);
    matcher_.erase(message);
    free_unexpected_.push_back(&message);
    ++counters_.evacuations;
    return;
  }
  void* copy = std::malloc(cell.bytes);
  if (copy == nullptr) return;
  if (cell.kind == CellKind::kPull) {
    Peer& p = peer(message.peer);
    CmaCopy whole = CmaCopy::pull(p.pid, cell.where, copy, cell.bytes, options_.cma);
    const Status status = pull(whole, cell.bytes);
    if (is_refusal(status)) {
      std::free(copy);
      refuse(p, refusal_of(cell), status.error_number());
      // The copy comes as a segment of its own.
      matcher_.erase(message);
      free_unexpected_.push_back(&message);
      return;
    }
    if (!status.ok()) {
      // Its sender has given the flow up, or is gone: nobody may ever ask for it, and it holds a
      // ticket. A receive is told.
      std::free(copy);
      message.failure = Status(status.code(), message.peer, status.error_number());
      return acknowledge(peer(message.peer), cell.ticket, cell.lap);
    }
  } else {
    copy_bytes(copy, segment_.at(cell.where), cell.bytes);
  }
  message.evacuated = copy;
  acknowledge(peer(message.peer), cell.ticket, cell.lap);
  ++counters_.evacuations;
}

void ShmWire::forget_team(std::uint32_t team) {
  forgotten_.add(team);
  grants_.forget_team(team);
  matcher_.for_each([&](MatchNode& node) {
    if (!node.posted && forgotten_.has(node.flow)) discard(static_cast<Unexpected&>(node));
  });
}

bool ShmWire::quiet() noexcept {
  for (Peer& p : peers_) (void)reap(p);
  return arena_.empty() && matcher_.count() == 0 && grants_.count() == 0 && held_ == nullptr &&
         finished_.empty() && untaken_.empty() && pulls_.empty() && unread_.empty() &&
         rationed_.empty() && declined_.empty() && owing_ == 0;
}

void ShmWire::discard(Unexpected& message) noexcept {
  const Cell& cell = message.cell;
  matcher_.erase(message);
  const bool kept = message.evacuated == nullptr && message.failure.ok();
  if (kept && cell.lap != 0) acknowledge(peer(message.peer), cell.ticket, cell.lap);
  std::free(message.evacuated);
  message.evacuated = nullptr;
  free_unexpected_.push_back(&message);
}

// Who is gone reads nothing more: its part of the arena, which comes back in order, must not keep
// what lies behind it from the others. Its tickets stay open.
void ShmWire::take_back() noexcept {
  for (Peer& p : peers_) {
    if (p.ticket_oldest == p.ticket_next || p.rank == peers_[segment_.index()].rank) continue;
    if (!options_.liveness->is_dead(p.rank) && !options_.liveness->has_left(p.rank)) continue;
    for (std::uint64_t n = p.ticket_oldest; n != p.ticket_next; ++n) {
      Ticket& ticket = p.tickets[n % kTickets];
      if (!ticket.open || ticket.chunk == Arena::kNone) continue;
      arena_.release(std::exchange(ticket.chunk, Arena::kNone));
    }
  }
}

}  // namespace espalier::shm
