// FrameWire, segments that lie in memory of a device and go from there to the receiver by the
// adapters (GPUDirect RDMA): a rendezvous.
//
//   sender:    kAway: where it lies, by the name that its adapter has for it; the part stays open
//   receiver:  gets it, into memory of its own device if the receive names some (RecvOp::place),
//              else into that of the host, when the receive is posted; kTaken. Where it cannot:
//              kDeclined; its receive is posted again
//   sender:    what was declined, or what its adapter does not take, is fetched into memory of the
//              host and sent from there: kInstead, or kSegment as any other
//
// A send that is taken back revokes its memory first: who still reads there is turned away, and
// declines what is kGone. path: data
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/away_memory.hpp"
#include "net/frame_wire.hpp"

namespace espalier::net {
namespace {

struct AwayPlace {
  RemoteMemory memory;
  std::uint32_t bytes = 0;
};

void write_place(const AwayPlace& place, std::span<std::byte, kAwayBytes> to) noexcept {
  static_assert(kAwayBytes == 16);
  std::memcpy(&to[0], &place.memory.address, 8);
  std::memcpy(&to[8], &place.memory.key, 4);
  std::memcpy(&to[12], &place.bytes, 4);
}

AwayPlace place_in(std::span<const std::byte, kAwayBytes> bytes) noexcept {
  AwayPlace place;
  std::memcpy(&place.memory.address, &bytes[0], 8);
  std::memcpy(&place.memory.key, &bytes[8], 4);
  std::memcpy(&place.bytes, &bytes[12], 4);
  return place;
}

FrameHeader answer_to(FrameKind kind, const FrameHeader& segment) noexcept {
  FrameHeader answer;
  answer.kind = kind;
  answer.flow = segment.flow;
  answer.ordinal = segment.ordinal;
  return answer;
}

}  // namespace

void FrameWire::set_away(AwayMemory* away) noexcept {
  for (Part* part = open_.front(); away == nullptr && part != nullptr;) {
    Part* const next = open_.after(*part);
    if (part->away != nullptr) {
      if (part->pending) take_back(*part);
      drop(*part);
    }
    part = next;
  }
  away_ = away;
  link_.set_away(away);
}

// Sending -----------------------------------------------------------------------------------------

void FrameWire::post_away(Part& part) noexcept {
  AwaySend& away = *part.away;
  const FrameHeader& segment = part.frame.header;
  const bool again = untaken_.find(part.reader.rank, segment.flow, segment.ordinal) != nullptr;
  const RemoteMemory memory = again || part.reader.lost
                                  ? RemoteMemory()
                                  : link_.hold_away(away.memory, away.bytes, AwayUse::kRead);
  if (memory.address == 0) return await_fetch(part);
  away.held = true;
  write_place({memory, static_cast<std::uint32_t>(away.bytes)}, away.place);
  part.frame.header.kind = FrameKind::kAway;
  part.frame.header.synchronous = false;
  part.frame.header.bytes = kAwayBytes;
  part.frame.payload = away.place.data();
  part.peer = part.reader.rank;
  part.flow = segment.flow;
  part.ordinal = segment.ordinal;
  untaken_.insert(part);
  part.untaken = true;
  part.pending = post(part.reader, part.frame) == Posted::kPending;
}

void FrameWire::await_fetch(Part& part) noexcept {
  AwaySend& away = *part.away;
  away.state = AwaySend::State::kWaits;
  fetches_.push_back(away);
}

void FrameWire::note_declined(Rank from, const FrameHeader& header) noexcept {
  MatchNode* found = untaken_.find(from, header.flow, header.ordinal);
  if (found == nullptr) {  // It was taken back.
    return send_own(peer(from), answer_to(FrameKind::kGone, header));
  }
  auto& part = static_cast<Part&>(*found);
  if (part.away == nullptr || !part.away->held) {
    return link_.lose(from, error(ESP_ERR_NETWORK, "it declined what has no place", from));
  }
  untaken_.erase(part);
  part.untaken = false;
  part.away->declined = true;
  drop_place(*part.away);
  await_fetch(part);
}

void FrameWire::drop_place(AwaySend& away) noexcept {
  if (std::exchange(away.held, false)) link_.drop_away(away.memory, AwayUse::kRead);
}

// Returns how many have left the list.
int FrameWire::serve_fetches() noexcept {
  int served = 0;
  for (AwaySend* away = fetches_.front(); away != nullptr;) {
    if (!serve(*away)) {
      away = fetches_.after(*away);
      continue;
    }
    ++served;
    away = fetches_.front();  // Who was told of its end may have taken others back.
  }
  return served;
}

// True: it is in the list no more.
bool FrameWire::serve(AwaySend& away) noexcept {
  using State = AwaySend::State;
  Part& part = away.part;
  if (part.pending) return false;  // The link has its first frame yet.
  if (part.reader.lost && away.state == State::kWaits) {
    part.failure = part.reader.why;
    finish(part);
    return true;
  }
  if (away.state == State::kWaits) fetch(away);
  if (away.state != State::kFetched) return false;
  away.unlink();
  away.state = State::kSent;
  if (!away.status.ok()) {
    part.failure = away.status;
    if (away.declined) {
      send_own(part.reader, answer_to(FrameKind::kGone, part.frame.header));
    }
    finish(part);
    return true;
  }
  FrameHeader& header = part.frame.header;
  header.kind = away.declined ? FrameKind::kInstead : FrameKind::kSegment;
  header.synchronous = away.synchronous;
  header.bytes = away.bytes;
  part.frame.payload = away.fetched;
  if (!post(part)) finish(part);
  return true;
}

void FrameWire::fetch(AwaySend& away) noexcept {
  if (away_ == nullptr) return;
  away.fetched = away_->allocate(away.bytes);
  if (away.fetched == nullptr) return;  // later
  away.state = AwaySend::State::kFetching;
  const Posted posted = away_->fetch(away.fetched, away.memory, away.bytes, away);
  if (posted == Posted::kDone) away.state = AwaySend::State::kFetched;
  if (posted != Posted::kRetry) return;
  away.state = AwaySend::State::kWaits;
  away_->release(std::exchange(away.fetched, nullptr), away.bytes);
}

void FrameWire::on_fetched(Completion& completion, Status status) noexcept {
  auto& away = static_cast<AwaySend&>(completion);
  away.state = AwaySend::State::kFetched;
  away.status = status;
}

// The send is taken back: nobody is to read any more where its memory was, nor to wait for bytes.
void FrameWire::revoke(Part& part) noexcept {
  if (part.away->held && part.untaken) link_.revoke_away(part.away->memory);
  if (part.away->declined && part.fetches()) {
    send_own(part.reader, answer_to(FrameKind::kGone, part.frame.header));
  }
}

void FrameWire::end_away(Part& part) noexcept {
  AwaySend& away = *std::exchange(part.away, nullptr);
  drop_place(away);
  if (away.state == AwaySend::State::kFetching) away_->cancel(away);
  if (away.fetched != nullptr) away_->release(away.fetched, away.bytes);
  if (away.linked()) away.unlink();
  away_sends_.release(&away);
}

// Receiving ---------------------------------------------------------------------------------------

std::byte* FrameWire::begin_away(FrameArrival& in, const FrameHeader& header) noexcept {
  if (header.kind == FrameKind::kAway) return in.place.data();
  if (header.kind != FrameKind::kInstead) return nullptr;
  MatchNode* found = matcher_.find(in.from, header.flow, header.ordinal);
  if (found == nullptr) return land(in, header.bytes);  // Its receive was cancelled.
  if (!found->posted) return refuse(in, "came twice", header);
  return begin_posted(in, static_cast<RecvOp&>(*found), header);
}

void FrameWire::end_away(Rank from, FrameArrival& in) noexcept {
  switch (in.header.kind) {
    case FrameKind::kAway:
      return meet_away(in);
    case FrameKind::kInstead:
      return end_segment(in);
    case FrameKind::kDeclined:
      return note_declined(from, in.header);
    default:
      return note_gone(from, in.header);
  }
}

void FrameWire::meet_away(FrameArrival& in) noexcept {
  const AwayPlace place = place_in(in.place);
  FrameHeader header = in.header;
  header.bytes = place.bytes;
  if (place.bytes == 0 || place.bytes > kSegmentBytesMax || place.memory.address == 0) {
    return (void)refuse(in, "lies nowhere", header);
  }
  if (!grants_.arrived(in.from, header.flow, header.ordinal, header.total)) {
    if (!forgotten_.has(header.flow)) (void)refuse(in, "came without permission", header);
    return;
  }
  MatchNode* found = matcher_.find(in.from, header.flow, header.ordinal);
  if (found == nullptr) return keep_away(in, header, place.memory);
  if (!found->posted) return (void)refuse(in, "came twice", header);
  auto& op = static_cast<RecvOp&>(*found);
  matcher_.erase(op);
  op.posted = false;
  op.token = 0;
  if (take_away(peer(in.from), header, place.memory, op) == Posted::kDone) {
    op.complete(op.status);
  }
}

// Nobody has asked for it yet.
void FrameWire::keep_away(FrameArrival& in, const FrameHeader& header,
                          RemoteMemory memory) noexcept {
  if (forgotten_.has(header.flow)) return;
  if (!keep_arriving(in, header, nullptr)) {
    return link_.lose(in.from, error(ESP_ERR_NO_MEMORY, "no memory for a segment", in.from));
  }
  Message& message = *std::exchange(in.arriving, nullptr);
  message.whole = true;
  message.away = memory;
  ++counters_.unexpected;
}

// kDone: op.status says what is wrong with it.
Posted FrameWire::take_away(Peer& p, const FrameHeader& header, RemoteMemory from,
                            RecvOp& op) noexcept {
  op.status = op.verdict(header.bytes, header.signature, p.rank);
  if (!op.status.ok()) {
    count_and_answer(p, header);
    send_own(p, answer_to(FrameKind::kTaken, header));
    return Posted::kDone;
  }
  AwayGet* get = away_gets_.allocate(*this, p.rank, header, op, &FrameWire::on_got);
  if (get != nullptr && begin_get(*get, from)) return Posted::kPending;
  if (get != nullptr) end_get(*get);
  decline(p, header, op);
  return Posted::kPending;
}

bool FrameWire::begin_get(AwayGet& get, RemoteMemory from) noexcept {
  const RecvOp& op = *get.op;
  const std::uint64_t bytes = get.header.bytes;
  away_got_.push_back(get);
  auto* const place = op.takes_away ? static_cast<std::byte*>(op.place) : nullptr;
  get.placed = place != nullptr && link_.hold_away(place, bytes, AwayUse::kWrite).address != 0;
  get.pooled = !get.placed && op.dst == nullptr;
  get.to = get.placed ? place : static_cast<std::byte*>(op.dst);
  if (get.pooled) get.to = buffers_.take(bytes);
  return get.to != nullptr && link_.get(get.from, get.to, bytes, from, get);
}

void FrameWire::on_got(Completion& completion, Status status) noexcept {
  auto& get = static_cast<AwayGet&>(completion);
  FrameWire& wire = get.wire;
  wire.take_got(get, status);
}

void FrameWire::take_got(AwayGet& get, Status status) noexcept {
  RecvOp& op = *get.op;
  Peer& p = peer(get.from);
  const FrameHeader header = get.header;
  if (!status.ok()) {
    end_get(get);
    if (status.code() == ESP_ERR_STATE && !p.lost) return decline(p, header, op);
    op.status = status;
    return op.complete(status);
  }
  if (get.placed) {
    op.view = get.to;
    op.is_away = true;
    counters_.device_direct_bytes += header.bytes;
  }
  if (std::exchange(get.pooled, false)) show(op, get.to);
  ++counters_.segments_read;
  count_and_answer(p, header);
  send_own(p, answer_to(FrameKind::kTaken, header));
  end_get(get);
  op.complete({});
}

void FrameWire::end_get(AwayGet& get) noexcept {
  if (get.placed) link_.drop_away(get.to, AwayUse::kWrite);
  if (get.pooled && get.to != nullptr) buffers_.give(get.to);
  get.unlink();
  away_gets_.release(&get);
}

// The bytes are to come, for the same receive.
void FrameWire::decline(Peer& p, const FrameHeader& header, RecvOp& op) noexcept {
  if (p.lost) return fail_later(op, p.why);
  op.posted = true;
  matcher_.insert(op);
  send_own(p, answer_to(FrameKind::kDeclined, header));
}

void FrameWire::note_gone(Rank from, const FrameHeader& header) noexcept {
  MatchNode* found = matcher_.find(from, header.flow, header.ordinal);
  if (found == nullptr || !found->posted) return;  // Its receive was cancelled.
  auto& op = static_cast<RecvOp&>(*found);
  matcher_.erase(op);
  op.posted = false;
  op.token = 0;
  op.status = Status(ESP_ERR_SYSTEM, from, ECANCELED);
  op.complete(op.status);
}

// False: nothing is being got for this receive.
bool FrameWire::stop_getting(RecvOp& op) noexcept {
  for (AwayGet* get = away_got_.front(); get != nullptr; get = away_got_.after(*get)) {
    if (get->op != &op) continue;
    link_.withdraw(get->from, *get);
    send_own(peer(get->from), answer_to(FrameKind::kTaken, get->header));
    end_get(*get);
    return true;
  }
  return false;
}

// The peer is lost.
void FrameWire::fail_gets(Peer& p) noexcept {
  for (AwayGet* get = away_got_.front(); get != nullptr;) {
    AwayGet* const next = away_got_.after(*get);
    if (get->from == p.rank) {
      link_.withdraw(p.rank, *get);
      RecvOp& op = *get->op;
      end_get(*get);
      fail_later(op, p.why);
    }
    get = next;
  }
}

}  // namespace espalier::net
