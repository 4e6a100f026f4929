// FrameWire, the receiver's half: where arriving payloads go, early segments, views.
//
// A segment meets its receive in one of four ways: the receive is posted first (begin_posted); the
// segment is there whole (recv, take: deliver); the receive is posted while the segment arrives
// (claimed, end_unexpected); the receive is cancelled while its segment arrives (keep_arriving: the
// rest lands in the pool and the segment is as one that came early).
// path: data
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/copy.hpp"
#include "net/frame_wire.hpp"

namespace espalier::net {
namespace {

// RecvOp::token: what release() or cancel() have to undo.
constexpr std::uint64_t kAnnounced = std::uint64_t{1} << 63;  // and the flow's total

FrameHeader expected_header(const RecvOp& op, std::uint32_t total) noexcept {
  FrameHeader header;
  header.signature = op.signature;
  header.flow = op.flow;
  header.ordinal = op.ordinal;
  header.total = total;
  header.bytes = op.bytes;
  return header;
}

}  // namespace

Posted FrameWire::recv(const SegmentId& segment, std::uint32_t window, RecvOp& op) noexcept {
  Peer& p = peer(segment.peer);
  op.expect(segment);
  if (MatchNode* found = matcher_.find(op.peer, op.flow, op.ordinal)) [[unlikely]] {
    ESP_ASSERT(!found->posted);
    auto& message = static_cast<Message&>(*found);
    if (message.whole) return deliver(p, message, op);
    ESP_ASSERT(message.claimed == nullptr);
    message.claimed = &op;
    return Posted::kPending;
  }
  if (p.lost) [[unlikely]] {
    fail_later(op, p.why);
    return Posted::kPending;
  }
  op.posted = true;
  matcher_.insert(op);
  // Of no bytes, too: its sender may wait with a segment of another size.
  auto* memory = op.bytes > 0 ? static_cast<std::byte*>(op.dst) : nullptr;
  if (op.transfer.path == Path::kMulticast && groups_ != nullptr) {
    // It comes to all at once, or relayed: never placed by the link.
  } else if (link_.announce(p.rank, expected_header(op, segment.total), memory)) {
    op.token = kAnnounced | segment.total;
  }
  const std::uint32_t limit = grants_.posted(segment, window);
  if (limit == FlowGrants::kNoMemory) [[unlikely]] {
    link_.lose(p.rank, error(ESP_ERR_NO_MEMORY, "no memory for the grants of a flow", p.rank));
  } else if (limit > 0) {
    send_grant(p, op.flow, limit);
  }
  return Posted::kPending;
}

Posted FrameWire::take(const SegmentId& segment, RecvOp& op) noexcept {
  if (matcher_.count() == 0) return Posted::kRetry;
  MatchNode* found = matcher_.find(segment.peer, segment.flow.key, segment.ordinal);
  if (found == nullptr || found->posted) return Posted::kRetry;
  auto& message = static_cast<Message&>(*found);
  if (!message.whole || message.away.address != 0) return Posted::kRetry;
  op.expect(segment);
  return deliver(peer(segment.peer), message, op);
}

// The whole segment is here: kDone, op.status says how it went. Or it can be got: as recv().
Posted FrameWire::deliver(Peer& p, Message& message, RecvOp& op) noexcept {
  if (message.away.address != 0) [[unlikely]] {
    const FrameHeader header = message.header;
    const RemoteMemory away = message.away;
    discard(message);
    return take_away(p, header, away, op);
  }
  count_and_answer(p, message.header);
  op.status = op.verdict(message.header.bytes, message.header.signature, p.rank);
  if (op.status.ok() && op.dst == nullptr) {
    show(op, std::exchange(message.payload, nullptr));
  } else if (op.status.ok() && op.bytes > 0) {
    copy_bytes(op.dst, message.payload, op.bytes);
    counters_.copy_out_bytes += op.bytes;
  }
  discard(message);
  return Posted::kDone;
}

// The payload in `buffer`, which is the pool's, becomes the operation's view. nullptr: 0 bytes.
void FrameWire::show(RecvOp& op, std::byte* buffer) noexcept {
  op.view = buffer != nullptr ? buffer : op.inline_data;
  op.token = reinterpret_cast<std::uint64_t>(buffer);
}

void FrameWire::count_and_answer(Peer& p, const FrameHeader& header) noexcept {
  ++counters_.segments_received;
  counters_.bytes_received += header.bytes;
  if (!header.synchronous) return;
  FrameHeader taken;
  taken.kind = FrameKind::kTaken;
  taken.flow = header.flow;
  taken.ordinal = header.ordinal;
  send_own(p, taken);
}

void FrameWire::forget_team(std::uint32_t team) {
  forgotten_.add(team);
  if (groups_ != nullptr) groups_->forget(team);
  grants_.forget_team(team);
  matcher_.for_each([&](MatchNode& node) {
    if (node.posted || FlowId::team_of(node.flow) != team) return;
    auto& message = static_cast<Message&>(node);
    if (message.whole) discard(message);  // else when it is
  });
}

// One that is in the table.
void FrameWire::discard(Message& message) noexcept {
  matcher_.erase(message);
  if (message.payload != nullptr) buffers_.give(message.payload);
  messages_.release(&message);
}

void FrameWire::release(RecvOp& op) noexcept {
  if (op.token != 0) buffers_.give(reinterpret_cast<std::byte*>(op.token));
  op.token = 0;
  op.view = nullptr;
}

bool FrameWire::expects(Rank from, const FrameHeader& header) const noexcept {
  if (header.kind != FrameKind::kSegment) return true;
  const MatchNode* found = matcher_.find(from, header.flow, header.ordinal);
  return found != nullptr && found->posted;
}

std::byte* FrameWire::begin(Rank from, const FrameHeader& header) noexcept {
  FrameArrival& in = peer(from).arrival;
  if (header.kind == FrameKind::kSegment) [[likely]]
    return begin_segment(in, header);
  in.header = header;
  if (is_of_guest(header.kind)) return begin_guest(from, header);
  if (is_of_group(header.kind)) return begin_of_group(in, header);
  if (is_of_away(header.kind)) return begin_away(in, header);
  return header.kind == FrameKind::kControl ? land(in, header.bytes) : nullptr;
}

std::byte* FrameWire::begin_guest(Rank from, const FrameHeader& header) noexcept {
  if (guest_ != nullptr) return guest_->begin_frame(*this, from, header);
  link_.lose(from, error(ESP_ERR_NETWORK,
                         fmt::format("a frame of kind {}, which nobody expects here",
                                     static_cast<unsigned>(header.kind)),
                         from));
  return nullptr;
}

std::byte* FrameWire::begin_segment(FrameArrival& in, const FrameHeader& header) noexcept {
  in.header = header;
  if (!grants_.arrived(in.from, header.flow, header.ordinal, header.total)) [[unlikely]] {
    if (forgotten_.has(header.flow)) return land(in, header.bytes);
    return refuse(in, "came without permission", header);
  }
  MatchNode* found = matcher_.find(in.from, header.flow, header.ordinal);
  if (found == nullptr) return begin_unexpected(in, header);
  if (!found->posted) [[unlikely]]
    return refuse(in, "came twice", header);
  return begin_posted(in, static_cast<RecvOp&>(*found), header);
}

std::byte* FrameWire::begin_posted(FrameArrival& in, RecvOp& op,
                                   const FrameHeader& header) noexcept {
  matcher_.erase(op);
  op.posted = false;
  op.status = op.verdict(header.bytes, header.signature, in.from);
  const std::uint64_t token = std::exchange(op.token, 0);
  if (!op.status.ok() && token != 0) {
    link_.retract(in.from, expected_header(op, static_cast<std::uint32_t>(token)));
  }
  in.receiving = &op;
  if (op.status.ok() && op.dst != nullptr) [[likely]]
    return static_cast<std::byte*>(op.dst);
  if (op.status.ok() && header.bytes <= RecvOp::kInlineBytes) return op.inline_data;
  return land(in, header.bytes);
}

std::byte* FrameWire::begin_unexpected(FrameArrival& in, const FrameHeader& header) noexcept {
  if (forgotten_.has(header.flow)) [[unlikely]]
    return land(in, header.bytes);
  std::byte* payload = header.bytes > 0 ? buffers_.take(header.bytes) : nullptr;
  if ((payload == nullptr && header.bytes > 0) || !keep_arriving(in, header, payload)) {
    if (payload != nullptr) buffers_.give(payload);
    link_.lose(in.from,
               error(ESP_ERR_NO_MEMORY,
                     fmt::format("no memory for a segment of {} bytes", header.bytes), in.from));
    return nullptr;
  }
  ++counters_.unexpected;
  return payload;
}

// Enters the segment under way as one that nobody has asked for. False: no memory.
bool FrameWire::keep_arriving(FrameArrival& in, const FrameHeader& header,
                              std::byte* payload) noexcept {
  Message* message = messages_.allocate();
  if (message == nullptr) return false;
  message->peer = in.from;
  message->flow = header.flow;
  message->ordinal = header.ordinal;
  message->header = header;
  message->payload = payload;
  matcher_.insert(*message);
  in.arriving = message;
  return true;
}

// Memory of the pool for the payload under way.
std::byte* FrameWire::land(FrameArrival& in, std::uint64_t bytes) noexcept {
  if (bytes == 0) return nullptr;
  in.landing = buffers_.take(bytes);
  if (in.landing == nullptr) [[unlikely]] {
    link_.lose(in.from,
               error(ESP_ERR_NO_MEMORY, fmt::format("no memory for {} bytes", bytes), in.from));
  }
  return in.landing;
}

std::byte* FrameWire::refuse(FrameArrival& in, const char* what,
                             const FrameHeader& header) noexcept {
  link_.lose(in.from, error(ESP_ERR_NETWORK,
                            fmt::format("segment {} of {} of flow {:#x} {}", header.ordinal,
                                        header.total, header.flow, what),
                            in.from));
  return nullptr;
}

void FrameWire::end(Rank from, const FrameHeader& header, std::byte* payload) noexcept {
  FrameArrival& in = peer(from).arrival;
  switch (header.kind) {
    case FrameKind::kSegment:
      return end_segment(in);
    case FrameKind::kGrant:
      if (forgotten_.has(header.flow)) return;
      if (!grants_.note(from, header.flow, header.ordinal)) {
        link_.lose(from, error(ESP_ERR_NO_MEMORY, "no memory for its grants", from));
      }
      return;
    case FrameKind::kTaken:
      return note_taken(from, header);
    case FrameKind::kControl:
      return end_control(in, {payload, header.bytes});
    case FrameKind::kGroup:
    case FrameKind::kRelayed:
      return end_of_group(in);
    case FrameKind::kAway:
    case FrameKind::kInstead:
    case FrameKind::kDeclined:
    case FrameKind::kGone:
      return end_away(from, in);
    case FrameKind::kGoodbye:
    case FrameKind::kPlaced:  // begin() has refused it.
      return;
    default:
      counters_.remote_bytes_received += header.bytes;
      if (guest_ != nullptr) guest_->end_frame(*this, from, header, payload);
  }
}

void FrameWire::end_segment(FrameArrival& in) noexcept {
  if (in.receiving != nullptr) return end_posted(in);
  if (in.arriving != nullptr) return end_unexpected(in);
  if (std::byte* landed = std::exchange(in.landing, nullptr)) buffers_.give(landed);
}

void FrameWire::end_posted(FrameArrival& in) noexcept {
  RecvOp& op = *std::exchange(in.receiving, nullptr);
  std::byte* landed = std::exchange(in.landing, nullptr);
  count_and_answer(peer(in.from), in.header);
  const bool is_away = std::exchange(in.places_away, false) && op.status.ok();
  if (is_away) [[unlikely]] {
    op.view = op.place;
    op.is_away = true;
  } else if (op.status.ok() && op.dst == nullptr) {
    show(op, landed);
  } else if (landed != nullptr) {
    buffers_.give(landed);  // a mismatch
  }
  op.complete(op.status);
}

void FrameWire::end_unexpected(FrameArrival& in) noexcept {
  Message& message = *std::exchange(in.arriving, nullptr);
  message.whole = true;
  RecvOp* op = message.claimed;
  if (op == nullptr) {
    if (forgotten_.has(message.flow)) discard(message);
    return;
  }
  (void)deliver(peer(in.from), message, *op);
  op->complete(op->status);
}

void FrameWire::end_control(FrameArrival& in, std::span<const std::byte> message) noexcept {
  std::byte* landed = std::exchange(in.landing, nullptr);
  if (handler_ != nullptr) handler_->control(in.from, message);
  if (landed != nullptr) buffers_.give(landed);
}

void FrameWire::cancel(RecvOp& op) noexcept {
  if (op.peer == kNoRank) return;  // never posted
  Peer& p = peer(op.peer);
  if (op.posted) {
    matcher_.erase(op);
    op.posted = false;
    const std::uint64_t token = std::exchange(op.token, 0);
    if (token != 0) {
      link_.retract(p.rank, expected_header(op, static_cast<std::uint32_t>(token)));
    }
    return;
  }
  const bool under_way = stop_receiving(p.arrival, op) || stop_getting(op);
  if (under_way || (groups_ != nullptr && cancel_of_groups(op))) return;
  std::erase(failed_recvs_, &op);
}

// False: the payload under way is not this receive's.
bool FrameWire::stop_receiving(FrameArrival& in, RecvOp& op) noexcept {
  if (in.arriving != nullptr && in.arriving->claimed == &op) {
    in.arriving->claimed = nullptr;
    return true;
  }
  if (in.receiving != &op) return false;
  give_up_receiving(in);
  return true;
}

// The receive whose payload is under way is cancelled: the rest lands in the pool, as that of an
// early segment. Of what has gone to a device nobody could read the beginning: it is dropped.
void FrameWire::give_up_receiving(FrameArrival& in) noexcept {
  in.receiving = nullptr;
  if (std::exchange(in.places_away, false)) [[unlikely]] {
    if (land(in, in.header.bytes) != nullptr) in.carrier->redirect(in.landing);
    return;
  }
  std::byte* payload = std::exchange(in.landing, nullptr);
  const std::uint64_t bytes = in.header.bytes;
  const bool moves = payload == nullptr && bytes > 0;
  if (moves) payload = buffers_.take(bytes);
  const bool room = bytes == 0 || payload != nullptr;
  if (room && keep_arriving(in, in.header, payload)) {
    if (!moves) return;
    return in.carrier != nullptr ? in.carrier->redirect(payload) : link_.redirect(in.from, payload);
  }
  if (payload != nullptr) buffers_.give(payload);
  link_.lose(in.from,
             error(ESP_ERR_NO_MEMORY, fmt::format("no memory for {} bytes", bytes), in.from));
}

void FrameWire::fail_later(RecvOp& op, const Status& why) noexcept {
  op.posted = false;
  op.status = why;
  failed_recvs_.push_back(&op);
}

// Its stream ends in the middle.
void FrameWire::break_off(FrameArrival& in, const Status& why) noexcept {
  if (RecvOp* op = std::exchange(in.receiving, nullptr)) fail_later(*op, why);
  in.places_away = false;
  if (Message* message = std::exchange(in.arriving, nullptr)) {
    if (message->claimed != nullptr) fail_later(*message->claimed, why);
    discard(*message);
  }
  if (std::byte* landed = std::exchange(in.landing, nullptr)) buffers_.give(landed);
}

// The peer is lost. What came whole stays for its receives.
void FrameWire::fail_receives(Peer& p) noexcept {
  break_off(p.arrival, p.why);
  matcher_.for_each([&](MatchNode& node) {
    if (!node.posted || node.peer != p.rank) return;
    auto& op = static_cast<RecvOp&>(node);
    matcher_.erase(op);
    op.token = 0;
    fail_later(op, p.why);
  });
}

}  // namespace espalier::net
