// Asymmetric fence: makes "publish, then look whether the reader sleeps" free for the publisher.
//
// A publisher stores data and then loads a sleeper flag; a sleeper stores the flag and then
// re-reads the data. Without a full fence on both sides each may miss the other's store. Here the
// publisher's side is only a compiler barrier and the sleeper, which is about to spend microseconds
// in the kernel anyway, pays for both: membarrier(2) makes every running registered thread of the
// machine execute a full barrier. Where the kernel refuses it (available() false), publishers must
// use the heavy form, too. Threads: any. path: short (light), slow (heavy)
#pragma once

#include <atomic>

namespace espalier {

// Registers this process as a target of heavy fences of other processes. False: not available here.
bool asymmetric_fence_register() noexcept;

inline void asymmetric_fence_light(bool asymmetric) noexcept {
  if (asymmetric) [[likely]] {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

void asymmetric_fence_heavy(bool asymmetric) noexcept;

}  // namespace espalier
