// True ping-pong of several threads at a time: each reply leaves only after its message has come.
//
// It knows no library: a thread talks through its Line. Messages carry a number that the answering
// side increments, so a reply that was sent early, or to another message, is noticed; what is
// between first and last bytes is checked at the end. Of an empty message its order is all there
// is to see. path: data
#pragma once

#include <cstddef>
#include <span>

#include "threads/series.hpp"

namespace espalier::bench {

// One thread's end of a channel to the same thread of the other rank.
class Line {
 public:
  virtual ~Line() = default;
  virtual void send(const void* buffer, std::size_t bytes) = 0;
  virtual void recv(void* buffer, std::size_t bytes) = 0;
  // Both at a time; returns when both are complete.
  virtual void exchange(const void* out, void* in, std::size_t bytes) = 0;
};

struct PingPong {
  std::size_t bytes = 0;
  int iterations = 0;    // of each thread
  bool started = false;  // by exchange(): a send and the receive of what answers it
  double limit_s = 60;   // after that there are fewer iterations
};

struct PingPongResult {
  Series half_us;      // half a round trip, of all threads; of the asking rank
  int warm_ups = 0;    // iterations of each thread
  int iterations = 0;  // measured ones, of each thread in the mean
  bool steady = false;
  bool correct = true;
};

// For one of the two ranks, with a line for each thread, which it starts. The asking rank says how
// many iterations there are.
PingPongResult ask(std::span<Line* const> lines, const PingPong& cell);
void answer(std::span<Line* const> lines, const PingPong& cell);

}  // namespace espalier::bench
