// The bugs planted in tags/ (core/plant.hpp): what each number stands for.
#pragma once

#include <span>

namespace espalier::swarm {

struct TagBug {
  int number;
  const char* kind;
  const char* what;
};

std::span<const TagBug> tag_bugs() noexcept;

}  // namespace espalier::swarm
