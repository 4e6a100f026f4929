#include "core/descriptor_alarm.hpp"

#include <fmt/format.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/assert.hpp"
#include "core/open_files.hpp"

namespace espalier {

Result<std::unique_ptr<DescriptorAlarm>> DescriptorAlarm::create() {
  const int fd = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  if (fd < 0) {
    const int number = errno;
    const bool limit = number == EMFILE || number == ENFILE || number == ENOMEM;
    return error(
        limit ? ESP_ERR_NO_MEMORY : ESP_ERR_SYSTEM,
        fmt::format("timerfd_create: {}{}", std::strerror(number), open_files_hint(number)),
        kNoRank, number);
  }
  return std::unique_ptr<DescriptorAlarm>(new DescriptorAlarm(fd));
}

DescriptorAlarm::~DescriptorAlarm() {
  ::close(fd_);
}

void DescriptorAlarm::ring_in(std::uint64_t delay_ns) noexcept {
  is_set_ = true;
  set(std::max<std::uint64_t>(delay_ns, 1));
}

void DescriptorAlarm::stop() noexcept {
  if (std::exchange(is_set_, false)) set(0);
}

// 0: never. Either forgets that it has rung.
void DescriptorAlarm::set(std::uint64_t delay_ns) noexcept {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  // A century: later ones are none.
  constexpr std::uint64_t kLatest = kSecond * 86'400 * 365 * 100;
  delay_ns = std::min(delay_ns, kLatest);
  itimerspec when = {};
  when.it_value = {static_cast<time_t>(delay_ns / kSecond), static_cast<long>(delay_ns % kSecond)};
  const int failure = ::timerfd_settime(fd_, 0, &when, nullptr);
  ESP_ASSERT(failure == 0);
}

}  // namespace espalier
