#include "bootstrap/leaving.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace espalier {
namespace {

constexpr std::uint64_t kLeaveLookNs = 20'000'000;
// Until the partner that is waited for is asked; twice as long each time.
constexpr std::uint64_t kAskFirstNs = 100'000'000, kAskLastNs = 5'000'000'000;
// Flags::released when the leaders do not meet.
constexpr std::uint32_t kAlone = 0xff;

std::uint64_t word_of(const FoundMismatch& found) noexcept {
  if (found.blamed == kNoRank) return 0;
  return (std::uint64_t{found.team} + 1) << 32 | static_cast<std::uint32_t>(found.blamed + 1);
}

FoundMismatch found_in(std::uint64_t word) noexcept {
  if (word == 0) return {};
  return {static_cast<std::uint32_t>((word >> 32) - 1), static_cast<Rank>(word & 0xffffffff) - 1};
}

}  // namespace

std::optional<LeavingMessage> parse_leaving(std::span<const std::byte> bytes,
                                            int job_size) noexcept {
  LeavingMessage message;
  if (bytes.size() != sizeof message) return std::nullopt;
  std::memcpy(static_cast<void*>(&message), bytes.data(), sizeof message);
  const bool known = message.kind == MessageKind::kLeaving && message.step < Leaving::kSteps &&
                     message.round < Leaving::kRounds && message.abandoned <= 1 &&
                     kNoRank <= message.blamed && message.blamed < job_size;
  if (!known) return std::nullopt;
  return message;
}

Leaving::Leaving(const JobNodes& nodes, shm::Segment& segment, Liveness& liveness,
                 Messenger& messenger, Clock& clock) noexcept
    : nodes_(nodes),
      segment_(segment),
      liveness_(liveness),
      messenger_(messenger),
      clock_(clock),
      own_node_(static_cast<std::size_t>(nodes.own)) {}

std::size_t Leaving::rounds() const noexcept {
  return static_cast<std::size_t>(std::bit_width(nodes_.leaders.size() - 1));
}

Rank Leaving::partner(int direction, std::size_t round) const noexcept {
  const std::size_t count = nodes_.leaders.size();
  const std::size_t distance = (std::size_t{1} << round) % count;
  return nodes_.leaders[(own_node_ + (direction > 0 ? distance : count - distance)) % count];
}

void Leaving::reach(Step step, const FoundMismatch& found) noexcept {
  reached_ = static_cast<std::uint32_t>(step) + 1;
  flags(nodes_.local_index).found.store(word_of(found), std::memory_order_relaxed);
  flags(nodes_.local_index).leaving.store(reached_, std::memory_order_release);
  for (std::uint32_t i = 0; i < nodes_.locals.size(); ++i) {
    (void)Doorbell::ring(segment_.rank_block(i).bell);
  }
}

FoundMismatch Leaving::mismatch() const noexcept {
  return found_in(flags(0).found.load(std::memory_order_relaxed));
}

bool Leaving::abandoned() const noexcept {
  return abandoned_ || flags(0).released.load(std::memory_order_acquire) == kAlone ||
         flags(0).left.load(std::memory_order_acquire) != 0;
}

bool Leaving::complete(Step step) const noexcept {
  if (abandoned_) return true;
  const std::uint32_t released = flags(0).released.load(std::memory_order_acquire);
  return released > static_cast<std::uint32_t>(step) ||
         flags(0).left.load(std::memory_order_acquire) != 0;
}

void Leaving::abandon() noexcept {
  if (abandoned_) return;
  abandoned_ = true;
  if (!is_leader()) return;
  for (std::size_t round = 0; round < rounds(); ++round) {
    tell_abandoned(partner(+1, round));
    tell_abandoned(partner(-1, round));
  }
  release(kAlone);
}

void Leaving::tell_abandoned(Rank to) noexcept {
  LeavingMessage message;
  message.abandoned = 1;
  tell(to, message);
}

