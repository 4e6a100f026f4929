// WakeSource: what besides the doorbell has news for an owner that sleeps: sockets, completion
// channels. A worker with such sources sleeps on descriptors instead of its futex.
//
// Threads: the owner of the worker. path: slow
#pragma once

#include <cstdint>

namespace espalier {

class WakeSource {
 public:
  virtual ~WakeSource() = default;
  // Readable, after arm(), when progress() has work. -1: there is none, progress() must be called
  // now and then.
  virtual int descriptor() const noexcept = 0;
  // False: there is work already, do not sleep.
  virtual bool arm() noexcept = 0;
  // progress() is wanted by then, by the worker's clock, even if nothing arrives. 0: never.
  virtual std::uint64_t deadline_ns() const noexcept { return 0; }
};

}  // namespace espalier
