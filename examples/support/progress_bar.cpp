#include "progress_bar.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <limits>
#include <string>

namespace examples {
namespace {

constexpr double kHiddenSeconds = 2.0;
constexpr double kIntervalSeconds = 0.1;
constexpr int kWidth = 40;

bool wanted(ProgressMode mode) {
  return mode == ProgressMode::kOn || (mode == ProgressMode::kAuto && ::isatty(STDERR_FILENO) == 1);
}

}  // namespace

ProgressBar::ProgressBar(ProgressMode mode, int steps, double now)
    : steps_(steps),
      start_(now),
      due_(!wanted(mode)                 ? std::numeric_limits<double>::infinity()
           : mode == ProgressMode::kAuto ? now + kHiddenSeconds
                                         : now) {}

ProgressBar::~ProgressBar() {
  if (drawn_) fmt::print(stderr, "\r{:{}}\r", "", kWidth + 32);
}

void ProgressBar::draw(int step, double now) {
  const double done = static_cast<double>(step + 1) / steps_;
  const auto filled = static_cast<std::size_t>(done * kWidth);
  const double rest = (now - start_) * (1 - done) / done;
  fmt::print(stderr, "\r[{:<{}}] {:3.0f} %, {:.0f} s left ", std::string(filled, '#'), kWidth,
             done * 100, rest);
  std::fflush(stderr);
  due_ = now + kIntervalSeconds;
  drawn_ = true;
}

}  // namespace examples