void Leaving::release(std::uint32_t value) noexcept {
  flags(0).found.store(word_of(mismatch_), std::memory_order_relaxed);
  flags(0).released.store(value, std::memory_order_release);
  for (std::uint32_t i = 0; i < nodes_.locals.size(); ++i) {
    (void)Doorbell::ring(segment_.rank_block(i).bell);
  }
}

void Leaving::tell(Rank to, const LeavingMessage& message) noexcept {
  messenger_.tell(to, std::as_bytes(std::span(&message, 1)));
}

void Leaving::heard(Rank from, std::span<const std::byte> bytes) noexcept {
  const auto message = parse_leaving(bytes, nodes_.ranks);
  if (!message || !is_leader()) return;
  if (message->abandoned != 0) return abandon();
  if (abandoned_) return tell_abandoned(from);  // It does not know.
  if (from != partner(-1, message->round)) return;
  arrived_[message->step][message->round] = true;
  if (message->blamed != kNoRank && mismatch_.blamed == kNoRank) {
    mismatch_ = {message->team, message->blamed};
  }
}

// Ranks that are dead, or have left alone, are not waited for.
bool Leaving::node_has_reached(Step step) noexcept {
  for (std::uint32_t i = 0; i < nodes_.locals.size(); ++i) {
    const auto& of = flags(i);
    if (of.leaving.load(std::memory_order_acquire) > static_cast<std::uint32_t>(step)) continue;
    if (of.left.load(std::memory_order_acquire) != 0) continue;
    if (!liveness_.is_dead(nodes_.locals[i])) return false;
  }
  return true;
}

// What this leader says in this round.
LeavingMessage Leaving::present() const noexcept {
  LeavingMessage message;
  message.step = static_cast<std::uint8_t>(step_);
  message.round = static_cast<std::uint8_t>(round_);
  message.team = mismatch_.team;
  message.blamed = mismatch_.blamed;
  return message;
}

// Whoever has not abandoned the meeting expects this message of somebody else, and ignores it.
void Leaving::ask_again(std::uint64_t now_ns) noexcept {
  if (now_ns - asked_ns_ < ask_after_ns_) return;
  tell(partner(-1, round_), present());
  asked_ns_ = now_ns;
  ask_after_ns_ = std::min(2 * ask_after_ns_, kAskLastNs);
}

// One look at the leaders' meeting. Did anything happen?
bool Leaving::meet() noexcept {
  if (round_ == 0 && !told_ && !node_has_reached(static_cast<Step>(step_))) return false;
  if (!told_) {
    for (std::uint32_t i = 0; i < nodes_.locals.size() && mismatch_.blamed == kNoRank; ++i) {
      mismatch_ = found_in(flags(i).found.load(std::memory_order_relaxed));
    }
    tell(partner(+1, round_), present());
    told_ = true;
    asked_ns_ = clock_.now_ns();
    ask_after_ns_ = kAskFirstNs;
    messenger_.reach(partner(-1, round_));
  }
  if (!arrived_[step_][round_]) return false;
  told_ = false;
  if (++round_ == rounds()) {
    round_ = 0;
    release(static_cast<std::uint32_t>(++step_));
  }
  return true;
}

void Leaving::look_for_the_dead() noexcept {
  const std::uint64_t now = clock_.now_ns();
  if (now - looked_ns_ < kLeaveLookNs) return;
  looked_ns_ = now;
  if (is_leader() && told_) ask_again(now);
  const Rank awaited = is_leader() ? partner(-1, round_) : nodes_.leaders[own_node_];
  if (is_leader() ? told_ && liveness_.is_dead(awaited) : liveness_.is_dead(awaited)) abandon();
}

int Leaving::progress() noexcept {
  if (abandoned_ || reached_ == 0 || step_ == kSteps) return 0;
  int events = 0;
  while (is_leader() && step_ < reached_ && !abandoned_ && meet()) ++events;
  if (!complete(static_cast<Step>(reached_ - 1))) look_for_the_dead();
  return events;
}

}  // namespace espalier
