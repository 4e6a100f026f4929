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
};

}  // namespace espalier::test
