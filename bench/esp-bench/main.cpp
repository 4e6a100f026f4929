// esp-bench: measures collectives and point-to-point operations, and the floors under them.
//
// One source for Espalier, Open MPI and MPICH: see backend.hpp. Exit codes: 0 measured, 1 a
// failure (such as no device where one is asked for) or a wrong result, 2 a wrong option.
// path: setup
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include "esp-bench/backend.hpp"
#include "esp-bench/buffer_memory.hpp"
#include "esp-bench/clock.hpp"
#include "esp-bench/floors.hpp"
#include "esp-bench/host.hpp"
#include "esp-bench/measure.hpp"
#include "esp-bench/network.hpp"
#include "esp-bench/operation.hpp"
#include "esp-bench/options.hpp"
#include "esp-bench/proximity.hpp"
#include "esp-bench/report.hpp"
#include "esp-bench/resources.hpp"

namespace espalier::bench {
namespace {

// "0-3,6"
std::string to_ranges(const std::vector<int>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(cpus[i]);
    if (last > i) text += "-" + std::to_string(cpus[last]);
    i = last + 1;
  }
  return text;
}

std::vector<Placement> gather_placement(Backend& backend) {
  std::vector<Placement> all(static_cast<std::size_t>(backend.size()));
  Placement& mine = all[static_cast<std::size_t>(backend.rank())];
  mine.rank = backend.rank();
  mine.cpu = sched_getcpu();
  std::snprintf(mine.affinity, sizeof mine.affinity, "%s", to_ranges(allowed_cpus()).c_str());
  std::snprintf(mine.boot_id, sizeof mine.boot_id, "%s", read_host_info().boot_id.c_str());
  for (int root = 0; root < backend.size(); ++root) {
    backend.bcast(&all[static_cast<std::size_t>(root)], sizeof(Placement), root);
  }
  return all;
}

bool same_machine(const std::vector<Placement>& placement) {
  for (const Placement& p : placement) {
    if (std::strcmp(p.boot_id, placement.front().boot_id) != 0) return false;
  }
  return true;
}

// Of those from `first` on; where all are refused, they say why.
void leave_out_refused(std::vector<Row>& rows, std::size_t first) {
  const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(first);
  const auto is_refused = [](const Row& row) { return !row.refusal.empty(); };
  if (std::all_of(begin, rows.end(), is_refused)) return;
  rows.erase(std::remove_if(begin, rows.end(), is_refused), rows.end());
}

// Whether the launch has used its time, by the slowest rank's clock. The first row has any time.
class Limit {
 public:
  Limit(Backend& backend, const Options& options) : backend_(backend), limit_s_(options.limit_s) {}

  // Collective. Empty: there is time left.
  std::string refusal() {
    if (limit_s_ <= 0.0 || !std::exchange(is_begun_, true)) return {};
    double spent_s = static_cast<double>(now_ns() - start_ns_) * 1e-9;
    if (!is_over_) backend_.combine({&spent_s, 1}, Combine::kMax);
    is_over_ = is_over_ || spent_s > limit_s_;
    return is_over_ ? fmt::format("the launch had used its {:g} s (--limit-s)", limit_s_) : "";
  }

