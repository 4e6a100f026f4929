// ShmWire, segments that receivers copy straight out of the sender's private memory.
//
// At most a quantum is copied by one progress(): what is larger waits in pulls_ and goes on with
// the next ones, in turn.
//
// The system may refuse a pull though it allowed others (shm/cma.hpp). Then
//
//   reader:  may_pull = kNo; repeats the cell as kRefused; its receive is posted again
//   sender:  copies the segment into its arena; the ticket that was the pull's is now the chunk's;
//            a cell as of any copied segment. Of a send that was taken back: kLost
//
// and what the sender posts later is copied at once, because it looks at may_pull. path: data
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "core/copy.hpp"
#include "core/plant.hpp"
#include "shm/shm_wire.hpp"

namespace espalier::shm {

Posted ShmWire::start_pull(Peer& p, const Cell& cell, RecvOp& op) noexcept {
  void* to = op.dst;
  if (to == nullptr) to = op.evacuated = std::malloc(cell.bytes);
  if (to == nullptr) {
    op.status = Status(ESP_ERR_NO_MEMORY);
    count_received(cell.bytes);
    acknowledge(p, cell.ticket, cell.lap);
    return Posted::kDone;
  }
  const std::uint64_t asked = op.transfer.quantum_bytes;
  Pulling pulling{&op, p.rank, refusal_of(cell), {}, asked != 0 ? asked : options_.quantum_bytes};
  // Who sends a synchronous segment is told by deliver() that it is taken, however it comes.
  pulling.segment.ticket &= static_cast<std::uint16_t>(~kSynchronous);
  pulling.copy = CmaCopy::pull(p.pid, cell.where, to, cell.bytes, options_.cma);
  // A post does not copy more than a quantum either.
  if (cell.bytes <= pulling.quantum_bytes && step_pull(pulling)) {
    return op.posted ? Posted::kPending : Posted::kDone;
  }
  pulls_.push_back(pulling);
  return Posted::kPending;
}

Status ShmWire::pull(CmaCopy& copy, std::uint64_t quantum) noexcept {
  std::uint64_t calls = 0;
  const std::uint64_t before = copy.copied();
  const Status status = copy.advance(quantum, calls);
  counters_.cma_calls += calls;
  counters_.cma_bytes += copy.copied() - before;
  return status;
}

// True when it is over: op.status says how it went, or the receive is posted again.
bool ShmWire::step_pull(Pulling& pulling) noexcept {
  RecvOp& op = *pulling.op;
  const Status status = pull(pulling.copy, pulling.quantum_bytes);
  if (status.ok() && !pulling.copy.done()) return false;
  Peer& p = peer(pulling.from);
  if (ESP_PLANT(28, is_refusal(status), is_refusal(status) && pulling.copy.copied() == 0)) {
    refuse(p, pulling.segment, status.error_number());
    std::free(op.evacuated);
    op.evacuated = nullptr;
    post_again(op, pulling.from, pulling.segment);
    return true;
  }
  count_received(pulling.copy.bytes());
  acknowledge(p, pulling.segment.ticket, pulling.segment.lap);
  if (status.ok()) {
    op.view = op.evacuated;
  } else {
    op.status = Status(status.code(), pulling.from, status.error_number());
    std::free(op.evacuated);
    op.evacuated = nullptr;
  }
  return true;
}

int ShmWire::step_pulls() noexcept {
  pull_turn_ = (pull_turn_ + 1) % pulls_.size();
  const std::size_t turn = pull_turn_;
  if (step_pull(pulls_[turn])) {
    RecvOp* op = pulls_[turn].op;
    pulls_.erase(pulls_.begin() + static_cast<std::ptrdiff_t>(turn));
    if (!op->posted) op->complete(op->status);
  }
  return 1;
}

bool ShmWire::cancel_pull(RecvOp& op) noexcept {
  const auto found =
      std::find_if(pulls_.begin(), pulls_.end(), [&](const Pulling& p) { return p.op == &op; });
  if (found == pulls_.end()) return false;
  acknowledge(peer(found->from), found->segment.ticket, found->segment.lap);
  pulls_.erase(found);
  std::free(op.evacuated);
  op.evacuated = nullptr;
  return true;
}

ShmWire::Answer ShmWire::refusal_of(const Cell& cell) noexcept {
  return {CellKind::kRefused, cell.flow,      cell.where,  cell.bytes,
          cell.ordinal,       cell.signature, cell.ticket, cell.lap};
}

void ShmWire::refuse(Peer& p, const Answer& segment, int error_number) noexcept {
  note_refusal(p, error_number);
  answer(p, segment);
}

// Its memory cannot be read any more, nor written.
void ShmWire::note_refusal(Peer& p, int error_number) noexcept {
  segment_.may_pull(segment_.index(), local(p.rank))
      .store(static_cast<std::uint8_t>(PullAccess::kNo), std::memory_order_relaxed);
  if (refusal_ != 0) return;
  refusal_ = error_number;
  options_.log.warn(
      "CMA is refused, though it was allowed at first, for the memory of rank {}: what cannot be "
      "reached is copied through shared memory from now on ({})",
      p.rank, explain_denied(error_number));
}

// The copy comes as a segment of its own.
void ShmWire::post_again(RecvOp& op, Rank from, const Answer& segment) noexcept {
  op.peer = from;
  op.flow = segment.flow;
  op.ordinal = segment.ordinal;
  op.posted = true;
  matcher_.insert(op);
  add_interest(peer(from));
}

void ShmWire::note_refused(Peer& p, const Cell& cell) noexcept {
  unread_.push_back({p.rank, refusal_of(cell)});
}

// As far as there is room. Returns how many were dealt with.
int ShmWire::send_copies() noexcept {
  return static_cast<int>(
      std::erase_if(unread_, [&](const Unread& unread) { return send_copy(unread); }));
}

void ShmWire::put_again(Peer& p, const Answer& segment, CellKind kind,
                        std::uint64_t where) noexcept {
  Cell& cell = next_cell(p);
  cell.kind = kind;
  cell.lap = kind == CellKind::kLost ? std::uint8_t{0} : segment.lap;
  cell.ticket = segment.ticket;
  cell.flow = segment.flow;
  cell.ordinal = segment.ordinal;
  cell.signature = segment.signature;
  cell.bytes = segment.bytes;
  cell.where = where;
  publish_cell(p, cell);
}

// False: there is no room yet.
bool ShmWire::send_copy(const Unread& unread) noexcept {
  const Answer& segment = unread.segment;
  Peer& p = peer(unread.to);
  if (!has_room(p, false)) return false;
  if (segment.kind == CellKind::kLost) {
    put_again(p, segment, CellKind::kLost, segment.where);
    return true;
  }
  Ticket& ticket = p.tickets[segment.ticket & ~std::uint32_t{kSynchronous}];
  if (ticket.op == nullptr) {  // Taken back: the buffer may be gone.
    ticket.open = false;
    put_again(p, segment, CellKind::kLost, ECANCELED);
    return true;
  }
  return send_bytes(p, segment, reinterpret_cast<const void*>(segment.where));
}

// The ticket of what was not read is that of a copy now. False: there is no room yet.
bool ShmWire::send_bytes(Peer& p, const Answer& segment, const void* bytes) noexcept {
  Ticket& ticket = p.tickets[segment.ticket & ~std::uint32_t{kSynchronous}];
  const Arena::Chunk chunk = take_chunk(segment.bytes, 1);
  if (chunk.id == Arena::kNone) return ESP_PLANT(29, false, true);
  if (pressed_) relax();
  std::byte* slot = segment_.arena(segment_.index()) + chunk.offset;
  copy_bytes(slot, bytes, segment.bytes);
  counters_.copy_in_bytes += segment.bytes;
  put_again(p, segment, CellKind::kArena, segment_.offset_of(slot));
  ticket.chunk = chunk.id;
  SendOp* op = std::exchange(ticket.op, nullptr);
  if (--p.ops_open == 0) drop_interest(p);
  if (!rationed_.empty()) note_read(*op);
  if (--op->readers == 0) finished_.push_back(op);
  return true;
}

// Who is told at once; the others as these have read.
ShmWire::Readers ShmWire::first_readers(const Send& send, Readers readers,
                                        const Carriage& carriage) noexcept {
  const std::size_t most = send.transfer.readers_at_once;
  if (most == 0 || readers.size() <= most) [[likely]]
    return readers;
  rationed_.push_back({send, carriage, readers.subspan(most), static_cast<std::uint32_t>(most)});
  return readers.first(most);
}

// Not told here: this may be inside a post, which has looked for room already.
void ShmWire::note_read(const SendOp& op) noexcept {
  for (Rationed& rationed : rationed_) {
    if (rationed.carriage.op == &op) --rationed.reading;
  }
}

// As far as there is room. Returns how many were told.
int ShmWire::tell_next() noexcept {
  int told = 0;
  for (Rationed& rationed : rationed_) {
    const Send& send = rationed.send;
    while (!rationed.untold.empty() && rationed.reading < send.transfer.readers_at_once) {
      Peer& p = peers_[rationed.untold.front()];
      if (!has_room(p, true)) break;
      rationed.untold = rationed.untold.subspan(1);
      ++rationed.reading;
      put_cell(p, send, rationed.carriage);
      ++told;
    }
  }
  std::erase_if(rationed_, [](const Rationed& rationed) { return rationed.untold.empty(); });
  return told;
}

// Who has not been told gets to know that there is nothing to read any more.
void ShmWire::give_up_untold(const SendOp& op) noexcept {
  std::erase_if(rationed_, [&](const Rationed& rationed) {
    if (rationed.carriage.op != &op) return false;
    const SegmentId& segment = rationed.send.segment;
    for (const std::uint32_t to : rationed.untold) {
      Answer lost = answer_of(rationed.send, CellKind::kLost);
      lost.where = ECANCELED;
      unread_.push_back({peers_[to].rank, lost});
      grants_.sent(peers_[to].rank, segment);
    }
    return true;
  });
}

}  // namespace espalier::shm
