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
    if (message.whole) {
      deliver(p, message, op);
      return Posted::kDone;
    }
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
  if (link_.announce(p.rank, expected_header(op, segment.total), memory)) {
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
  if (found == nullptr || found->posted || !static_cast<Message*>(found)->whole) {
    return Posted::kRetry;
  }
  op.expect(segment);
  deliver(peer(segment.peer), static_cast<Message&>(*found), op);
  return Posted::kDone;
}

// The whole segment is here. op.status says how it went.
void FrameWire::deliver(Peer& p, Message& message, RecvOp& op) noexcept {
  count_and_answer(p, message.header);
  op.status = op.verdict(message.header.bytes, message.header.signature, p.rank);
  if (op.status.ok() && op.dst == nullptr) {
    show(op, std::exchange(message.payload, nullptr));
  } else if (op.status.ok() && op.bytes > 0) {
    copy_bytes(op.dst, message.payload, op.bytes);
    counters_.copy_out_bytes += op.bytes;
  }
  discard(message);
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
  Peer& p = peer(from);
  p.header = header;
  if (header.kind == FrameKind::kSegment) [[likely]]
    return begin_segment(p, header);
  if (header.kind == FrameKind::kControl) return land(p, header.bytes);
  if (header.kind >= FrameKind::kMessage) return begin_guest(p, header);
  return nullptr;
}

std::byte* FrameWire::begin_guest(Peer& p, const FrameHeader& header) noexcept {
  if (guest_ != nullptr) return guest_->begin_frame(*this, p.rank, header);
  link_.lose(p.rank, error(ESP_ERR_NETWORK,
                           fmt::format("a frame of kind {}, which nobody expects here",
                                       static_cast<unsigned>(header.kind)),
                           p.rank));
  return nullptr;
}

std::byte* FrameWire::begin_segment(Peer& p, const FrameHeader& header) noexcept {
  if (!grants_.arrived(p.rank, header.flow, header.ordinal, header.total)) [[unlikely]] {
    if (forgotten_.has(header.flow)) return land(p, header.bytes);
    return refuse(p, "came without permission", header);
  }
  MatchNode* found = matcher_.find(p.rank, header.flow, header.ordinal);
  if (found == nullptr) return begin_unexpected(p, header);
  if (!found->posted) [[unlikely]]
    return refuse(p, "came twice", header);
  return begin_posted(p, static_cast<RecvOp&>(*found), header);
}

std::byte* FrameWire::begin_posted(Peer& p, RecvOp& op, const FrameHeader& header) noexcept {
  matcher_.erase(op);
  op.posted = false;
  op.status = op.verdict(header.bytes, header.signature, p.rank);
  const std::uint64_t token = std::exchange(op.token, 0);
  if (!op.status.ok() && token != 0) {
    link_.retract(p.rank, expected_header(op, static_cast<std::uint32_t>(token)));
  }
  p.receiving = &op;
  if (op.status.ok() && op.dst != nullptr) [[likely]]
    return static_cast<std::byte*>(op.dst);
  if (op.status.ok() && header.bytes <= RecvOp::kInlineBytes) return op.inline_data;
  return land(p, header.bytes);
}

std::byte* FrameWire::begin_unexpected(Peer& p, const FrameHeader& header) noexcept {
  if (forgotten_.has(header.flow)) [[unlikely]]
    return land(p, header.bytes);
  std::byte* payload = header.bytes > 0 ? buffers_.take(header.bytes) : nullptr;
  if ((payload == nullptr && header.bytes > 0) || !keep_arriving(p, header, payload)) {
    if (payload != nullptr) buffers_.give(payload);
    link_.lose(p.rank,
               error(ESP_ERR_NO_MEMORY,
                     fmt::format("no memory for a segment of {} bytes", header.bytes), p.rank));
    return nullptr;
  }
  ++counters_.unexpected;
  return payload;
}

// Enters the segment under way as one that nobody has asked for. False: no memory.
bool FrameWire::keep_arriving(Peer& p, const FrameHeader& header, std::byte* payload) noexcept {
  Message* message = messages_.allocate();
  if (message == nullptr) return false;
  message->peer = p.rank;
  message->flow = header.flow;
  message->ordinal = header.ordinal;
  message->header = header;
  message->payload = payload;
  matcher_.insert(*message);
  p.arriving = message;
  return true;
}

// Memory of the pool for the payload under way.
std::byte* FrameWire::land(Peer& p, std::uint64_t bytes) noexcept {
  if (bytes == 0) return nullptr;
  p.landing = buffers_.take(bytes);
  if (p.landing == nullptr) [[unlikely]] {
    link_.lose(p.rank,
               error(ESP_ERR_NO_MEMORY, fmt::format("no memory for {} bytes", bytes), p.rank));
  }
  return p.landing;
}

