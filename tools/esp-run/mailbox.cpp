#include "mailbox.hpp"

#include <sys/eventfd.h>

#include <cstdint>
#include <utility>

#include "exit_codes.hpp"

namespace esp_run {

Mailbox::Mailbox() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_.is_open()) fail_with_errno("eventfd");
}

void Mailbox::put(Upcall upcall) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(upcall));
  const std::uint64_t one = 1;
  // Cannot fail: the counter holds more events than there is memory for.
  [[maybe_unused]] const ssize_t written = ::write(event_.fd(), &one, sizeof(one));
}

std::vector<Upcall> Mailbox::take() {
  const std::lock_guard lock(mutex_);
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t consumed = ::read(event_.fd(), &count, sizeof(count));
  return std::exchange(waiting_, {});
}

}  // namespace esp_run
