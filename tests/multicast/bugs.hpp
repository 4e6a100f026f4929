// The bugs planted in net/multicast/ (core/plant.hpp): what each number stands for.
#pragma once

#include <span>

namespace espalier::multicast::played {

struct GroupBug {
  int number;
  const char* kind;
  const char* what;
};

std::span<const GroupBug> group_bugs() noexcept;

}  // namespace espalier::multicast::played
