// What faults do to packets, whatever network carries them. path: data
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/prng.hpp"
#include "net/sim/world.hpp"

namespace espalier::sim {

// Damages some bits, a stretch of bytes, or the end; there is at least one byte.
void damage(std::vector<std::byte>& bytes, Prng& prng);

// A delay in which several others of this length get past.
std::uint64_t overtaking_ns(const World::Price& price, std::uint64_t bytes) noexcept;

}  // namespace espalier::sim
