// The bugs planted in net/multicast/ (core/plant.hpp): what each number stands for.
#pragma once

#include <span>

#include "tests/support/planted_bugs.hpp"

namespace espalier::multicast::played {

std::span<const ::test::PlantedBug> group_bugs() noexcept;
std::span<const ::test::PlantedBug> placed_bugs() noexcept;

}  // namespace espalier::multicast::played
