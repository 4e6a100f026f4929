// One call of poll(2) over descriptors that each have something to do when ready.
//
// Built anew for every round of a loop: the handful of descriptors of a launcher does not ask for
// more, and nothing can be registered too long. Sleeps without using the CPU.
#pragma once

#include <poll.h>

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

namespace esp_run {

// Stands still while the launcher is stopped (core/attended_clock.hpp): its limits are not for time
// in which a job could not run. One thread asks.
struct Clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Clock>;
  static constexpr bool is_steady = true;

  static time_point now() noexcept;
};
using Deadline = std::optional<Clock::time_point>;  // Nothing: never.

class PollSet {
 public:
  using Handler = std::function<void()>;

  // The handler may find that its object was closed by a handler before it.
  void add(int fd, short events, Handler handler) {
    polled_.push_back({fd, events, 0});
    handlers_.push_back(std::move(handler));
  }
  // Waits for one or more descriptors or the deadline, then calls the handlers in order of add().
  // May return earlier where there is a deadline.
  void wait(Deadline deadline);

 private:
  std::vector<pollfd> polled_;
  std::vector<Handler> handlers_;
};

}  // namespace esp_run
