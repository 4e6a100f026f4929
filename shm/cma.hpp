// CMA: copying between this process's memory and another's, with process_vm_readv(2) and
// process_vm_writev(2).
//
// There is no kernel object behind it: any mapped address of a process of the same user may be
// read or written, so the library only touches what the owner has described (a cell, or a Region:
// region.hpp) while the owner waits for the acknowledgement. Whether the system call is allowed is
// found out by reading a nonce whose value the owner told through the bootstrap. It may be refused
// later all the same: a seccomp filter, setuid(2), PR_SET_DUMPABLE. Whoever copies has another way.
// Threads: owner. path: data (CmaCopy), setup (probe)
#pragma once

#include <sys/uio.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/status.hpp"
#include "core/visible_pid.hpp"

namespace espalier::shm {

enum class PullAccess : std::uint8_t { kUnknown = 0, kYes = 1, kNo = 2 };

struct ProbeResult {
  PullAccess access = PullAccess::kUnknown;
  int error_number = 0;  // why not: errno, or 0 when the bytes read were not the nonce
};

// Reads 8 bytes at `address` of process `pid` and compares them with `nonce`.
ProbeResult probe_pull(VisiblePid pid, std::uint64_t address, std::uint64_t nonce) noexcept;

// Why reading is denied and what would help, for people.
std::string explain_denied(int error_number);

// Of CmaCopy::advance: the system does not allow it, or not any more. Another way may do: it is not
// that the process is gone, or has no memory there (EFAULT).
constexpr bool is_refusal(const Status& status) noexcept {
  return status.code() == ESP_ERR_SYSTEM && status.error_number() != EFAULT;
}

enum class CmaDirection : std::uint8_t { kPull, kPush };

// The system call: what it answers, and errno. Both lists hold at most IOV_MAX ranges.
ssize_t copy_between(CmaDirection direction, VisiblePid pid, std::span<const iovec> local,
                     std::span<const iovec> remote) noexcept;

// Another kernel than this machine's, for tests: one that refuses.
class CmaKernel {
 public:
  virtual ssize_t copy(CmaDirection direction, VisiblePid pid, std::span<const iovec> local,
                       std::span<const iovec> remote) noexcept = 0;

 protected:
  ~CmaKernel() = default;
};

// A list of byte ranges and a position in it. The list outlives the cursor, unless it is one range.
class IovecCursor {
 public:
  IovecCursor() = default;
  explicit IovecCursor(iovec one) noexcept : one_(one), count_(1) {}
  explicit IovecCursor(std::span<const iovec> list) noexcept
      : list_(list.data()), count_(list.size()) {}

  std::uint64_t bytes() const noexcept;  // of the whole list
  // The next ranges, at most `limit` bytes of them and at most batch.size(); returns how many.
  std::size_t peek(std::span<iovec> batch, std::uint64_t limit) const noexcept;
  void advance(std::uint64_t bytes) noexcept;

 private:
  const iovec& range(std::size_t i) const noexcept { return list_ == nullptr ? one_ : list_[i]; }

  iovec one_{};
  const iovec* list_ = nullptr;
  std::size_t count_ = 0;
  std::size_t index_ = 0;     // range of the position
  std::uint64_t offset_ = 0;  // within it
};

// One copy, which goes on where it stopped. Both lists hold the same number of bytes, in any number
// of ranges (more than IOV_MAX, too), cut anywhere.
class CmaCopy {
 public:
  CmaCopy() = default;
  CmaCopy(CmaDirection direction, VisiblePid pid, IovecCursor remote, IovecCursor local,
          CmaKernel* kernel = nullptr) noexcept
      : remote_(remote),
        local_(local),
        bytes_(local.bytes()),
        kernel_(kernel),
        pid_(pid),
        direction_(direction) {}
  static CmaCopy pull(VisiblePid pid, std::uint64_t remote, void* local, std::uint64_t bytes,
                      CmaKernel* kernel = nullptr) noexcept {
    return {CmaDirection::kPull, pid, IovecCursor(iovec{reinterpret_cast<void*>(remote), bytes}),
            IovecCursor(iovec{local, bytes}), kernel};
  }

  // Copies up to `quantum` bytes more (short counts are continued). ESP_ERR_PEER_DIED when the
  // process is gone, ESP_ERR_SYSTEM with errno otherwise. `calls` grows by the system calls made.
  Status advance(std::uint64_t quantum, std::uint64_t& calls) noexcept;
  bool done() const noexcept { return copied_ == bytes_; }
  std::uint64_t copied() const noexcept { return copied_; }
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  ssize_t call(std::uint64_t limit) noexcept;

  IovecCursor remote_, local_;
  std::uint64_t bytes_ = 0, copied_ = 0;
  CmaKernel* kernel_ = nullptr;  // nullptr: this machine's
  VisiblePid pid_;
  CmaDirection direction_ = CmaDirection::kPull;
};

}  // namespace espalier::shm
