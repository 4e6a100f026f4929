#include "net/multicast/placed_arrivals.hpp"

#include <algorithm>
#include <cstring>

#include "core/plant.hpp"

namespace espalier::multicast {
namespace {

constexpr std::uint64_t place_token(Sequence segment, std::uint32_t packet) noexcept {
  return std::uint64_t{segment.value} << 32 | packet;
}
constexpr Sequence segment_of(std::uint64_t token) noexcept {
  return {static_cast<std::uint32_t>(token >> 32)};
}
constexpr std::uint32_t packet_of(std::uint64_t token) noexcept {
  return static_cast<std::uint32_t>(token);
}

}  // namespace

PlacedArrivals::PlacedArrivals(const PlacedOptions& options, PlacedCounts& counts)
    : options_(options),
      counts_(counts),
      front_(options.first),
      end_(options.first),
      spare_(options.spare_packets, options.packet_bytes) {}

bool PlacedArrivals::announce(Sequence segment, std::uint64_t bytes) {
  const std::uint64_t most = std::uint64_t{options_.packets_max} * options_.packet_bytes;
  if (segment != end_ || end_ - front_ > static_cast<std::int32_t>(kSegmentsAhead)) return false;
  if (bytes == 0 || bytes > most) return false;
  Segment& made = at(segment);
  made.bytes = bytes;
  made.cut = cut_of(bytes, options_.packet_bytes);
  made.memory = {};
  made.next_place = made.in_queue = made.reach = 0;
  made.sent = made.asked = false;
  made.here.reset(made.cut.packets);
  made.used.reset(made.cut.packets);
  made.patches.reset(made.cut.packets);
  end_ = end_ + 1;
  ++counts_.segments;
  return true;
}

void PlacedArrivals::give(Sequence segment, const PlacedMemory& memory) {
  ESP_ASSERT(has(segment) && !given(segment) && memory.begin != nullptr);
  Segment& now = at(segment);
  now.memory = memory;
  if (memory.registered) return;
  now.next_place = now.cut.packets;
  for (std::uint32_t i = 0; i < now.cut.packets; ++i) now.used.add(i);
}

bool PlacedArrivals::next_place(Place& place) const noexcept {
  for (Sequence number = front_; number != end_ && given(number); number = number + 1) {
    const Segment& now = at(number);
    if (now.next_place == now.cut.packets) continue;
    place = {memory_of(now, now.next_place), now.memory.key, place_token(number, now.next_place)};
    return true;
  }
  return false;
}

void PlacedArrivals::posted(const Place& place) noexcept {
  Segment& now = at(segment_of(place.token));
  ++now.next_place;
  ++now.in_queue;
}

Sequence PlacedArrivals::posted_to() const noexcept {
  Sequence number = front_;
  while (number != end_ && given(number) && at(number).next_place == at(number).cut.packets) {
    number = number + 1;
  }
  return number;
}

std::uint32_t PlacedArrivals::in_queue() const noexcept {
  std::uint32_t all = 0;
  for (Sequence number = front_; number != end_; number = number + 1) all += at(number).in_queue;
  return all;
}

bool PlacedArrivals::disturbed() const noexcept {
  for (Sequence number = front_ + 1; number.before(end_); number = number + 1) {
    if (at(number).memory.registered && at(number).used.any()) return true;
  }
  return false;
}

// ---- the lane ----

void PlacedArrivals::placed(std::uint64_t token, LaneHeader header, std::uint32_t bytes) {
  const Sequence number = segment_of(token);
  const std::uint32_t place = packet_of(token);
  ESP_ASSERT(has(number) && place < at(number).cut.packets && !at(number).used.has(place));
  --at(number).in_queue;
  at(number).used.add(place);
  take(number, place, header, bytes);
  use_up(number, place);
}

void PlacedArrivals::returned(std::uint64_t token) {
  const Sequence number = segment_of(token);
  const std::uint32_t place = packet_of(token);
  ESP_ASSERT(has(number) && place < at(number).cut.packets && !at(number).used.has(place));
  --at(number).in_queue;
  at(number).used.add(place);
  use_up(number, place);
}

// What has come into a place.
void PlacedArrivals::take(Sequence number, std::uint32_t place, LaneHeader header,
                          std::uint32_t bytes) {
  LanePacket packet;
  const bool ours = parse(header, options_.lane, packet) && packet.bytes == bytes &&
                    bytes == options_.packet_bytes;
  if (!ours || !packet.segment.before(end_)) {
    ++counts_.foreign;
    return;
  }
  if (packet.segment.before(front_)) {
    ++counts_.duplicates;
    return;
  }
  Segment& whose = at(packet.segment);
  if (packet.packet >= whose.cut.packets || !given(packet.segment)) {
    ++counts_.foreign;
    return;
  }
  whose.reach = std::max(whose.reach, packet.packet + 1);
  if (whose.here.has(packet.packet)) {
    ++counts_.duplicates;
    return;
  }
  const bool in_its_place = packet.segment == number && packet.packet == place;
  if (ESP_PLANT(123, in_its_place, true)) {
    whose.here.add(packet.packet);
    ++counts_.placed;
  } else if (at(number).memory.beside != nullptr) {
    take_stray(number, place, packet);
  } else {
    take_elsewhere(packet, memory_of(at(number), place));
  }
}

void PlacedArrivals::take_elsewhere(const LanePacket& packet, const std::byte* payload) {
  Segment& whose = at(packet.segment);
  ++counts_.misplaced;
  if (put(whose, packet.segment, packet.packet, payload)) {
    whose.here.add(packet.packet);
  } else {
    ++counts_.dropped;
  }
}

// The processor cannot read it. Its place is written to once at most, until that is posted again.
void PlacedArrivals::take_stray(Sequence number, std::uint32_t place, const LanePacket& packet) {
  Segment& whose = at(packet.segment);
  if (packet.segment == number && whose.patches.add_stray(packet.packet, place)) {
    ++counts_.strayed;
    whose.here.add(packet.packet);
  } else {
    ++counts_.dropped;
  }
}

// To where it belongs, or where it waits for that. False: there is no room.
bool PlacedArrivals::put(Segment& segment, Sequence number, std::uint32_t packet,
                         const std::byte* payload) {
  if (segment.memory.beside != nullptr) {
    std::memcpy(beside(segment, packet), payload, options_.packet_bytes);
    segment.patches.add_beside(packet);
    return true;
  }
  if (!segment.used.has(packet)) return spare_.keep(number, packet, payload);
  std::memcpy(memory_of(segment, packet), payload, options_.packet_bytes);
  return true;
}

// What has waited for this place goes there.
void PlacedArrivals::use_up(Sequence number, std::uint32_t place) {
  Segment& now = at(number);
  if (spare_.empty() || !ESP_PLANT(125, now.here.has(place), false)) return;
  (void)spare_.put(number, place, memory_of(now, place));
}

void PlacedArrivals::post_again() noexcept {
  for (Sequence number = front_; number != end_; number = number + 1) {
    Segment& now = at(number);
    ESP_ASSERT(now.in_queue == 0);
    if (!given(number)) continue;
    // What the lane has not brought of a segment that was sent it will not bring.
    if (now.sent || !now.memory.registered) {
      now.next_place = now.cut.packets;
      for (std::uint32_t i = 0; i < now.cut.packets; ++i) now.used.add(i);
      continue;
    }
    now.next_place = now.reach;
    for (std::uint32_t i = now.reach; i < now.cut.packets; ++i) now.used.remove(i);
    now.patches.drop_strays(ESP_PLANT(128, now.reach, now.cut.packets), [&](std::uint32_t packet) {
      now.here.remove(packet);
      ++counts_.dropped;
    });
  }
}

void PlacedArrivals::no_places() noexcept {
  for (Sequence number = front_; number != end_; number = number + 1) {
    Segment& now = at(number);
    now.memory.registered = false;
    now.in_queue = 0;
    for (std::uint32_t i = 0; given(number) && i < now.cut.packets; ++i) {
      if (now.used.has(i)) continue;
      now.used.add(i);
      use_up(number, i);
    }
    now.next_place = now.cut.packets;
  }
}

// ---- the stream ----

bool PlacedArrivals::needs_flush(Sequence segment, std::uint32_t packet) const noexcept {
  if (segment != front_ || empty() || !given(segment) || !spare_.full()) return false;
  const Segment& now = at(segment);
  if (now.memory.beside != nullptr) return false;
  return packet < now.cut.packets && !now.here.has(packet) && !now.used.has(packet);
}

bool PlacedArrivals::repaired(Sequence segment, std::uint32_t packet,
                              std::span<const std::byte> payload) {
  if (segment.before(front_)) return true;  // Others have missed it.
  if (segment != front_ || empty() || payload.size() != options_.packet_bytes) return false;
  Segment& now = at(segment);
  if (packet >= now.cut.packets || !now.sent || !given(segment)) return false;
  if (now.here.has(packet)) return true;
  if (!put(now, segment, packet, payload.data())) return false;
  now.here.add(packet);
  ++counts_.repairs;
  return true;
}

bool PlacedArrivals::sent(Sequence segment, std::span<const std::byte> tail) {
  if (segment.before(front_)) return true;
  if (segment != front_ || empty() || !given(segment)) return false;
  Segment& now = at(segment);
  if (now.sent || tail.size() != now.cut.tail) return false;
  now.sent = true;
  if (tail.empty()) return true;
  const bool reached = now.memory.beside == nullptr;
  std::memcpy(reached ? memory_of(now, now.cut.packets) : beside(now, now.cut.packets), tail.data(),
              tail.size());
  if (!reached) now.patches.add_tail();
  return true;
}

// ---- the front ----

bool PlacedArrivals::front_whole() const noexcept {
  const Segment& now = at(front_);
  const bool free = ESP_PLANT(126, now.in_queue == 0, true);
  return given(front_) && now.here.all() && (now.sent || now.cut.tail == 0) && free &&
         now.next_place == now.cut.packets;
}

void PlacedArrivals::drop_front() noexcept {
  ESP_ASSERT(!empty());
  front_ = front_ + 1;
}

void PlacedArrivals::move(Sequence segment, const PlacedMemory& to) {
  Segment& now = at(segment);
  ESP_ASSERT(has(segment) && given(segment) && now.in_queue == 0);
  const PlacedMemory from = now.memory;
  now.memory = to;
  now.patches.reset(now.cut.packets);
  if (from.beside != nullptr) return;
  const std::size_t bytes = options_.packet_bytes;
  for (std::uint32_t i = now.here.next(0); i < now.cut.packets; i = now.here.next(i + 1)) {
    std::memcpy(to.begin + i * bytes, from.begin + i * bytes, bytes);
  }
  const std::size_t full = now.cut.packets * bytes;
  if (now.sent && now.cut.tail > 0) std::memcpy(to.begin + full, from.begin + full, now.cut.tail);
}

}  // namespace espalier::multicast
