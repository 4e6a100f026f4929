// Worker: how it waits. path: data (wait_slow), slow (park)
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <utility>

#include "core/worker.hpp"

namespace espalier {
namespace {

// A sleeper looks around by itself this often, for what no doorbell announces: death.
constexpr std::uint64_t kParkNs = 100'000'000;
// And so often what cannot be slept on.
constexpr std::uint64_t kBlindParkNs = 1'000'000;
// How often a yielding waiter does its housekeeping.
constexpr std::uint64_t kWatchNs = 20'000'000;
// And one that always finds something to do, which need not be what it waits for, looks at the
// clock after so many rounds. A round may take 0.1 s where posting is the processor's work.
constexpr std::uint32_t kBusyRounds = 32;
// A yield that comes back at once, for nobody else wants the core, takes less than this; one that
// gives it away takes two switches between processes.
constexpr std::uint64_t kShortYieldNs = 2'500;
constexpr std::uint32_t kShortYields = 1000;  // that many in a row: the core is this rank's alone
// Who has been away from its core for so long has waited for somebody that computes.
constexpr std::uint64_t kLongAbsenceNs = 300'000;
constexpr std::uint64_t kNapsPerAbsence = 8, kNapMaxNs = 500'000;
// As many events, this often since a nap began, are a stream. Calls in lockstep have a few each,
// however long the nap.
constexpr std::uint64_t kStreamEvents = 8, kStreamNs = 15'000;
constexpr std::uint64_t kYieldlessMinNs = 10'000'000, kYieldlessMaxNs = 1'000'000'000;

}  // namespace

void Worker::wait_slow(Look done, void* context, std::uint64_t since_ns) noexcept {
  const LongWait told(state_);
  const std::uint64_t begin = clock_.now_ns();
  const std::uint64_t waits_since = since_ns != 0 ? since_ns : begin;
  std::uint64_t idle_since = begin;
  std::uint64_t watched = begin;
  std::uint32_t busy_rounds = 0;
  while (!done(context)) {
    const bool busy = progress() > 0;
    if (done(context)) return;
    if (busy) {
      idle_since = 0;  // Read the clock again only when there is nothing to do, or seldom.
      ++busy_rounds;
      if (idle_ && busy_rounds % IdleWork::kBusyRounds == 0) do_idle_work();
      if (busy_rounds % kBusyRounds != 0) continue;
    }
    const std::uint64_t now = clock_.now_ns();
    if (idle_since == 0) idle_since = now;
    // While the other library finds something nobody sleeps.
    const bool drives = idle_ && now - idle_since >= IdleWork::kPauseNs;
    if (drives && do_idle_work()) idle_since = now - IdleWork::kPauseNs;
    if (now - watched >= kWatchNs) {
      watched = now;
      for (Wire* wire : wires_) wire->idle();
      if (watchdog_ != nullptr) watchdog_->look(waits_since, now);
    } else if (!shared_ && now - idle_since < policy_.spin_ns) {
      pause();
    } else if (now >= yields_again_ns_ && now - idle_since < patience_ns()) {
      yield(now);
    } else {
      park(done, context, now, now - idle_since);
    }
  }
}

// How long a wait without arrivals lasts before it sleeps.
std::uint64_t Worker::patience_ns() const noexcept {
  const std::uint64_t patience =
      shared_ ? policy_.shared_yield_ns : policy_.spin_ns + policy_.yield_ns;
  return idle_ ? std::max(patience, IdleWork::kPatienceNs) : patience;
}

// Like a callback: it may not wait here for anything.
bool Worker::do_idle_work() noexcept {
  bool found = false;
  call_back([&] { found = idle_(); });
  return found;
}

void Worker::yield(std::uint64_t now_ns) noexcept {
  ++counters_.yields;
  sched_yield();
  const std::uint64_t back_ns = clock_.now_ns();
  const std::uint64_t away_ns = back_ns - now_ns;
  short_yields_ = away_ns < kShortYieldNs ? short_yields_ + 1 : 0;
  shared_ = policy_.adaptive && (short_yields_ == 0 || (shared_ && short_yields_ < kShortYields));
  if (away_ns < kLongAbsenceNs) [[likely]] {
    ++good_yields_;
    if (short_yields_ > 0 && naps_until_ns_ != 0) [[unlikely]]
      nap(back_ns);
    return;
  }
  nap_ns_ = std::min(away_ns / kNapsPerAbsence, kNapMaxNs);
  naps_until_ns_ = policy_.adaptive ? back_ns + kNapsPerAbsence * nap_ns_ : 0;
  if (away_ns < policy_.long_yield_ns) {
    ++good_yields_;
    return;
  }
  const bool again = std::exchange(good_yields_, 0) < kGoodYields;
  yieldless_ns_ = again ? std::clamp(2 * yieldless_ns_, kYieldlessMinNs, kYieldlessMaxNs) : 0;
  yields_again_ns_ = back_ns + yieldless_ns_;
}

void Worker::nap(std::uint64_t now_ns) noexcept {
  const std::uint64_t while_ns = kNapsPerAbsence * nap_ns_;
  const std::uint64_t since_ns = now_ns - nap_began_ns_, came = events_ - nap_events_;
  const bool stream = came >= kStreamEvents && came * kStreamNs >= since_ns;
  // Others make good use of the core.
  if (stream && since_ns <= while_ns) naps_until_ns_ = now_ns + while_ns;
  if (now_ns >= naps_until_ns_) {
    naps_until_ns_ = 0;
    return;
  }
  if (next_deadline_ns() <= now_ns + nap_ns_) return;
  ++counters_.naps;
  nap_began_ns_ = now_ns;
  nap_events_ = events_;
  const timespec time = {0, static_cast<long>(nap_ns_)};
  ::nanosleep(&time, nullptr);
}

// Of timers and networks; kNever: there is none.
std::uint64_t Worker::next_deadline_ns() const noexcept {
  std::uint64_t next = timers_.next_deadline_ns();
  for (const WakeSource* source : sources_) {
    const std::uint64_t deadline = source->deadline_ns();
    if (deadline != 0) next = std::min(next, deadline);
  }
  return next;
}

void Worker::park(Look done, void* context, std::uint64_t now_ns, std::uint64_t idle_ns) noexcept {
  std::uint64_t timeout = kParkNs;
  const std::uint64_t deadline = next_deadline_ns();
  if (deadline != kNever) timeout = deadline > now_ns ? std::min(timeout, deadline - now_ns) : 0;
  if (idle_) timeout = std::min(timeout, IdleWork::sleep_ns(idle_ns));
  ++counters_.parks;
  if (!sources_.empty()) return park_on_descriptors(done, context, timeout);
  doorbell_.sleep([&] { return done(context) || progress() > 0 || done(context); }, timeout);
}

void Worker::park_on_descriptors(Look done, void* context, std::uint64_t timeout_ns) noexcept {
  for (const WakeSource* source : sources_) {
    if (source->descriptor() < 0) timeout_ns = std::min(timeout_ns, kBlindParkNs);
  }
  if (descriptor_ == nullptr && !make_descriptor()) {
    const auto look = [&] { return done(context) || progress() > 0 || done(context); };
    return doorbell_.sleep(look, std::min(timeout_ns, kBlindParkNs));
  }
  doorbell_.arm_descriptor(descriptor_->mailbox());
  const bool idle = !done(context) && progress_once() == 0 && !done(context);
  if (idle && arm_sources()) descriptors_->wait(timeout_ns);
  disarm();
}

}  // namespace espalier
