// A one-sided operation on memory of this node: the caller carries it out. Threads: any.
// path: short
#pragma once

#include <atomic>
#include <cstring>

#include "api/one_sided.hpp"
#include "core/atomic_word.hpp"
#include "core/copy.hpp"

namespace espalier {

// `part`: of the target. Fences: what the caller did before is seen before what it puts, and what
// it does after a get comes after it, also where the processor would do otherwise.
inline void access_near(const RemoteCall& call, std::byte* part) noexcept {
  if (call.bytes == 0) return;
  std::byte* at = part + call.offset;
  switch (call.kind) {
    case net::RemoteKind::kPut:
      std::atomic_thread_fence(std::memory_order_release);
      move_bytes(at, call.memory, call.bytes);
      return;
    case net::RemoteKind::kGet:
      move_bytes(call.memory, at, call.bytes);
      std::atomic_thread_fence(std::memory_order_acquire);
      return;
    case net::RemoteKind::kFetchAdd:
    case net::RemoteKind::kCompareSwap: {
      const bool adds = call.kind == net::RemoteKind::kFetchAdd;
      const std::uint64_t old =
          apply_atomic(adds ? AtomicKind::kFetchAdd : AtomicKind::kCompareSwap, at, call.operands);
      if (call.memory != nullptr) std::memcpy(call.memory, &old, sizeof old);
    }
  }
}

}  // namespace espalier
