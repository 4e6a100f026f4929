#include "esp-bench/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <stdexcept>

#include "esp-bench/backend.hpp"

namespace espalier::bench {
namespace {

std::string human_bytes(std::size_t bytes) {
  if (bytes >= (1u << 20) && bytes % (1u << 20) == 0) return fmt::format("{} MiB", bytes >> 20);
  if (bytes >= (1u << 10) && bytes % (1u << 10) == 0) return fmt::format("{} KiB", bytes >> 10);
  return fmt::format("{} B", bytes);
}

double gigabytes_per_second(std::size_t bytes, double us) {
  return us > 0 ? static_cast<double>(bytes) / us * 1e-3 : 0.0;
}

nlohmann::json summary_json(const Summary& summary) {
  return {{"samples", summary.samples},
          {"median_us", summary.median},
          {"mad_us", summary.mad},
          {"p99_us", summary.p99},
          {"min_us", summary.min}};
}

const char* mode_name(Mode mode) {
  switch (mode) {
    case Mode::kOps:
      return "ops";
    case Mode::kFloors:
      return "floors";
    case Mode::kMemory:
      return "memory";
    case Mode::kIdle:
      return "idle";
    case Mode::kInit:
      return "init";
    case Mode::kCalls:
      return "calls";
    case Mode::kSockets:
      return "sockets";
    case Mode::kPeers:
      return "peers";
  }
  return "?";
}

void print_row(const Row& row) {
  const Summary& t = row.time_us;
  if (!row.refusal.empty()) {
    fmt::print("{:<20} {:>8}  refused: {} [{}]\n", op_name(row.kind), human_bytes(row.bytes),
               row.refusal, row.choice);
    return;
  }
  fmt::print("{:<20} {:>8} {:>11.3f} {:>9.3f} {:>11.3f} {:>11.3f} {:>8.2f} {:>5}x{:<4} {}{}\n",
             op_name(row.kind), human_bytes(row.bytes), t.median, t.mad, t.p99, t.min,
             gigabytes_per_second(row.bytes, t.median), t.samples, row.batch, row.choice,
             row.correct ? "" : "  WRONG RESULT");
}

}  // namespace

nlohmann::json header_json(const Options& options, int ranks) {
  const HostInfo host = read_host_info();
  return {{"tool", "esp-bench"},
          {"library", Backend::library()},
          {"mode", mode_name(options.mode)},
          {"smoke", options.smoke},
          {"buffers", options.reuses_buffers ? "reused" : "rewritten"},
          {"ranks", ranks},
          {"compiler", __VERSION__},
          {"host",
           {{"cpu_model", host.cpu_model}, {"kernel", host.kernel}, {"cpus", host.cpus_online}}}};
}

nlohmann::json to_json(const Circumstances& c) {
  nlohmann::json ranks = nlohmann::json::array();
  for (const Placement& p : c.placement) {
    ranks.push_back({{"rank", p.rank}, {"cpu", p.cpu}, {"affinity", p.affinity}});
  }
  nlohmann::json device;
  if (!c.device.empty()) device = {{"name", c.device}, {"played", c.device_is_played}};
  return {{"placement", ranks},
          {"device", device},
          {"one_machine", c.one_machine},
          {"proximity_ns", {{"before", c.proximity_before_ns}, {"after", c.proximity_after_ns}}},
          {"load",
           {{"wall_s", c.load.wall_s},
            {"busy_s", c.load.busy_s},
            {"own_s", c.load.own_s},
            {"foreign_s", std::max(0.0, c.load.busy_s - c.load.own_s)},
            {"stolen_s", c.load.stolen_s}}}};
}

nlohmann::json to_json(const Row& row) {
  nlohmann::json json = summary_json(row.time_us);
  json["op"] = op_name(row.kind);
  json["bytes"] = row.bytes;
  json["choice"] = row.choice;
  json["refusal"] = row.refusal;
  json["batch"] = row.batch;
  json["mean_rank_us"] = row.mean_rank_us;
  json["run_delay_share"] = row.run_delay_share;
  json["correct"] = row.correct;
  return json;
}

nlohmann::json to_json(const Floor& floor) {
  nlohmann::json json = summary_json(floor.time_us);
  json["name"] = floor.name;
  json["bytes"] = floor.bytes;
  json["note"] = floor.note;
  return json;
}

void print_table(const std::vector<Row>& rows, const Circumstances& c, int ranks, bool by_time) {
  fmt::print("# {}, {} ranks, line one way {:.0f} ns before and {:.0f} ns after\n",
             Backend::library(), ranks, c.proximity_before_ns, c.proximity_after_ns);
  print_device(c);
  fmt::print("{:<20} {:>8} {:>11} {:>9} {:>11} {:>11} {:>8} {:>10}\n", "operation", "size",
             "median us", "MAD", "p99", "min", "GB/s", "samples");
  std::vector<Row> sorted = rows;
  if (by_time) {
    std::stable_sort(sorted.begin(), sorted.end(), [](const Row& a, const Row& b) {
      if (a.kind != b.kind) return a.kind < b.kind;
      if (a.bytes != b.bytes) return a.bytes < b.bytes;
      if (a.refusal.empty() != b.refusal.empty()) return a.refusal.empty();
      return a.time_us.median < b.time_us.median;
    });
  }
  for (const Row& row : sorted) print_row(row);
}

void print_table(const std::vector<Floor>& floors) {
  fmt::print("{:<20} {:>8} {:>11} {:>9} {:>11} {:>8}\n", "floor", "size", "median us", "MAD", "p99",
             "GB/s");
  for (const Floor& floor : floors) {
    const Summary& t = floor.time_us;
    if (t.samples == 0) {
      fmt::print("{:<20} {:>8} not available: {}\n", floor.name, human_bytes(floor.bytes),
                 floor.note);
      continue;
    }
    fmt::print("{:<20} {:>8} {:>11.3f} {:>9.3f} {:>11.3f} {:>8.2f}  {}\n", floor.name,
               human_bytes(floor.bytes), t.median, t.mad, t.p99,
               gigabytes_per_second(floor.bytes, t.median), floor.note);
  }
}

void print_device(const Circumstances& c) {
  if (c.device.empty()) return;
  fmt::print("# memory of a device: {}{}\n", c.device,
             c.device_is_played ? "; it is PLAYED, and no figure means anything" : "");
}

void write_json(const nlohmann::json& json, const Options& options) {
  if (options.json_path.empty()) return;
  if (options.json_path == "-") {
    std::cout << json.dump(2) << std::endl;
    return;
  }
  std::ofstream file(options.json_path);
  file << json.dump(2) << '\n';
  file.close();
  if (!file)
    throw std::runtime_error("cannot write " + options.json_path + ": " + std::strerror(errno));
}

}  // namespace espalier::bench
