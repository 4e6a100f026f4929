// GroupSender: one member's own packets: which may be sent, which are stable, and when to probe.
//
//   stable ............ next ......... stable + window
//      sent, not everywhere   may be sent
//
// The window slides on cumulative acknowledgements of all members, merged on their way. What is
// lost at the end of a burst no later packet tells of: after `probe_ns` in which nothing was sent
// or acknowledged a probe does, and then others, each after twice the time of the one before.
// The first kProbesToAll go to all; if nothing was acknowledged then, those after them go by mail.
// So, between two acknowledgements, packets that no window counts are few: these probes and
// repetitions() for all.
//
// Knows neither port nor clock, and holds no packets (History does). Threads: owner. path: data
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/clock.hpp"
#include "net/multicast/packet.hpp"

namespace espalier::multicast {

struct ProbeTimes {
  std::uint64_t probe_ns = 200'000;  // longer than an acknowledgement takes
  std::uint64_t max_ns = 10'000'000;
};

class GroupSender {
 public:
  static constexpr std::uint32_t kProbesToAll = 2;

  GroupSender(Sequence first, std::uint32_t window) noexcept
      : first_(first), next_(first), stable_(first), announced_(first), window_(window) {
    ESP_ASSERT(window > 0 && window <= kWindowMax);
  }

  bool open() const noexcept;
  // The next one is the last that may be sent until something becomes stable.
  bool closing() const noexcept {
    return next_ + 1 - stable_ >= static_cast<std::int32_t>(window_);
  }
  Sequence next() const noexcept { return next_; }
  Sequence stable() const noexcept { return stable_; }
  bool idle() const noexcept { return next_ == stable_; }
  // How many are stable, since the beginning; modulo 2^32.
  std::uint32_t settled() const noexcept { return stable_.value - first_.value; }
  // Since when it is shut; kNever: it is open.
  std::uint64_t shut_since_ns() const noexcept { return shut_since_ns_; }

  // The packet with number next() is on its way, with the stable number in it.
  void sent(std::uint64_t now_ns) noexcept;
  // All members have everything before `stable`. False: that is nothing new.
  bool settle(Sequence stable, std::uint64_t now_ns) noexcept;
  // A packet may be sent to all once more; and has been.
  bool may_repeat() const noexcept { return repetitions_ < std::max(window_ / 2, 1U); }
  void repeated() noexcept { ++repetitions_; }

  enum class Probe : std::uint8_t { kNone, kToAll, kByMail };
  // When one is due; kNever: none is.
  std::uint64_t probe_ns(const ProbeTimes& times) const noexcept;
  Probe probe_due(std::uint64_t now_ns, const ProbeTimes& times) const noexcept;
  void probed(std::uint64_t now_ns) noexcept;

 private:
  Sequence first_, next_, stable_;
  Sequence announced_;  // the stable number that all have been told
  std::uint32_t window_;
  std::uint32_t probes_ = 0, repetitions_ = 0;  // since something became stable
  std::uint64_t moved_ns_ = 0;                  // last send, acknowledgement or probe
  std::uint64_t shut_since_ns_ = kNever;
};

}  // namespace espalier::multicast
