#include "shm/region.hpp"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "core/process_state.hpp"

namespace espalier::shm {
namespace {

Error gone(VisiblePid pid) {
  return error(
      ESP_ERR_PEER_DIED,
      fmt::format("process {} has ended (its id may have been given to another)", pid.number()));
}

// 0 where it cannot be told: nobody's.
std::uint64_t start_of(VisiblePid pid) noexcept {
  return process_state(pid).value_or(ProcessState()).start;
}

const char* name(RegionAccess access) noexcept {
  switch (access) {
    case RegionAccess::kRead:
      return "reading";
    case RegionAccess::kWrite:
      return "writing";
    case RegionAccess::kReadWrite:
      return "reading and writing";
  }
  return "nothing";
}

}  // namespace

Result<Process> Process::open(VisiblePid pid, std::uint64_t start) {
  // The descriptor first: it stays with the process whose start time is read afterwards.
  const auto pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid.number(), 0));
  if (pidfd < 0 && errno == ESRCH) return gone(pid);
  Process process(pid, start, pidfd);
  if (start == 0 || start_of(pid) != start) return gone(pid);
  return process;
}

Process::~Process() {
  if (pidfd_ >= 0) ::close(pidfd_);
}

bool Process::alive() const noexcept {
  if (pidfd_ < 0) return start_of(pid_) == start_;
  return ::syscall(SYS_pidfd_send_signal, pidfd_, 0, nullptr, 0) == 0 || errno != ESRCH;
}

Outcome check(const Region& region, std::span<const RegionRange> ranges, RegionAccess wanted,
              std::uint32_t epoch) {
  if (region.epoch != epoch) {
    return error(ESP_ERR_STATE,
                 fmt::format("the region was withdrawn (epoch {}, now {})", region.epoch, epoch));
  }
  const auto offered = static_cast<unsigned>(region.access);
  if ((offered & static_cast<unsigned>(wanted)) != static_cast<unsigned>(wanted)) {
    return error(ESP_ERR_ARGUMENT, fmt::format("the region is offered for {}, not for {}",
                                               name(region.access), name(wanted)));
  }
  if (region.base > std::numeric_limits<std::uint64_t>::max() - region.bytes) {
    return error(ESP_ERR_ARGUMENT, "the region wraps around the address space");
  }
  for (const RegionRange& range : ranges) {
    if (range.offset <= region.bytes && range.bytes <= region.bytes - range.offset) continue;
    return error(ESP_ERR_ARGUMENT,
                 fmt::format("{} bytes at offset {} are not within a region of {} bytes",
                             range.bytes, range.offset, region.bytes));
  }
  return Unit{};
}

Result<RegionCopy> RegionCopy::get(const Process& owner, const Region& region, std::uint32_t epoch,
                                   std::span<const RegionRange> from, std::span<const iovec> to) {
  return make(CmaDirection::kPull, owner, region, epoch, from, to);
}

Result<RegionCopy> RegionCopy::put(const Process& owner, const Region& region, std::uint32_t epoch,
                                   std::span<const RegionRange> to, std::span<const iovec> from) {
  return make(CmaDirection::kPush, owner, region, epoch, to, from);
}

Result<RegionCopy> RegionCopy::make(CmaDirection direction, const Process& owner,
                                    const Region& region, std::uint32_t epoch,
                                    std::span<const RegionRange> ranges,
                                    std::span<const iovec> local) {
  const RegionAccess wanted =
      direction == CmaDirection::kPull ? RegionAccess::kRead : RegionAccess::kWrite;
  if (auto allowed = check(region, ranges, wanted, epoch); !allowed) return allowed.error();
  if (owner.pid() != region.pid || owner.start() != region.pid_start || !owner.alive()) {
    return gone(region.pid);
  }
  RegionCopy copy;
  copy.local_.assign(local.begin(), local.end());
  copy.remote_.reserve(ranges.size());
  for (const RegionRange& range : ranges) {
    copy.remote_.push_back({reinterpret_cast<void*>(region.base + range.offset), range.bytes});
  }
  const IovecCursor far{std::span<const iovec>(copy.remote_)};
  const IovecCursor near{std::span<const iovec>(copy.local_)};
  if (far.bytes() != near.bytes()) {
    return error(ESP_ERR_ARGUMENT, fmt::format("{} bytes of the region, but {} bytes of buffers",
                                               far.bytes(), near.bytes()));
  }
  copy.copy_ = CmaCopy(direction, region.pid, far, near);
  return copy;
}

}  // namespace espalier::shm
