#include "tests/swarm/audit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace espalier::swarm {
namespace {

constexpr std::uint64_t kChannelMask = ((std::uint64_t{1} << FlowId::kChannelBits) - 1)
                                       << FlowId::kSequenceBits;
constexpr std::byte kSpoiled{0xdd};
constexpr Rank kPublished = 1 << 30;  // as the peer of a publication

// Messages between two ranks are numbered by themselves; all have the same windows.
std::uint64_t call_of(std::uint64_t flow) noexcept {
  const std::uint64_t channel = (flow & kChannelMask) >> FlowId::kSequenceBits;
  if (channel >= 256) return flow >> (FlowId::kChannelBits + FlowId::kSequenceBits) | 1ULL << 63;
  return flow & ~kChannelMask;
}

// Until it is released.
bool stays_with_wire(const RecvOp& op) noexcept {
  return op.dst == nullptr || op.is_away;
}

}  // namespace

Audit* Audit::current_ = nullptr;

Audit::Audit() {
  ESP_ASSERT(current_ == nullptr);
  current_ = this;
}
Audit::~Audit() {
  current_ = nullptr;
}

void Audit::allow(FlowId flow, const Rules& rules) {
  Rules& allowed = rules_[call_of(flow.key)];
  allowed.send = std::max(allowed.send, rules.send);
  allowed.recv = std::max(allowed.recv, rules.recv);
  allowed.overwrites = allowed.overwrites || rules.overwrites;
}

std::uint64_t Audit::sum_of(const void* data, std::uint64_t bytes) noexcept {
  const auto* at = static_cast<const std::byte*>(data);
  std::uint64_t sum = bytes;
  for (; bytes >= 8; bytes -= 8, at += 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    sum = (sum ^ word) * 0x9e3779b97f4a7c15ULL;
    sum ^= sum >> 32;
  }
  for (; bytes > 0; --bytes) sum = (sum ^ static_cast<std::uint64_t>(*at++)) * 0x100000001b3ULL;
  return sum;
}

Audit::WindowKey Audit::key(Rank rank, bool send, const SegmentId& segment, Rank peer) noexcept {
  return {segment.flow.key, static_cast<std::uint64_t>(rank) << 33 |
                                static_cast<std::uint64_t>(static_cast<std::uint32_t>(peer)) << 1 |
                                (send ? 1 : 0)};
}

Audit::Record& Audit::open(Completion& op, Rank rank, bool send) {
  Record& record = records_[&op];
  if (record.state != State::kIdle) {
    fail(fmt::format("rank {} posts a {} that is still {}", rank, send ? "send" : "receive",
                     record.state == State::kHeld ? "held" : "pending"));
  }
  record.send = send;
  record.rank = rank;
  return record;
}

// The operation is in flight from now on.
void Audit::count(Record& record, const WindowKey& key, std::uint64_t flow) {
  const auto [at, is_new] =
      in_flight_numbers_.try_emplace(key, static_cast<std::uint32_t>(in_flight_.size()));
  if (is_new) in_flight_.push_back(0);
  record.window = at->second;
  ++open_;
  const std::uint32_t now = ++in_flight_[at->second];
  const auto rules = rules_.find(call_of(flow));
  if (rules == rules_.end()) return fail(fmt::format("a flow ({:x}) of no call", flow));
  record.overwrites = rules->second.overwrites;
  const std::uint32_t limit = record.send ? rules->second.send : rules->second.recv;
  if (now > limit) {
    fail(fmt::format("rank {} has {} {} of a flow in flight, its window is {}", record.rank, now,
                     record.send ? "sends" : "receives", limit));
  }
}

void Audit::uncount(Record& record) noexcept {
  --open_;
  --in_flight_[record.window];
}

void Audit::close(Record& record, Completion& op) noexcept {
  uncount(record);
  record.state = State::kIdle;
  op.on_complete = record.callback;
}

void Audit::hold(Record& record, RecvOp& op) {
  record.state = State::kHeld;
  record.view = op.view;
  if (op.view == nullptr) return;
  const auto* bytes = static_cast<const std::byte*>(op.view);
  record.copy.assign(bytes, bytes + op.bytes);
  op.view = record.copy.data();
}

Audit::StandIn& Audit::stand_in(SendOp& op) {
  if (free_stand_ins_.empty()) {
    stand_ins_.push_back(std::make_unique<StandIn>());
    free_stand_ins_.push_back(stand_ins_.back().get());
  }
  StandIn& stand_in = *free_stand_ins_.back();
  free_stand_ins_.pop_back();
  stand_in.of = &op;
  return stand_in;
}

void Audit::give_back(Record& record) noexcept {
  free_stand_ins_.push_back(std::exchange(record.stand_in, nullptr));
}

void Audit::on_send(Completion& completion, Status status) noexcept {
  Audit& self = *current_;
  SendOp& op = *static_cast<StandIn&>(completion).of;
  Record& record = self.records_[&op];
  if (self.inside_post_) self.fail("a completion fires inside a post");
  if (record.state != State::kPending) {
    return self.fail(fmt::format("rank {}: a send completes that is not pending", record.rank));
  }
  if (!record.overwrites && sum_of(record.data, record.bytes) != record.sum) {
    self.fail(fmt::format("rank {}: {} bytes changed while they were being sent", record.rank,
                          record.bytes));
  }
  self.give_back(record);
  self.close(record, op);
  op.complete(status);
}

void Audit::on_canceled(Completion&, Status) noexcept {
  current_->fail("a send completes that was taken back");
}

