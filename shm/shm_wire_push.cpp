// ShmWire, segments that senders write straight into the memory of their receives, where the plan
// asks for it on both sides (Path::kPush) and the system allows it.
//
//   receiver  recv: opens a landing (shm/layout.hpp), if the one of this segment is free
//   sender    post: takes the landing if it is open, writes, tells (kWritten). Of a segment without
//             an open landing, a copy through the arena
//   receiver  completes; or has closed the landing meanwhile, because the segment came as a copy or
//             the receive was cancelled
//
// A landing is for one segment. Who closes one that is being written waits for the write, which is
// one copy of a segment by a process that runs, or is over when that process is dead. If it has
// been written by then, it is left to its kWritten, which nobody completes: that segment is gone
// with the receive. path: data
#include <algorithm>
#include <thread>

#include "shm/shm_wire.hpp"

namespace espalier::shm {
namespace {

// Looks at a landing that is being written, between two at whether its sender lives.
constexpr int kLooks = 256;

std::uint64_t landing_of(std::uint64_t flow, std::uint32_t ordinal) noexcept {
  return ((flow ^ flow >> FlowId::kSequenceBits) + ordinal) % kLandings;
}

bool is_of(const Landing& landing, const SegmentId& segment) noexcept {
  return landing.flow == segment.flow.key && landing.ordinal == segment.ordinal;
}

}  // namespace

void ShmWire::open_landing(Peer& p, RecvOp& op) noexcept {
  const std::uint64_t number = landing_of(op.flow, op.ordinal);
  Landing& landing = p.in->landings[number];
  if (op.dst == nullptr || op.bytes <= Cell::kPayloadBytes ||
      !may_reach(local(p.rank), segment_.index()) ||
      landing.state.load(std::memory_order_acquire) != Landing::kFree) {
    return;
  }
  landing.ordinal = op.ordinal;
  landing.signature = op.signature;
  landing.flow = op.flow;
  landing.address = reinterpret_cast<std::uint64_t>(op.dst);
  landing.bytes = op.bytes;
  landing.state.store(Landing::kOpen, std::memory_order_release);
  op.token = number + 1;
}

// From here on nothing is written to the receive's memory.
void ShmWire::close_landing(Peer& p, RecvOp& op) noexcept {
  Landing& landing = p.in->landings[op.token - 1];
  op.token = 0;
  for (int looks = 1;; ++looks) {
    std::uint32_t state = Landing::kOpen;
    if (landing.state.compare_exchange_strong(state, Landing::kFree, std::memory_order_acq_rel)) {
      return;
    }
    if (state == Landing::kWritten) {
      return landing.state.store(Landing::kLeft, std::memory_order_relaxed);
    }
    if (looks % kLooks == 0 && options_.liveness != nullptr && options_.liveness->is_dead(p.rank)) {
      return;
    }
    std::this_thread::yield();
  }
}

// The receive is complete, unless it was taken back.
void ShmWire::end_push(Peer& p, const Cell& cell) noexcept {
  Landing& landing = p.in->landings[cell.where % kLandings];
  const std::uint32_t state = landing.state.load(std::memory_order_acquire);
  if (state == Landing::kLeft) landing.state.store(Landing::kFree, std::memory_order_relaxed);
  MatchNode* found = matcher_.find(p.rank, cell.flow, cell.ordinal);
  if (state != Landing::kWritten || found == nullptr || !found->posted) return;
  auto& op = static_cast<RecvOp&>(*found);
  if (op.token != cell.where + 1) return;
  landing.state.store(Landing::kFree, std::memory_order_relaxed);
  op.token = 0;
  matcher_.erase(op);
  op.posted = false;
  drop_interest(p);
  count_received(cell.bytes);
  op.status = {};
  tell_taken(p, cell);
  op.complete(op.status);
}

// Else no part of it could be copied, if a receive is late.
bool ShmWire::pushes(const Send& send) const noexcept {
  return send.bytes > Cell::kPayloadBytes && send.bytes <= segment_.layout().arena_bytes() / 2;
}

// All or nothing: landings are taken before anything is written, and given back where there is no
// room to copy for the readers without one.
Posted ShmWire::post_pushed(const Send& send, Readers readers, SendOp& op) noexcept {
  const SegmentId& segment = send.segment;
  std::size_t late = 0;
  for (const std::uint32_t to : readers) late += take_landing(peers_[to], send) ? 0 : 1;
  Carriage copied;
  if (late > 0 && !copy_in(send, late, copied)) {
    for (const std::uint32_t to : readers) {
      Landing* landing = taken_landing(peers_[to], segment);
      if (landing != nullptr) landing->state.store(Landing::kOpen, std::memory_order_release);
    }
    ++counters_.retries;
    return Posted::kRetry;
  }
  if (pressed_) relax();
  op.readers = send.synchronous ? static_cast<std::uint32_t>(readers.size()) : 0;
  if (send.synchronous) await_taking(send, readers, op);
  for (const std::uint32_t to : readers) {
    Landing* landing = taken_landing(peers_[to], segment);
    if (landing == nullptr) {
      put_cell(peers_[to], send, copied);
    } else {
      push_into(peers_[to], *landing, send, op);
    }
  }
  counters_.segments_sent += readers.size();
  counters_.bytes_sent += send.bytes * readers.size();
  return op.readers > 0 ? Posted::kPending : Posted::kDone;
}

// Of another length or signature: the copy tells that to the receiver.
bool ShmWire::take_landing(Peer& p, const Send& send) noexcept {
  const SegmentId& segment = send.segment;
  Landing& landing = p.out->landings[landing_of(segment.flow.key, segment.ordinal)];
  if (landing.state.load(std::memory_order_acquire) != Landing::kOpen) return false;
  std::uint32_t state = Landing::kOpen;
  if (!landing.state.compare_exchange_strong(state, Landing::kWriting, std::memory_order_acq_rel)) {
    return false;
  }
  // Only now does it stay what it is.
  if (is_of(landing, segment) && landing.bytes == send.bytes &&
      landing.signature == segment.signature && may_reach(segment_.index(), local(p.rank))) {
    return true;
  }
  landing.state.store(Landing::kOpen, std::memory_order_release);
  return false;
}

// By this post, which has taken it; else nullptr.
Landing* ShmWire::taken_landing(Peer& p, const SegmentId& segment) noexcept {
  Landing& landing = p.out->landings[landing_of(segment.flow.key, segment.ordinal)];
  const bool taken = landing.state.load(std::memory_order_relaxed) == Landing::kWriting;
  return taken && is_of(landing, segment) ? &landing : nullptr;
}

void ShmWire::push_into(Peer& p, Landing& landing, const Send& send, SendOp& op) noexcept {
  const iovec remote{reinterpret_cast<void*>(landing.address), send.bytes};
  const iovec own{const_cast<void*>(send.data), send.bytes};
  CmaCopy copy(CmaDirection::kPush, p.pid, IovecCursor(remote), IovecCursor(own), options_.cma);
  const Status status = pull(copy, send.bytes);
  landing.state.store(status.ok() ? Landing::kWritten : Landing::kOpen, std::memory_order_release);
  grants_.sent(p.rank, send.segment);
  if (status.ok()) {
    const auto where = static_cast<std::uint64_t>(&landing - p.out->landings);
    return put_again(p, answer_of(send, CellKind::kWritten), CellKind::kWritten, where);
  }
  if (is_refusal(status)) note_refusal(p, status.error_number());
  copy_later(p, send, op);
}

// As a pull that was refused: from progress(), when there is room.
void ShmWire::copy_later(Peer& p, const Send& send, SendOp& op) noexcept {
  const std::uint64_t number = p.ticket_next++;
  p.tickets[number % kTickets] = {Arena::kNone, &op, true};
  if (p.ops_open++ == 0) add_interest(p);
  ++op.readers;
  Answer segment = answer_of(send, CellKind::kRefused);
  segment.ticket |= static_cast<std::uint16_t>(number % kTickets);
  segment.lap = static_cast<std::uint8_t>(number / kTickets % 255 + 1);
  unread_.push_back({p.rank, segment});
}

// What a cell says of the segment.
ShmWire::Answer ShmWire::answer_of(const Send& send, CellKind kind) noexcept {
  const SegmentId& segment = send.segment;
  return {kind,
          segment.flow.key,
          reinterpret_cast<std::uint64_t>(send.data),
          send.bytes,
          segment.ordinal,
          segment.signature,
          send.synchronous ? kSynchronous : std::uint16_t{0},
          0};
}

}  // namespace espalier::shm
