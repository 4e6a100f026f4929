// The planted bugs (core/plant.hpp): what each number stands for.
#pragma once

#include <span>

#include "tests/swarm/scenario.hpp"

namespace espalier::swarm {

struct Bug {
  int number;
  const char* kind;
  const char* what;
  StageKind stage = StageKind::kSim;  // another than this: seeds of others cannot find it
  std::uint64_t before = 0;           // only seeds behind this one can
};

std::span<const Bug> planted_bugs() noexcept;

}  // namespace espalier::swarm
