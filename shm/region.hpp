// Region: memory that a process offers to the others of its node, and copies into and out of it.
//
// The owner hands out the descriptor (through a cell or the bootstrap); the user of it checks every
// access against it: a copy out of bounds, in a direction that was not offered, of an offer that
// was withdrawn (epoch) or of a process id that names another process by now is refused, with a
// status, before anything is touched. Ownership: Process owns a descriptor; lists given to a copy
// are kept in it. Threads: owner. path: slow (Process), data (get, put)
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/status.hpp"
#include "shm/cma.hpp"

namespace espalier::shm {

enum class RegionAccess : std::uint8_t { kRead = 1, kWrite = 2, kReadWrite = 3 };

struct Region {
  VisiblePid pid;
  std::uint64_t pid_start = 0;  // start time of the process, as ProcessState::start
  std::uint64_t base = 0;
  std::uint64_t bytes = 0;
  RegionAccess access = RegionAccess::kRead;
  std::uint32_t epoch = 0;  // of the owner's offers; withdrawing raises it
};

struct RegionRange {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

// Another process, and certainty that it is still that one.
class Process {
 public:
  // ESP_ERR_PEER_DIED when the process is gone or its id has been given to another.
  static Result<Process> open(VisiblePid pid, std::uint64_t start);
  Process(Process&& other) noexcept
      : pid_(other.pid_), start_(other.start_), pidfd_(std::exchange(other.pidfd_, -1)) {}
  Process& operator=(Process&&) = delete;
  ~Process();

  VisiblePid pid() const noexcept { return pid_; }
  std::uint64_t start() const noexcept { return start_; }
  bool alive() const noexcept;

 private:
  Process(VisiblePid pid, std::uint64_t start, int pidfd) noexcept
      : pid_(pid), start_(start), pidfd_(pidfd) {}

  VisiblePid pid_;
  std::uint64_t start_;
  int pidfd_;  // -1: the kernel has no pidfds, /proc is asked every time
};

// May `ranges` of the region be used this way? `epoch`: the owner's present one.
// ESP_ERR_ARGUMENT (direction, bounds, overflow, list lengths), ESP_ERR_STATE (withdrawn).
Outcome check(const Region& region, std::span<const RegionRange> ranges, RegionAccess wanted,
              std::uint32_t epoch);

// One copy between a region's ranges and a list of local buffers, cut anywhere on either side.
class RegionCopy {
 public:
  // From the region to here, from here to the region. The buffers stay with the caller until
  // done().
  static Result<RegionCopy> get(const Process& owner, const Region& region, std::uint32_t epoch,
                                std::span<const RegionRange> from, std::span<const iovec> to);
  static Result<RegionCopy> put(const Process& owner, const Region& region, std::uint32_t epoch,
                                std::span<const RegionRange> to, std::span<const iovec> from);

  // As CmaCopy::advance.
  Status advance(std::uint64_t quantum, std::uint64_t& calls) noexcept {
    return copy_.advance(quantum, calls);
  }
  bool done() const noexcept { return copy_.done(); }
  std::uint64_t copied() const noexcept { return copy_.copied(); }

 private:
  RegionCopy() = default;
  static Result<RegionCopy> make(CmaDirection direction, const Process& owner, const Region& region,
                                 std::uint32_t epoch, std::span<const RegionRange> ranges,
                                 std::span<const iovec> local);

  std::vector<iovec> remote_, local_;  // moving a vector leaves its elements where they are
  CmaCopy copy_;
};

}  // namespace espalier::shm
