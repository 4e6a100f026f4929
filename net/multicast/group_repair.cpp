// Group: questions for what is missing, and repairs.
// path: data
#include <array>

#include "net/multicast/group.hpp"

namespace espalier::multicast {

// ---- questions ----

bool Group::post_question(Stream& stream, std::uint32_t to,
                          std::span<const Range> ranges) noexcept {
  std::byte* at = message_.data() + kHeaderBytes;
  for (const Range& range : ranges) {
    write_range(at, range);
    at += kRangeBytes;
  }
  const Header made = header(stream, Kind::kNack, stream.receiver.expected());
  if (!post(to, made, ranges.size() * kRangeBytes)) return false;
  ++counts_.nacks_sent;
  return true;
}

// A range may be in several hands.
bool Group::ask_holders(Stream& stream, const Range& range) noexcept {
  const auto holder = [&](std::uint32_t i) {
    return stream.inheritance->holder(range.first + i, me_, dead_);
  };
  for (std::uint32_t begin = 0; begin < range.count;) {
    std::uint32_t end = begin + 1;
    while (end < range.count && holder(end) == holder(begin)) ++end;
    const Range part = {range.first + begin, end - begin};
    if (holder(begin) != kNobody && !post_question(stream, holder(begin), {&part, 1})) return false;
    begin = end;
  }
  return true;
}

bool Group::send_questions(Stream& stream) noexcept {
  if (mine(stream) || stream.receiver.ask_ns(options_.ask) > now_ns_) return true;
  const bool successor = stream.parent == kNobody;
  if (successor && stream.state != Stream::Source::kEnds) return true;
  std::array<Range, kRangesMax> ranges;
  const std::uint32_t used = stream.receiver.ask(now_ns_, options_.ask, ranges);
  const std::span<const Range> asked(ranges.data(), used);
  bool done = true;
  if (successor) {
    for (const Range& range : asked) done = done && ask_holders(stream, range);
  } else if (used > 0) {
    done = post_question(stream, stream.parent, asked);
  }
  if (!done) {
    for (const Range& range : asked) stream.receiver.unask(range);
  }
  return done && used < kRangesMax;
}

void Group::take_question(Stream& stream, std::uint32_t from,
                          std::span<const std::byte> payload) noexcept {
  ++counts_.nacks_received;
  Child* child = stream.subtree.find(from);
  if (child == nullptr) {
    // Somebody who knows of a death before this member, or a successor. One at a time: others ask
    // again.
    if (stream.guest.wants.any() && stream.guest.member != from) return;
    stream.guest.member = from;
    stream.guest.rank = members_[from];
    child = &stream.guest;
  }
  for (std::size_t i = 0; i < payload.size() / kRangeBytes; ++i) {
    want(stream, *child, read_range(payload, i));
  }
  if (mine(stream) && stream.gather_ns == kNever) {
    stream.gather_ns = now_ns_ + options_.gather_ns;
  } else if (stream.repairs) {
    make_ready(stream);
  }
}

void Group::want(Stream& stream, Child& child, const Range& range) noexcept {
  if (range.count > window_) {
    ++counts_.forbidden;
    return;
  }
  for (std::uint32_t i = 0; i < range.count; ++i) {
    const Sequence at = range.first + i;
    // The asker does not know yet where the packets of a dead source end.
    if (stream.state >= Stream::Source::kEnds && !at.before(stream.end)) return;
    if (at.before(stream.stable()) || at.before(child.acked)) continue;  // It has come meanwhile.
    const Sequence limit = mine(stream) ? sender_.next() : stream.stable() + window_;
    if (!at.before(limit)) {
      ++counts_.forbidden;
      return;
    }
    if (child.wants.has(at)) {
      ++counts_.nacks_suppressed;
      continue;
    }
    child.wants.add(at);
    if (stream.history.find(at) != nullptr) {
      stream.repairs = true;
    } else if (!mine(stream)) {
      ++counts_.nacks_merged;  // One question for both.
      (void)stream.receiver.hear(at + 1, now_ns_);
    }
  }
}

// ---- repairs ----

// A packet has come that somebody below may want; not if it came to all of them once more.
void Group::note_wanted(Stream& stream, Sequence sequence, bool came_to_all) noexcept {
  const auto note = [&](Child& child) {
    if (!child.wants.any() || !child.wants.has(sequence)) return;
    if (came_to_all) {
      child.wants.remove(sequence);
    } else {
      stream.repairs = true;
      make_ready(stream);
    }
  };
  for (Child& child : stream.subtree.children()) note(child);
  note(stream.guest);
}

bool Group::repair(Stream& stream, Child& child) noexcept {
  if (!child.wants.any()) return true;
  for (std::uint32_t i = 0; i < window_ && child.wants.any(); ++i) {
    const Sequence at = stream.stable() + i;
    if (!child.wants.has(at)) continue;
    const rdma::Packet* packet = stream.history.find(at);
    if (packet == nullptr) continue;  // It will be mailed when it has come.
    if (!mail_.post(members_[child.member], {packet->data, packet->bytes})) {
      ++counts_.no_room;
      return false;
    }
    child.wants.remove(at);
    ++counts_.repairs_sent;
  }
  return true;
}

// Where many children miss a packet. False: the port has no room.
bool Group::repeat_to_all(Stream& stream) noexcept {
  for (Sequence at = stream.stable(); at.before(unsent_); at = at + 1) {
    std::uint32_t wanted = 0;
    for (const Child& child : stream.subtree.children()) wanted += child.wants.has(at) ? 1 : 0;
    if (wanted < options_.repeat_for || repeated_.has(at) || !sender_.may_repeat()) continue;
    rdma::Packet& packet = *stream.history.find(at);
    if (packet.in_flight == 0) {
      const std::span<std::byte> bytes(packet.data, packet.bytes);
      Header made = header(stream, Kind::kData, at);
      made.bytes = static_cast<std::uint16_t>(payload_of(bytes).size());
      made.tag = tag_of(bytes);
      made.flags = static_cast<std::uint8_t>(kAgain | (port_.intact() ? kUnsummed : 0));
      write(made, bytes);
    }
    if (!port_.send(packet, true)) return false;
    sender_.repeated();
    repeated_.add(at);
    ++counts_.packets_again;
    for (Child& child : stream.subtree.children()) child.wants.remove(at);
  }
  port_.flush();
  return true;
}

bool Group::send_repairs(Stream& stream) noexcept {
  if (mine(stream)) {
    if (now_ns_ < stream.gather_ns) return true;
    if (stream.gather_ns != kNever && !repeat_to_all(stream)) return false;
    stream.repairs = true;
  }
  if (!stream.repairs) return true;
  bool done = repair(stream, stream.guest);
  for (Child& child : stream.subtree.children()) done = repair(stream, child) && done;
  if (!done) return false;
  stream.repairs = false;
  stream.gather_ns = kNever;
  return true;
}

}  // namespace espalier::multicast
