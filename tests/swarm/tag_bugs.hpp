// The bugs planted in tags/ (core/plant.hpp): what each number stands for.
#pragma once

#include <span>

#include "tests/support/planted_bugs.hpp"

namespace espalier::swarm {

std::span<const ::test::PlantedBug> tag_bugs() noexcept;

}  // namespace espalier::swarm
