// Group: members that die, and what they leave.
// path: slow
#include "core/plant.hpp"
#include "core/prng.hpp"
#include "net/multicast/group.hpp"

namespace espalier::multicast {

void Group::member_lost(Rank rank) noexcept {
  now_ns_ = clock_.now_ns();
  const std::uint32_t lost = index_of(rank);
  if (lost == kNobody || lost == me_ || !dead_.add(lost)) return;
  auto seed = static_cast<std::uint64_t>(rank);
  view_ += splitmix64(seed);
  (void)stream_of(rank);  // All report what they have of it, be it nothing.
  streams_.for_each([&](Rank, Stream& stream) { reroot(stream, stream.member == lost); });
}

// Another member is dead: who stands above and below is looked for again.
void Group::reroot(Stream& stream, bool source_died) noexcept {
  const bool used = mine(stream) ? !sender_.idle() : stream.receiver.known() != stream.stable();
  const bool dead = dead_.has(stream.member);
  const std::uint32_t parent = tree_.parent(stream.member, me_, dead_);
  tree_.children(stream.member, me_, ESP_PLANT(104, dead_, DeadMembers()), children_);
  stream.subtree.rebuild(children_, members_, stream.stable());
  for (Child& child : stream.subtree.children()) child.probe = child.probe && used;
  if (stream.guest.rank != kNoRank && dead_.has(stream.guest.member)) stream.guest.wants.clear();
  if (parent != stream.parent || source_died) {
    stream.parent = parent;
    stream.said = stream.stable();
    stream.answer = used;
    stream.receiver.unask_all();
  }
  if (dead) {
    stream.state = Stream::Source::kDied;
    stream.report = true;
    if (stream.inheritance != nullptr) stream.inheritance->owe_nobody();
    inherit(stream);
  }
  note_progress(stream);
  make_ready(stream);
}

bool Group::send_report(Stream& stream) noexcept {
  if (!stream.report || stream.parent == kNobody) return true;
  const std::uint32_t successor = tree_.root(stream.member, dead_);
  write_arrived(message_.data() + kHeaderBytes, stream.receiver.early());
  Header made = header(stream, Kind::kReport, stream.receiver.expected());
  made.tag = view_;
  if (!post(successor, made, sizeof(rdma::ArrivalBits))) return false;
  stream.report = false;
  ++counts_.reports_sent;
  return true;
}

// The successor: whether all have reported, and what follows from it.
void Group::inherit(Stream& stream) noexcept {
  if (stream.state != Stream::Source::kDied || stream.parent != kNobody) return;
  if (stream.inheritance == nullptr) {
    stream.inheritance = std::make_unique<Inheritance>(number_of_members());
  }
  Inheritance& known = *stream.inheritance;
  stream.report = false;
  known.report(me_, view_, stream.receiver.expected(), stream.receiver.early());
  if (!known.complete(view_, dead_)) return;
  known.owe_all(me_, dead_);
  end_stream(stream, known.end(dead_));
}

// Nothing of the source will come from `end` on.
void Group::end_stream(Stream& stream, Sequence end) noexcept {
  if (stream.state >= Stream::Source::kEnds || end.before(stream.receiver.expected())) return;
  if (end - stream.receiver.expected() > static_cast<std::int32_t>(window_)) return;
  stream.state = Stream::Source::kEnds;
  cut(stream, end);
  note_progress(stream);
  make_ready(stream);
}

// What lies beyond the end is not kept, looked for or wanted.
void Group::cut(Stream& stream, Sequence end) noexcept {
  stream.end = end;
  for (std::uint32_t i = 0; i < window_; ++i) {
    const Sequence at = stream.stable() + i;
    if (at.before(end)) continue;
    rdma::Packet* packet = stream.history.take(at);
    if (packet != nullptr) give(*packet);
    for (Child& child : stream.subtree.children()) child.wants.remove(at);
    stream.guest.wants.remove(at);
  }
  stream.receiver.end_at(end, now_ns_);
}

void Group::note_end(Stream& stream) noexcept {
  if (stream.state != Stream::Source::kEnds || stream.receiver.expected() != stream.end) return;
  if (!stream.told) {
    stream.told = true;
    sink_.source_ended(stream.source, stream.end.value - options_.first.value);
  }
  if (stream.parent != kNobody || merged(stream).acked != stream.end) return;
  stream.inheritance->owe_all(me_, dead_);
  finish_stream(stream);
}

// The successor: all are told where the packets end, and then that all have them.
bool Group::send_news(Stream& stream) noexcept {
  if (stream.inheritance == nullptr || stream.state < Stream::Source::kEnds) return true;
  const bool over = stream.state == Stream::Source::kEnded;
  std::uint32_t to = stream.inheritance->next_owed();
  for (; to != Inheritance::kNobody; to = stream.inheritance->next_owed()) {
    Header made = header(stream, over ? Kind::kDone : Kind::kEnd, stream.end);
    made.tag = view_;
    const bool sent = post(to, made, 0);
    if (!ESP_PLANT(105, sent, true)) return false;
    stream.inheritance->told(to);
  }
  return true;
}

// All living members have everything of a dead source.
void Group::finish_stream(Stream& stream) noexcept {
  cut(stream, stream.receiver.expected());
  stream.state = Stream::Source::kEnded;
  if (!stream.told) {
    stream.told = true;
    sink_.source_ended(stream.source, stream.end.value - options_.first.value);
  }
  settle(stream, stream.end);
  make_ready(stream);
}

}  // namespace espalier::multicast