void Audit::on_recv(Completion& op, Status status) noexcept {
  Audit& self = *current_;
  Record& record = self.records_[&op];
  if (self.inside_post_) self.fail("a completion fires inside a post");
  if (record.state != State::kPending) {
    return self.fail(fmt::format("rank {}: a receive completes that is not pending", record.rank));
  }
  auto& recv = static_cast<RecvOp&>(op);
  if (!stays_with_wire(recv)) {
    self.close(record, op);
  } else {
    op.on_complete = record.callback;
    self.hold(record, recv);
  }
  op.complete(status);
}

void Audit::check_granted(Rank from, Rank to, const SegmentId& segment) {
  if (segment.ordinal < kEagerSegments || is_dead_(to) || is_dead_(from)) return;
  const auto posted = posted_.find(key(to, false, segment, from));
  if (posted != posted_.end() && segment.ordinal < posted->second) return;
  fail(fmt::format("rank {} sends segment {} to rank {}, which has not asked for it", from,
                   segment.ordinal, to));
}

void Audit::note_posted(Rank by, const SegmentId& segment) {
  if (segment.total <= kEagerSegments) return;
  std::uint32_t& last = posted_[key(by, false, segment, segment.peer)];
  last = std::max(last, segment.ordinal + 1);
}

Posted AuditedWire::send(const Send& send, SendOp& op) noexcept {
  return post(send, nullptr, op);
}

Posted AuditedWire::publish(const Send& send, const Group& group, SendOp& op) noexcept {
  return post(send, &group, op);
}

Posted AuditedWire::post(const Send& send, const Group* group, SendOp& op) noexcept {
  ++audit_.posts_;
  Audit::Record& record = audit_.open(op, rank_, true);
  if (audit_.failed()) return Posted::kRetry;
  record.callback = op.on_complete;
  record.stand_in = &audit_.stand_in(op);
  audit_.inside_post_ = true;
  const Posted posted = group != nullptr ? wire_.publish(send, *group, *record.stand_in)
                                         : wire_.send(send, *record.stand_in);
  audit_.inside_post_ = false;
  if (posted != Posted::kPending) audit_.give_back(record);
  if (posted == Posted::kRetry) return posted;
  const std::span<const Rank> readers =
      group != nullptr ? group->readers() : std::span(&send.segment.peer, 1);
  for (const Rank to : readers) audit_.check_granted(rank_, to, send.segment);
  if (posted == Posted::kDone) return posted;
  record.state = Audit::State::kPending;
  record.data = send.data;
  record.bytes = send.bytes;
  record.sum = Audit::sum_of(send.data, send.bytes);
  // A rank may have several publications, for different readers.
  const Rank peer = group != nullptr ? kPublished | readers.front() : readers.front();
  audit_.count(record, Audit::key(rank_, true, send.segment, peer), send.segment.flow.key);
  return posted;
}

Posted AuditedWire::recv(const SegmentId& segment, std::uint32_t window, RecvOp& op) noexcept {
  ++audit_.posts_;
  Audit::Record& record = audit_.open(op, rank_, false);
  if (audit_.failed()) return Posted::kRetry;
  record.callback = op.on_complete;
  audit_.inside_post_ = true;
  const Posted posted = wire_.recv(segment, window, op);
  audit_.inside_post_ = false;
  if (posted == Posted::kRetry) return posted;
  audit_.note_posted(rank_, segment);
  if (posted == Posted::kDone && !stays_with_wire(op)) return posted;
  audit_.count(record, Audit::key(rank_, false, segment, segment.peer), segment.flow.key);
  if (posted == Posted::kDone) {
    audit_.hold(record, op);
  } else {
    record.state = Audit::State::kPending;
    op.on_complete = Audit::on_recv;
  }
  return posted;
}

void AuditedWire::release(RecvOp& op) noexcept {
  Audit::Record& record = audit_.records_[&op];
  switch (record.state) {
    case Audit::State::kHeld:
      if (op.view != nullptr && op.view == record.copy.data() &&
          std::memcmp(record.view, op.view, record.copy.size()) != 0) {
        audit_.fail(fmt::format("rank {}: a segment changed while it was held", rank_));
      }
      std::fill(record.copy.begin(), record.copy.end(), kSpoiled);
      // Unless the wire has moved it meanwhile.
      if (op.view == record.copy.data()) op.view = record.view;
      audit_.close(record, op);
      break;
    case Audit::State::kCanceled:
      record.state = Audit::State::kIdle;
      break;
    default:
      audit_.fail(fmt::format("rank {} releases a segment that it does not hold", rank_));
  }
  wire_.release(op);
}

void AuditedWire::cancel(RecvOp& op) noexcept {
  Audit::Record& record = audit_.records_[&op];
  if (record.state == Audit::State::kPending) {
    audit_.close(record, op);
    record.state = Audit::State::kCanceled;
  } else if (record.state != Audit::State::kHeld) {
    audit_.fail(fmt::format("rank {} takes back a receive that is not posted", rank_));
  }
  wire_.cancel(op);
}

void AuditedWire::cancel(SendOp& op) noexcept {
  Audit::Record& record = audit_.records_[&op];
  if (record.state == Audit::State::kPending) {
    audit_.close(record, op);
    record.stand_in->on_complete = Audit::on_canceled;
    wire_.cancel(*std::exchange(record.stand_in, nullptr));
  } else {
    audit_.fail(fmt::format("rank {} takes back a send that is not pending", rank_));
  }
}

}  // namespace espalier::swarm
