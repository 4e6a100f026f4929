#include "net/multicast/placed_source.hpp"

#include "core/plant.hpp"

namespace espalier::multicast {
namespace {

constexpr int kLaneBudget = 64;  // completions of one look

}  // namespace

PlacedSource::PlacedSource(std::span<const Rank> members, PlacingPort& port, PlacedStream& stream,
                           PlacedSourceUser& user, const PlacedOptions& options)
    : options_(options),
      port_(port),
      stream_(stream),
      user_(user),
      tree_(options.lane, members, options.rank, options.degree, options.first),
      front_(options.first),
      announced_(options.first),
      next_(options.first) {
  ESP_ASSERT(options.rank == options.lane.source && options.packet_bytes > 0);
  ESP_ASSERT(options.packets_max > 0 && options.packets_max <= kPlacedPacketsMax);
}

void PlacedSource::start(const std::byte* memory, std::uint32_t key, std::uint64_t bytes,
                         std::uint64_t cookie) {
  ESP_ASSERT(open() && bytes > 0 && bytes <= bytes_max());
  segment(next_) = {memory, key, bytes, cookie, cut_of(bytes, options_.packet_bytes)};
  next_ = next_ + 1;
  ++counts_.segments;
  announce();
}

void PlacedSource::move(std::uint64_t cookie, const std::byte* memory) {
  for (Sequence number = front_; number != next_; number = number + 1) {
    Segment& now = segment(number);
    if (now.cookie != cookie) continue;
    if (number == front_ && !failed_ && port_.sending() > 0) port_.flush_places(*this);
    now.memory = memory;
    now.by_stream = true;
    return;
  }
}

void PlacedSource::stop() {
  if (!failed_ && port_.sending() > 0) port_.flush_places(*this);
  failed_ = true;
}

std::span<const std::byte> PlacedSource::packet_of(const Segment& segment,
                                                   std::uint32_t packet) const noexcept {
  const std::size_t at = std::size_t{packet} * options_.packet_bytes;
  return {segment.memory + at, options_.packet_bytes};
}

bool PlacedSource::publish(PlacedKind kind, Sequence number, std::uint64_t value,
                           std::span<const std::byte> payload) noexcept {
  const PlacedHead head = head_of(options_.lane, {kind, number, value, {}});
  if (stream_.publish(head, payload)) return true;
  refused_ = true;
  ++counts_.no_room;
  return false;
}

void PlacedSource::announce() noexcept {
  while (announced_.before(next_) &&
         publish(PlacedKind::kAnnounce, announced_, segment(announced_).bytes, {})) {
    announced_ = announced_ + 1;
  }
  tree_.set_own({announced_, announced_});
}

// As many as the port's queue takes: it paces.
int PlacedSource::send_packets() noexcept {
  Segment& now = segment(front_);
  const bool by_lane = !failed_ && !now.by_stream;
  if (by_lane && port_.joined() == Joined::kNotYet) return 0;
  const std::uint32_t before = now.next_packet;
  if (!by_lane || port_.joined() == Joined::kFailed) now.next_packet = now.cut.packets;
  while (now.next_packet < now.cut.packets) {
    std::array<std::byte, kLaneHeaderBytes> header;
    write(options_.lane, {front_, now.next_packet, options_.packet_bytes}, header);
    const std::span<const std::byte> payload = packet_of(now, now.next_packet);
    if (!port_.send(header, payload.data(), options_.packet_bytes, now.key, true)) break;
    ++now.next_packet;
    ++counts_.packets;
  }
  port_.flush();
  return static_cast<int>(now.next_packet - before);
}

// Behind the packets, as far as the adapter knows.
void PlacedSource::tell_sent() noexcept {
  Segment& now = segment(front_);
  if (now.told || now.next_packet < now.cut.packets) return;
  if (!failed_ && port_.sending() > 0) return;
  now.told = publish(PlacedKind::kSent, front_, 0,
                     {now.memory + (now.bytes - now.cut.tail), now.cut.tail});
}

// Each packet once, whoever misses it: the stream brings it to all.
void PlacedSource::repair() noexcept {
  const Segment& now = segment(front_);
  std::uint32_t packet = tree_.next_wanted(front_, now.cut.packets);
  for (; packet < now.cut.packets; packet = tree_.next_wanted(front_, now.cut.packets)) {
    if (!publish(PlacedKind::kRepair, front_, packet, packet_of(now, packet))) return;
    tree_.repaired(front_, packet);
    ++counts_.repairs;
  }
}

// True: the segment on the lane has arrived everywhere.
bool PlacedSource::finish() noexcept {
  const Segment& now = segment(front_);
  if (now.next_packet < now.cut.packets || !front_.before(tree_.merged().whole)) return false;
  // An adapter may read until it has completed a send, whoever has the packet already.
  if (!failed_ && port_.sending() > 0) return false;
  front_ = front_ + 1;
  user_.finished(now.cookie);
  return true;
}

int PlacedSource::progress() {
  refused_ = false;
  int events = failed_ ? 0 : port_.poll(*this, kLaneBudget);
  if (events < 0) {
    failed_ = true;
    events = 1;
  }
  announce();
  while (front_.before(announced_)) {
    if (ESP_PLANT(122, front_.before(tree_.merged().posted), true)) {
      events += send_packets();
      tell_sent();
      repair();
    }
    if (!finish()) break;
    ++events;
  }
  return events;
}

}  // namespace espalier::multicast
