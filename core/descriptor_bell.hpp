// DescriptorBell: the doorbell for a worker that must wait for file descriptors, too.
//
// A datagram socket with an abstract name: other processes of the machine can write to it without
// being given a descriptor, nothing appears in a file system, and it goes with its process. One
// byte per ring; a full queue is as good as one byte. Ownership: owns the socket. Threads:
// ring_mailbox() any, the rest the owner. path: slow
#pragma once

#include <cstdint>
#include <memory>

#include "core/status.hpp"

namespace espalier {

class DescriptorBell {
 public:
  static Result<std::unique_ptr<DescriptorBell>> create();
  ~DescriptorBell();
  DescriptorBell(const DescriptorBell&) = delete;
  DescriptorBell& operator=(const DescriptorBell&) = delete;

  int fd() const noexcept { return fd_; }  // readable after a ring, until drain()
  std::uint64_t mailbox() const noexcept { return mailbox_; }
  void drain() noexcept;

 private:
  DescriptorBell(int fd, std::uint64_t mailbox) noexcept : fd_(fd), mailbox_(mailbox) {}

  int fd_;
  std::uint64_t mailbox_;
};

// Makes the descriptor of that name readable; nothing happens when it is gone.
void ring_mailbox(std::uint64_t mailbox) noexcept;
// Setup: opens what ring_mailbox() sends by, for when there are no descriptors left. One for the
// process, which stays; a child made by fork() may go on using it.
void prepare_to_ring() noexcept;

}  // namespace espalier
