#include "poll_set.hpp"

#include <algorithm>

#include "core/attended_clock.hpp"

namespace esp_run {
namespace {

using namespace std::chrono_literals;

// Sleeps are short where time matters, so that a longer distance between two looks at the clock
// says that the launcher was stopped.
constexpr std::chrono::milliseconds kSleepMost = 500ms;
constexpr std::chrono::nanoseconds kCountedMost = 1s;

int timeout_ms(Deadline deadline) {
  if (!deadline) return -1;
  // Rounded up: waking before the deadline would make the loop turn on the spot.
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
  return static_cast<int>(std::clamp<long long>(left.count(), 0, kSleepMost.count()));
}

}  // namespace

Clock::time_point Clock::now() noexcept {
  static espalier::SteadyClock steady;
  static espalier::AttendedClock attended(steady, kCountedMost.count());
  return time_point(duration(attended.now_ns()));
}

void PollSet::wait(Deadline deadline) {
  const int ready = poll(polled_.data(), polled_.size(), timeout_ms(deadline));
  if (ready <= 0) return;  // The deadline; EINTR cannot be, as all signals come by signalfd.
  for (std::size_t i = 0; i < polled_.size(); ++i) {
    if (polled_[i].revents != 0) handlers_[i]();
  }
}

}  // namespace esp_run
