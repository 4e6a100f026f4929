#include "net/sim/sim_wire.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/plant.hpp"

namespace espalier::sim {
namespace {

constexpr std::uint64_t kSegmentBytes = std::uint64_t{1} << 30;

}  // namespace

SimWire::SimWire(World& world, Rank rank, Counters& counters, Drive drive)
    : world_(world),
      counters_(counters),
      rank_(rank),
      drive_(drive),
      grants_(world.flow_grants_, world.options_.eager_segments) {
  world_.attach(rank, this);
}

SimWire::~SimWire() {
  world_.detach(rank_);
  while (inbox_ != nullptr) world_.drop(*std::exchange(inbox_, inbox_->next));
  while (wanted_ != nullptr) world_.drop(*std::exchange(wanted_, wanted_->next));
  while (finished_ != nullptr) {
    auto& send = static_cast<PendingSend&>(*std::exchange(finished_, finished_->next));
    world_.sends_.give_back(send);
  }
  matcher_.for_each([&](MatchNode& node) {
    if (!node.posted) world_.drop(static_cast<Message&>(node));
  });
}

WireCaps SimWire::caps(Rank peer) const noexcept {
  WireCaps caps;
  caps.segment_bytes = kSegmentBytes;
  if (peer == rank_) return caps;
  const Carrier carrier = world_.tariffs_[level_to(peer)].carrier;
  caps.pulls = carrier == Carrier::kPull;
  caps.copies = carrier != Carrier::kDevice;
  caps.away = reaches(peer);
  return caps;
}

void SimWire::charge_combines() noexcept {
  const std::uint64_t combined = counters_.combine_bytes.value();
  if (combined == combined_bytes_) return;
  const auto bytes = static_cast<double>(combined - std::exchange(combined_bytes_, combined));
  (void)world_.charge(rank_, bytes * world_.reduce_ns_per_byte());
}

Posted SimWire::send(const Send& send, SendOp& op) noexcept {
  if (send.at_once) return Posted::kRetry;  // has no short way
  const Rank to = send.segment.peer;
  return post(send, std::span(&to, 1), op);
}

Posted SimWire::publish(const Send& send, const Group& group, SendOp& op) noexcept {
  const Posted posted = post(send, group.readers(), op);
  if (posted != Posted::kRetry) ++counters_.publishes;
  return posted;
}

// All or nothing: permission is asked of every peer before the first message is made.
Posted SimWire::post(const Send& send, std::span<const Rank> peers, SendOp& op) noexcept {
  charge_combines();
  if (!may_post(send, peers)) {
    ++counters_.retries;
    return Posted::kRetry;
  }
  op.chain = nullptr;
  if (send.transfer.path == Path::kMulticast && world_.machine_.multicast.any()) {
    post_to_group(send, peers, op);
  } else {
    post_each(send, peers, op);
  }
  counters_.segments_sent += peers.size();
  counters_.bytes_sent += send.bytes * peers.size();
  return op.chain != nullptr ? Posted::kPending : Posted::kDone;
}

bool SimWire::may_post(const Send& send, std::span<const Rank> peers) noexcept {
  bool possible = !world_.refuses(rank_);
  for (const Rank to : ESP_PLANT(16, peers, peers.first(1))) {
    possible = possible && granted(to, send.segment);
  }
  return possible;
}

void SimWire::note_sent(Rank to, const Send& send) noexcept {
  SegmentId sent = send.segment;
  sent.total -= ESP_PLANT(20, 0U, 1U);
  grants_.sent(to, sent);
}

void SimWire::post_each(const Send& send, std::span<const Rank> peers, SendOp& op) noexcept {
  Payload* payload = nullptr;  // one for all
  bool copied_in = false;
  for (const Rank to : peers) {
    const std::uint64_t posted = world_.local_ns(rank_);
    Message& m = make_message(send, to);
    world_.open_record(m, posted);
    if (m.carrier != Carrier::kCopy || !copied_in) {
      (void)world_.charge(rank_, world_.tariff(m).overhead_send);
    }
    if (m.carrier == Carrier::kCopy && !std::exchange(copied_in, true)) {
      world_.copy(rank_, m, false);
      counters_.copy_in_bytes += send.bytes;
    }
    load(m, payload);
    const bool pulled = m.carrier == Carrier::kPull && ESP_PLANT(15, true, to == peers.front());
    if (send.synchronous || pulled) m.acknowledge = &pending(op);
    const bool leaves = m.carrier == Carrier::kDevice && !send.synchronous;
    world_.launch(m, leaves ? &pending(op) : nullptr);
    note_sent(to, send);
  }
  if (payload != nullptr) payload->drop();
}

std::size_t SimWire::level_to(Rank peer) const noexcept {
  return world_.map_.level_between(static_cast<std::uint32_t>(rank_),
                                   static_cast<std::uint32_t>(peer));
}

bool SimWire::by_device(Rank peer) const noexcept {
  return peer != rank_ && world_.tariffs_[level_to(peer)].carrier == Carrier::kDevice;
}

// The port is taken once, whoever reads it; whom no device reaches gets a message.
void SimWire::post_to_group(const Send& send, std::span<const Rank> peers, SendOp& op) noexcept {
  Rank farthest = kNoRank;
  std::uint64_t members = 1;
  for (const Rank to : peers) {
    if (!by_device(to)) {
      post_each(send, std::span(&to, 1), op);
      continue;
    }
    ++members;
    if (farthest == kNoRank || level_to(to) < level_to(farthest)) farthest = to;
  }
  if (farthest == kNoRank) return;
  const std::uint64_t posted = world_.local_ns(rank_);
  (void)world_.charge(rank_, world_.tariffs_[level_to(farthest)].overhead_send);
  const World::Departure departure = world_.depart_to_group(rank_, farthest, members, send.bytes);
  if (!send.synchronous) world_.push_left(pending(op), rank_, departure.left_ns);
  Payload* payload = nullptr;
  for (const Rank to : peers) {
    if (!by_device(to)) continue;
    Message& m = make_message(send, to);
    m.to_group = true;
    world_.open_record(m, posted);
    load(m, payload);
    if (send.synchronous) m.acknowledge = &pending(op);
    world_.launch_copy(m, departure);
    note_sent(to, send);
  }
  if (payload != nullptr) payload->drop();
}

// One completion more that the operation waits for.
PendingSend& SimWire::pending(SendOp& op) noexcept {
  if (op.chain == nullptr) {
    PendingSend& made = world_.sends_.take();
    made.sender = rank_;
    made.chain = &op;
    op.chain = &made;
  }
  auto& send = static_cast<PendingSend&>(*op.chain);
  ++send.readers;
  return send;
}

Message& SimWire::make_message(const Send& send, Rank to) noexcept {
  Message& m = world_.messages_.take();
  const std::size_t level = level_to(to);
  m.peer = rank_;
  m.flow = send.segment.flow.key;
  m.ordinal = send.segment.ordinal;
  m.source = send.data;
  m.bytes = send.bytes;
  m.signature = send.segment.signature;
  m.to = to;
  m.level = static_cast<std::uint8_t>(level);
  const World::Tariff& t = world_.tariffs_[level];
  const Path path = send.transfer.path;
  const bool copies = path == Path::kAny || path == Path::kMulticast
                          ? send.bytes < t.pull_from_bytes || send.to_view
                          : path == Path::kCopy;
  m.carrier = t.carrier == Carrier::kPull && copies ? Carrier::kCopy : t.carrier;
  m.away = send.away;
  if (m.away) m.carrier = Carrier::kPull;  // by the receiver's device
  return m;
}

// The bytes leave the user's buffer at the post, but for pulls.
void SimWire::load(Message& m, Payload*& payload) noexcept {
  // An empty segment has nothing to hold on to: its receiver may not know it from a view.
  if (m.carrier == Carrier::kPull || !world_.options_.carry_data || m.bytes == 0) return;
  if (payload == nullptr) payload = Payload::copy_of(m.source, m.bytes);
  payload->hold();
  m.payload = payload;
}

bool SimWire::granted(Rank peer, const SegmentId& segment) noexcept {
  if (grants_.may_send(peer, segment)) return true;
  awaits_grant_ = ESP_PLANT(13, true, segment.ordinal > world_.options_.eager_segments);
  return false;
}

// Whether somebody waits for it.
bool SimWire::note_grant(Rank from, std::uint64_t flow, std::uint32_t limit) noexcept {
  const bool noted = grants_.note(from, flow, limit);
  ESP_ASSERT(noted);  // Else there is no memory for what is simulated.
  if (!std::exchange(awaits_grant_, false)) return false;
  ++news_;
  return true;
}

Posted SimWire::recv(const SegmentId& segment, std::uint32_t window, RecvOp& op) noexcept {
  op.expect(segment);
  charge_combines();
  if (const std::uint32_t limit = grant_due(segment, window, world_.options_.eager_segments)) {
    ++counters_.grants;
    world_.send_grant({rank_, segment.peer, segment.flow.key, limit + ESP_PLANT(7, 0U, 1U)});
  }
  if (auto* found = matcher_.find(op.peer, op.flow, op.ordinal)) {
    ESP_ASSERT(!found->posted);
    matcher_.erase(*found);
    if (hand_over(static_cast<Message&>(*found), op)) return Posted::kDone;
  }
  op.posted = true;
  matcher_.insert(op);
  return Posted::kPending;
}

void SimWire::cancel(RecvOp& op) noexcept {
  if (!op.posted) return;
  matcher_.erase(op);
  op.posted = false;
}

void SimWire::cancel(SendOp& op) noexcept {
  if (op.chain == nullptr) return;
  auto& send = static_cast<PendingSend&>(*std::exchange(op.chain, nullptr));
  send.chain = nullptr;
  if (fetching_ != nullptr) stop_fetches(send);
  if (send.lost && send.readers == 0) world_.sends_.give_back(send);
}

void SimWire::release(RecvOp& op) noexcept {
  if (std::exchange(op.is_away, false)) {
    away_->close(op.peer, op.view);
    world_.let_go(*reinterpret_cast<PendingSend*>(op.token), rank_);
  } else if (op.token != 0) {
    reinterpret_cast<Payload*>(op.token)->drop();
  }
  op.token = 0;
  op.view = nullptr;
}

// Messages and completions leave in the order in which they came.
void SimWire::enqueue(Message& m) noexcept {
  m.next = nullptr;
  (inbox_ == nullptr ? inbox_ : inbox_last_->next) = &m;
  inbox_last_ = &m;
}
void SimWire::enqueue(PendingSend& send) noexcept {
  send.next = nullptr;
  (finished_ == nullptr ? finished_ : finished_last_->next) = &send;
  finished_last_ = &send;
}

// Copying takes its time: after each message that is copied the engine may forward it.
int SimWire::progress() noexcept {
  int events = std::exchange(news_, 0);
  const auto copied = [&] {
    return counters_.copy_out_bytes.value() + counters_.cma_bytes.value();
  };
  const std::uint64_t before = copied();
  while (inbox_ != nullptr && copied() == before) {
    if (!accept(*inbox_)) break;
    ++events;
  }
  events += finish_sends() + serve_wanted();
  if (events == 0 && drive_ == Drive::kBySelf) return world_.step() ? 1 : 0;
  return events;
}

int SimWire::finish_sends() noexcept {
  int events = 0;
  while (finished_ != nullptr) {
    auto& send = static_cast<PendingSend&>(*std::exchange(finished_, finished_->next));
    SendOp* op = std::exchange(send.chain, nullptr);
    world_.sends_.give_back(send);
    ++events;
    if (op == nullptr) continue;  // taken back
    op->chain = nullptr;
    op->complete({});
  }
  return events;
}

// The first message of the inbox. False: no memory for an unexpected one; it stays.
bool SimWire::accept(Message& m) noexcept {
  (void)world_.charge(rank_, world_.tariff(m).overhead_recv);
  MatchNode* found = matcher_.find(m.peer, m.flow, m.ordinal);
  if (found == nullptr && world_.lacks_memory(rank_)) return false;
  inbox_ = m.next;
  if (found == nullptr) {
    m.posted = false;
    matcher_.insert(m);
    ++counters_.unexpected;
    return true;
  }
  ESP_ASSERT(found->posted);
  auto& op = static_cast<RecvOp&>(*found);
  matcher_.erase(op);
  op.posted = false;
  if (hand_over(m, op)) {
    op.complete(op.status);
  } else {
    op.posted = true;
    matcher_.insert(op);
  }
  return true;
}

// Gives the message to its receive; op.status says how it went.
bool SimWire::hand_over(Message& m, RecvOp& op) noexcept {
  op.status = op.verdict(m.bytes, ESP_PLANT(8, m.signature, op.signature), m.peer);
  if (m.away && op.status.ok()) {
    if (!take_away(m, op)) return false;
  } else if (op.status.ok()) {
    fetch(m, op);
  }
  ++counters_.segments_received;
  counters_.bytes_received += m.bytes;
  world_.close_record(m);
  world_.acknowledge(m);
  world_.give_back(m);
  return true;
}

void SimWire::fetch(Message& m, RecvOp& op) noexcept {
  const bool carry = world_.options_.carry_data;
  const bool view = op.dst == nullptr;
  if (m.carrier == Carrier::kPull) {
    world_.pull(m);
    ++counters_.cma_calls;
    counters_.cma_bytes += m.bytes;
    if (view && carry && m.bytes > 0) m.payload = Payload::copy_of(m.source, m.bytes);
  } else if (m.carrier == Carrier::kCopy && !view) {
    world_.copy(rank_, m, true);
    counters_.copy_out_bytes += m.bytes;
  }
  const void* bytes = m.payload != nullptr ? m.payload->data() : m.source;
  if (view) {
    op.view = bytes;
    if (m.payload != nullptr) op.token = reinterpret_cast<std::uint64_t>(m.payload);
    m.payload = nullptr;
  } else if (carry && m.bytes > 0) {
    std::memcpy(op.dst, bytes, m.bytes);
  }
}

}  // namespace espalier::sim
