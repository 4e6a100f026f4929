// FrameWire, the sender's half: parts, notices to peers, the queue of what the link had no room
// for. path: data
#include <algorithm>
#include <new>

#include "net/frame_wire.hpp"

namespace espalier::net {

Posted FrameWire::send(const Send& send, SendOp& op) noexcept {
  Peer& p = peer(send.segment.peer);
  const bool whole = send.bytes <= p.inline_bytes && !send.synchronous && !send.away;
  if (!whole || !grants_.may_send(p.rank, send.segment) ||
      !post_whole(p, header_of(send), send.data)) {
    if (send.at_once) return Posted::kRetry;
    Peer* const to = &p;
    return post(send, std::span(&to, 1), op);
  }
  op.chain = nullptr;
  grants_.sent(p.rank, send.segment);
  ++counters_.segments_sent;
  counters_.bytes_sent += send.bytes;
  return Posted::kDone;
}

// All or nothing: every reader may have it, or none gets it.
Posted FrameWire::post(const Send& send, Readers readers, SendOp& op) noexcept {
  ESP_ASSERT(send.bytes <= kSegmentBytesMax);
  if (!may_send(send, readers) || !take_parts(send, readers, op)) {
    ++counters_.retries;
    return Posted::kRetry;
  }
  for (auto* part = static_cast<Part*>(op.chain); part != nullptr;) {
    auto* following = static_cast<Part*>(part->chain);
    if (!part->reader.lost) grants_.sent(part->reader.rank, send.segment);
    if (send.away) {
      post_away(*part);
    } else if (!post(*part)) {
      drop(*part);
    }
    part = following;
  }
  counters_.segments_sent += readers.size();
  counters_.bytes_sent += send.bytes * readers.size();
  return op.chain != nullptr ? Posted::kPending : Posted::kDone;
}

bool FrameWire::may_send(const Send& send, Readers readers) const noexcept {
  if (send.segment.ordinal < kEagerSegments) return true;
  const auto allowed = [&](const Peer* p) {
    return p->lost || grants_.may_send(p->rank, send.segment);
  };
  return std::all_of(readers.begin(), readers.end(), allowed);
}

// One part per reader, in a chain that begins at op.chain. False: no memory, nothing happened.
bool FrameWire::take_parts(const Send& send, Readers readers, SendOp& op) noexcept {
  op.chain = nullptr;
  SendOp* last = &op;
  for (Peer* p : readers) {
    Part* part = parts_.allocate(*this, *p, &FrameWire::on_sent);
    if (part == nullptr) {
      while (op.chain != nullptr) drop(*static_cast<Part*>(op.chain));
      return false;
    }
    part->op = &op;
    part->frame.header = header_of(send);
    part->frame.payload = send.data;
    open_.push_back(*part);
    last->chain = part;
    last = part;
    if (!send.away) continue;
    part->away = away_sends_.allocate(*part, send, &FrameWire::on_fetched);
    if (part->away == nullptr) {
      while (op.chain != nullptr) drop(*static_cast<Part*>(op.chain));
      return false;
    }
  }
  return true;
}

// False: the link has done with it and nobody else is waited for.
bool FrameWire::post(Part& part) noexcept {
  Peer& p = part.reader;
  const FrameHeader& header = part.frame.header;
  if (header.synchronous && !p.lost &&
      untaken_.find(p.rank, header.flow, header.ordinal) == nullptr) {
    part.peer = p.rank;
    part.flow = header.flow;
    part.ordinal = header.ordinal;
    untaken_.insert(part);
    part.untaken = true;
  }
  part.pending = post(p, part.frame) == Posted::kPending;
  return part.pending || part.untaken;
}

// Behind what waits already. What is sent to a peer that is lost fails from progress().
Posted FrameWire::post(Peer& p, OutgoingFrame& frame) noexcept {
  if (p.queue.empty() && !p.lost) [[likely]] {
    const Posted posted = hand_over(p, frame);
    if (posted != Posted::kRetry) return posted;
  }
  enqueue(p, frame);
  return Posted::kPending;
}

// A frame that the link takes over at once, as it does with no more than inline_bytes. False: it
// would wait; nothing happened.
bool FrameWire::post_whole(Peer& p, const FrameHeader& header, const void* payload) noexcept {
  if (!p.queue.empty() || p.lost) return false;
  const Posted posted = link_.post(p.rank, header, payload, unused_);
  ESP_ASSERT(posted != Posted::kPending);
  if (posted == Posted::kRetry) return false;
  ++counters_.frames_sent;
  return true;
}

Posted FrameWire::hand_over(Peer& p, OutgoingFrame& frame) noexcept {
  const Posted posted = link_.post(p.rank, frame.header, frame.payload, frame.completion);
  if (posted != Posted::kRetry) ++counters_.frames_sent;
  return posted;
}

void FrameWire::enqueue(Peer& p, OutgoingFrame& frame) noexcept {
  p.queue.push_back(frame);
  if (!p.linked()) backlog_.push_back(p);
}

void FrameWire::on_sent(Completion& completion, Status status) noexcept {
  auto& part = static_cast<Part&>(completion);
  FrameWire& wire = part.wire;
  part.pending = false;
  if (!status.ok()) {
    part.failure = status;
    if (std::exchange(part.untaken, false)) wire.untaken_.erase(part);
  }
  const bool goes_on = part.untaken || (part.failure.ok() && part.fetches());
  if (!goes_on) wire.finish(part);
}

// Nothing is missing of this part. The last part of an operation completes it, with the first
// failure of any.
void FrameWire::finish(Part& part) noexcept {
  SendOp* op = part.op;
  const Status failure = part.failure;
  drop(part);
  if (op == nullptr) return;
  if (op->chain == nullptr) return op->complete(failure);
  for (SendOp* other = op->chain; other != nullptr; other = other->chain) {
    auto& sibling = *static_cast<Part*>(other);
    if (sibling.failure.ok()) sibling.failure = failure;
  }
}

// Takes the part out of its operation and gives it back.
void FrameWire::drop(Part& part) noexcept {
  if (part.op != nullptr) {
    SendOp* before = part.op;
    while (before->chain != &part) before = before->chain;
    before->chain = part.chain;
  }
  if (part.untaken) untaken_.erase(part);
  if (part.away != nullptr) end_away(part);
  if (is_copied(part.frame.header.kind)) --part.reader.controls;
  part.unlink();
  parts_.release(&part);
}

void FrameWire::cancel(SendOp& op) noexcept {
  while (op.chain != nullptr) {
    auto& part = *static_cast<Part*>(op.chain);
    if (part.away != nullptr) revoke(part);
    if (part.pending) take_back(part);
    drop(part);
  }
}

void FrameWire::take_back(Part& part) noexcept {
  if (part.group != nullptr) return part.group->withdraw(part.frame);
  (void)withdraw(part.reader.rank, part.frame);
}

Posted FrameWire::post_frame(Rank to, OutgoingFrame& frame) noexcept {
  Peer& p = peer(to);
  if (p.lost) return Posted::kDone;
  counters_.remote_bytes_sent += frame.header.bytes;
  return post(p, frame);
}

bool FrameWire::withdraw(Rank to, OutgoingFrame& frame) noexcept {
  const bool waits = frame.waits();
  if (waits) {
    frame.unlink();
  } else {
    link_.withdraw(to, frame.completion);
  }
  return waits;
}

void FrameWire::send_control(Rank to, std::span<const std::byte> message) noexcept {
  ESP_ASSERT(message.size() <= kControlBytes);
  FrameHeader header;
  header.kind = FrameKind::kControl;
  header.bytes = message.size();
  send_own(peer(to), header, message.data());
}

// Two grants of one flow in a row become one. None passes another: the sender of a flow forgets it
// with its last segment, and an older grant that came after it would stay for ever.
void FrameWire::send_grant(Peer& p, std::uint64_t flow, std::uint32_t limit) noexcept {
  ++counters_.grants;
  FrameHeader grant;
  grant.kind = FrameKind::kGrant;
  grant.flow = flow;
  grant.ordinal = limit;
  OutgoingFrame* last = p.queue.back();
  if (last == nullptr || last->header.kind != grant.kind || last->header.flow != flow) {
    return send_own(p, grant);
  }
  last->header.ordinal = std::max(last->header.ordinal, limit);
}

// A notice or a control message: nobody waits for its end.
void FrameWire::send_own(Peer& p, const FrameHeader& header, const void* payload) noexcept {
  if (p.lost) return;
  if (header.bytes <= p.inline_bytes && post_whole(p, header, payload)) [[likely]]
    return;
  Part* part = parts_.allocate(*this, p, &FrameWire::on_sent);
  if (part == nullptr) {
    return link_.lose(p.rank, error(ESP_ERR_NO_MEMORY, "no memory for a frame to it", p.rank));
  }
  open_.push_back(*part);
  part->frame.header = header;
  if (is_copied(header.kind)) {
    ++p.controls;
    part->copy.reset(new (std::nothrow) std::byte[header.bytes]);
    if (part->copy == nullptr) {
      drop(*part);
      return link_.lose(p.rank, error(ESP_ERR_NO_MEMORY, "no memory for a message to it", p.rank));
    }
    std::copy_n(static_cast<const std::byte*>(payload), header.bytes, part->copy.get());
    part->frame.payload = part->copy.get();
  }
  if (!post(*part)) drop(*part);
}

// How many frames have left the queue. Those that are there at the begin: completions may post.
int FrameWire::flush(Peer& p) noexcept {
  int events = 0;
  const OutgoingFrame* last = p.queue.back();
  for (bool is_last = false; !is_last && !p.queue.empty(); ++events) {
    OutgoingFrame& frame = *p.queue.front();
    const Posted posted = p.lost ? Posted::kDone : hand_over(p, frame);
    if (posted == Posted::kRetry) break;
    is_last = &frame == last;
    frame.unlink();
    if (posted == Posted::kDone) frame.completion.complete(p.why);
  }
  return events;
}

int FrameWire::flush_backlog() noexcept {
  int events = 0;
  for (Peer* p = backlog_.front(); p != nullptr;) {
    events += flush(*p);
    Peer* next = backlog_.after(*p);
    if (p->queue.empty()) p->unlink();
    p = next;
  }
  return events;
}

// Of a send that was cancelled meanwhile: nobody waits.
void FrameWire::note_taken(Rank from, const FrameHeader& header) noexcept {
  MatchNode* found = untaken_.find(from, header.flow, header.ordinal);
  if (found == nullptr) return;
  auto& part = static_cast<Part&>(*found);
  untaken_.erase(part);
  part.untaken = false;
  if (part.away != nullptr && part.away->held) {
    counters_.device_direct_bytes += part.away->bytes;
  }
  if (!part.pending) finish(part);
}

// The peer is lost. What waits fails from progress(), and the link completes what it has.
void FrameWire::fail_sends(Peer& p) noexcept {
  untaken_.for_each([&](MatchNode& node) {
    if (node.peer != p.rank) return;
    auto& part = static_cast<Part&>(node);
    untaken_.erase(part);
    part.untaken = false;
    part.failure = p.why;  // The link may be done with it already, and about to say so.
    if (!std::exchange(part.pending, true)) enqueue(p, part.frame);
  });
}

}  // namespace espalier::net
