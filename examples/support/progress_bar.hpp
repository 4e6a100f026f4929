// A bar on standard error for runs that take long enough to be watched.
//
// Single thread. path: data (update while hidden: one comparison of clock readings)
#pragma once

namespace examples {

enum class ProgressMode { kAuto, kOn, kOff };  // kAuto: a terminal, and more than two seconds.

class ProgressBar {
 public:
  ProgressBar(ProgressMode mode, int steps, double now);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(int step, double now) {
    if (now >= due_) draw(step, now);
  }

 private:
  void draw(int step, double now);

  int steps_;
  double start_;
  double due_;  // When to draw next; infinite when never.
  bool drawn_ = false;
};

}  // namespace examples
