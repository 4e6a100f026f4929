#include "tools/esp-sim/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace esp_sim {
namespace {

constexpr int kBarColumns = 30;

std::string time_text(double seconds) {
  const auto whole = static_cast<long>(seconds);
  return whole < 60 ? fmt::format("{} s", whole)
                    : fmt::format("{}:{:02} min", whole / 60, whole % 60);
}

}  // namespace

Progress::Progress(std::uint64_t steps)
    : is_terminal_(isatty(STDERR_FILENO) == 1), steps_(std::max<std::uint64_t>(steps, 1)) {}

Progress::~Progress() {
  if (is_drawn_) std::fputs("\r\033[K", stderr);
}

void Progress::show(std::uint64_t done, const std::string& what) {
  done_ = done;
  what_ = what;
  show_part(0.0, "");
}

void Progress::show_part(double part, const std::string& more) {
  if (!is_terminal_ || Clock::now() < next_) return;
  next_ = Clock::now() + std::chrono::milliseconds(100);
  draw(std::clamp(part, 0.0, 1.0), more);
}

void Progress::draw(double part, const std::string& more) {
  const double share = (static_cast<double>(done_) + part) / static_cast<double>(steps_);
  const double seconds = std::chrono::duration<double>(Clock::now() - started_).count();
  const int filled = static_cast<int>(share * kBarColumns);
  const std::string rest =
      share > 0.01 ? fmt::format(", {} left", time_text(seconds * (1.0 - share) / share)) : "";
  fmt::print(stderr, "\r\033[K[{:#<{}}{:.<{}}] {:3.0f} %  {}{}  {}{}", "", filled, "",
             kBarColumns - filled, 100.0 * share, time_text(seconds), rest, what_, more);
  std::fflush(stderr);
  is_drawn_ = true;
}

}  // namespace esp_sim
