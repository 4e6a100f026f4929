// DescriptorAlarm: a descriptor that becomes readable at a time (timerfd), for an owner that sleeps
// on descriptors alone. A system call each time it is set or stopped.
//
// Ownership: owns the descriptor. Threads: owner. path: slow
#pragma once

#include <cstdint>
#include <memory>

#include "core/status.hpp"

namespace espalier {

class DescriptorAlarm {
 public:
  static Result<std::unique_ptr<DescriptorAlarm>> create();
  ~DescriptorAlarm();
  DescriptorAlarm(const DescriptorAlarm&) = delete;
  DescriptorAlarm& operator=(const DescriptorAlarm&) = delete;

  int fd() const noexcept { return fd_; }
  // From now, by the machine's monotonic clock.
  void ring_in(std::uint64_t delay_ns) noexcept;
  // Not readable any more. No call if it was not set.
  void stop() noexcept;

 private:
  explicit DescriptorAlarm(int fd) noexcept : fd_(fd) {}
  void set(std::uint64_t delay_ns) noexcept;

  int fd_;
  bool is_set_ = false;
};

}  // namespace espalier
