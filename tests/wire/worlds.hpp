// The wires under test. A World is n ranks in one thread: World(n), size(), wire(rank),
// shared(rank, bytes), close(rank). A new transport adds its World to the list at the end.
#pragma once

#include <gtest/gtest.h>

#include "shm_world.hpp"
#include "sim_world.hpp"

namespace espalier::test {

// Segments are copied through the arena.
struct ShmCopies : ShmWorld {
  explicit ShmCopies(int ranks) : ShmWorld(ranks, {}) {}
};

// Segments are pulled by CMA, in quanta.
struct ShmPulls : ShmWorld {
  static ShmWorldOptions options() {
    ShmWorldOptions options;
    options.wire.pull.threshold = 0;
    options.wire.quantum_bytes = 48 << 10;
    return options;
  }
  explicit ShmPulls(int ranks) : ShmWorld(ranks, options()) {}
};

// Simulated machines, one per carrier, and one of two levels.
struct SimDevice : SimWorld {
  explicit SimDevice(int ranks) : SimWorld(ranks, device_machine()) {}
};
struct SimCopies : SimWorld {
  explicit SimCopies(int ranks) : SimWorld(ranks, copy_machine()) {}
};
struct SimPulls : SimWorld {
  explicit SimPulls(int ranks) : SimWorld(ranks, pull_machine()) {}
};
struct SimCluster : SimWorld {
  explicit SimCluster(int ranks) : SimWorld(ranks, cluster_machine()) {}
};

using Worlds = ::testing::Types<ShmCopies, ShmPulls, SimDevice, SimCopies, SimPulls, SimCluster>;

}  // namespace espalier::test
