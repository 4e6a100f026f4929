// Lanes: those of others, and what both halves have in common. path: data
#include "net/groups/lanes.hpp"

#include <algorithm>
#include <utility>

namespace espalier::net {
namespace {

// Of messages of lanes. Nothing else comes the way they do.
constexpr std::byte kFirstByte{0x4C};

}  // namespace

using multicast::Joined;
using multicast::PlacedMemory;
using multicast::PlacedSink;
using multicast::PlacingPort;
using multicast::Sequence;

// A message is one packet's payload.
Lanes::Lanes(const Context& context)
    : context_(context),
      packet_bytes_(context.options.packet_bytes -
                    static_cast<std::uint32_t>(multicast::kHeaderBytes + kFrameHeaderBytes +
                                               multicast::kPlacedMessageBytes)) {}

Lanes::~Lanes() {
  lanes_.for_each([](Rank, Lane& lane) {
    lane.stop();
    if (lane.linked()) lane.unlink();
  });
  if (source_ != nullptr) source_->stop();
  while (Sending* sending = waiting_.front()) drop(*sending);
  while (Sending* sending = started_.front()) drop(*sending);
}

multicast::PlacedOptions Lanes::options_of(Rank source) const noexcept {
  multicast::PlacedOptions options;
  options.lane = {context_.options.epoch, context_.group, source, kFirstByte};
  options.rank = context_.options.rank;
  options.packet_bytes = packet_bytes_;
  options.packets_max = context_.options.lane_places;
  options.degree = context_.degree;
  options.reorder_ns = context_.options.lane_reorder_ns;
  return options;
}

// nullptr: there is none, or none that can do what all agreed on.
std::unique_ptr<PlacingPort> Lanes::open(Rank source) {
  if (ports_ >= context_.options.lanes_max) return nullptr;
  auto port = context_.options.ports->open_lane(context_.team, context_.members.front(), source);
  if (!port || (*port)->payload_bytes() < packet_bytes_) return nullptr;
  if ((*port)->depth() < context_.options.lane_places) return nullptr;
  ++ports_;
  if (context_.wakes != nullptr && (*port)->descriptor() >= 0) {
    (void)context_.wakes->add((*port)->descriptor());
  }
  return std::move(*port);
}

// nullptr: it is no other member, or dead.
Lanes::Lane* Lanes::lane_of(Rank source) {
  if (Lane* met = lanes_.find(source)) return met->stopped ? nullptr : met;
  const bool other = std::ranges::binary_search(context_.members, source) &&
                     source != context_.options.rank && std::ranges::count(lost_, source) == 0;
  if (!other) return nullptr;
  Lane& lane = lanes_.meet(source, std::make_unique<Lane>(*this, source));
  lane.port = open(source);
  PlacingPort& port = lane.port != nullptr ? *lane.port : no_port_;
  MemberMail& mail = *this;
  lane.sink = std::make_unique<PlacedSink>(context_.members, port, mail, context_.clock, lane,
                                           options_of(source));
  for (const Rank rank : lost_) lane.sink->member_lost(rank);
  lane.message.resize(multicast::kPlacedMessageBytes + packet_bytes_);
  return &lane;
}

// ---- segments ----

Lanes::Place::Place(Lane& lane_) noexcept
    : DevicePlace(on_patched), lane(lane_), arrival(lane_.source, this) {}

void Lanes::Place::on_patched(Completion& completion, Status status) noexcept {
  Lane& lane = static_cast<Place&>(completion).lane;
  static_cast<Place&>(completion).patched(status);
  lane.sink->patched();
  lane.owner.attend(lane);
}

// What a device has of it is lost: the host wants none of it.
void Lanes::Place::redirect(std::byte* payload) noexcept {
  Lanes& lanes = lane.owner;
  GroupPorts& ports = *lanes.context_.options.ports;
  PlacingPort& port = lane.port != nullptr ? *lane.port : lanes.no_port_;
  LaneMemory taken;
  const bool had_places = bool(memory) || places_away();
  const bool registered = had_places && taken.begin(ports, port, lanes.context_.counters, payload,
                                                    arrival.header.bytes, rdma::Use::kWrite);
  (void)lane.sink->redirect(segment, {payload, registered ? taken.key() : 0, registered});
  DevicePlace::end(ports);
  memory.end(ports, port);
  memory = taken;
  lanes.attend(lane);
}

PlacedMemory Lanes::Lane::announced(Sequence segment, std::uint64_t bytes) noexcept {
  FrameHeader segment_header = header;
  segment_header.kind = FrameKind::kSegment;
  segment_header.bytes = bytes;
  Place& at = place(segment);
  at.segment = segment;
  std::byte* memory = owner.context_.host.begin_segment(at.arrival, segment_header);
  given_up = memory == nullptr;
  if (given_up) return {};
  GroupPorts& ports = *owner.context_.options.ports;
  const bool joined = port != nullptr && port->joined() == Joined::kYes;
  AwayMemory* const away = owner.context_.host.away();
  if (joined && at.DevicePlace::begin(ports, away, at.arrival.receiving, bytes)) {
    at.arrival.places_away = true;
    return at.lies();
  }
  const bool registered = joined && at.memory.begin(ports, *port, owner.context_.counters, memory,
                                                    bytes, rdma::Use::kWrite);
  return {memory, registered ? at.memory.key() : 0, registered};
}

void Lanes::Lane::whole(Sequence segment) noexcept {
  Place& at = place(segment);
  RecvOp* const receiving = at.arrival.receiving;
  const bool is_away = at.arrival.places_away, placed = is_away || bool(at.memory);
  lost(segment);
  if (stopped) return;
  if (is_away) receiving->status = at.failure();
  if (is_away && at.failure().ok()) {
    owner.context_.counters.device_direct_bytes += at.by_adapter();
  }
  if (placed && receiving != nullptr) ++owner.context_.counters.group_placed;
  owner.context_.host.end_segment(at.arrival);
}

void Lanes::Lane::lost(Sequence segment) noexcept {
  if (port == nullptr) return;
  GroupPorts& ports = *owner.context_.options.ports;
  place(segment).DevicePlace::end(ports);
  place(segment).memory.end(ports, *port);
}

Posted Lanes::Lane::patch(Sequence segment, const multicast::PlacedPatch& patch) noexcept {
  return place(segment).DevicePlace::patch(patch);
}

void Lanes::Lane::stop() noexcept {
  if (std::exchange(stopped, true)) return;
  sink->source_ended();
}

void Lanes::stop_arrivals(Rank source) noexcept {
  if (Lane* lane = lanes_.find(source)) lane->stop();
}

// ---- what is said ----

bool Lanes::begin(Rank source, const FrameHeader& header, std::byte*& place) {
  Lane* lane = lane_of(source);
  place = nullptr;
  if (lane == nullptr) return false;
  if (header.bytes == 0) return header.total == 0;
  if (header.bytes < multicast::kPlacedMessageBytes) return false;
  if (header.bytes > lane->message.size()) return false;
  place = lane->message.data();
  return true;
}

bool Lanes::end(Rank source, const FrameHeader& header) {
  if (header.bytes == 0) return true;
  Lane& lane = *lanes_.find(source);
  const std::span<const std::byte> message(lane.message.data(), header.bytes);
  multicast::PlacedMessage read;
  const bool known = multicast::parse(message, options_of(source).lane, false, read);
  const bool announces = known && read.kind == multicast::PlacedKind::kAnnounce;
  if (!known || announces != (header.total > 0)) return false;
  lane.header = header;
  const std::uint64_t refused = lane.sink->counts().refused;
  lane.sink->stream_arrived(message);
  attend(lane);
  return !lane.given_up && lane.sink->counts().refused == refused;
}

void Lanes::mail_arrived(Rank from, std::span<const std::byte> message) {
  multicast::LaneOfMessage of;
  if (!multicast::lane_of(message, of) || of.lane != context_.group) return;
  if (of.source == context_.options.rank) {
    heard_ = heard_ || source_ != nullptr;
    if (source_ != nullptr) source_->mail_arrived(from, message);
  } else if (Lane* lane = lane_of(of.source)) {
    lane->sink->mail_arrived(from, message);
    attend(*lane);
  }
}

void Lanes::member_lost(Rank rank) {
  lost_.push_back(rank);
  stop_arrivals(rank);
  heard_ = heard_ || source_ != nullptr;
  if (source_ != nullptr) source_->member_lost(rank);
  lanes_.for_each([&](Rank, Lane& lane) {
    if (lane.stopped) return;
    lane.sink->member_lost(rank);
    attend(lane);
  });
}

// ---- progress ----

int Lanes::progress(Lane& lane) {
  const int events = lane.sink->progress();
  const std::uint64_t misplaced = lane.sink->counts().misplaced;
  context_.counters.copy_out_bytes +=
      (misplaced - std::exchange(lane.misplaced, misplaced)) * packet_bytes_;
  return events;
}

int Lanes::progress() {
  int events = sends_idle() && !heard_ ? 0 : speak();
  for (Lane* lane = busy_.front(); lane != nullptr;) {
    Lane* following = busy_.after(*lane);
    events += progress(*lane);
    if (lane->sink->idle() && lane->sink->deadline_ns() != 0) lane->unlink();
    lane = following;
  }
  return events;
}

std::uint64_t Lanes::deadline_ns() const noexcept {
  std::uint64_t due = heard_ ? 0 : kNever;
  for (const Lane* lane = busy_.front(); lane != nullptr; lane = busy_.after(*lane)) {
    due = std::min(due, lane->sink->deadline_ns());
  }
  return due;
}

bool Lanes::arm() noexcept {
  bool quiet = sends_idle() || source_ == nullptr || port_->arm();
  for (Lane* lane = busy_.front(); lane != nullptr; lane = busy_.after(*lane)) {
    quiet = (lane->port == nullptr || lane->port->arm()) && quiet;
  }
  return quiet;
}

bool Lanes::idle() const noexcept {
  if (!sends_idle()) return false;
  for (const Lane* lane = busy_.front(); lane != nullptr; lane = busy_.after(*lane)) {
    if (!lane->sink->idle()) return false;
  }
  return true;
}

}  // namespace espalier::net
