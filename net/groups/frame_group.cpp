#include "net/groups/frame_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "core/copy.hpp"

namespace espalier::net {
namespace {

using multicast::GroupTree;
using Stage = GroupMeeting::Stage;

// Asking whether it has joined may be a system call: after so many it is done less often.
constexpr std::uint32_t kJoinLooks = 1000, kJoinLookStep = 64;
// Posts without a look at what has come, of a group that is not open yet.
constexpr std::uint32_t kPostsUnheard = 16;

std::uint32_t place_among(const std::vector<Rank>& members, Rank rank) noexcept {
  const auto at = std::lower_bound(members.begin(), members.end(), rank);
  const bool found = at != members.end() && *at == rank;
  return found ? static_cast<std::uint32_t>(at - members.begin()) : GroupTree::kNobody;
}

// Of teams with one number, too, which have no member in common.
std::uint32_t number_of(std::uint32_t team, Rank first) noexcept {
  return (team * 0x9E3779B1U) ^ (static_cast<std::uint32_t>(first) * 0x85EBCA6BU);
}

}  // namespace

FrameGroup::FrameGroup(const Context& context, std::uint32_t team, Members members)
    : context_(context),
      team_(team),
      members_(std::move(members)),
      me_(place_among(*members_, context.options.rank)),
      tree_(static_cast<std::uint32_t>(members_->size()), kDegree),
      meeting_(static_cast<std::uint32_t>(members_->size()), me_, kDegree) {
  static_assert(kDegree <= Relays::kReadersMax);
  ESP_ASSERT(me_ != GroupTree::kNobody && members_->size() > 1);
}

FrameGroup::~FrameGroup() {
  while (queue_.pop_front() != nullptr) {
  }
  if (linked()) unlink();
}

void FrameGroup::use(std::unique_ptr<multicast::GroupPort> port) {
  multicast::GroupOptions options;
  options.epoch = context_.options.epoch;
  options.group = number_of(team_, members_->front());
  options.ranks = context_.options.ranks;
  options.rank = context_.options.rank;
  options.packet_bytes = context_.options.packet_bytes;
  options.receive_depth = context_.options.receive_depth;
  options.sources = context_.options.sources;
  options.degree = kDegree;
  port_ = std::move(port);
  multicast::MemberMail& mail = *this;
  multicast::GroupSink& sink = *this;
  packets_ =
      std::make_unique<multicast::Group>(*members_, *port_, mail, context_.clock, sink, options);
  Lanes::Stream& stream = *this;
  const Lanes::Context lanes{
      context_.host,  context_.clock, context_.counters, context_.options, stream,
      context_.wakes, team_,          options.group,     *members_,        kDegree};
  lanes_ = std::make_unique<Lanes>(lanes);
}

std::uint32_t FrameGroup::index_of(Rank rank) const noexcept {
  return place_among(*members_, rank);
}

bool FrameGroup::is_open() const noexcept {
  return meeting_.stage() == Stage::kOpen && !meeting_.forgotten() && packets_ != nullptr &&
         lost_.empty() && fault_.ok();
}

bool FrameGroup::is_over() const noexcept {
  if (!meeting_.forgotten()) return false;
  // Survivors of a death do not wait for each other.
  const bool left = meeting_.stage() == Stage::kGone && meeting_.said_all();
  return left || abandoned_ || !lost_.empty() || !fault_.ok();
}

bool FrameGroup::is_settled() const noexcept {
  return port_ == nullptr && meeting_.stage() == Stage::kGone && meeting_.said_all();
}

void FrameGroup::give_way() noexcept {
  meeting_.wish({GroupEnd::Why::kGivesWay, context_.options.rank, 0});
}

// ---- sending ----

Posted FrameGroup::post(OutgoingFrame& frame) noexcept {
  if (!is_open()) {
    // Who only sends, and never has to wait, would not hear that all have joined.
    const bool joining = meeting_.stage() == Stage::kJoining;
    if (joining && posts_unheard_++ >= kPostsUnheard) return Posted::kRetry;
    return relay(frame);
  }
  used_at_ = context_.clock.now_ns();
  if (lanes_->post(frame)) return Posted::kPending;
  const bool first = queue_.empty() && !cursor_.begun;
  if (first) load(frame);
  const bool packed = first && pack_one();
  if (packed) {
    cursor_ = {};
    if (filled_ == 0) packets_->flush();
    return Posted::kDone;
  }
  packets_->flush();
  queue_.push_back(frame);
  return Posted::kPending;
}

void FrameGroup::load(const OutgoingFrame& frame) noexcept {
  cursor_.begun = true;
  cursor_.head = frame_bytes(frame.header);
  cursor_.payload = static_cast<const std::byte*>(frame.payload);
  cursor_.bytes = frame.header.bytes;
}

// Of the frame under the cursor, as much as the window allows. True: all of it.
bool FrameGroup::pack_one() noexcept {
  for (;;) {
    const std::span<std::byte> room = packets_->room();
    if (room.empty()) return false;
    std::size_t left = room.size() - filled_;
    if (!cursor_.head_packed && left < kFrameHeaderBytes) {
      send_filled(true);
      continue;
    }
    if (!cursor_.head_packed) {
      std::memcpy(room.data() + filled_, cursor_.head.data(), cursor_.head.size());
      filled_ += cursor_.head.size();
      left -= cursor_.head.size();
      cursor_.head_packed = true;
    }
    const std::uint64_t part = std::min<std::uint64_t>(left, cursor_.bytes - cursor_.packed);
    if (part > 0) copy_bytes(room.data() + filled_, cursor_.payload + cursor_.packed, part);
    filled_ += part;
    cursor_.packed += part;
    context_.counters.copy_in_bytes += part;
    if (filled_ == room.size()) send_filled(true);
    if (cursor_.packed == cursor_.bytes) return true;
  }
}

void FrameGroup::send_filled(bool more) noexcept {
  packets_->publish(std::exchange(filled_, 0), 0, more);
  ++context_.counters.group_packets;
}

// Between two frames, never inside of one.
bool FrameGroup::publish(const FrameHeader& header, std::span<const std::byte> head,
                         std::span<const std::byte> payload) noexcept {
  if (cursor_.begun || !fault_.ok()) return false;
  const std::size_t bytes = kFrameHeaderBytes + header.bytes;
  std::span<std::byte> room = packets_->room();
  if (!room.empty() && room.size() - filled_ < bytes) {
    send_filled(true);
    room = packets_->room();
  }
  if (room.empty()) return false;
  ESP_ASSERT(room.size() - filled_ >= bytes);
  const FrameBytes made = frame_bytes(header);
  std::byte* at = room.data() + filled_;
  std::memcpy(at, made.data(), made.size());
  at += made.size();
  if (!head.empty()) std::memcpy(at, head.data(), head.size());
  if (!payload.empty()) copy_bytes(at + head.size(), payload.data(), payload.size());
  context_.counters.copy_in_bytes += payload.size();
  filled_ += bytes;
  if (filled_ == room.size()) send_filled(true);
  return true;
}

int FrameGroup::pack_waiting() noexcept {
  int events = 0;
  while (cursor_.begun || !queue_.empty()) {
    // What lanes have to say goes first.
    if (!cursor_.begun && lanes_->owes()) events += lanes_->speak();
    if (!cursor_.begun && (lanes_->owes() || queue_.empty())) break;
    if (!cursor_.begun) load(*queue_.front());
    if (!pack_one()) break;
    const bool orphan = cursor_.copy != nullptr;
    cursor_ = {};
    ++events;
    if (orphan) continue;
    OutgoingFrame& frame = *queue_.pop_front();
    frame.completion.complete({});
  }
  return events;
}

void FrameGroup::flush() noexcept {
  if (packets_ == nullptr || !fault_.ok()) return;
  if (filled_ > 0) send_filled(true);
  packets_->flush();
}

// What has been begun arrives: its stream would be of no use without the rest.
void FrameGroup::withdraw(OutgoingFrame& frame) noexcept {
  const Lanes::Taken taken = lanes_ != nullptr ? lanes_->withdraw(frame) : Lanes::Taken::kNotHere;
  if (taken == Lanes::Taken::kNoMemory) fault_ = Status(ESP_ERR_NO_MEMORY);
  if (taken != Lanes::Taken::kNotHere) return;
  const bool begun = queue_.front() == &frame && cursor_.begun && cursor_.copy == nullptr;
  frame.unlink();
  if (!begun) return;
  const std::uint64_t rest = cursor_.bytes - cursor_.packed;
  cursor_.copy.reset(new (std::nothrow) std::byte[std::max<std::uint64_t>(rest, 1)]);
  if (cursor_.copy == nullptr) {
    fault_ = Status(ESP_ERR_NO_MEMORY);
    return;
  }
  copy_bytes(cursor_.copy.get(), cursor_.payload + cursor_.packed, rest);
  cursor_.payload = cursor_.copy.get();
  cursor_.bytes = rest;
  cursor_.packed = 0;
}

Posted FrameGroup::relay(const OutgoingFrame& frame) noexcept {
  FrameHeader header = frame.header;
  header.kind = FrameKind::kRelayed;
  header.bytes += kRelayPrefixBytes;
  std::byte* buffer = context_.host.pool().take(header.bytes);
  if (buffer == nullptr) return Posted::kRetry;
  const std::uint64_t source = static_cast<std::uint32_t>(context_.options.rank);
  std::memcpy(buffer, &source, sizeof source);
  if (frame.header.bytes > 0) {
    copy_bytes(buffer + kRelayPrefixBytes, frame.payload, frame.header.bytes);
    context_.counters.copy_in_bytes += frame.header.bytes;
  }
  pass_on(me_, header, buffer);
  return Posted::kDone;
}

void FrameGroup::pass_on(std::uint32_t source, const FrameHeader& header,
                         std::byte* buffer) noexcept {
  tree_.children(source, me_, nobody_, children_);
  std::array<Rank, kDegree> readers;
  for (std::size_t i = 0; i < children_.size(); ++i) readers[i] = (*members_)[children_[i]];
  context_.relays.send({readers.data(), children_.size()}, header, buffer);
}

Rank FrameGroup::above(Rank source) const noexcept {
  const std::uint32_t index = index_of(source);
  if (index == GroupTree::kNobody || index == me_) return source;
  return (*members_)[tree_.parent(index, me_, nobody_)];
}

// ---- receiving ----

void FrameGroup::relayed(Rank from, const FrameHeader& header, std::byte* buffer) noexcept {
  std::uint64_t number = 0;
  std::memcpy(&number, buffer, sizeof number);
  const auto source = static_cast<Rank>(number);
  const std::uint32_t index = index_of(source);
  const bool known = number <= INT32_MAX && index != GroupTree::kNobody && index != me_;
  if (!known || index_of(from) != tree_.parent(index, me_, nobody_)) {
    context_.host.pool().give(buffer);
    return context_.host.lose_peer(
        from, error(ESP_ERR_NETWORK, "a frame that is not its to pass on", from));
  }
  FrameHeader segment = header;
  segment.kind = FrameKind::kSegment;
  segment.bytes -= kRelayPrefixBytes;
  FrameArrival arrival(source);
  std::byte* place = context_.host.begin_segment(arrival, segment);
  if (place == nullptr && segment.bytes > 0) return context_.host.pool().give(buffer);
  if (segment.bytes > 0) copy_bytes(place, buffer + kRelayPrefixBytes, segment.bytes);
  context_.counters.copy_out_bytes += segment.bytes;
  pass_on(index, header, buffer);
  context_.host.end_segment(arrival);
}

void FrameGroup::deliver(Rank source, std::uint64_t, std::span<const std::byte> payload) {
  // What others still hold of a dead source comes too late: its receives have failed.
  if (std::ranges::find(lost_, source) != lost_.end()) return;
  Source* met = sources_.find(source);
  if (met == nullptr) met = &sources_.meet(source, std::make_unique<Source>(source));
  context_.counters.copy_out_bytes += payload.size();
  const auto wrong = met->reader.take(source, payload, kSegmentBytesMax, *this);
  if (!wrong) return;
  met->reader.stop();
  context_.host.lose_peer(source, *wrong);
}

std::byte* FrameGroup::begin(Rank from, const FrameHeader& header) noexcept {
  Source& source = *sources_.find(from);
  std::byte* place = nullptr;
  if (header.kind == FrameKind::kPlaced) {
    if (!lanes_->begin(from, header, place)) give_up(from, "a frame that is not for lanes");
    return place;
  }
  if (header.kind == FrameKind::kSegment && !header.synchronous) {
    place = context_.host.begin_segment(source.arrival, header);
    if (place != nullptr || header.bytes == 0) return place;
  } else {
    give_up(from, "a frame that is not for groups");
  }
  source.reader.stop();  // The peer has been given up.
  return nullptr;
}

void FrameGroup::end(Rank from, const FrameHeader& header, std::byte*) noexcept {
  if (header.kind != FrameKind::kPlaced) {
    return context_.host.end_segment(sources_.find(from)->arrival);
  }
  if (!lanes_->end(from, header)) give_up(from, "a message about a segment that no source sends");
}

void FrameGroup::give_up(Rank source, const char* why) noexcept {
  sources_.find(source)->reader.stop();
  context_.host.lose_peer(source, error(ESP_ERR_NETWORK, why, source));
}

void FrameGroup::stop_arrivals(Rank source) noexcept {
  if (Source* met = sources_.find(source)) met->reader.stop();
  if (lanes_ != nullptr) lanes_->stop_arrivals(source);
}

void FrameGroup::heard(Rank from, GroupWord word, std::span<const std::byte> payload) noexcept {
  if (word == GroupWord::kMail) {
    if (packets_ != nullptr) packets_->mail_arrived(from, payload);
    return;
  }
  if (word == GroupWord::kLanes) {
    if (lanes_ != nullptr) lanes_->mail_arrived(from, payload);
    return;
  }
  const std::uint32_t member = index_of(from);
  if (member != GroupTree::kNobody && meeting_.heard(member, word, payload)) return;
  context_.host.lose_peer(from, error(ESP_ERR_NETWORK,
                                      fmt::format("word {} about the group of team {} out of turn",
                                                  static_cast<unsigned>(word), team_),
                                      from));
}

void FrameGroup::member_lost(Rank rank) noexcept {
  if (index_of(rank) == GroupTree::kNobody) return;
  lost_.push_back(rank);
  if (Source* met = sources_.find(rank)) met->reader.stop();
  if (packets_ == nullptr) return;
  packets_->member_lost(rank);
  lanes_->member_lost(rank);
}

// ---- beside the data ----

bool FrameGroup::post(Rank to, std::span<const std::byte> message) noexcept {
  return context_.host.tell(to, team_, GroupWord::kMail, message);
}

bool FrameGroup::say(std::uint32_t to, GroupWord word, std::span<const std::byte> payload) {
  return context_.host.tell((*members_)[to], team_, word, payload);
}

bool FrameGroup::looks_now() noexcept {
  const bool busy = cursor_.begun || filled_ > 0 || !packets_->drained() || lanes_->busy();
  if (busy || ++quiet_looks_ <= kQuietLooks) return true;
  return quiet_looks_ % kQuietStep == 0;
}

int FrameGroup::progress() noexcept {
  int events = 0;
  posts_unheard_ = 0;
  if (packets_ != nullptr && meeting_.has_joined() && fault_.ok() && looks_now()) {
    events = packets_->progress();
    if (events > 0) quiet_looks_ = 0;
    if (events < 0) fault_ = port_->fault();
    if (events >= 0) events += lanes_->progress() + pack_waiting();
    flush();
  }
  if (!fault_.ok() && !failed_) fail();
  attend();
  return events;
}

// The port is gone, and what members have sent cannot be had any more.
void FrameGroup::fail() noexcept {
  failed_ = true;
  if (lanes_ != nullptr) lanes_->fail(fault_);
  cursor_ = {};
  filled_ = 0;
  while (OutgoingFrame* frame = queue_.pop_front()) frame->completion.complete(fault_);
  for (const Rank member : *members_) {
    if (member == context_.options.rank) continue;
    context_.host.lose_peer(member, {fault_, "this rank's port of a group has failed"});
  }
}

bool FrameGroup::nothing_under_way() const noexcept {
  if (packets_ == nullptr) return true;
  return queue_.empty() && !cursor_.begun && filled_ == 0 && packets_->drained() && lanes_->idle();
}

void FrameGroup::look_whether_joined() noexcept {
  if (++join_looks_ > kJoinLooks && join_looks_ % kJoinLookStep != 0) return;
  const multicast::Joined joined = port_->joined();
  if (joined == multicast::Joined::kYes) meeting_.joined();
  if (joined == multicast::Joined::kFailed) {
    meeting_.wish({GroupEnd::Why::kRefused, context_.options.rank,
                   static_cast<std::uint32_t>(port_->fault().error_number())});
  }
}

void FrameGroup::attend() noexcept {
  if (is_settled()) return;
  if (port_ != nullptr && !meeting_.has_joined()) look_whether_joined();
  if (packets_ != nullptr && packets_->falls_back()) {
    const multicast::Loss& loss = packets_->loss();
    const std::uint64_t permille =
        std::uint64_t{loss.missed} * 1000 / std::max(loss.packets, std::uint32_t{1});
    meeting_.wish({GroupEnd::Why::kLoss, loss.worst, static_cast<std::uint32_t>(permille)});
  }
  if (packets_ != nullptr) count_losses();
  if (meeting_.is_leaving() && nothing_under_way()) meeting_.drained();
  (void)meeting_.work(*this);
  if (meeting_.stage() == Stage::kGone) {
    lanes_.reset();
    packets_.reset();
    port_.reset();
  }
}

void FrameGroup::count_losses() noexcept {
  const std::uint64_t losses = packets_->repair_ns().count();
  const std::uint64_t repairs = packets_->counts().repairs_sent + packets_->counts().packets_again;
  if (losses == losses_ && repairs == repairs_) [[likely]]
    return;
  context_.counters.group_losses += losses - std::exchange(losses_, losses);
  context_.counters.group_repairs += repairs - std::exchange(repairs_, repairs);
}

std::uint64_t FrameGroup::deadline_ns() const noexcept {
  if (packets_ == nullptr || !meeting_.has_joined()) return kNever;
  return filled_ > 0 ? 0 : std::min(packets_->deadline_ns(), lanes_->deadline_ns());
}

Rank FrameGroup::late() const noexcept {
  if (packets_ == nullptr) return kNoRank;
  const multicast::Group::Late late = packets_->late();
  const bool long_since = elapsed_ns(late.since_ns, context_.clock.now_ns()) >= kLateNs;
  return late.rank != context_.options.rank && long_since ? late.rank : kNoRank;
}

std::string FrameGroup::describe() const {
  const std::size_t others = members_->size() - 1;
  if (is_open() && late() != kNoRank) {
    return fmt::format("multicast to {} others, held up by rank {}", others, late());
  }
  if (is_open()) return fmt::format("multicast to {} others", others);
  if (!lost_.empty()) {
    return "messages: " + GroupEnd{GroupEnd::Why::kLost, lost_.front(), 0}.text();
  }
  if (meeting_.end().why != GroupEnd::Why::kNone) return "messages: " + meeting_.end().text();
  return "messages: not all have joined yet";
}

}  // namespace espalier::net
