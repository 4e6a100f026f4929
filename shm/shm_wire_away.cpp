// ShmWire, segments that lie in memory of a device.
//
//   sender:  a cell with the name of the place; the ticket stays open while the place is read
//   reader:  opens the place and gives its address to a receive that takes it so; acknowledges when
//            that is released. Else, for who wants bytes or cannot reach the place, kDeclined; its
//            receive is posted again. Likewise what has no receive yet, where its sender has no
//            tickets left: it would hold up what others wait for (shm_wire_house.cpp)
//   sender:  fetches the segment into memory of the host, copies it into its arena; from there on
//            as a pull that was refused (shm_wire_pull.cpp)
// path: data
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "shm/shm_wire.hpp"

namespace espalier::shm {

void ShmWire::set_away(AwayMemory* away) noexcept {
  if (away == nullptr) {
    for (const auto& declined : declined_) give_up(*declined);
  }
  away_ = away;
  segment_.rank_block(segment_.index())
      .flags.opens.store(away != nullptr ? 1 : 0, std::memory_order_relaxed);
}

Posted ShmWire::take_away(Peer& p, const Cell& cell, RecvOp& op) noexcept {
  if (op.takes_away && away_ != nullptr) {
    auto& opened = p.in->opened[cell.ticket % kTickets];
    opened.store(cell.lap, std::memory_order_seq_cst);
    if (p.in->revoked[cell.ticket % kTickets].load(std::memory_order_seq_cst) == cell.lap) {
      op.status = Status(ESP_ERR_SYSTEM, p.rank, ECANCELED);
      count_received(cell.bytes);
      acknowledge(p, cell.ticket, cell.lap);
      return Posted::kDone;
    }
    AwayName name;
    std::memcpy(name.bytes.data(), cell.payload, name.bytes.size());
    if (const void* place = away_->open(p.rank, name)) {
      op.view = place;
      op.is_away = true;
      op.token = make_token(local(p.rank), cell.ticket, cell.lap);
      count_received(cell.bytes);
      counters_.device_shared_bytes += cell.bytes;
      return Posted::kDone;
    }
    opened.store(0, std::memory_order_release);  // Nothing of it is read.
  }
  Answer segment = refusal_of(cell);
  segment.kind = CellKind::kDeclined;
  // That the segment is taken is told by deliver(), however it comes.
  segment.ticket &= static_cast<std::uint16_t>(~kSynchronous);
  answer(p, segment);
  post_again(op, p.rank, segment);
  return Posted::kPending;
}

void ShmWire::note_declined(Peer& p, const Cell& cell) noexcept {
  if (free_declined_.empty()) free_declined_.push_back(std::make_unique<Declined>());
  Declined& declined = *free_declined_.back();
  declined_.push_back(std::move(free_declined_.back()));
  free_declined_.pop_back();
  declined.on_complete = on_fetched;
  declined.wire = this;
  declined.op = p.tickets[cell.ticket & ~std::uint32_t{kSynchronous}].op;
  declined.to = p.rank;
  declined.segment = refusal_of(cell);
  declined.state = Declined::State::kWaits;
  declined.status = {};
}

void ShmWire::on_fetched(Completion& completion, Status status) noexcept {
  auto& declined = static_cast<Declined&>(completion);
  declined.state = Declined::State::kFetched;
  declined.status = status;
}

// Returns how many were dealt with.
int ShmWire::serve_declined() noexcept {
  int served = 0;
  for (std::size_t i = 0; i < declined_.size();) {
    if (!serve(*declined_[i])) {
      ++i;
      continue;
    }
    free_declined_.push_back(std::move(declined_[i]));
    declined_.erase(declined_.begin() + static_cast<std::ptrdiff_t>(i));
    ++served;
  }
  return served;
}

// True: it is over.
bool ShmWire::serve(Declined& declined) noexcept {
  if (declined.state == Declined::State::kWaits && declined.op != nullptr && !fetch(declined)) {
    return false;
  }
  if (declined.state == Declined::State::kFetching) return false;
  Peer& p = peer(declined.to);
  if (!has_room(p, false)) return false;
  if (!declined.status.ok()) fail_fetched(declined);
  if (declined.op == nullptr) {  // Its memory may be gone.
    p.tickets[declined.segment.ticket & ~std::uint32_t{kSynchronous}].open = false;
    put_again(p, declined.segment, CellKind::kLost,
              declined.status.ok() ? ECANCELED : kLostOnDevice);
  } else if (!send_bytes(p, declined.segment, declined.bytes)) {
    return false;
  }
  end_fetch(declined);
  return true;
}

// False: not now.
bool ShmWire::fetch(Declined& declined) noexcept {
  const std::uint64_t bytes = declined.segment.bytes;
  if (away_ == nullptr) return false;
  declined.bytes = away_->allocate(bytes);
  if (declined.bytes == nullptr) return false;
  declined.state = Declined::State::kFetching;
  const auto* at = reinterpret_cast<const void*>(declined.segment.where);
  const Posted posted = away_->fetch(declined.bytes, at, bytes, declined);
  if (posted == Posted::kDone) declined.state = Declined::State::kFetched;
  if (posted != Posted::kRetry) return true;
  declined.state = Declined::State::kWaits;
  end_fetch(declined);
  return false;
}

void ShmWire::end_fetch(Declined& declined) noexcept {
  if (std::byte* bytes = std::exchange(declined.bytes, nullptr)) {
    away_->release(bytes, declined.segment.bytes);
  }
}

// Nobody else is to wait for what this one has not got.
void ShmWire::fail_fetched(Declined& declined) noexcept {
  if (SendOp* op = declined.op) {
    const Status status = declined.status;
    cancel(*op);
    op->complete(status);
  }
}

// Of a send that is taken back: whose place is being read waits for the end of that. The reader
// learns why this is so, and lets go, when it looks; for all who do not there is one patience.
void ShmWire::revoke(Peer& p, std::uint64_t number) noexcept {
  const std::uint64_t at = number % kTickets;
  const auto lap = static_cast<std::uint8_t>(number / kTickets % 255 + 1);
  p.out->revoked[at].store(lap, std::memory_order_seq_cst);
  if (p.out->opened[at].load(std::memory_order_seq_cst) != lap) return;
  const auto is_gone = [&] {
    Liveness* const lives = options_.liveness;
    return lives != nullptr && (lives->is_dead(p.rank) || lives->has_left(p.rank));
  };
  const auto begin = std::chrono::steady_clock::now();
  auto now = begin;
  while (p.out->opened[at].load(std::memory_order_acquire) == lap &&
         p.out->acks[at].load(std::memory_order_acquire) != lap && !is_gone() &&
         now - begin < patience_) {
    std::this_thread::yield();
    now = std::chrono::steady_clock::now();
  }
  patience_ -= std::min<std::chrono::nanoseconds>(patience_, now - begin);
}

// Of a send that is taken back.
void ShmWire::give_up_declined(const SendOp& op) noexcept {
  for (const auto& declined : declined_) {
    if (declined->op == &op) give_up(*declined);
  }
}

void ShmWire::give_up(Declined& declined) noexcept {
  if (declined.state == Declined::State::kFetching) away_->cancel(declined);
  declined.state = Declined::State::kWaits;
  end_fetch(declined);
  declined.op = nullptr;
}

}  // namespace espalier::shm
