#include "net/multicast/group.hpp"

#include <algorithm>
#include <cstring>

namespace espalier::multicast {
namespace {

std::uint32_t index_among(std::span<const Rank> members, Rank rank) noexcept {
  const auto at = std::lower_bound(members.begin(), members.end(), rank);
  const bool found = at != members.end() && *at == rank;
  return found ? static_cast<std::uint32_t>(at - members.begin()) : GroupTree::kNobody;
}

// A packet by mail, or the longest other message.
constexpr std::size_t kMessageBytes = kHeaderBytes + kRangesMax * kRangeBytes;

}  // namespace

void GroupStream::Alarm::expired(Timer& self, std::uint64_t) noexcept {
  auto& alarm = static_cast<Alarm&>(self);
  alarm.owner.make_ready(alarm.stream);
}

std::uint32_t Group::window_for(std::uint32_t receive_depth, std::uint32_t sources) noexcept {
  const std::uint32_t share = receive_depth / std::max(sources, 1U);
  const std::uint32_t probes = GroupSender::kProbesToAll + 1;
  return std::clamp(share > probes ? (share - probes) / 3 : 1U, 1U, kWindowMax);
}

Group::Group(std::span<const Rank> members, GroupPort& port, MemberMail& mail, Clock& clock,
             GroupSink& sink, const GroupOptions& options)
    : port_(port),
      mail_(mail),
      clock_(clock),
      sink_(sink),
      options_(options),
      window_(window_for(options.receive_depth > 0 ? options.receive_depth : port.receive_depth(),
                         options.sources)),
      packet_bytes_(options.packet_bytes > 0 ? options.packet_bytes : port.packet_bytes()),
      membership_{options.epoch, options.group, options.ranks, port.intact()},
      members_(members),
      me_(index_among(members_, options.rank)),
      tree_(number_of_members(), options.degree),
      sender_(options.first, window_),
      unsent_(options.first),
      meter_(options.loss),
      message_(kMessageBytes) {
  ESP_ASSERT(me_ != kNobody && packet_bytes_ > kHeaderBytes);
  ESP_ASSERT(packet_bytes_ <= port.packet_bytes());
  const std::size_t others = std::min<std::size_t>(options.sources, members_.size() - 1);
  packets_.resize(others * window_);
  memory_ = std::make_unique_for_overwrite<std::byte[]>(packets_.size() * packet_bytes_);
  for (std::size_t i = 0; i < packets_.size(); ++i) {
    packets_[i].data = memory_.get() + i * packet_bytes_;
    packets_[i].capacity = packet_bytes_;
    packets_[i].next = std::exchange(free_, &packets_[i]);
  }
}

Group::~Group() {
  if (room_ != nullptr) port_.give(*room_);
  streams_.for_each([this](Rank, Stream& stream) {
    timers_.cancel(stream.alarm);
    if (stream.linked()) stream.unlink();
    stream.history.release_before(stream.stable() + kWindowMax,
                                  [this](rdma::Packet& packet) { give(packet); });
  });
}

std::uint32_t Group::index_of(Rank rank) const noexcept {
  return index_among(members_, rank);
}

GroupStream* Group::stream_of(Rank source) noexcept {
  Stream* met = streams_.find(source);
  if (met != nullptr) return met;
  const std::uint32_t index = index_of(source);
  return index == kNobody ? nullptr : &meet(index);
}

// As if it had been there from the beginning, and had heard of all deaths.
GroupStream& Group::meet(std::uint32_t index) noexcept {
  const Rank source = members_[index];
  Stream& stream = streams_.meet(
      source, std::make_unique<Stream>(index, source, options_.first, window_, *this));
  stream.parent = tree_.parent(index, me_, dead_);
  tree_.children(index, me_, dead_, children_);
  stream.subtree.rebuild(children_, members_, options_.first);
  for (Child& child : stream.subtree.children()) child.probe = false;
  return stream;
}

Header Group::header(const Stream& stream, Kind kind, Sequence sequence) const noexcept {
  Header made;
  made.kind = kind;
  made.epoch = options_.epoch;
  made.group = options_.group;
  made.source = stream.source;
  made.sequence = sequence;
  made.stable = mine(stream) ? sender_.stable() : stream.stable();
  return made;
}

void Group::give(rdma::Packet& packet) noexcept {
  const bool of_group = &packet >= packets_.data() && &packet < packets_.data() + packets_.size();
  if (!of_group) return port_.give(packet);
  packet.next = std::exchange(free_, &packet);
}

void Group::settle(Stream& stream, Sequence stable) noexcept {
  if (mine(stream)) {
    for (Sequence at = stream.stable(); at.before(stable); at = at + 1) repeated_.remove(at);
  }
  stream.history.release_before(stable, [this](rdma::Packet& packet) { give(packet); });
  stream.subtree.settle(stable);
  stream.guest.settle(stable);
}

void Group::set_alarm(Stream& stream) noexcept {
  std::uint64_t due = std::min(stream.ack_ns, stream.gather_ns);
  if (mine(stream)) {
    due = std::min(due, sender_.probe_ns(options_.probe));
  } else if (stream.parent != kNobody || stream.state == Stream::Source::kEnds) {
    due = std::min(due, stream.receiver.ask_ns(options_.ask));
  }
  if (!stream.alarm.idle()) {
    // An alarm that is too early finds nothing to do and is set again.
    if (stream.alarm.deadline_ns() <= due) return;
    timers_.cancel(stream.alarm);
  }
  if (due != kNever) timers_.add(stream.alarm, due);
}

// ---- sending ----

std::span<std::byte> Group::room() noexcept {
  if (!sender_.open() || port_.joined() != Joined::kYes) return {};
  if (room_ == nullptr) room_ = port_.take();
  if (room_ == nullptr) return {};
  return {room_->data + kHeaderBytes, packet_bytes_ - kHeaderBytes};
}

void Group::publish(std::size_t bytes, std::uint64_t tag, bool more) noexcept {
  ESP_ASSERT(room_ != nullptr && sender_.open() && bytes <= packet_bytes_ - kHeaderBytes);
  now_ns_ = clock_.now_ns();
  Stream& stream = own();
  rdma::Packet& packet = *std::exchange(room_, nullptr);
  packet.bytes = static_cast<std::uint32_t>(kHeaderBytes + bytes);
  Header made = header(stream, Kind::kData, sender_.next());
  made.bytes = static_cast<std::uint16_t>(bytes);
  made.tag = tag;
  if (sender_.closing()) made.flags |= kAsk;
  if (port_.intact()) made.flags |= kUnsummed;
  write(made, {packet.data, packet.bytes});
  stream.history.hold(made.sequence, packet);
  sender_.sent(now_ns_);
  if (unsent_ == made.sequence && port_.send(packet, more)) {
    unsent_ = unsent_ + 1;
    ++counts_.packets_sent;
  }
  note_progress(stream);  // Who is alone is done.
  set_alarm(stream);
}

bool Group::send_unsent() noexcept {
  for (; unsent_ != sender_.next(); unsent_ = unsent_ + 1) {
    rdma::Packet* packet = own().history.find(unsent_);
    // What is not here any more was for nobody.
    if (packet != nullptr && !port_.send(*packet, true)) return false;
    ++counts_.packets_sent;
  }
  port_.flush();
  return true;
}

bool Group::send_probe(Stream& stream) noexcept {
  const GroupSender::Probe probe = sender_.probe_due(now_ns_, options_.probe);
  if (probe == GroupSender::Probe::kNone || unsent_ != sender_.next()) return true;
  rdma::Packet* packet = probe == GroupSender::Probe::kToAll ? port_.take() : nullptr;
  // Packets may come back only when what they hold is acknowledged.
  if (packet == nullptr) {
    for (Child& child : stream.subtree.children()) {
      child.probe = child.probe || child.acked.before(sender_.next());
    }
    sender_.probed(now_ns_);
    return true;
  }
  Header made = header(stream, Kind::kProbe, sender_.next());
  made.flags = sender_.idle() ? 0 : kAsk;
  if (port_.intact()) made.flags |= kUnsummed;
  packet->bytes = kHeaderBytes;
  write(made, {packet->data, packet->bytes});
  const bool sent = port_.send(*packet, false);
  port_.give(*packet);
  if (!sent) return false;
  ++counts_.probes_sent;
  sender_.probed(now_ns_);
  return true;
}

// `bytes` of payload stand in message_ already.
bool Group::post(std::uint32_t to, const Header& made, std::size_t bytes) noexcept {
  Header mail = made;
  mail.bytes = static_cast<std::uint16_t>(bytes);
  mail.flags |= kUnsummed;
  const std::span<std::byte> message(message_.data(), kHeaderBytes + bytes);
  write(mail, message);
  if (mail_.post(members_[to], message)) return true;
  ++counts_.no_room;
  return false;
}

bool Group::send_ack(Stream& stream) noexcept {
  // Who acknowledges has looked at all that came: so little waits in the port that it does not
  // run out of packets.
  if (stream.parent == kNobody) {
    stream.answer = false;
    stream.ack_ns = kNever;
    return true;
  }
  if (!stream.answer && now_ns_ < stream.ack_ns) return true;
  if (behind_) return false;
  const Merged state = merged(stream);
  write_state(message_.data() + kHeaderBytes, state.state);
  const Header made = header(stream, Kind::kAck, state.acked);
  if (!post(stream.parent, made, kSubtreeStateBytes)) return false;
  stream.said = state.acked;
  stream.answer = false;
  stream.ack_ns = kNever;
  ++counts_.acks_sent;
  return true;
}

bool Group::send_mail_probes(Stream& stream) noexcept {
  const Sequence known = mine(stream) ? unsent_ : stream.receiver.known();
  for (Child& child : stream.subtree.children()) {
    if (!child.probe) continue;
    Header made = header(stream, Kind::kProbe, known);
    made.flags = kAsk;
    if (!post(child.member, made, 0)) return false;
    child.probe = false;
    ++counts_.mail_probes_sent;
  }
  return true;
}

// All that a stream owes. False: something has found no room.
bool Group::work(Stream& stream) noexcept {
  bool done = !mine(stream) || send_probe(stream);
  done = send_ack(stream) && done;
  done = send_questions(stream) && done;
  done = send_repairs(stream) && done;
  done = send_mail_probes(stream) && done;
  done = send_report(stream) && done;
  done = send_news(stream) && done;
  set_alarm(stream);
  return done;
}

int Group::progress() noexcept {
  now_ns_ = clock_.now_ns();
  if (port_.joined() != Joined::kYes) return port_.joined() == Joined::kFailed ? -1 : 0;
  int events = port_.poll(*this, kPollBudget);
  if (events < 0) return events;
  behind_ = events >= kPollBudget;
  if (unsent_ != sender_.next()) (void)send_unsent();
  events += static_cast<int>(timers_.run_expired(now_ns_));
  IntrusiveList<Stream> later;
  while (Stream* stream = ready_.pop_front()) {
    if (!work(*stream)) later.push_back(*stream);
  }
  while (Stream* stream = later.pop_front()) ready_.push_back(*stream);
  return events;
}

std::uint64_t Group::deadline_ns() const noexcept {
  const bool waits = behind_ || !ready_.empty() || unsent_ != sender_.next();
  return waits ? 0 : timers_.next_deadline_ns();
}

bool Group::drained() const noexcept {
  if (!sender_.idle() || !ready_.empty()) return false;
  return streams_.all_of([this](const Stream& stream) {
    return !dead_.has(stream.member) || stream.state == Stream::Source::kEnded;
  });
}

Group::Late Group::late() const noexcept {
  if (sender_.shut_since_ns() == kNever) return {};
  return {merged(*streams_.find(options_.rank)).state.slowest, sender_.shut_since_ns()};
}

}  // namespace espalier::multicast
