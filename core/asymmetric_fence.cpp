#include "core/asymmetric_fence.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
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
  if (asymmetric) (void)membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

}  // namespace espalier
