// What esp-bench prints and writes: a table for people, JSON for the driver.
//
// Rank 0 only. The JSON is one object: tool, library, mode, ranks, host, placement, load,
// proximity, and rows or floors; docs/performance.md describes the fields. path: setup
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "esp-bench/floors.hpp"
#include "esp-bench/host.hpp"
#include "esp-bench/measure.hpp"
#include "esp-bench/options.hpp"

namespace espalier::bench {

// Where a rank runs; trivially copyable, so that ranks can broadcast it.
struct Placement {
  int rank = 0;
  int cpu = -1;            // at the moment of asking
  char affinity[48] = {};  // "0", "0-1", ...
  char boot_id[40] = {};
};

// What was true of the machine during one launch.
struct Circumstances {
  std::vector<Placement> placement;
  bool one_machine = true;
  double proximity_before_ns = 0;  // 0: not measured
  double proximity_after_ns = 0;
  Load load;           // own_s: all ranks together
  std::string device;  // that buffers are on; empty: on the host
  bool device_is_played = false;
};

nlohmann::json header_json(const Options& options, int ranks);
nlohmann::json to_json(const Circumstances& circumstances);
nlohmann::json to_json(const Row& row);
nlohmann::json to_json(const Floor& floor);

void print_table(const std::vector<Row>& rows, const Circumstances& circumstances, int ranks,
                 bool by_time);
void print_table(const std::vector<Floor>& floors);
// A line about it, where there is one.
void print_device(const Circumstances& circumstances);

// To the file of --json, or standard output for "-"; nothing without --json. Throws when the file
// cannot be written.
void write_json(const nlohmann::json& json, const Options& options);

}  // namespace espalier::bench
