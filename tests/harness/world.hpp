// World: n ranks of one wire in one process and one thread, for tests. Everything that happens,
// happens because a test calls progress().
#pragma once

#include "core/wire.hpp"

namespace espalier::test {

class World {
 public:
  World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  virtual ~World() = default;

  virtual int size() const noexcept = 0;
  virtual Wire& wire(Rank r) noexcept = 0;
  // Memory of rank r from which peers read without a copy where the wire can do that; the world's.
  virtual std::byte* shared(Rank r, std::uint64_t bytes) = 0;
  // Takes the wire of a rank down, as its end would.
  virtual void close(Rank r) noexcept = 0;
  // Called after a round in which nothing happened: gives the kernel time where bytes are its.
  virtual void rest() noexcept {}
  // Nobody reads the buffer of a send after it was cancelled, or its wire taken down.
  virtual bool gives_buffers_back() const noexcept { return false; }
  // What a receiver has not begun to read when its send is taken back may be lost.
  virtual bool loses_what_is_taken_back() const noexcept { return false; }
  // What has gone wrong so far, of what the world is to make go wrong.
  virtual std::uint64_t faults() { return 0; }
};

}  // namespace espalier::test
