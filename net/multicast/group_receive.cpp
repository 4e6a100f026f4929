// Group: what comes in.
// path: data
#include <cstring>
#include <utility>

#include "core/plant.hpp"
#include "net/multicast/group.hpp"

namespace espalier::multicast {

void Group::arrived(rdma::Packet& packet) noexcept {
  ++counts_.packets_received;
  Header read;
  const Refused refused = parse({packet.data, packet.bytes}, membership_, false, read);
  Stream* stream = refused == Refused::kNo ? stream_of(read.source) : nullptr;
  if (stream == nullptr) {
    const Refused why = refused == Refused::kNo ? Refused::kAddress : refused;
    ++counts_.refused[static_cast<std::size_t>(why)];
    return port_.give(packet);
  }
  if (mine(*stream)) {
    ++counts_.own;
    return port_.give(packet);
  }
  // What this member holds of a dead source it has reported.
  if (ESP_PLANT(106, dead_.has(stream->member), false)) {
    ++counts_.orphaned;
    return port_.give(packet);
  }
  if (!take_stable(*stream, read)) return port_.give(packet);
  if (read.kind == Kind::kProbe) {
    hear_probe(*stream, read, false);
    port_.give(packet);
  } else if (!take_data(*stream, read, packet)) {
    port_.give(packet);
  }
  set_alarm(*stream);
}

// False: a packet that cannot be.
bool Group::take_stable(Stream& stream, const Header& read) noexcept {
  if (mine(stream)) return true;
  // What this member has not acknowledged is not stable.
  if (stream.receiver.expected().before(read.stable)) {
    ++counts_.forbidden;
    return false;
  }
  if (stream.stable().before(read.stable)) settle(stream, read.stable);
  return true;
}

// True: the history holds the packet now.
bool Group::take_data(Stream& stream, const Header& read, rdma::Packet& packet) noexcept {
  const bool to_all_again = (read.flags & kAgain) != 0;
  if (read.sequence - stream.stable() >= static_cast<std::int32_t>(window_)) {
    ++counts_.forbidden;
    return false;
  }
  switch (stream.receiver.arrived(read.sequence, now_ns_, repair_ns_)) {
    case GroupReceiver::Verdict::kDuplicate:
      ++counts_.duplicates;
      if (to_all_again) note_wanted(stream, read.sequence, true);
      return false;
    case GroupReceiver::Verdict::kForbidden:
      ++counts_.forbidden;
      return false;
    case GroupReceiver::Verdict::kNew:
      break;
  }
  stream.history.hold(read.sequence, packet);
  if ((read.flags & kAsk) != 0) stream.asked_to = read.sequence + 1;
  note_wanted(stream, read.sequence, to_all_again);
  hand_on(stream);
  note_progress(stream);
  return true;
}

void Group::hand_on(Stream& stream) noexcept {
  while (stream.receiver.ready()) {
    const rdma::Packet& packet = *stream.history.find(stream.receiver.expected());
    const std::span<const std::byte> bytes(packet.data, packet.bytes);
    ++counts_.delivered;
    sink_.deliver(stream.source, tag_of(bytes), payload_of(bytes));
    stream.receiver.advance();
  }
}

// Everything that has been sent is told of.
void Group::hear_probe(Stream& stream, const Header& read, bool by_mail) noexcept {
  const bool over = stream.state >= Stream::Source::kEnds && stream.end.before(read.sequence);
  if (!stream.receiver.hear(over ? stream.end : read.sequence, now_ns_)) {
    ++counts_.forbidden;
    return;
  }
  if (by_mail) {
    stream.answer = true;
    for (Child& child : stream.subtree.children()) {
      child.probe = child.probe || child.acked.before(read.sequence);
    }
    make_ready(stream);
  }
  if ((read.flags & kAsk) != 0) {
    stream.asked_to = read.sequence;
    note_progress(stream);
  }
}

// What this member and those below it have.
Merged Group::merged(const Stream& stream) const noexcept {
  Merged own;
  own.acked = mine(stream) ? sender_.next() : stream.receiver.expected();
  own.state.slowest = options_.rank;
  own.state.missed = mine(stream) ? 0 : stream.receiver.missed();
  own.state.worst = own.state.missed > 0 ? options_.rank : kNoRank;
  return stream.subtree.merged(own);
}

// Something has come here, or further down: whether it is to be said now, later or not at all.
void Group::note_progress(Stream& stream) noexcept {
  const Merged state = merged(stream);
  if (mine(stream)) {
    if (!sender_.settle(state.acked, now_ns_)) return;
    settle(stream, state.acked);
    meter_.note(sender_.settled(), state.state.missed, state.state.worst);
    return set_alarm(stream);
  }
  if (stream.state != Stream::Source::kLives) note_end(stream);
  const std::int32_t news = state.acked - stream.said;
  if (news <= 0 || stream.parent == kNobody) return;
  const std::uint32_t every = options_.ack_every > 0 ? options_.ack_every : (window_ + 3) / 4;
  const bool asked = stream.said.before(stream.asked_to) && !state.acked.before(stream.asked_to);
  if (asked || news >= static_cast<std::int32_t>(every)) {
    stream.ack_ns = now_ns_;
    make_ready(stream);
  } else if (stream.ack_ns == kNever) {
    stream.ack_ns = now_ns_ + options_.ack_delay_ns;
    set_alarm(stream);
  }
}

// ---- mail ----

void Group::mail_arrived(Rank from, std::span<const std::byte> message) noexcept {
  now_ns_ = clock_.now_ns();
  const std::uint32_t sender = index_of(from);
  // What the dead have sent is not waited for, so it must not come later, either.
  if (sender == kNobody || sender == me_ || dead_.has(sender)) {
    ++counts_.orphaned;
    return;
  }
  Header read;
  const Refused refused = parse(message, membership_, true, read);
  Stream* stream = refused == Refused::kNo ? stream_of(read.source) : nullptr;
  if (stream == nullptr) {
    const Refused why = refused == Refused::kNo ? Refused::kAddress : refused;
    ++counts_.refused[static_cast<std::size_t>(why)];
    return;
  }
  if (take_stable(*stream, read)) take_mail(*stream, sender, read, message);
  set_alarm(*stream);
}

void Group::take_mail(Stream& stream, std::uint32_t from, const Header& read,
                      std::span<const std::byte> message) noexcept {
  const std::span<const std::byte> payload = payload_of(message);
  if (read.kind == Kind::kAck) return take_ack(stream, from, read, read_state(payload));
  if (read.kind == Kind::kNack) return take_question(stream, from, payload);
  if (read.kind == Kind::kReport) {  // Its sender may know of a death before this member does.
    if (stream.inheritance == nullptr) {
      stream.inheritance = std::make_unique<Inheritance>(number_of_members());
    }
    stream.inheritance->report(from, read.tag, read.sequence, read_arrived(payload));
    return inherit(stream);
  }
  if (mine(stream)) {
    ++counts_.forbidden;
    return;
  }
  const bool dead = dead_.has(stream.member);
  switch (read.kind) {
    case Kind::kData:
      return take_repair(stream, read, message);
    case Kind::kProbe:
      return hear_probe(stream, read, true);
    case Kind::kEnd:
      // After another death there will be another one.
      if (!dead || read.tag != view_) return;
      end_stream(stream, read.sequence);
      stream.answer = true;
      return make_ready(stream);
    case Kind::kDone:
      if (dead && stream.receiver.expected() == read.sequence) finish_stream(stream);
      return;
    default:
      return;
  }
}

void Group::take_repair(Stream& stream, const Header& read,
                        std::span<const std::byte> message) noexcept {
  ++counts_.repairs_received;
  const bool over = stream.state >= Stream::Source::kEnds && !read.sequence.before(stream.end);
  if (stream.receiver.has(read.sequence) || over) {
    ++counts_.duplicates;
    return;
  }
  if (free_ == nullptr || message.size() > packet_bytes_) {
    ++counts_.no_memory;  // It will be asked for again.
    return;
  }
  rdma::Packet& packet = *std::exchange(free_, free_->next);
  std::memcpy(packet.data, message.data(), message.size());
  packet.bytes = static_cast<std::uint32_t>(message.size());
  Header own = read;
  own.flags &= static_cast<std::uint8_t>(~kAgain);
  if (!take_data(stream, own, packet)) give(packet);
}

void Group::take_ack(Stream& stream, std::uint32_t from, const Header& read,
                     const SubtreeState& state) noexcept {
  Child* child = stream.subtree.find(from);
  // Who is no child (yet) will be asked when it is one.
  if (child == nullptr) return;
  const Sequence limit = mine(stream) ? sender_.next() : stream.stable() + window_;
  if (limit.before(read.sequence)) {
    ++counts_.forbidden;
    return;
  }
  if (Subtree::acknowledge(*child, read.sequence, state)) note_progress(stream);
}

}  // namespace espalier::multicast
