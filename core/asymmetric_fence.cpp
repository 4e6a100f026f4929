#include "core/asymmetric_fence.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace espalier {
namespace {

long membarrier(int command) noexcept {
  return ::syscall(SYS_membarrier, command, 0, 0);
}

}  // namespace

bool asymmetric_fence_register() noexcept {
  const long commands = membarrier(MEMBARRIER_CMD_QUERY);
  if (commands < 0 || (commands & MEMBARRIER_CMD_GLOBAL_EXPEDITED) == 0) return false;
  return membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0;
}

void asymmetric_fence_heavy(bool asymmetric) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!asymmetric || membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED) == 0) return;
  // Refused, though it was allowed at first (a seccomp filter), and nothing else makes another
  // process's processor execute a barrier. But its stores become visible by themselves, within a
  // microsecond or so; who is about to sleep can wait for that.
  constexpr timespec kStoresAreVisible = {.tv_sec = 0, .tv_nsec = 20'000};
  ::nanosleep(&kStoresAreVisible, nullptr);
}

}  // namespace espalier
