// How far apart two CPUs are at this moment: a cache line bounced between two processes.
//
// Virtual CPUs move: on the reference machine a line travels in 25 ns while both share an L3 and
// in 170 ns when they do not, and everything that moves modified lines changes with it. So every
// launch measures this before and after its rows, and the driver drops launches where it moved.
// path: setup
#pragma once

#include <atomic>
#include <cstdint>

#include "esp-bench/backend.hpp"

namespace espalier::bench {

// One line for each direction of the bounce, on pages shared by both processes.
// `ball`: written by both players in turn; release publishes nothing but itself.
struct Court {
  alignas(128) std::atomic<std::uint32_t> ball{0};
  alignas(128) std::atomic<std::uint32_t> over{0};  // written by player 0, the others sleep on it
};

// Both players call this, on different CPUs. Nanoseconds of one way, median of several rallies.
double bounce(Court& court, int player, int rallies);

// Between ranks 0 and 1, each pinned to a CPU of its own for the while (the first two allowed to
// rank 0 or the ranks' own, if they are pinned); the other ranks sleep. The same value on all
// ranks; 0 when there are not two ranks, two CPUs or one machine. Collective.
double measure_proximity(Backend& backend, bool one_machine);

}  // namespace espalier::bench
