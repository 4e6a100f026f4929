// Planted bugs (core/plant.hpp) and the hunt for them: each in a process of its own, because not
// all of them end well.
#pragma once

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <span>

#include "core/assert.hpp"
#include "core/plant.hpp"

namespace test {

struct PlantedBug {
  int number;
  const char* kind;
  const char* what;
};

#ifdef ESPALIER_PLANTED_BUGS
// `search` returns more than 0 if it has found something wrong.
template <typename Search>
bool hunt_planted_bug(const PlantedBug& bug, Search& search) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  ESP_ASSERT(child >= 0);
  if (child == 0) {
    espalier::planted_bug = bug.number;
    const int found = search();
    std::fflush(stdout);
    ::_exit(found);
  }
  int status = 0;
  ESP_ASSERT(::waitpid(child, &status, 0) == child);
  const bool found = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  fmt::print("bug {} ({}: {}) was {}\n", bug.number, bug.kind, bug.what,
             found ? "found" : "NOT found");
  return found;
}

// Of all, or of the one with this number. What a program ends with: 0 if each was found.
template <typename Search>
int hunt_planted_bugs(std::span<const PlantedBug> bugs, int number, Search&& search) {
  std::size_t hunted = 0, found = 0;
  for (const PlantedBug& bug : bugs) {
    if (number != 0 && bug.number != number) continue;
    ++hunted;
    found += hunt_planted_bug(bug, search) ? 1 : 0;
  }
  fmt::print("{} of {} planted bugs found\n", found, hunted);
  return hunted > 0 && found == hunted ? 0 : 1;
}
#endif

}  // namespace test