 private:
  Backend& backend_;
  const double limit_s_;
  const std::int64_t start_ns_ = now_ns();
  bool is_begun_ = false;
  bool is_over_ = false;
};

// `save` is called with all rows so far, after each.
std::vector<Row> measure_all(Backend& backend, BufferMemory& memory, const Options& options,
                             bool one_machine,
                             const std::function<void(const std::vector<Row>&)>& save) {
  std::vector<Row> rows;
  Limit limit(backend, options);
  for (const OpKind kind : options.ops) {
    if (is_pair(kind) && backend.size() < 2) continue;
    const std::size_t first = rows.size();
    for (const std::size_t size : options.sizes) {
      const std::size_t bytes = is_fetch_add(kind) ? sizeof(std::uint64_t) : size;
      for (const Choice& choice : options.choices) {
        if (is_pair(kind) && choice != options.choices.front()) continue;
        Row row = refused_row(kind, bytes, choice, limit.refusal());
        if (row.refusal.empty())
          row = measure(backend, memory, kind, bytes, choice, options, one_machine);
        rows.push_back(std::move(row));
        save(rows);
      }
      if (kind == OpKind::kBarrier || is_fetch_add(kind)) break;  // They have no size.
    }
    if (options.leaves_out_refused) leave_out_refused(rows, first);
  }
  return rows;
}

nlohmann::json ops_json(const Options& options, int ranks, const Circumstances& seen,
                        const std::vector<Row>& rows) {
  nlohmann::json json = header_json(options, ranks);
  json.update(to_json(seen));
  json["rows"] = nlohmann::json::array();
  for (const Row& row : rows) json["rows"].push_back(to_json(row));
  return json;
}

int run_ops(Backend& backend, BufferMemory& memory, const Options& options) {
  Circumstances seen;
  seen.device = memory.device();
  seen.device_is_played = memory.is_played();
  seen.placement = gather_placement(backend);
  seen.one_machine = same_machine(seen.placement);
  seen.proximity_before_ns = measure_proximity(backend, seen.one_machine);
  const LoadMeter meter;
  // A launch that has little time may be ended from outside, in a call that takes forever.
  const bool saves = backend.rank() == 0 && options.limit_s > 0.0 && options.json_path != "-";
  const auto save = [&](const std::vector<Row>& done) {
    if (saves) write_json(ops_json(options, backend.size(), seen, done), options);
  };
  const std::vector<Row> rows = measure_all(backend, memory, options, seen.one_machine, save);
  seen.load = meter.read();
  backend.combine({&seen.load.own_s, 1}, Combine::kSum);
  seen.proximity_after_ns = measure_proximity(backend, seen.one_machine);
  const bool correct = std::all_of(
      rows.begin(), rows.end(), [](const Row& row) { return row.correct || !row.refusal.empty(); });
  // Rank 0 fails for all: a launcher would end it before it has printed its table.
  if (backend.rank() != 0) return 0;
  if (options.table) print_table(rows, seen, backend.size(), options.choices.size() > 1);
  nlohmann::json json = ops_json(options, backend.size(), seen, rows);
  json["complete"] = true;
  write_json(json, options);
  if (!correct) std::fprintf(stderr, "esp-bench: a result was wrong; see the table\n");
  return correct ? 0 : 1;
}

nlohmann::json floors_json(const std::vector<Floor>& floors) {
  nlohmann::json json = nlohmann::json::array();
  for (const Floor& floor : floors) json.push_back(to_json(floor));
  return json;
}

int run_floors(const Options& options) {
  const LoadMeter meter;
  Circumstances seen;
  const std::vector<Floor> floors = options.alloc == Alloc::kDevice
                                        ? measure_device_floors(options, seen)
                                        : measure_floors(options);
  if (options.table) print_device(seen);
  if (options.table) print_table(floors);
  nlohmann::json json = header_json(options, 0);
  seen.load = meter.read();
  json.update(to_json(seen));
  json["floors"] = floors_json(floors);
  write_json(json, options);
  return 0;
}

void check_against_job(const Backend& backend, const Options& options) {
  const auto need = [&](bool holds, const char* text) {
    if (!holds) throw std::runtime_error(text);
  };
  need(options.root < backend.size(), "--root is not a rank of this job");
  if (options.mode == Mode::kCalls) {
    need(options.late_rank >= 0 && options.late_rank < backend.size(),
         "--late is not a rank of this job");
  }
  if (options.mode == Mode::kIdle) need(backend.size() >= 2, "mode idle needs two ranks");
}

int run_mode(Backend& backend, double before_kib, const Options& options) {
  check_against_job(backend, options);
  const auto memory = BufferMemory::open(backend, options.alloc);
  nlohmann::json json = header_json(options, backend.size());
  switch (options.mode) {
    case Mode::kOps:
      return run_ops(backend, *memory, options);
    case Mode::kMemory:
      json["memory"] = measure_memory(backend, *memory, before_kib, options);
      break;
    case Mode::kIdle:
      json["idle"] = measure_idle(backend, options);
      break;
    case Mode::kCalls:
      make_calls(backend, *memory, options);
      break;
    case Mode::kSockets: {
      const std::vector<Floor> floors = measure_sockets(backend, options);
      if (options.table && backend.rank() == 0) print_table(floors);
      json["floors"] = floors_json(floors);
      break;
    }
    case Mode::kPeers:
      json["peers"] = measure_peers(backend, options.table);
      break;
    case Mode::kInit:
    case Mode::kFloors:
      break;
  }
  if (backend.rank() == 0) write_json(json, options);
  return 0;
}

int run_in_job(const Options& options) {
  const double before_kib = memory_kib("smaps_rollup", "Rss");
  const auto backend = Backend::open(Operation::heap_bytes(options));
  try {
    return run_mode(*backend, before_kib, options);
  } catch (const std::exception& error) {
    // Said first, and without leaving the job: others, who expect calls, may end this rank then.
    std::fprintf(stderr, "esp-bench: %s\n", error.what());
    std::exit(1);
  }
}

}  // namespace
}  // namespace espalier::bench

int main(int argc, char** argv) {
  using namespace espalier::bench;
  try {
    const Options options = parse_options(argc, argv);
    return options.mode == Mode::kFloors ? run_floors(options) : run_in_job(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "esp-bench: %s\n", error.what());
    return 1;
  }
}
