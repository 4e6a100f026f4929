#include "core/descriptor_set.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "core/open_files.hpp"

namespace espalier {

Result<std::unique_ptr<DescriptorSet>> DescriptorSet::create() {
  const int fd = ::epoll_create1(EPOLL_CLOEXEC);
  if (fd < 0) {
    const int number = errno;
    return error(number == EMFILE || number == ENFILE ? ESP_ERR_NO_MEMORY : ESP_ERR_SYSTEM,
                 fmt::format("epoll_create1: {}{}", std::strerror(number), open_files_hint(number)),
                 kNoRank, number);
  }
  return std::unique_ptr<DescriptorSet>(new DescriptorSet(fd));
}

DescriptorSet::~DescriptorSet() {
  ::close(fd_);
}

Outcome DescriptorSet::add(int descriptor) {
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.fd = descriptor;
  if (::epoll_ctl(fd_, EPOLL_CTL_ADD, descriptor, &event) == 0) return Unit{};
  const int number = errno;
  return error(ESP_ERR_SYSTEM,
               fmt::format("epoll_ctl of descriptor {}: {}", descriptor, std::strerror(number)),
               kNoRank, number);
}

void DescriptorSet::wait(std::uint64_t timeout_ns) const noexcept {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  pollfd what = {fd_, POLLIN, 0};
  const timespec limit = {static_cast<time_t>(timeout_ns / kSecond),
                          static_cast<long>(timeout_ns % kSecond)};
  (void)::ppoll(&what, 1, &limit, nullptr);
}

}  // namespace espalier
