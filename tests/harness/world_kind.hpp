// A kind of world, by name, and the lists that the suite runs over. Each program that holds the
// suite defines the lists: tests/wire/worlds.cpp, and tests/vm/wire_worlds.cpp for wires that need
// an RDMA device.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "tests/harness/world.hpp"

namespace espalier::test {

struct WorldKind {
  const char* name;
  std::function<std::unique_ptr<World>(int ranks)> make;
  std::uint64_t random_seeds = 12;
  // One after the other; by default more than the 256 tickets x 255 laps of shared memory.
  std::uint64_t messages = 70'000;
  std::uint64_t large_bytes = 64 << 20;  // of the largest message
  bool slow = false;                     // fewer sizes, flows and moments
  bool faulty = false;                   // its large messages do not get through without faults
  std::string (*why_not)() = nullptr;    // why there can be none here; empty: there can

  friend void PrintTo(const WorldKind& kind, std::ostream* out) { *out << kind.name; }
};

inline std::string why_not_here(const WorldKind& kind) {
  return kind.why_not == nullptr ? std::string() : kind.why_not();
}

// Makes worlds of this type, with these arguments behind the number of ranks.
template <typename Made, typename... Args>
std::function<std::unique_ptr<World>(int)> worlds_of(const Args&... args) {
  return [=](int ranks) { return std::make_unique<Made>(ranks, args...); };
}

// For the cases of the contract, and for random traffic.
std::vector<WorldKind> all_worlds();
std::vector<WorldKind> random_worlds();
// FrameWorlds of one kind of link each, which lose nothing. A message of 500,000 bytes takes more
// than one look.
std::vector<WorldKind> plain_links();
// FrameWorlds over connections, in good health.
std::vector<WorldKind> connected_links();

inline std::string name_of_world(const ::testing::TestParamInfo<WorldKind>& info) {
  return info.param.name;
}

}  // namespace espalier::test
