// A bar on the terminal for work that takes longer than a second; nothing where the standard error
// is no terminal.
//
// Threads: one. path: setup
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace esp_sim {

class Progress {
 public:
  // `steps`: how much there is to do, all together.
  explicit Progress(std::uint64_t steps);
  ~Progress();  // takes the bar away
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `done` steps are done, now comes `what`.
  void show(std::uint64_t done, const std::string& what);
  // How much of it is done, 0..1, and more words. Draws ten times a second at most.
  void show_part(double part, const std::string& more);

 private:
  void draw(double part, const std::string& more);

  using Clock = std::chrono::steady_clock;
  bool is_terminal_;
  std::uint64_t steps_;
  std::uint64_t done_ = 0;
  std::string what_;
  Clock::time_point started_ = Clock::now();
  Clock::time_point next_ = started_ + std::chrono::seconds(1);
  bool is_drawn_ = false;
};

}  // namespace esp_sim
