// ShmWire, the sender's half: choosing how a segment travels, cells, tickets.
// path: data
#include <algorithm>
#include <cstring>
#include <utility>

#include "core/copy.hpp"
#include "core/plant.hpp"
#include "core/prefetch.hpp"
#include "shm/shm_wire.hpp"

namespace espalier::shm {

struct ShmWire::LocalGroup : Group {
  LocalGroup(const RankList& node, std::span<const Rank> ranks) : Group(ranks) {
    for (const Rank rank : ranks) locals.push_back(node.index_of(rank));
  }
  std::vector<std::uint32_t> locals;
};

namespace {

// The last cells of a ring are kept for answers: a receiver must be able to let its sender go on
// whatever else it has queued towards it.
constexpr std::uint32_t kAnswerReserve = 8;
// Of the next chunk; more would only queue up before the loads that the caller waits for.
constexpr std::uint64_t kPrefetchBytes = 4096;

}  // namespace

Posted ShmWire::send(const Send& send, SendOp& op) noexcept {
  const std::uint32_t to = local(send.segment.peer);
  if (send.bytes <= Cell::kPayloadBytes && send.segment.ordinal < kEagerSegments &&
      !send.synchronous && !send.away) {
    return send_inline(peers_[to], send);
  }
  return post(send, std::span(&to, 1), op);
}

// The most common case without what the others need.
Posted ShmWire::send_inline(Peer& p, const Send& send) noexcept {
  if (!has_room(p, false)) [[unlikely]] {
    ++counters_.retries;
    return Posted::kRetry;
  }
  Cell& cell = next_cell(p);
  cell.kind = CellKind::kInline;
  cell.lap = 0;
  cell.ticket = 0;
  cell.flow = send.segment.flow.key;
  cell.ordinal = send.segment.ordinal;
  cell.signature = send.segment.signature;
  cell.bytes = send.bytes;
  if (send.bytes > 0) std::memcpy(cell.payload, send.data, send.bytes);
  ++counters_.inline_sends;
  ++counters_.segments_sent;
  counters_.bytes_sent += send.bytes;
  publish_cell(p, cell);
  return Posted::kDone;
}

std::unique_ptr<Group> ShmWire::open_group(std::span<const Rank> readers) {
  return std::make_unique<LocalGroup>(ranks_, readers);
}

Posted ShmWire::publish(const Send& send, const Group& group, SendOp& op) noexcept {
  const Posted posted = post(send, static_cast<const LocalGroup&>(group).locals, op);
  if (posted != Posted::kRetry) ++counters_.publishes;
  return posted;
}

// All or nothing: room is checked for every reader before the first cell is written.
Posted ShmWire::post(const Send& send, Readers readers, SendOp& op) noexcept {
  const bool needs_ticket = send.bytes > Cell::kPayloadBytes || send.away;
  for (const std::uint32_t to : readers) {
    Peer& p = peers_[to];
    if (!granted(p, send) || !has_room(p, needs_ticket)) {
      ++counters_.retries;
      return Posted::kRetry;
    }
  }
  if (send.transfer.path == Path::kPush && !send.away && pushes(send)) [[unlikely]]
    return post_pushed(send, readers, op);
  Carriage carriage;
  if (!choose(send, readers, carriage)) {
    ++counters_.retries;
    return Posted::kRetry;
  }
  if (pressed_) [[unlikely]]
    relax();
  // What is read in the sender's memory is waited for, and what is synchronous.
  const bool read = carriage.kind == CellKind::kDirect || carriage.kind == CellKind::kPull ||
                    carriage.kind == CellKind::kAway;
  if (read && send.at_once) return Posted::kRetry;
  const std::uint32_t waits = (read ? 1 : 0) + (send.synchronous ? 1 : 0);
  if (read) carriage.op = &op;
  op.readers = waits * static_cast<std::uint32_t>(readers.size());
  if (send.synchronous) [[unlikely]]
    await_taking(send, readers, op);
  for (const std::uint32_t to : read ? first_readers(send, readers, carriage) : readers) {
    put_cell(peers_[to], send, carriage);
  }
  if (carriage.kind == CellKind::kArena) prefetch_next(send.bytes);
  counters_.segments_sent += readers.size();
  counters_.bytes_sent += send.bytes * readers.size();
  return waits > 0 ? Posted::kPending : Posted::kDone;
}

void ShmWire::await_taking(const Send& send, Readers readers, SendOp& op) noexcept {
  for (const std::uint32_t to : readers) {
    Peer& p = peers_[to];
    untaken_.push_back({p.rank, send.segment.flow.key, send.segment.ordinal, &op});
    add_interest(p);
  }
}

// The lines of the next chunk still lie with those who read them last. Asked for now, they come
// back while this segment travels: a fifth less latency at 4 KiB.
void ShmWire::prefetch_next(std::uint64_t bytes) const noexcept {
  const std::byte* arena = segment_.arena(segment_.index());
  prefetch_for_write(arena + arena_.next_offset(bytes), std::min(bytes, kPrefetchBytes));
}

bool ShmWire::granted(Peer& p, const Send& send) noexcept {
  if (grants_.may_send(p.rank, send.segment)) return true;
  if (!std::exchange(p.awaits_grant, true)) add_interest(p);
  return false;
}

// False: no memory for it.
bool ShmWire::note_grant(Peer& p, const Cell& cell) noexcept {
  const auto limit = static_cast<std::uint32_t>(cell.where);
  if (!forgotten_.has(cell.flow) && !grants_.note(p.rank, cell.flow, limit)) return false;
  if (std::exchange(p.awaits_grant, false)) drop_interest(p);
  return true;
}

bool ShmWire::has_room(Peer& p, bool ticket) noexcept {
  if (p.sent - p.drained_seen >= kRingCells - kAnswerReserve) {
    p.drained_seen = p.out->drained.load(std::memory_order_acquire);
    if (p.sent - p.drained_seen >= kRingCells - kAnswerReserve) return false;
  }
  if (!ticket) return true;
  if (p.tickets == nullptr) p.tickets = std::make_unique<Ticket[]>(kTickets);
  if (p.ticket_next - p.ticket_oldest == kTickets) reap(p);
  if (p.ticket_next - p.ticket_oldest < kTickets) return true;
  press();
  return false;
}

bool ShmWire::pullable(Readers readers) const noexcept {
  const std::uint32_t me = segment_.index();
  return std::all_of(readers.begin(), readers.end(),
                     [&](std::uint32_t reader) { return may_reach(reader, me); });
}

// Into the other's private memory.
bool ShmWire::may_reach(std::uint32_t who, std::uint32_t whose) const noexcept {
  return segment_.may_pull(who, whose).load(std::memory_order_relaxed) ==
         static_cast<std::uint8_t>(PullAccess::kYes);
}

bool ShmWire::pays_to_pull(const Send& send, Readers readers) noexcept {
  if (send.to_view) return false;
  if (options_.measure_pull && send.flow_bytes >= kMeasuredFrom && pullable(readers)) [[unlikely]] {
    PathChoice& choice = segment_.header().path_choice;
    // In this order: a rule that is stored in between is fetched by the next large flow.
    const bool known = choice.threshold.load(std::memory_order_acquire) != 0;
    options_.pull = measured_pull_rule(choice, options_.crowded);
    options_.measure_pull = !known;
  }
  return send.flow_bytes >= options_.pull.threshold && readers.size() <= options_.pull.readers;
}

// False: the arena is full.
bool ShmWire::choose(const Send& send, Readers readers, Carriage& carriage) noexcept {
  if (send.away) [[unlikely]] {
    carriage.kind = CellKind::kAway;
    carriage.where = reinterpret_cast<std::uint64_t>(send.data);
    return true;
  }
  if (send.bytes <= Cell::kPayloadBytes) {
    counters_.inline_sends += readers.size();
    return true;
  }
  if (send.transfer.path != Path::kAny) [[unlikely]]
    return choose_asked(send, readers, carriage);
  if (send.bytes >= options_.direct_threshold && !send.leaves &&
      segment_.in_own_heap(send.data, send.bytes)) {
    carriage.kind = CellKind::kDirect;
    carriage.where = segment_.offset_of(send.data);
    counters_.direct_bytes += send.bytes;
    return true;
  }
  if ((pays_to_pull(send, readers) || send.bytes > segment_.layout().arena_bytes() / 2) &&
      pullable(readers)) {
    carriage.kind = CellKind::kPull;
    carriage.where = reinterpret_cast<std::uint64_t>(send.data);
    return true;
  }
  return copy_in(send, readers.size(), carriage);
}

// As the plan has it, where that is possible.
bool ShmWire::choose_asked(const Send& send, Readers readers, Carriage& carriage) noexcept {
  const bool fits = send.bytes <= segment_.layout().arena_bytes() / 2;
  if (send.transfer.path == Path::kPull || !fits) {
    if (!send.leaves && segment_.in_own_heap(send.data, send.bytes)) {
      carriage.kind = CellKind::kDirect;
      carriage.where = segment_.offset_of(send.data);
      counters_.direct_bytes += send.bytes;
      return true;
    }
    if (pullable(readers)) {
      carriage.kind = CellKind::kPull;
      carriage.where = reinterpret_cast<std::uint64_t>(send.data);
      return true;
    }
  }
  return copy_in(send, readers.size(), carriage);
}

bool ShmWire::copy_in(const Send& send, std::size_t readers, Carriage& carriage) noexcept {
  const Arena::Chunk chunk = take_chunk(send.bytes, static_cast<std::uint32_t>(readers));
  if (chunk.id == Arena::kNone) return false;
  std::byte* slot = segment_.arena(segment_.index()) + chunk.offset;
  copy_bytes(slot, send.data, send.bytes);
  counters_.copy_in_bytes += send.bytes;
  carriage.kind = CellKind::kArena;
  carriage.where = segment_.offset_of(slot);
  carriage.chunk = chunk.id;
  return true;
}

Arena::Chunk ShmWire::take_chunk(std::uint64_t bytes, std::uint32_t readers) noexcept {
  Arena::Chunk chunk = arena_.take(bytes, readers, false);
  if (chunk.id == Arena::kNone) {
    for (Peer& p : peers_) reap(p);
    chunk = arena_.take(bytes, readers, true);
    if (ESP_PLANT(26, chunk.id == Arena::kNone, false)) press();
  }
  return chunk;
}

// Tells readers that arena or tickets are used up: see idle().
void ShmWire::press() noexcept {
  if (pressed_) return;
  pressed_ = true;
  segment_.rank_block(segment_.index()).flags.pressure.store(1, std::memory_order_relaxed);
}

void ShmWire::relax() noexcept {
  pressed_ = false;
  segment_.rank_block(segment_.index()).flags.pressure.store(0, std::memory_order_relaxed);
}

Cell& ShmWire::next_cell(Peer& p) noexcept {
  return p.out->cells[p.sent % kRingCells];
}

// Before the cell that it is about. (Again when the count wraps, which is harmless.)
void ShmWire::announce(Peer& p) noexcept {
  const std::uint32_t me = segment_.index();
  segment_.rank_block(local(p.rank))
      .senders.of[me / 64]
      .fetch_or(std::uint64_t{1} << me % 64, std::memory_order_relaxed);
}

void ShmWire::publish_cell(Peer& p, Cell& cell) noexcept {
  if (p.sent == 0) [[unlikely]]
    announce(p);
  cell.turn.store(p.sent / kRingCells + 1, std::memory_order_release);
  ++p.sent;
  wake(p);
  // The second line of the next cell. The first is polled by the receiver and would not stay.
  const Cell& next = p.out->cells[p.sent % kRingCells];
  prefetch_for_write(reinterpret_cast<const std::byte*>(&next) + kCacheLine, kCacheLine);
}

void ShmWire::put_cell(Peer& p, const Send& send, const Carriage& carriage) noexcept {
  Cell& cell = next_cell(p);
  cell.kind = carriage.kind;
  cell.flow = send.segment.flow.key;
  cell.ordinal = send.segment.ordinal;
  cell.signature = send.segment.signature;
  cell.bytes = send.bytes;
  cell.where = carriage.where;
  if (carriage.kind == CellKind::kInline && send.bytes > 0) {
    std::memcpy(cell.payload, send.data, send.bytes);
  } else if (carriage.kind == CellKind::kAway) [[unlikely]] {
    const AwayName name = away_ != nullptr ? away_->name_of(send.data) : AwayName();
    std::memcpy(cell.payload, name.bytes.data(), name.bytes.size());
  }
  cell.lap = 0;  // No acknowledgement wanted.
  cell.ticket = send.synchronous ? kSynchronous : 0;
  if (carriage.kind != CellKind::kInline) {
    const std::uint64_t number = p.ticket_next++;
    p.tickets[number % kTickets] = {carriage.chunk, carriage.op, true,
                                    carriage.kind == CellKind::kAway};
    cell.ticket |= static_cast<std::uint16_t>(number % kTickets);
    cell.lap = static_cast<std::uint8_t>(number / kTickets % 255 + 1);
    if (carriage.op != nullptr && p.ops_open++ == 0) add_interest(p);
  }
  grants_.sent(p.rank, send.segment);
  publish_cell(p, cell);
}

// Acknowledged tickets, in any order. Completions wait in finished_ for progress(). Returns how
// many came.
int ShmWire::reap(Peer& p) noexcept {
  int events = 0;
  for (std::uint64_t n = p.ticket_oldest; n != p.ticket_next; ++n) {
    Ticket& ticket = p.tickets[n % kTickets];
    if (ticket.open) {
      const auto lap = static_cast<std::uint8_t>(n / kTickets % 255 + 1);
      if (p.out->acks[n % kTickets].load(std::memory_order_acquire) != lap) continue;
      ticket.open = false;
      if (ticket.chunk != Arena::kNone) arena_.release(ticket.chunk);
      if (SendOp* op = ticket.op) {
        ticket.op = nullptr;
        if (--p.ops_open == 0) drop_interest(p);
        if (ESP_PLANT(39, !rationed_.empty(), false)) [[unlikely]]
          note_read(*op);
        if (--op->readers == 0) {
          finished_.push_back(op);
          ++events;
        }
      }
    }
    if (n == p.ticket_oldest) ++p.ticket_oldest;
  }
  return events;
}

void ShmWire::cancel(SendOp& op) noexcept {
  for (Peer& p : peers_) {
    for (std::uint64_t n = p.ticket_oldest; n != p.ticket_next; ++n) {
      Ticket& ticket = p.tickets[n % kTickets];
      if (ticket.op != &op || ESP_PLANT(25, false, p.rank % 2 == 1)) continue;
      ticket.op = nullptr;
      if (--p.ops_open == 0) drop_interest(p);
      if (ticket.away) [[unlikely]]
        revoke(p, n);
    }
  }
  std::erase_if(untaken_, [&](const Untaken& untaken) {
    if (untaken.op != &op || ESP_PLANT(25, false, untaken.to % 2 == 1)) return false;
    drop_interest(peer(untaken.to));
    return true;
  });
  std::erase(finished_, &op);
  if (!rationed_.empty()) [[unlikely]]
    give_up_untold(op);
  if (!declined_.empty()) [[unlikely]]
    give_up_declined(op);
}

// Of one that was taken back nothing is known any more.
void ShmWire::note_taken(Peer& p, const Cell& cell) noexcept {
  const auto found = std::find_if(untaken_.begin(), untaken_.end(), [&](const Untaken& untaken) {
    return untaken.to == p.rank && untaken.flow == cell.flow && untaken.ordinal == cell.where;
  });
  if (found == untaken_.end()) return;
  SendOp* op = found->op;
  untaken_.erase(found);
  drop_interest(p);
  if (--op->readers == 0) finished_.push_back(op);
}

// Grants of a flow keep their order: the sender forgets the flow with its last segment, and an
// older grant that came after it would stay for ever.
void ShmWire::answer(Peer& p, const Answer& what) noexcept {
  if (p.owed.empty() && put_answer(p, what)) [[likely]]
    return;
  for (Answer& owed : p.owed) {
    if (what.kind != CellKind::kGrant || owed.kind != what.kind || owed.flow != what.flow) continue;
    owed.where = std::max(owed.where, what.where);
    return;
  }
  // Until they are said this peer is looked after, whatever else it has with this rank.
  if (p.owed.empty()) {
    add_interest(p);
    ++owing_;
  }
  p.owed.push_back(what);
}

// False: no cell is free.
bool ShmWire::put_answer(Peer& p, const Answer& what) noexcept {
  if (p.sent - p.drained_seen >= kRingCells) {
    p.drained_seen = p.out->drained.load(std::memory_order_acquire);
    if (p.sent - p.drained_seen >= kRingCells) return false;
  }
  Cell& cell = next_cell(p);
  cell.kind = what.kind;
  cell.lap = what.lap;
  cell.ticket = what.ticket;
  cell.flow = what.flow;
  cell.ordinal = what.ordinal;
  cell.signature = what.signature;
  cell.bytes = what.bytes;
  cell.where = what.where;
  if (what.kind == CellKind::kGrant) ++counters_.grants;
  publish_cell(p, cell);
  return true;
}

void ShmWire::flush_answers(Peer& p) noexcept {
  std::size_t paid = 0;
  for (const Answer& owed : p.owed) {
    if (!put_answer(p, owed)) break;
    ++paid;
  }
  p.owed.erase(p.owed.begin(), p.owed.begin() + static_cast<std::ptrdiff_t>(paid));
  if (!p.owed.empty()) return;
  drop_interest(p);
  --owing_;
}

// What finds no room yet waits for the owner's next call: the peer may be gone.
bool ShmWire::flush() noexcept {
  if (owing_ == 0) [[likely]]
    return true;
  for (std::size_t i = active_.size(); i-- > 0;) {
    Peer& p = peers_[active_[i]];
    if (!p.owed.empty()) [[unlikely]]
      flush_answers(p);
  }
  return true;
}

void ShmWire::wake(Peer& p) noexcept {
  if (doorbell_.someone_sleeps()) [[unlikely]] {
    if (Doorbell::ring(segment_.rank_block(local(p.rank)).bell)) ++counters_.wakeups_sent;
  }
}

}  // namespace espalier::shm
