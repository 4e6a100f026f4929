#include "net/multicast/placed_sink.hpp"

#include "core/plant.hpp"

namespace espalier::multicast {
namespace {

constexpr int kPlacesBudget = 128;  // packets of one look

}  // namespace

PlacedSink::PlacedSink(std::span<const Rank> members, PlacingPort& port, MemberMail& mail,
                       Clock& clock, PlacedSinkUser& user, const PlacedOptions& options)
    : options_(options),
      port_(port),
      mail_(mail),
      clock_(clock),
      user_(user),
      tree_(options.lane, members, options.rank, options.degree, options.first),
      arrivals_(options, counts_) {
  ESP_ASSERT(options.rank != options.lane.source && options.packet_bytes > 0);
  ESP_ASSERT(options.packet_bytes <= port.payload_bytes() && options.packets_max <= port.depth());
}

void PlacedSink::give(Sequence segment, const PlacedMemory& memory) {
  if (ended_ || !arrivals_.has(segment) || arrivals_.given(segment)) return;
  PlacedMemory given = memory;
  given.registered = memory.registered && !failed_;
  arrivals_.give(segment, given);
}

bool PlacedSink::redirect(Sequence segment, const PlacedMemory& memory) {
  if (ended_ || !arrivals_.has(segment) || !arrivals_.given(segment)) return false;
  take_back();
  PlacedMemory given = memory;
  given.registered = memory.registered && !failed_;
  if (segment == arrivals_.front()) patching_ = false;
  arrivals_.move(segment, given);
  arrivals_.post_again();
  post();
  return true;
}

// ---- the lane ----

void PlacedSink::placed(std::uint64_t token, LaneHeader header, std::uint32_t bytes) noexcept {
  arrivals_.placed(token, header, bytes);
}

void PlacedSink::returned(std::uint64_t token) noexcept {
  broken_ = broken_ || !flushing_;
  arrivals_.returned(token);
}

void PlacedSink::post() {
  if (failed_ || port_.joined() != Joined::kYes) return;
  Place place;
  while (arrivals_.next_place(place)) {
    if (!port_.post_place(place.memory, options_.packet_bytes, place.key, place.token)) break;
    arrivals_.posted(place);
  }
  port_.show_places();
}

void PlacedSink::take_back() {
  broken_ = false;
  if (failed_ || arrivals_.in_queue() == 0) return;
  ++counts_.flushes;
  flushing_ = true;
  port_.flush_places(*this);
  flushing_ = false;
  if (arrivals_.in_queue() > 0) fail();
}

// All places come back; what may still come gets them again, in their order.
void PlacedSink::flush() {
  take_back();
  if (failed_) return;
  arrivals_.post_again();
  post();
}

// From now on all goes by repairs.
void PlacedSink::fail() noexcept {
  failed_ = true;
  arrivals_.no_places();
}

// ---- the stream ----

void PlacedSink::stream_arrived(std::span<const std::byte> message) {
  PlacedMessage read;
  if (ended_ || !parse(message, options_.lane, false, read) || !take(read)) ++counts_.refused;
}

bool PlacedSink::take(const PlacedMessage& message) {
  switch (message.kind) {
    case PlacedKind::kAnnounce: {
      if (!arrivals_.announce(message.segment, message.value)) return false;
      const PlacedMemory memory = user_.announced(message.segment, message.value);
      if (memory.begin != nullptr) give(message.segment, memory);
      return true;
    }
    case PlacedKind::kSent:
      moved_ns_ = clock_.now_ns();
      return arrivals_.sent(message.segment, message.rest);
    case PlacedKind::kRepair: {
      const auto packet = static_cast<std::uint32_t>(message.value);
      if (arrivals_.needs_flush(message.segment, packet)) flush();
      tree_.repaired(message.segment, packet);
      return arrivals_.repaired(message.segment, packet, message.rest);
    }
    default:
      return false;
  }
}

void PlacedSink::source_ended() {
  if (ended_) return;
  ended_ = true;
  patching_ = false;
  take_back();
  while (!arrivals_.empty()) {
    const Sequence segment = arrivals_.front();
    PlacedPatch patch;
    const bool whole = arrivals_.front_whole() && !arrivals_.front_patch(patch);
    arrivals_.drop_front();
    if (whole) {
      user_.whole(segment);
    } else {
      user_.lost(segment);
    }
  }
}

// ---- progress ----

// What follows from what has come. True: a segment is whole.
bool PlacedSink::settle(int events) {
  if (arrivals_.empty()) return false;
  if (arrivals_.front_whole()) {
    if (!ESP_PLANT(127, patch(), true)) return false;
    // The next one finds its places in order.
    if (arrivals_.disturbed()) flush();
    const Sequence segment = arrivals_.front();
    arrivals_.drop_front();
    user_.whole(segment);
    return true;
  }
  if (!arrivals_.front_sent()) return false;
  if (arrivals_.front_in_queue() > 0) {
    if (events > 0 || clock_.now_ns() < moved_ns_ + options_.reorder_ns) return false;
    flush();
    return settle(0);
  }
  const Sequence front = arrivals_.front();
  arrivals_.front_missing([&](const PacketRange& range) { tree_.want(front, range); });
  return false;
}

// True: all of the front segment is where it belongs.
bool PlacedSink::patch() {
  PlacedPatch patch;
  while (!patching_ && arrivals_.front_patch(patch)) {
    const Posted posted = user_.patch(arrivals_.front(), patch);
    patching_ = posted == Posted::kPending;
    patch_due_ = posted == Posted::kRetry;
    if (patch_due_) return false;
    if (posted == Posted::kDone) arrivals_.front_patched();
  }
  return !patching_;
}

void PlacedSink::patched() noexcept {
  ESP_ASSERT(patching_);
  patching_ = false;
  patch_due_ = true;
  arrivals_.front_patched();
}

int PlacedSink::progress() {
  if (ended_) return 0;
  patch_due_ = false;
  if (!failed_ && port_.joined() == Joined::kFailed) {
    take_back();  // The adapter may work, although the group does not.
    fail();
  }
  int events = failed_ ? 0 : port_.poll(*this, kPlacesBudget);
  if (events < 0) {
    fail();
    events = 1;
  }
  if (events > 0) moved_ns_ = clock_.now_ns();
  if (broken_) flush();
  post();
  while (settle(events)) post();
  tree_.set_own({arrivals_.posted_to(), arrivals_.front()});
  behind_ = !tree_.tell(mail_) || events >= kPlacesBudget;
  return events;
}

std::uint64_t PlacedSink::deadline_ns() const noexcept {
  if (behind_ || (patch_due_ && !ended_)) return 0;
  if (ended_ || arrivals_.empty() || !arrivals_.front_sent()) return kNever;
  return arrivals_.front_in_queue() > 0 ? moved_ns_ + options_.reorder_ns : kNever;
}

}  // namespace espalier::multicast
