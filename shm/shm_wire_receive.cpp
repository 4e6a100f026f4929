// ShmWire, the receiver's half: draining rings, matching, views.
// path: data
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "core/copy.hpp"
#include "core/plant.hpp"
#include "shm/shm_wire.hpp"

namespace espalier::shm {
namespace {

// Bytes copied per ring and call of progress(): a big transfer does not starve the other peers.
constexpr std::uint64_t kBudgetBytes = std::uint64_t{1} << 20;
// Calls of progress() without an event before it does the housekeeping of idle().
constexpr std::uint32_t kEmptyLooks = 4096;

bool has_left_its_buffer(const Cell& cell) noexcept {
  return cell.kind == CellKind::kInline || cell.kind == CellKind::kArena;
}

}  // namespace

ShmWire::ShmWire(Segment& segment, std::span<const ShmPeer> peers, const ShmOptions& options,
                 Doorbell& doorbell, Counters& counters)
    : segment_(segment),
      doorbell_(doorbell),
      counters_(counters),
      options_(options),
      arena_(segment.layout().arena_bytes(), options.first_ring_bytes),
      peers_(peers.size()) {
  const std::uint32_t me = segment.index();
  for (std::uint32_t i = 0; i < peers.size(); ++i) {
    peers_[i].out = &segment.pair(me, i);
    peers_[i].in = &segment.pair(i, me);
    peers_[i].rank = peers[i].rank;
    peers_[i].pid = peers[i].pid;
    ranks_.push_back(peers[i].rank);
  }
  active_.reserve(peers.size());
  senders_.reserve(peers.size());
}

ShmWire::~ShmWire() {
  matcher_.for_each([this](MatchNode& node) {
    if (node.posted) {
      auto& op = static_cast<RecvOp&>(node);
      return op.token != 0 ? close_landing(peer(op.peer), op) : void();
    }
    auto* message = static_cast<Unexpected*>(&node);
    std::free(message->evacuated);
    delete message;
  });
  for (Unexpected* message : free_unexpected_) delete message;
}

WireCaps ShmWire::caps(Rank peer) const noexcept {
  const std::uint32_t me = segment_.index(), other = local(peer);
  WireCaps caps;
  caps.inline_bytes = Cell::kPayloadBytes;
  caps.segment_bytes = segment_.layout().arena_bytes() / 8;
  caps.copies = caps.paces_pulls = true;
  caps.pulls = may_reach(other, me);
  caps.pushes = may_reach(me, other);
  const auto opens = [&](std::uint32_t rank) {  // Asked by any thread that makes a call.
    return segment_.rank_block(rank).flags.opens.load(std::memory_order_relaxed) != 0;
  };
  caps.away = opens(me) && opens(other);
  return caps;
}

void ShmWire::add_interest(Peer& p) noexcept {
  if (p.interest++ != 0) return;
  p.active_at = static_cast<std::uint32_t>(active_.size());
  active_.push_back(local(p.rank));
}

void ShmWire::drop_interest(Peer& p) noexcept {
  ESP_ASSERT(p.interest > 0);
  if (--p.interest != 0) return;
  const std::uint32_t last = active_.back();
  active_[p.active_at] = last;
  peers_[last].active_at = ESP_PLANT(24, p.active_at, peers_[last].active_at);
  active_.pop_back();
}

Posted ShmWire::recv(const SegmentId& segment, std::uint32_t window, RecvOp& op) noexcept {
  Peer& p = peer(segment.peer);
  op.expect(segment);
  if (const std::uint32_t limit = grant_due(segment, window); limit > 0) {
    answer(p, {CellKind::kGrant, segment.flow.key, limit});
  }
  if (auto* found = matcher_.find(op.peer, op.flow, op.ordinal)) [[unlikely]] {
    ESP_ASSERT(!found->posted);
    auto* message = static_cast<Unexpected*>(found);
    matcher_.erase(*message);
    return deliver_unexpected(p, *message, op);
  }
  op.posted = true;
  matcher_.insert(op);
  add_interest(p);
  if (op.transfer.path == Path::kPush) [[unlikely]]
    open_landing(p, op);
  return Posted::kPending;
}

Posted ShmWire::take(const SegmentId& segment, RecvOp& op) noexcept {
  Peer& p = peer(segment.peer);
  op.expect(segment);
  if (matcher_.count() > 0) [[unlikely]] {
    if (auto* found = matcher_.find(segment.peer, segment.flow.key, segment.ordinal)) {
      ESP_ASSERT(!found->posted);
      auto& message = static_cast<Unexpected&>(*found);
      if (!has_left_its_buffer(message.cell)) return Posted::kPending;
      matcher_.erase(message);
      return deliver_unexpected(p, message, op);
    }
  }
  Cell& cell = p.in->cells[p.received % kRingCells];
  if (cell.turn.load(std::memory_order_acquire) != p.received / kRingCells + 1) {
    return Posted::kRetry;
  }
  if (!has_left_its_buffer(cell) || cell.flow != segment.flow.key ||
      cell.ordinal != segment.ordinal) {
    return Posted::kPending;
  }
  const Posted posted = deliver(p, cell, op);
  p.in->drained.store(++p.received, std::memory_order_release);
  wake(p);
  return posted;
}

// Brings the bytes of the cell to op.dst or makes op.view point at them, and acknowledges unless a
// view keeps them in use.
void ShmWire::fetch(Peer& p, const Cell& cell, RecvOp& op) noexcept {
  const std::byte* bytes = cell.kind == CellKind::kInline ? cell.payload : segment_.at(cell.where);
  if (op.dst != nullptr) {
    if (cell.bytes > 0) copy_bytes(op.dst, bytes, cell.bytes);
    counters_.copy_out_bytes += cell.bytes;
  } else if (cell.kind == CellKind::kInline) {
    std::memcpy(op.inline_data, bytes, cell.bytes);
    op.view = op.inline_data;
  } else {
    op.view = bytes;
    op.token = make_token(local(p.rank), cell.ticket, cell.lap);
    hold(op);
    if (ESP_PLANT(22, false, true)) acknowledge(p, cell.ticket, cell.lap);
    return;
  }
  if (cell.lap != 0) acknowledge(p, cell.ticket, cell.lap);
}

// Its receive has it, or is about to pull it.
void ShmWire::tell_taken(Peer& p, const Cell& cell) noexcept {
  if ((cell.ticket & kSynchronous) == 0) [[likely]]
    return;
  answer(p, {CellKind::kTaken, cell.flow, cell.ordinal});
}

// The segment for a posted (or just posting) receive is here. kDone: op.status says how it went.
Posted ShmWire::deliver(Peer& p, const Cell& cell, RecvOp& op) noexcept {
  Posted posted = Posted::kDone;
  op.status = op.verdict(cell.bytes, cell.signature, p.rank);
  if (op.status.ok() && cell.kind == CellKind::kPull) {
    posted = start_pull(p, cell, op);
  } else if (op.status.ok() && cell.kind == CellKind::kAway) {
    posted = take_away(p, cell, op);
  } else {
    count_received(cell.bytes);
    if (op.status.ok() && cell.kind == CellKind::kLost) {
      op.status = cell.where == kLostOnDevice
                      ? Status(ESP_ERR_DEVICE, p.rank)
                      : Status(ESP_ERR_SYSTEM, p.rank, static_cast<int>(cell.where));
    } else if (op.status.ok()) {
      fetch(p, cell, op);
    } else if (cell.lap != 0) {
      acknowledge(p, cell.ticket, cell.lap);
    }
  }
  tell_taken(p, cell);
  return posted;
}

void ShmWire::count_received(std::uint64_t bytes) noexcept {
  ++counters_.segments_received;
  counters_.bytes_received += bytes;
}

Posted ShmWire::deliver_unexpected(Peer& p, Unexpected& message, RecvOp& op) noexcept {
  Posted posted = Posted::kDone;
  if (message.evacuated == nullptr && message.failure.ok()) [[likely]] {
    posted = deliver(p, message.cell, op);
  } else {
    const Cell& cell = message.cell;
    count_received(cell.bytes);
    op.status = op.verdict(cell.bytes, cell.signature, p.rank);
    if (op.status.ok()) op.status = message.failure;
    if (op.status.ok() && op.dst == nullptr) {
      op.view = op.evacuated = message.evacuated;
    } else {
      if (op.status.ok()) copy_bytes(op.dst, message.evacuated, cell.bytes);
      std::free(message.evacuated);
    }
    tell_taken(p, cell);
    message.evacuated = ESP_PLANT(23, nullptr, message.evacuated);
  }
  free_unexpected_.push_back(&message);
  return posted;
}

bool ShmWire::note_answer(Peer& p, const Cell& cell) noexcept {
  switch (cell.kind) {
    case CellKind::kGrant:
      return note_grant(p, cell);
    case CellKind::kTaken:
      note_taken(p, cell);
      break;
    case CellKind::kWritten:
      end_push(p, cell);
      break;
    case CellKind::kDeclined:
      note_declined(p, cell);
      break;
    default:
      note_refused(p, cell);
  }
  return true;
}

// False: no memory for a grant or an unexpected segment; it stays in the ring.
bool ShmWire::handle(Peer& p, Cell& cell) noexcept {
  if (is_answer(cell.kind)) return note_answer(p, cell);
  if (MatchNode* found = matcher_.find(p.rank, cell.flow, cell.ordinal)) [[likely]] {
    ESP_ASSERT(found->posted);
    auto& op = static_cast<RecvOp&>(*found);
    matcher_.erase(op);
    op.posted = false;
    drop_interest(p);
    if (op.token != 0) [[unlikely]]
      close_landing(p, op);
    if (deliver(p, cell, op) == Posted::kDone) op.complete(op.status);
    return true;
  }
  if (forgotten_.has(cell.flow)) [[unlikely]] {
    if (cell.lap != 0) acknowledge(p, cell.ticket, cell.lap);
    return true;
  }
  Unexpected* message = nullptr;
  if (!free_unexpected_.empty()) {
    message = free_unexpected_.back();
    free_unexpected_.pop_back();
  } else {
    message = new (std::nothrow) Unexpected;
    if (message == nullptr) return false;
  }
  message->peer = p.rank;
  message->flow = cell.flow;
  message->ordinal = cell.ordinal;
  message->posted = false;
  message->failure = {};
  std::memcpy(static_cast<void*>(&message->cell), &cell, sizeof cell);
  matcher_.insert(*message);
  ++counters_.unexpected;
  return true;
}

// Those of 64 ranks that have begun to send since the last look.
void ShmWire::meet_senders(std::size_t word) noexcept {
  const auto& bits = segment_.rank_block(segment_.index()).senders.of[word];
  std::uint64_t met = bits.load(std::memory_order_relaxed) & ~met_[word];
  met_[word] |= met;
  for (; met != 0; met &= met - 1) {
    senders_.push_back(static_cast<std::uint32_t>(word * 64) +
                       static_cast<std::uint32_t>(std::countr_zero(met)));
  }
}

int ShmWire::drain(Peer& p) noexcept {
  int events = 0;
  std::uint64_t bytes = 0;
  while (bytes < kBudgetBytes) {
    Cell& cell = p.in->cells[p.received % kRingCells];
    if (cell.turn.load(std::memory_order_acquire) != p.received / kRingCells + 1) break;
    bytes += cell.bytes;
    if (!handle(p, cell)) break;
    ++p.received;
    ++events;
  }
  if (events > 0) {
    p.in->drained.store(p.received, std::memory_order_release);
    wake(p);
  }
  return events;
}

int ShmWire::progress() noexcept {
  int events = 0;
  // Backwards: a peer that drops out is replaced by one that has been looked at.
  for (std::size_t i = active_.size(); i-- > 0;) {
    if (i >= active_.size()) continue;
    Peer& p = peers_[active_[i]];
    if (!p.owed.empty()) [[unlikely]]
      flush_answers(p);
    events += drain(p);
    if (p.ops_open > 0) (void)reap(p);
  }
  if (!pulls_.empty()) events += step_pulls();
  if (!unread_.empty()) [[unlikely]]
    events += send_copies();
  if (!declined_.empty()) [[unlikely]]
    events += serve_declined();
  if (!rationed_.empty()) [[unlikely]]
    events += tell_next();
  while (!finished_.empty()) {
    SendOp* op = finished_.back();
    finished_.pop_back();
    op->complete({});
    ++events;
  }
  if (events > 0) {
    empty_looks_ = 0;
    return events;
  }
  // Nothing: look at one more ring, and at everything from time to time (for those who poll and
  // never wait).
  if (++empty_looks_ % kEmptyLooks == 0) [[unlikely]]
    return keep_house();
  meet_senders(empty_looks_ % ((peers_.size() + 63) / 64));
  return senders_.empty() ? 0 : drain(peers_[senders_[empty_looks_ % senders_.size()]]);
}

void ShmWire::acknowledge(Peer& p, std::uint32_t ticket, std::uint8_t lap) noexcept {
  p.in->acks[ticket & ~std::uint32_t{kSynchronous}].store(lap, std::memory_order_release);
  wake(p);
}

void ShmWire::hold(RecvOp& op) noexcept {
  op.held_prev = nullptr;
  op.held_next = held_;
  if (held_ != nullptr) held_->held_prev = &op;
  held_ = &op;
}

void ShmWire::unhold(RecvOp& op) noexcept {
  if (op.held_prev != nullptr) {
    op.held_prev->held_next = op.held_next;
  } else if (held_ == &op) {
    held_ = op.held_next;
  } else {
    return;  // Not held: inline or moved out.
  }
  if (op.held_next != nullptr) op.held_next->held_prev = op.held_prev;
  op.held_next = op.held_prev = nullptr;
}

void ShmWire::release(RecvOp& op) noexcept {
  if ((op.token & kHasTicket) != 0) {
    unhold(op);
    Peer& p = peers_[(op.token >> 32) & 0x7fffffff];
    if (std::exchange(op.is_away, false) && away_ != nullptr) away_->close(p.rank, op.view);
    acknowledge(p, (op.token >> 8) & 0xffff, static_cast<std::uint8_t>(op.token));
    op.token = 0;
  }
  std::free(op.evacuated);
  op.evacuated = nullptr;
  op.view = nullptr;
}

void ShmWire::cancel(RecvOp& op) noexcept {
  if (!pulls_.empty() && cancel_pull(op)) return;
  if (!op.posted) return;
  matcher_.erase(op);
  op.posted = false;
  drop_interest(peer(op.peer));
  if (op.token != 0) close_landing(peer(op.peer), op);
}

}  // namespace espalier::shm
