// What one rank does, and how that is said of all of them.
//
// Values and pure functions; the daemons fill them (rank_states.hpp), the root prints them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace esp_run {

struct RankReport {
  struct Waited {
    std::uint64_t ns = 0;
    std::string text;
  };
  int rank = 0;
  std::string state = {};               // "asleep in a wait", "computing (not in Espalier)"
  std::uint64_t since_ns = 0;           // for how long; 0: `waited` tells, or nobody knows
  std::vector<Waited> waited = {};      // for what
  std::vector<std::string> stack = {};  // lines, if asked for
};

// Reports as the payload of a frame.
std::string pack_reports(const std::vector<RankReport>& reports);
std::vector<RankReport> unpack_reports(std::string_view payload);

// Lines for people; ranks of which the same is to be said share theirs.
std::string reports_text(std::vector<RankReport> reports);
// Their stacks likewise, which are the same but for addresses.
std::string stacks_text(std::vector<RankReport> reports);

}  // namespace esp_run
