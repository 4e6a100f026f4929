#include "esp-bench/resources.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "esp-bench/clock.hpp"
#include "esp-bench/host.hpp"
#include "esp-bench/operation.hpp"

namespace espalier::bench {
namespace {

// One value of every rank, in rank order, on all ranks.
std::vector<double> gather(Backend& backend, double mine) {
  std::vector<double> all(static_cast<std::size_t>(backend.size()), 0.0);
  all[static_cast<std::size_t>(backend.rank())] = mine;
  backend.combine(all, Combine::kSum);
  return all;
}

void use(Backend& backend, BufferMemory& memory, std::size_t bytes,
         const std::vector<OpKind>& ops) {
  Options options;
  options.ring_bytes = bytes;
  for (const OpKind kind : ops) {
    if (is_pair(kind)) continue;
    Operation operation(backend, memory, kind, bytes, options);
    operation.run(std::min<std::size_t>(operation.slots(), 4));
  }
}

double resident_kib() {
  return memory_kib("smaps_rollup", "Rss");
}
double proportional_kib() {
  return memory_kib("smaps_rollup", "Pss");
}

}  // namespace

nlohmann::json measure_memory(Backend& backend, BufferMemory& memory, double before_kib,
                              const Options& options) {
  struct Stage {
    const char* name;
    double rss_kib, pss_kib;
  };
  std::vector<Stage> stages = {{"before", before_kib, 0.0}};
  stages.push_back({"joined", resident_kib(), proportional_kib()});
  use(backend, memory, 8, options.ops);
  stages.push_back({"after 8 B", resident_kib(), proportional_kib()});
  use(backend, memory, std::size_t{1} << 20, options.ops);
  stages.push_back({"after 1 MiB", resident_kib(), proportional_kib()});
  nlohmann::json json = nlohmann::json::array();
  for (const Stage& stage : stages) {
    const auto rss = gather(backend, stage.rss_kib), pss = gather(backend, stage.pss_kib);
    json.push_back({{"stage", stage.name}, {"rss_kib", rss}, {"pss_kib", pss}});
    if (!options.table || backend.rank() != 0) continue;
    const auto [least, most] = std::minmax_element(rss.begin(), rss.end());
    fmt::print("{:<12} resident {:>8.0f} .. {:>8.0f} KiB per rank, proportional share {:>8.0f}\n",
               stage.name, *least, *most, *std::max_element(pss.begin(), pss.end()));
  }
  return json;
}

nlohmann::json measure_idle(Backend& backend, const Options& options) {
  const bool sleeper = backend.rank() == backend.size() - 1;
  for (int i = 0; i < 10; ++i) backend.barrier();
  if (sleeper) {
    std::this_thread::sleep_for(std::chrono::duration<double>(options.idle_seconds));
  }
  const double cpu = own_cpu_seconds();
  const std::int64_t start = now_ns();
  backend.barrier();
  const double used_ms = (own_cpu_seconds() - cpu) * 1e3;
  const auto cpu_ms = gather(backend, used_ms);
  const auto waited_s = gather(backend, static_cast<double>(now_ns() - start) * 1e-9);
  if (options.table && backend.rank() == 0) {
    for (std::size_t rank = 0; rank + 1 < cpu_ms.size(); ++rank) {
      fmt::print("rank {:>3}: waited {:.2f} s, used {:.2f} ms of CPU\n", rank, waited_s[rank],
                 cpu_ms[rank]);
    }
  }
  return {{"cpu_ms", cpu_ms}, {"waited_s", waited_s}, {"sleeper", backend.size() - 1}};
}

void make_calls(Backend& backend, BufferMemory& memory, const Options& options) {
  constexpr auto kLate = std::chrono::milliseconds(2);
  backend.choose(options.choices.front());
  for (const OpKind kind : options.ops) {
    Operation operation(backend, memory, kind, options.sizes.front(), options);
    for (std::size_t i = 0; i < options.calls; ++i) {
      if (backend.rank() == options.late_rank) std::this_thread::sleep_for(kLate);
      operation.run(1);
      operation.end_batch();
    }
  }
}

}  // namespace espalier::bench
