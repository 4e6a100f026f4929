// DescriptorSet: several descriptors to sleep on as one.
//
// Ownership: owns the epoll instance, borrows what is added. Threads: owner. path: slow
#pragma once

#include <cstdint>
#include <memory>

#include "core/status.hpp"

namespace espalier {

class DescriptorSet {
 public:
  static Result<std::unique_ptr<DescriptorSet>> create();
  ~DescriptorSet();
  DescriptorSet(const DescriptorSet&) = delete;
  DescriptorSet& operator=(const DescriptorSet&) = delete;

  Outcome add(int descriptor);
  int fd() const noexcept { return fd_; }  // readable when one of them is
  // Sleeps until one is readable, at most so long.
  void wait(std::uint64_t timeout_ns) const noexcept;

 private:
  explicit DescriptorSet(int fd) noexcept : fd_(fd) {}
  int fd_;
};

}  // namespace espalier
