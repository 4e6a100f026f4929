// Doorbell: how a worker sleeps until a peer (another process, or another thread) has something for
// it.
//
// Protocol: arm, look once more, sleep; ring only when armed. A Bell lives on a cache line of its
// own, in memory shared with the peers. `sleepers` counts armed bells of the node, so that a
// publisher to many looks at one line that hardly ever changes.
//
//   publisher                               sleeper
//   store data                              armed = 1, ++sleepers
//   light fence                             heavy fence (see asymmetric_fence.hpp)
//   if sleepers && armed: ++ticks, wake     look for data; none: futex_wait(ticks)
//
// A sleeper that dies leaves its count behind: publishers then look at individual bells, nothing
// worse. Threads: ring() any; the rest the owner. path: short (ring), slow (sleep)
#pragma once

#include <atomic>
#include <cstdint>

#include "core/asymmetric_fence.hpp"
#include "core/descriptor_bell.hpp"
#include "core/futex.hpp"

namespace espalier {

enum class Armed : std::uint32_t { kNo = 0, kFutex = 1, kDescriptor = 2 };

struct alignas(128) Bell {
  // Written by ringers (publishes nothing), slept on by the owner.
  std::atomic<std::uint32_t> ticks{0};
  std::atomic<Armed> armed{Armed::kNo};  // written by the owner, read by ringers
  // Written once by the owner, before it is armed by descriptor: the name of its DescriptorBell.
  std::atomic<std::uint64_t> mailbox{0};
};
static_assert(sizeof(Bell) == 128);

struct alignas(128) SleeperCount {
  std::atomic<std::uint32_t> value{0};  // written by sleepers, read by publishers
};

class Doorbell {
 public:
  // Both outlive the doorbell. `asymmetric`: every process of the node has registered for heavy
  // fences.
  Doorbell(Bell& bell, SleeperCount& sleepers, bool asymmetric) noexcept
      : bell_(&bell), sleepers_(&sleepers), asymmetric_(asymmetric) {}

  // True when some peer may sleep; call after publishing.
  bool someone_sleeps() const noexcept {
    asymmetric_fence_light(asymmetric_);
    return sleepers_->value.load(std::memory_order_relaxed) != 0;
  }
  // Wakes the owner of `bell` if it is armed. Returns whether it was.
  static bool ring(Bell& bell) noexcept {
    const Armed armed = bell.armed.load(std::memory_order_acquire);  // and the mailbox
    if (armed == Armed::kNo) return false;
    bell.ticks.fetch_add(1, std::memory_order_release);
    if (armed == Armed::kFutex) {
      futex_wake_all(bell.ticks);
    } else {
      ring_mailbox(bell.mailbox.load(std::memory_order_relaxed));
    }
    return true;
  }
  // For another thread of the owner's process: publish first.
  void ring_self() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    ring(*bell_);
  }

  // Sleeps unless look() finds something. look() must see everything published before the peers'
  // light fence.
  template <typename Look>
  void sleep(Look&& look, std::uint64_t timeout_ns) noexcept {
    const std::uint32_t seen = bell_->ticks.load(std::memory_order_acquire);
    arm(Armed::kFutex);
    if (!look()) futex_wait(bell_->ticks, seen, timeout_ns);
    disarm();
  }

  // For an owner that sleeps elsewhere, on the descriptor of its DescriptorBell: arm, look once
  // more, sleep there, disarm.
  void arm_descriptor(std::uint64_t mailbox) noexcept {
    bell_->mailbox.store(mailbox, std::memory_order_relaxed);
    arm(Armed::kDescriptor);
  }
  void disarm() noexcept {
    bell_->armed.store(Armed::kNo, std::memory_order_relaxed);
    sleepers_->value.fetch_sub(1, std::memory_order_relaxed);
  }

  bool asymmetric() const noexcept { return asymmetric_; }

 private:
  void arm(Armed how) noexcept {
    bell_->armed.store(how, std::memory_order_release);
    sleepers_->value.fetch_add(1, std::memory_order_relaxed);
    asymmetric_fence_heavy(asymmetric_);
  }

  Bell* bell_;
  SleeperCount* sleepers_;
  bool asymmetric_;
};

}  // namespace espalier
