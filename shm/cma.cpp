#include "shm/cma.hpp"

#include <fmt/format.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>

namespace espalier::shm {

ProbeResult probe_pull(pid_t pid, std::uint64_t address, std::uint64_t nonce) noexcept {
  std::uint64_t seen = 0;
  iovec local{&seen, sizeof seen};
  iovec remote{reinterpret_cast<void*>(address), sizeof seen};
  const ssize_t got = ::process_vm_readv(pid, &local, 1, &remote, 1, 0);
  if (got < 0) return {PullAccess::kNo, errno};
  if (got != sizeof seen || seen != nonce) return {PullAccess::kNo, 0};
  return {PullAccess::kYes, 0};
}

std::string explain_denied(int error_number) {
  switch (error_number) {
    case 0:
      return "the process id named another process (different PID namespaces)";
    case EPERM:
      return "EPERM: ptrace access is denied (Yama: sysctl kernel.yama.ptrace_scope=0; containers: "
             "--cap-add=SYS_PTRACE or a seccomp profile that allows process_vm_readv; or different "
             "users)";
    case ESRCH:
      return "ESRCH: the process id is not visible here (different PID namespaces: share them, "
             "e.g. "
             "--pid=host)";
    case ENOSYS:
      return "ENOSYS: the kernel lacks CONFIG_CROSS_MEMORY_ATTACH, or a seccomp filter hides it";
    default:
      return fmt::format("process_vm_readv: {}", std::strerror(error_number));
  }
}

Status pull(pid_t pid, std::uint64_t remote, void* local, std::uint64_t bytes,
            std::uint64_t& calls) noexcept {
  std::uint64_t done = 0;
  while (done < bytes) {
    iovec to{static_cast<std::byte*>(local) + done, bytes - done};
    iovec from{reinterpret_cast<void*>(remote + done), bytes - done};
    ++calls;
    const ssize_t got = ::process_vm_readv(pid, &to, 1, &from, 1, 0);
    if (got > 0) {
      done += static_cast<std::uint64_t>(got);
    } else if (got < 0 && errno == EINTR) {
      continue;
    } else {
      const int number = got == 0 ? EFAULT : errno;
      return Status(number == ESRCH ? ESP_ERR_PEER_DIED : ESP_ERR_SYSTEM, kNoRank, number);
    }
  }
  return {};
}

}  // namespace espalier::shm
