// A public counter of this rank's job, by its name.
#pragma once

#include <string_view>
#include <vector>

#include "tests/support/rank_check.hpp"

namespace test {

inline std::uint64_t counter(const Context& context, std::string_view name) {
  std::vector<esp_counter_value> values(esp_counters(context.job, nullptr, 0));
  (void)esp_counters(context.job, values.data(), values.size());
  for (const esp_counter_value& one : values) {
    if (one.name == name) return one.value;
  }
  CHECK(false, "there is no counter {}", name);
  return 0;
}

}  // namespace test
