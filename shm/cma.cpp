#include "shm/cma.hpp"

#include <fmt/format.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace espalier::shm {
namespace {

// Ranges handed to one system call, at each end. The kernel allows 1024 (IOV_MAX).
constexpr std::size_t kBatch = 128;

}  // namespace

ProbeResult probe_pull(VisiblePid pid, std::uint64_t address, std::uint64_t nonce) noexcept {
  std::uint64_t seen = 0;
  iovec local{&seen, sizeof seen};
  iovec remote{reinterpret_cast<void*>(address), sizeof seen};
  const ssize_t got = ::process_vm_readv(pid.number(), &local, 1, &remote, 1, 0);
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

std::uint64_t IovecCursor::bytes() const noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count_; ++i) sum += range(i).iov_len;
  return sum;
}

std::size_t IovecCursor::peek(std::span<iovec> batch, std::uint64_t limit) const noexcept {
  std::size_t filled = 0;
  std::uint64_t skip = offset_;
  for (std::size_t i = index_; i < count_ && filled < batch.size() && limit > 0; ++i) {
    const std::uint64_t length = std::min<std::uint64_t>(range(i).iov_len - skip, limit);
    if (length > 0) {
      batch[filled++] = {static_cast<std::byte*>(range(i).iov_base) + skip, length};
    }
    limit -= length;
    skip = 0;
  }
  return filled;
}

void IovecCursor::advance(std::uint64_t bytes) noexcept {
  while (bytes > 0) {
    ESP_ASSERT(index_ < count_);
    const std::uint64_t step = std::min<std::uint64_t>(range(index_).iov_len - offset_, bytes);
    bytes -= step;
    offset_ += step;
    if (offset_ == range(index_).iov_len) {
      ++index_;
      offset_ = 0;
    }
  }
}

ssize_t copy_between(CmaDirection direction, VisiblePid pid, std::span<const iovec> local,
                     std::span<const iovec> remote) noexcept {
  return direction == CmaDirection::kPull
             ? ::process_vm_readv(pid.number(), local.data(), local.size(), remote.data(),
                                  remote.size(), 0)
             : ::process_vm_writev(pid.number(), local.data(), local.size(), remote.data(),
                                   remote.size(), 0);
}

// The kernel stops at the end of the shorter list, so the two batches need not be of one length.
ssize_t CmaCopy::call(std::uint64_t limit) noexcept {
  std::array<iovec, kBatch> local;
  std::array<iovec, kBatch> remote;
  const std::span locals(local.data(), local_.peek(local, limit));
  const std::span remotes(remote.data(), remote_.peek(remote, limit));
  return kernel_ != nullptr ? kernel_->copy(direction_, pid_, locals, remotes)
                            : copy_between(direction_, pid_, locals, remotes);
}

Status CmaCopy::advance(std::uint64_t quantum, std::uint64_t& calls) noexcept {
  std::uint64_t left = std::min(quantum, bytes_ - copied_);
  while (left > 0) {
    ++calls;
    const ssize_t got = call(left);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      const int number = got == 0 ? EFAULT : errno;
      return Status(number == ESRCH ? ESP_ERR_PEER_DIED : ESP_ERR_SYSTEM, kNoRank, number);
    }
    const auto moved = static_cast<std::uint64_t>(got);
    remote_.advance(moved);
    local_.advance(moved);
    copied_ += moved;
    left -= moved;
  }
  return {};
}

}  // namespace espalier::shm