std::byte* FrameWire::refuse(Peer& p, const char* what, const FrameHeader& header) noexcept {
  link_.lose(p.rank, error(ESP_ERR_NETWORK,
                           fmt::format("segment {} of {} of flow {:#x} {}", header.ordinal,
                                       header.total, header.flow, what),
                           p.rank));
  return nullptr;
}

void FrameWire::end(Rank from, const FrameHeader& header, std::byte* payload) noexcept {
  Peer& p = peer(from);
  switch (header.kind) {
    case FrameKind::kSegment:
      if (p.receiving != nullptr) return end_posted(p, header);
      if (p.arriving != nullptr) return end_unexpected(p);
      if (std::byte* landed = std::exchange(p.landing, nullptr)) buffers_.give(landed);
      return;
    case FrameKind::kGrant:
      if (forgotten_.has(header.flow)) return;
      if (!grants_.note(from, header.flow, header.ordinal)) {
        link_.lose(from, error(ESP_ERR_NO_MEMORY, "no memory for its grants", from));
      }
      return;
    case FrameKind::kTaken:
      return note_taken(from, header);
    case FrameKind::kControl:
      return end_control(p, {payload, header.bytes});
    case FrameKind::kGoodbye:
      return;
    default:
      counters_.remote_bytes_received += header.bytes;
      if (guest_ != nullptr) guest_->end_frame(*this, from, header, payload);
  }
}

void FrameWire::end_posted(Peer& p, const FrameHeader& header) noexcept {
  RecvOp& op = *std::exchange(p.receiving, nullptr);
  std::byte* landed = std::exchange(p.landing, nullptr);
  count_and_answer(p, header);
  if (op.status.ok() && op.dst == nullptr) {
    show(op, landed);
  } else if (landed != nullptr) {
    buffers_.give(landed);  // a mismatch
  }
  op.complete(op.status);
}

void FrameWire::end_unexpected(Peer& p) noexcept {
  Message& message = *std::exchange(p.arriving, nullptr);
  message.whole = true;
  RecvOp* op = message.claimed;
  if (op == nullptr) {
    if (forgotten_.has(message.flow)) discard(message);
    return;
  }
  deliver(p, message, *op);
  op->complete(op->status);
}

void FrameWire::end_control(Peer& p, std::span<const std::byte> message) noexcept {
  std::byte* landed = std::exchange(p.landing, nullptr);
  if (handler_ != nullptr) handler_->control(p.rank, message);
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
  if (p.receiving == &op) return give_up_receiving(p, op);
  if (p.arriving != nullptr && p.arriving->claimed == &op) p.arriving->claimed = nullptr;
  std::erase(failed_recvs_, &op);
}

// The receive whose payload is under way is cancelled: the rest lands in the pool, as that of an
// early segment.
void FrameWire::give_up_receiving(Peer& p, RecvOp&) noexcept {
  p.receiving = nullptr;
  std::byte* payload = std::exchange(p.landing, nullptr);
  const std::uint64_t bytes = p.header.bytes;
  const bool redirect = payload == nullptr && bytes > 0;
  if (redirect) payload = buffers_.take(bytes);
  const bool room = bytes == 0 || payload != nullptr;
  if (room && keep_arriving(p, p.header, payload)) {
    if (redirect) link_.redirect(p.rank, payload);
    return;
  }
  if (payload != nullptr) buffers_.give(payload);
  link_.lose(p.rank,
             error(ESP_ERR_NO_MEMORY, fmt::format("no memory for {} bytes", bytes), p.rank));
}

void FrameWire::fail_later(RecvOp& op, const Status& why) noexcept {
  op.posted = false;
  op.status = why;
  failed_recvs_.push_back(&op);
}

// The peer is lost. What came whole stays for its receives.
void FrameWire::fail_receives(Peer& p) noexcept {
  if (RecvOp* op = std::exchange(p.receiving, nullptr)) fail_later(*op, p.why);
  if (Message* message = std::exchange(p.arriving, nullptr)) {
    if (message->claimed != nullptr) fail_later(*message->claimed, p.why);
    discard(*message);
  }
  if (std::byte* landed = std::exchange(p.landing, nullptr)) buffers_.give(landed);
  matcher_.for_each([&](MatchNode& node) {
    if (!node.posted || node.peer != p.rank) return;
    auto& op = static_cast<RecvOp&>(node);
    matcher_.erase(op);
    op.token = 0;
    fail_later(op, p.why);
  });
}

}  // namespace espalier::net
