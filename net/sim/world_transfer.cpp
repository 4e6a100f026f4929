// World: what messages cost, per carrier.
// path: data
#include <algorithm>
#include <cmath>

#include "net/sim/world.hpp"

namespace espalier::sim {
namespace {

constexpr double kPageBytes = 4096;

std::uint64_t whole(double ns) noexcept {
  return static_cast<std::uint64_t>(std::floor(ns + 0.5));
}
std::uint64_t whole(std::uint64_t bytes, double ns_per_byte) noexcept {
  return whole(static_cast<double>(bytes) * ns_per_byte);
}

}  // namespace

void World::read_machine() {
  for (const sim::Lane& lane : machine_.lanes) {
    Lane mine;
    const int level = machine_.find_level(lane.per);
    ESP_ASSERT(level >= 0);
    mine.level = static_cast<std::size_t>(level);
    mine.duplex = lane.duplex;
    std::uint64_t units = 0;
    for (std::uint32_t r = 0; r < map_.ranks(); ++r) {
      units = std::max(units, map_.unit(r, mine.level) + 1);
    }
    mine.schedules.resize(2 * units);
    lanes_.push_back(std::move(mine));
  }
  ESP_ASSERT(machine_.levels.size() < 256);
  for (const Level& level : machine_.levels) {
    Tariff t;
    t.carrier = level.carrier;
    t.pull_from_bytes = level.pull_from_bytes;
    t.latency = whole(level.latency_ns);
    t.gap = whole(level.gap_ns);
    t.overhead_send = level.overhead_send_ns;
    t.overhead_recv = level.overhead_recv_ns;
    t.copy_ns_per_byte = t.transfer_ns_per_byte = level.ns_per_byte;
    t.lane = level.lane;
    if (t.lane != 0) {
      const sim::Lane& lane = machine_.lanes[t.lane - 1];
      t.lane_gap = whole(lane.gap_ns);
      t.lane_ns_per_byte = lane.ns_per_byte;
      t.transfer_ns_per_byte = std::max(level.ns_per_byte, lane.ns_per_byte);
    }
    tariffs_.push_back(t);
  }
}

std::uint64_t World::lane_time(const Tariff& tariff, std::uint64_t bytes) noexcept {
  return std::max(tariff.lane_gap, whole(bytes, tariff.lane_ns_per_byte));
}

// Inside one unit a transfer takes the lane once, in the direction of the ranks' places.
World::LanePair World::lanes_between(const Tariff& tariff, Rank from, Rank to) noexcept {
  if (tariff.lane == 0) return {};
  Lane& lane = lanes_[tariff.lane - 1];
  const auto a = static_cast<std::uint32_t>(from), b = static_cast<std::uint32_t>(to);
  const std::uint64_t unit_from = map_.unit(a, lane.level), unit_to = map_.unit(b, lane.level);
  if (unit_from == unit_to) {
    const bool back = lane.duplex && map_.core(a) > map_.core(b);
    return {&lane.schedules[2 * unit_from + (back ? 1 : 0)], nullptr};
  }
  return {&lane.schedules[2 * unit_from], &lane.schedules[2 * unit_to + (lane.duplex ? 1 : 0)]};
}

// A processor copies the message in or out, and waits for the memory bus if there is one.
void World::copy(Rank rank, Message& m, bool out) noexcept {
  const Tariff& t = tariff(m);
  const LanePair lanes = lanes_between(t, m.peer, m.to);
  LaneSchedule* lane = out && lanes.in != nullptr ? lanes.in : lanes.out;
  if (lane != nullptr) {
    Processor& p = processors_[static_cast<std::size_t>(rank)];
    p.busy_until = lane->reserve(local_ns(rank), lane_time(t, m.bytes), now_);
  }
  (void)charge(rank, static_cast<double>(m.bytes) * t.transfer_ns_per_byte);
}

// Reading the sender's memory: readers of one source slow each other down, the later ones.
void World::pull(Message& m) noexcept {
  const CmaCost& cma = machine_.cma;
  const double pages = std::ceil(static_cast<double>(m.bytes) / kPageBytes);
  double page_ns = cma.page_ns;
  if (cma.reader_ns > 0) {
    std::vector<std::uint64_t>& readers = readers_[m.peer];
    const std::uint64_t begin = local_ns(m.to);
    std::erase_if(readers, [&](std::uint64_t end) { return end <= begin; });
    page_ns += cma.reader_ns * static_cast<double>(readers.size());
  }
  (void)charge(m.to, cma.call_ns + pages * page_ns);
  copy(m.to, m, true);
  if (cma.reader_ns > 0) readers_[m.peer].push_back(local_ns(m.to));
}

void World::launch(Message& m, PendingSend* left) {
  const Tariff& t = tariff(m);
  const std::uint64_t posted = local_ns(m.peer);
  if (m.carrier != Carrier::kDevice) {
    if (m.record != 0) (*records_)[m.record - 1].started_ns = posted;
    return arrive(m, posted + t.latency);
  }
  const Departure departure = depart(t, m.peer, m.to, m.bytes);
  if (m.record != 0) (*records_)[m.record - 1].started_ns = departure.begin_ns;
  if (left != nullptr) push_left(*left, m.peer, departure.left_ns);
  go(m, departure);
}

void World::launch_copy(Message& m, const Departure& departure) {
  if (m.record != 0) (*records_)[m.record - 1].started_ns = departure.begin_ns;
  go(m, fork(departure, m.peer, m.to, m.bytes));
}

void World::push_left(PendingSend& left, Rank from, std::uint64_t time) {
  Event event;
  event.send = &left;
  event.rank = from;
  event.kind = EventKind::kSent;
  push(time, event);
}

void World::go(Message& m, const Departure& departure) {
  if (!departure.in_lane) return arrive(m, departure.there_ns);
  Event event;
  event.message = &m;
  event.rank = m.to;
  event.kind = EventKind::kHead;
  push(departure.there_ns, event);
}

World::Departure World::depart(const Tariff& t, Rank from, Rank to, std::uint64_t bytes,
                               std::uint64_t extra_ns) noexcept {
  Processor& p = processors_[static_cast<std::size_t>(from)];
  const std::uint64_t duration = whole(bytes, t.transfer_ns_per_byte);
  const LanePair lanes = lanes_between(t, from, to);
  std::uint64_t begin = std::max(local_ns(from), p.port_free);
  if (lanes.out != nullptr) begin = lanes.out->reserve(begin, extra_ns + lane_time(t, bytes), now_);
  p.port_free = begin + std::max(t.gap, extra_ns + duration);
  const bool in_lane = lanes.in != nullptr;
  const std::uint64_t there = begin + extra_ns + t.latency + (in_lane ? 0 : duration);
  return {begin, begin + extra_ns + duration, there, in_lane, extra_ns};
}

// Bytes go through the receiver's lane as they come.
std::uint64_t World::pass_lane(const Tariff& t, Rank from, Rank to, std::uint64_t bytes) noexcept {
  LaneSchedule* lane = lanes_between(t, from, to).in;
  const std::uint64_t begin = lane->reserve(now_, lane_time(t, bytes), now_);
  return begin + whole(bytes, t.transfer_ns_per_byte);
}

void World::at_lane(Message& m) {
  arrive(m, pass_lane(tariff(m), m.peer, m.to, m.bytes));
}

const World::Tariff& World::tariff_between(Rank from, Rank to) const noexcept {
  return tariffs_[map_.level_between(static_cast<std::uint32_t>(from),
                                     static_cast<std::uint32_t>(to))];
}

World::Departure World::depart(Rank from, Rank to, std::uint64_t bytes) noexcept {
  return depart(tariff_between(from, to), from, to, bytes);
}

std::uint64_t World::pass_lane(Rank from, Rank to, std::uint64_t bytes) noexcept {
  return pass_lane(tariff_between(from, to), from, to, bytes);
}

World::Departure World::depart_to_group(Rank from, Rank farthest, std::uint64_t members,
                                        std::uint64_t bytes) noexcept {
  const std::uint64_t extra_ns = whole(machine_.multicast.extra_ns(bytes, members));
  return depart(tariff_between(from, farthest), from, farthest, bytes, extra_ns);
}

World::Departure World::fork(const Departure& departure, Rank from, Rank to,
                             std::uint64_t bytes) noexcept {
  const Tariff& t = tariff_between(from, to);
  const bool in_lane = lanes_between(t, from, to).in != nullptr;
  std::uint64_t there = departure.begin_ns + departure.extra_ns + t.latency;
  if (!in_lane) {
    there = std::max(there + whole(bytes, t.transfer_ns_per_byte), departure.left_ns);
  }
  return {departure.begin_ns, departure.left_ns, there, in_lane, departure.extra_ns};
}

World::Price World::price(Rank from, Rank to) const noexcept {
  const Tariff& t = tariff_between(from, to);
  return {t.overhead_send, t.overhead_recv, static_cast<double>(t.latency), t.transfer_ns_per_byte};
}

void World::arrive(Message& m, std::uint64_t time) {
  Event event;
  event.message = &m;
  event.rank = m.to;
  event.kind = EventKind::kArrive;
  push(hindered(m.peer, m.to, time + repair_ns(m)), event);
}

// The receiver has what it wanted, or never will.
void World::acknowledge(const Message& m) {
  if (m.acknowledge == nullptr) return;
  Event event;
  event.send = m.acknowledge;
  event.rank = m.peer;
  event.kind = EventKind::kSent;
  push(local_ns(m.to) + tariff(m).latency, event);
}

void World::want_bytes(Message& m) {
  Event event;
  event.message = &m;
  event.rank = m.peer;
  event.kind = EventKind::kWanted;
  push(hindered(m.to, m.peer, local_ns(m.to) + tariff(m).latency), event);
}

void World::let_go(PendingSend& send, Rank reader) noexcept {
  Event event;
  event.send = &send;
  event.rank = send.sender;
  event.kind = EventKind::kSent;
  push(local_ns(reader) + tariff_between(reader, send.sender).latency, event);
}

void World::send_grant(const Grant& grant) {
  Grant& sent = grants_.take();
  sent = grant;
  const std::size_t level = map_.level_between(static_cast<std::uint32_t>(grant.from),
                                               static_cast<std::uint32_t>(grant.to));
  Event event;
  event.grant = &sent;
  event.rank = grant.to;
  event.kind = EventKind::kGrant;
  push(hindered(grant.from, grant.to, local_ns(grant.from) + tariffs_[level].latency), event);
}

void World::open_record(Message& m, std::uint64_t posted_ns) {
  if (records_ == nullptr) return;
  TransferRecord record = {};
  record.from = m.peer;
  record.to = m.to;
  record.flow = m.flow;
  record.ordinal = m.ordinal;
  record.level = m.level;
  record.bytes = m.bytes;
  record.posted_ns = posted_ns;
  records_->push_back(record);
  m.record = records_->size();
}

void World::close_record(const Message& m) noexcept {
  if (m.record != 0 && records_ != nullptr) (*records_)[m.record - 1].taken_ns = local_ns(m.to);
}

}  // namespace espalier::sim
