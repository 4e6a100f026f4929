// A race of candidates: whose times are kept, who falls out, who wins.
//
// Pure: equal on all members that have got equal times. path: setup
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "espalier/espalier.h"

namespace esp_tune {

struct Runner {
  esp_coll_options options = ESP_COLL_OPTIONS_INIT;
  std::vector<double> us;  // of each round: the slowest rank's, of one call
  bool out = false;        // far behind, or refused

  bool ran() const { return !us.empty(); }
  double median() const;  // some round was run
};

// Takes out who takes `factor` times as long as the fastest; never the rules.
void drop_slow(std::vector<Runner>& runners, double factor);

struct Verdict {
  std::size_t chosen = 0;           // among the runners
  std::optional<std::size_t> next;  // the fastest of the others
};
// The rules, which are runner 0, unless another one's median is less than 95 % of theirs and it was
// the faster one in four of five rounds: noise that lasts hits both in the same round.
Verdict judge(const std::vector<Runner>& runners);

// The named ones, fastest first.
std::vector<std::size_t> fastest_named(const std::vector<Runner>& runners);

}  // namespace esp_tune
