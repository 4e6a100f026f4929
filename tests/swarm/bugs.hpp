// The planted bugs (core/plant.hpp): what each number stands for.
#pragma once

#include <span>

namespace espalier::swarm {

struct Bug {
  int number;
  const char* kind;
  const char* what;
  bool shm = false;  // in the shared-memory wire: other seeds cannot find it
};

std::span<const Bug> planted_bugs() noexcept;

}  // namespace espalier::swarm
