// Lanes: this member's own. path: data
#include <cstring>
#include <new>
#include <utility>

#include "core/copy.hpp"
#include "net/groups/lanes.hpp"

namespace espalier::net {

using multicast::Joined;
using multicast::PlacedKind;
using multicast::PlacedMessage;
using multicast::PlacedSource;

// Opens it, when it is asked for the first time.
bool Lanes::can_send() {
  if (refused_) return false;
  if (source_ == nullptr) {
    port_ = open(context_.options.rank);
    refused_ = port_ == nullptr;
    if (refused_) return false;
    PlacedStream& stream = *this;
    PlacedSourceUser& user = *this;
    source_ = std::make_unique<PlacedSource>(context_.members, *port_, stream, user,
                                             options_of(context_.options.rank));
    for (const Rank rank : lost_) source_->member_lost(rank);
    hello_owed_ = true;
    say_hello();
  }
  if (hello_owed_ || source_->failed()) return false;
  const Joined joined = port_->joined();
  refused_ = joined == Joined::kFailed;
  return joined == Joined::kYes;
}

void Lanes::say_hello() noexcept {
  FrameHeader hello;
  hello.kind = FrameKind::kPlaced;
  hello_owed_ = !context_.stream.publish(hello, {}, {});
}

bool Lanes::post(OutgoingFrame& frame) noexcept {
  const std::uint64_t least = context_.options.place_from_bytes;
  const std::uint64_t bytes = frame.header.bytes;
  if (least == 0 || bytes < least || !can_send() || bytes > source_->bytes_max()) return false;
  Sending* sending = pool_.allocate();
  if (sending == nullptr) return false;
  if (!sending->memory.begin(*context_.options.ports, *port_, context_.counters, frame.payload,
                             bytes, rdma::Use::kRead)) {
    pool_.release(sending);
    return false;
  }
  sending->frame = &frame;
  sending->header = frame.header;
  waiting_.push_back(*sending);
  start_waiting();
  return true;
}

void Lanes::start_waiting() {
  while (source_->open() && !waiting_.empty()) {
    Sending& sending = *waiting_.pop_front();
    started_.push_back(sending);
    by_segment_[next_.value % kSlots] = &sending;
    next_ = next_ + 1;
    source_->start(static_cast<const std::byte*>(sending.frame->payload), sending.memory.key(),
                   sending.header.bytes, reinterpret_cast<std::uint64_t>(&sending));
  }
}

bool Lanes::publish(std::span<const std::byte> head, std::span<const std::byte> payload) noexcept {
  PlacedMessage message;
  FrameHeader header;
  header.kind = FrameKind::kPlaced;
  // Those of kind kAnnounce have no payload.
  if (payload.empty() &&
      multicast::parse(head, options_of(context_.options.rank).lane, false, message) &&
      message.kind == PlacedKind::kAnnounce) {
    header = by_segment_[message.segment.value % kSlots]->header;
    header.kind = FrameKind::kPlaced;
  }
  header.bytes = head.size() + payload.size();
  return context_.stream.publish(header, head, payload);
}

void Lanes::finished(std::uint64_t cookie) noexcept {
  Sending& sending = *reinterpret_cast<Sending*>(cookie);
  OutgoingFrame* frame = sending.frame;
  drop(sending);
  if (frame != nullptr) frame->completion.complete({});
}

void Lanes::drop(Sending& sending) noexcept {
  sending.memory.end(*context_.options.ports, *port_);
  sending.unlink();
  pool_.release(&sending);
}

Lanes::Sending* Lanes::find(IntrusiveList<Sending>& list, const OutgoingFrame& frame) noexcept {
  Sending* at = list.front();
  while (at != nullptr && at->frame != &frame) at = list.after(*at);
  return at;
}

// A segment that has been started is finished, from a copy.
Lanes::Taken Lanes::withdraw(OutgoingFrame& frame) noexcept {
  if (Sending* waits = find(waiting_, frame)) {
    drop(*waits);
    return Taken::kBack;
  }
  Sending* sending = find(started_, frame);
  if (sending == nullptr) return Taken::kNotHere;
  const std::uint64_t bytes = sending->header.bytes;
  sending->copy.reset(new (std::nothrow) std::byte[bytes]);
  const bool copied = sending->copy != nullptr;
  if (copied) {
    copy_bytes(sending->copy.get(), frame.payload, bytes);
    context_.counters.copy_in_bytes += bytes;
    source_->move(reinterpret_cast<std::uint64_t>(sending), sending->copy.get());
  } else {
    source_->stop();  // The group fails.
  }
  sending->memory.end(*context_.options.ports, *port_);
  sending->frame = nullptr;
  return copied ? Taken::kBack : Taken::kNoMemory;
}

int Lanes::speak() {
  if (source_ == nullptr) return 0;
  if (hello_owed_) say_hello();
  if (source_->idle() && waiting_.empty() && !heard_) return 0;
  heard_ = false;
  const std::uint64_t before = source_->counts().packets;
  const int events = source_->progress();
  context_.counters.group_packets += source_->counts().packets - before;
  start_waiting();
  return events;
}

void Lanes::fail(const Status& why) noexcept {
  if (source_ != nullptr) source_->stop();
  refused_ = true;
  for (IntrusiveList<Sending>* list : {&waiting_, &started_}) {
    while (Sending* sending = list->front()) {
      OutgoingFrame* frame = sending->frame;
      drop(*sending);
      if (frame != nullptr) frame->completion.complete(why);
    }
  }
  source_.reset();
  hello_owed_ = heard_ = false;
}

}  // namespace espalier::net
