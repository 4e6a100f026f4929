// One scan or exscan with its check. Called by all members of the team; checks this rank's part.
// path: setup
#pragma once

#include "tests/support/gathers.hpp"

namespace test {

// `s.options` and `s.root` do not matter.
inline void check_prefix(esp_team* team, const Shape& s, bool exclusive, const Way& way) {
  const int me = esp_team_rank(team), prefix = exclusive ? me : me + 1;
  Operands operands(s, me, true);
  const void* source = operands.source();
  void* target = operands.output.data();
  const esp_status status = call(
      team, way,
      [&] {
        return (exclusive ? esp_exscan : esp_scan)(team, source, target, s.count, s.type, s.op);
      },
      [&](const esp_coll_options* o, const esp_notify* n, esp_request** r) {
        return (exclusive ? esp_exscan_start : esp_scan_start)(team, source, target, s.count,
                                                               s.type, s.op, o, n, r);
      });
  const std::string text =
      fmt::format("{} {}, {}", exclusive ? "exscan" : "scan", describe(s, team), describe(way));
  const Gathering what = exclusive ? Gathering::kExscan : Gathering::kScan;
  if (!succeeded(status, what, way, team, text)) return;
  if (prefix > 0) {
    const auto expected = result_table(s.type, s.op, prefix);
    CHECK_EQ(operands.output.first_wrong(expected), s.count, "{}", text);
    CHECK(operands.output.guards_intact(), "{}", text);
  } else if (s.in_place) {
    CHECK_EQ(operands.output.first_wrong(operands.mine), s.count, "{}", text);
  } else {
    CHECK(operands.output.untouched(), "{}", text);
  }
  if (s.in_place) return;
  CHECK_EQ(operands.input.first_wrong(operands.mine), s.count, "input of {}", text);
}

}  // namespace test
