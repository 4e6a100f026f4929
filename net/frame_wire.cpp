#include "net/frame_wire.hpp"

namespace espalier::net {

FrameWire::FrameWire(Link& link, const FrameWireOptions& options, Counters& counters,
                     ControlHandler* handler)
    : link_(link),
      counters_(counters),
      handler_(handler),
      buffers_(options.keep_bytes, options.use_bytes) {}

FrameWire::~FrameWire() {
  if (groups_ != nullptr) {
    peers_.for_each([&](Rank rank, Peer&) {
      groups_->stop_arrivals(rank);
      groups_->visit_arrivals(rank, [&](FrameArrival& in) { break_off(in, {}); });
    });
  }
  while (Part* part = open_.front()) {
    if (part->pending) take_back(*part);
    if (part->away != nullptr) end_away(*part);
    part->unlink();
    parts_.release(part);
  }
  while (AwayGet* get = away_got_.front()) {
    link_.withdraw(get->from, *get);
    end_get(*get);
  }
  matcher_.for_each([&](MatchNode& node) {
    if (!node.posted) discard(static_cast<Message&>(node));
  });
  while (backlog_.pop_front() != nullptr) {
  }
  peers_.for_each([&](Rank, Peer& p) {
    if (p.arrival.landing != nullptr) buffers_.give(p.arrival.landing);
  });
}

FrameWire::Peer& FrameWire::meet(Rank rank) noexcept {
  return peers_.meet(rank, std::make_unique<Peer>(rank, link_.caps(rank).inline_bytes));
}

WireCaps FrameWire::caps(Rank peer) const noexcept {
  WireCaps caps;
  caps.inline_bytes = link_.caps(peer).inline_bytes;
  caps.segment_bytes = kSegmentBytesMax;
  caps.away = away_ != nullptr && link_.caps(peer).away;
  return caps;
}

Status FrameWire::state(Rank rank) const noexcept {
  const Peer* p = peers_.find(rank);
  return p != nullptr && p->lost ? p->why : Status();
}

int FrameWire::progress() noexcept {
  int events = link_.progress(*this);
  if (groups_ != nullptr) events += groups_->progress();
  if (!backlog_.empty()) events += flush_backlog();
  if (!fetches_.empty()) [[unlikely]]
    events += serve_fetches();
  if (!failed_recvs_.empty()) [[unlikely]]
    events += complete_failed();
  return events;
}

bool FrameWire::flush() noexcept {
  if (groups_ != nullptr) groups_->flush();
  return link_.flush();
}

void FrameWire::idle() noexcept {
  matcher_.for_each([&](MatchNode& node) {
    if (node.posted) link_.reach(whom_to_watch(static_cast<const RecvOp&>(node)));
  });
}

void FrameWire::lost(Rank rank, const Status& why) noexcept {
  Peer& p = peer(rank);
  if (std::exchange(p.lost, true)) return;
  p.why = why;
  grants_.forget(rank);
  fail_sends(p);
  fail_receives(p);
  fail_gets(p);
  if (groups_ != nullptr) {
    groups_->stop_arrivals(rank);
    groups_->visit_arrivals(rank, [&](FrameArrival& in) { break_off(in, why); });
    groups_->lost(rank);
  }
  if (guest_ != nullptr) guest_->lost_peer(*this, rank, why);
  if (handler_ != nullptr) handler_->lost(rank, why);
}

// What failed for a reason that has nothing to do with this wire's arrivals. Completions may
// cancel what still waits here.
int FrameWire::complete_failed() noexcept {
  int events = 0;
  for (; !failed_recvs_.empty(); ++events) {
    RecvOp* op = failed_recvs_.back();
    failed_recvs_.pop_back();
    op->complete(op->status);
  }
  return events;
}

}  // namespace espalier::net
