// FrameWire, the sender's half: parts, notices to peers, what the link had no room for.
// path: data
#include <algorithm>
#include <cstring>

#include "net/frame_wire.hpp"

namespace espalier::net {

struct FrameWire::PeerGroup : Group {
  PeerGroup(FrameWire& wire, std::span<const Rank> ranks) : Group(ranks) {
    for (const Rank rank : ranks) peers.push_back(&wire.peer(rank));
  }
  std::vector<Peer*> peers;
};

namespace {

FrameHeader segment_header(const Send& send) noexcept {
  FrameHeader header;
  header.synchronous = send.synchronous;
  header.signature = send.segment.signature;
  header.flow = send.segment.flow.key;
  header.ordinal = send.segment.ordinal;
  header.total = send.segment.total;
  header.bytes = send.bytes;
  return header;
}

}  // namespace

Posted FrameWire::send(const Send& send, SendOp& op) noexcept {
  Peer& p = peer(send.segment.peer);
  if (send.bytes <= p.inline_bytes && !send.synchronous && !p.lost) return send_inline(p, send, op);
  if (send.at_once) return Posted::kRetry;
  Peer* const to = &p;
  return post(send, std::span(&to, 1), op);
}

// The link takes it over or refuses it: nothing is left to wait for.
Posted FrameWire::send_inline(Peer& p, const Send& send, SendOp& op) noexcept {
  op.chain = nullptr;
  const bool allowed = !p.in_backlog && grants_.may_send(p.rank, send.segment);
  if (!allowed || !post_whole(p, segment_header(send), send.data)) {
    ++counters_.retries;
    return Posted::kRetry;
  }
  grants_.sent(p.rank, send.segment);
  ++counters_.segments_sent;
  counters_.bytes_sent += send.bytes;
  return Posted::kDone;
}

std::unique_ptr<Group> FrameWire::open_group(std::span<const Rank> readers) {
  return std::make_unique<PeerGroup>(*this, readers);
}

Posted FrameWire::publish(const Send& send, const Group& group, SendOp& op) noexcept {
  const Posted posted = post(send, static_cast<const PeerGroup&>(group).peers, op);
  if (posted != Posted::kRetry) ++counters_.publishes;
  return posted;
}

// All or nothing: when the link has taken the first frame, the others follow as it finds room.
Posted FrameWire::post(const Send& send, Readers readers, SendOp& op) noexcept {
  ESP_ASSERT(send.bytes <= kSegmentBytesMax);
  const auto allowed = [&](const Peer* p) {
    return p->lost || (!p->in_backlog && grants_.may_send(p->rank, send.segment));
  };
  if (!std::all_of(readers.begin(), readers.end(), allowed) || !take_parts(send, readers, op)) {
    ++counters_.retries;
    return Posted::kRetry;
  }
  auto* part = static_cast<Part*>(op.chain);
  if (!hand_over(*part)) {
    while (op.chain != nullptr) drop(*static_cast<Part*>(op.chain));
    ++counters_.retries;
    return Posted::kRetry;
  }
  for (part = static_cast<Part*>(part->chain); part != nullptr;) {
    auto* following = static_cast<Part*>(part->chain);
    if (!hand_over(*part)) stall(*part);
    part = following;
  }
  for (const Peer* p : readers) {
    if (!p->lost) grants_.sent(p->rank, send.segment);
  }
  // Parts that the link has done with and nobody else waits for.
  for (part = static_cast<Part*>(op.chain); part != nullptr;) {
    auto* following = static_cast<Part*>(part->chain);
    if (part->stage == Part::Stage::kGone && !part->untaken) drop(*part);
    part = following;
  }
  counters_.segments_sent += readers.size();
  counters_.bytes_sent += send.bytes * readers.size();
  return op.chain != nullptr ? Posted::kPending : Posted::kDone;
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
    part->header = segment_header(send);
    part->data = send.data;
    open_.push_back(*part);
    last->chain = part;
    last = part;
  }
  return true;
}

// False: the link has no room.
bool FrameWire::hand_over(Part& part) noexcept {
  Peer& p = part.reader;
  if (p.lost) {
    part.stage = Part::Stage::kFailed;
    part.failure = p.why;
    failed_parts_.push_back(&part);
    return true;
  }
  if (part.header.synchronous) {
    part.peer = p.rank;
    part.flow = part.header.flow;
    part.ordinal = part.header.ordinal;
    if (untaken_.find(part.peer, part.flow, part.ordinal) == nullptr) {
      untaken_.insert(part);
      part.untaken = true;
    }
  }
  const Posted posted = link_.post(p.rank, part.header, part.data, part);
  if (posted == Posted::kRetry) {
    if (std::exchange(part.untaken, false)) untaken_.erase(part);
    return false;
  }
  ++counters_.frames_sent;
  part.stage = posted == Posted::kPending ? Part::Stage::kInLink : Part::Stage::kGone;
  return true;
}

void FrameWire::on_sent(Completion& completion, Status status) noexcept {
  auto& part = static_cast<Part&>(completion);
  FrameWire& wire = part.wire;
  part.stage = Part::Stage::kGone;
  if (!status.ok()) {
    part.failure = status;
    if (std::exchange(part.untaken, false)) wire.untaken_.erase(part);
  }
  if (!part.untaken) wire.finish(part);
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
  if (part.copy != nullptr) buffers_.give(part.copy);
  part.unlink();
  parts_.release(&part);
}

void FrameWire::cancel(SendOp& op) noexcept {
  while (op.chain != nullptr) {
    auto& part = *static_cast<Part*>(op.chain);
    if (part.stage == Part::Stage::kInLink) link_.withdraw(part.reader.rank, part);
    if (part.stage == Part::Stage::kFailed) std::erase(failed_parts_, &part);
    if (part.stage == Part::Stage::kStalled) std::erase(part.reader.stalled, &part);
    drop(part);
  }
}

bool FrameWire::send_control(Rank to, std::span<const std::byte> message) noexcept {
  ESP_ASSERT(message.size() <= kControlBytes);
  Peer& p = peer(to);
  if (p.lost) return true;
  if (p.in_backlog) return false;
  Part* part = parts_.allocate(*this, p, &FrameWire::on_sent);
  if (part == nullptr) return false;
  open_.push_back(*part);
  part->header.kind = FrameKind::kControl;
  part->header.bytes = message.size();
  part->copy = buffers_.take(message.size());
  if (part->copy != nullptr && !message.empty()) {
    std::memcpy(part->copy, message.data(), message.size());
  }
  part->data = part->copy;
  const bool sent = part->copy != nullptr && hand_over(*part);
  if (!sent || part->stage == Part::Stage::kGone) drop(*part);
  return sent;
}

Posted FrameWire::post_frame(Rank to, const FrameHeader& header, const void* payload,
                             Completion& completion) noexcept {
  const Peer& p = peer(to);
  if (p.lost) return Posted::kDone;
  if (p.in_backlog) return Posted::kRetry;
  const Posted posted = link_.post(to, header, payload, completion);
  if (posted == Posted::kRetry) return posted;
  ++counters_.frames_sent;
  counters_.remote_bytes_sent += header.bytes;
  return posted;
}

// A frame without payload. Notices keep their order: the sender of a flow forgets it with its last
// segment, and an older grant that came after it would stay for ever.
void FrameWire::send_notice(Peer& p, const FrameHeader& notice) noexcept {
  if (p.lost) return;
  if (!p.in_backlog && post_whole(p, notice, nullptr)) [[likely]]
    return;
  if (notice.kind == FrameKind::kGrant) {
    for (FrameHeader& waiting : p.notices) {
      if (waiting.kind != notice.kind || waiting.flow != notice.flow) continue;
      waiting.ordinal = std::max(waiting.ordinal, notice.ordinal);
      return;
    }
  }
  p.notices.push_back(notice);
  add_to_backlog(p);
}

// A frame that the link takes over at once. False: no room.
bool FrameWire::post_whole(Peer& p, const FrameHeader& header, const void* payload) noexcept {
  const Posted posted = link_.post(p.rank, header, payload, unused_);
  ESP_ASSERT(posted != Posted::kPending);
  if (posted == Posted::kRetry) return false;
  ++counters_.frames_sent;
  return true;
}

void FrameWire::stall(Part& part) noexcept {
  Peer& p = part.reader;
  p.stalled.push_back(&part);
  add_to_backlog(p);
}

void FrameWire::add_to_backlog(Peer& p) noexcept {
  if (std::exchange(p.in_backlog, true)) return;
  backlog_.push_back(&p);
}

// False: the link still has no room for all of it.
bool FrameWire::flush(Peer& p) noexcept {
  std::size_t posted = 0;
  while (posted < p.notices.size() && post_whole(p, p.notices[posted], nullptr)) ++posted;
  p.notices.erase(p.notices.begin(), p.notices.begin() + static_cast<std::ptrdiff_t>(posted));
  while (p.notices.empty() && !p.stalled.empty()) {
    Part& part = *p.stalled.front();
    if (!hand_over(part)) return false;
    p.stalled.erase(p.stalled.begin());
    if (part.stage == Part::Stage::kGone && !part.untaken) finish(part);
  }
  return p.notices.empty();
}

int FrameWire::flush_backlog() noexcept {
  int events = 0;
  for (std::size_t i = backlog_.size(); i-- > 0;) {
    Peer& p = *backlog_[i];
    if (!flush(p)) continue;
    p.in_backlog = false;
    backlog_.erase(backlog_.begin() + static_cast<std::ptrdiff_t>(i));
    ++events;  // Posts that were refused may succeed now.
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
  if (part.stage == Part::Stage::kGone) finish(part);
}

// The peer is lost. Parts that the link has are completed by the link.
void FrameWire::fail_sends(Peer& p) noexcept {
  p.notices.clear();
  const auto fail = [&](Part& part) {
    part.stage = Part::Stage::kFailed;
    part.failure = p.why;
    failed_parts_.push_back(&part);
  };
  for (Part* part : std::exchange(p.stalled, {})) fail(*part);
  untaken_.for_each([&](MatchNode& node) {
    if (node.peer != p.rank) return;
    auto& part = static_cast<Part&>(node);
    untaken_.erase(part);
    part.untaken = false;
    if (part.stage == Part::Stage::kGone) return fail(part);
    part.failure = p.why;  // The link may be done with it already, and about to say so.
  });
}

}  // namespace espalier::net
