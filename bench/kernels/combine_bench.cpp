// Throughput of the combine kernels against memcpy.
//
// Prediction: a kernel of k inputs reads k arrays and writes one, so it moves k + 1 bytes for every
// byte of the result where memcpy moves two. Beyond the caches both are bound by memory and
// "vs_memcpy", the rate of moved bytes over that of memcpy, should be about 1 for everything that
// is vectorised. In the caches the cheap operators should stay near 1; half and bfloat16 sums (some
// twenty instructions per vector) and all of long double should fall below.
//
// Method: buffers of 64 KiB, 1 MiB and 16 MiB each, in place (dst is the first source) and out of
// place; the floor, memcpy of the same volume, is measured in the same process, per size, as the
// best of several passes. bytes_per_second counts moved bytes. `--smoke` runs everything for a
// moment; other options are those of Google Benchmark.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/datatype.hpp"
#include "core/kernels/isa.hpp"

namespace espalier {
namespace {

constexpr std::size_t kSizes[] = {64 << 10, 1 << 20, 16 << 20};
constexpr std::size_t kMaxFanIn = 8;
constexpr std::size_t kAlignment = 4096;

// Page-aligned arrays of zeros (a number in every type); one page more each, so that they do not
// that they do not share cache sets.
class Arrays {
 public:
  Arrays(std::size_t arrays, std::size_t bytes)
      : stride_(bytes + kAlignment + 256), memory_(arrays * stride_ + kAlignment) {}
  std::byte* at(std::size_t i) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    return memory_.data() + (kAlignment - address % kAlignment) + i * stride_;
  }

 private:
  std::size_t stride_;
  std::vector<std::byte> memory_;
};

// Processor time: other processes on the machine disturb it less.
double seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Moved bytes per second (read and written) of memcpy between two arrays; measured once per size.
double memcpy_rate(std::size_t bytes) {
  static std::map<std::size_t, double> rates;
  double& rate = rates[bytes];
  if (rate > 0) return rate;
  Arrays arrays(2, bytes);
  const std::size_t copies = std::max<std::size_t>(1, (std::size_t{32} << 20) / bytes);
  for (int pass = 0; pass < 9; ++pass) {
    const double start = seconds();
    for (std::size_t i = 0; i < copies; ++i) {
      std::memcpy(arrays.at(1), arrays.at(0), bytes);
      benchmark::ClobberMemory();
    }
    rate = std::max(rate, static_cast<double>(2 * bytes * copies) / (seconds() - start));
  }
  return rate;
}

struct Case {
  Isa isa;
  esp_op op;
  esp_type type;
  std::size_t fan_in;
  bool in_place;
  Store store = Store::kCached;
};

void run(benchmark::State& state, const Case& c) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const double floor = memcpy_rate(bytes);
  const CombineKernel kernel = combine_kernel_for(c.isa, c.op, c.type, c.store);
  Arrays arrays(c.fan_in + 1, bytes);
  const void* sources[kMaxFanIn];
  for (std::size_t j = 0; j < c.fan_in; ++j) sources[j] = arrays.at(j);
  void* const dst = arrays.at(c.in_place ? 0 : c.fan_in);
  const double start = seconds();
  for (auto _ : state) {
    kernel(dst, sources, c.fan_in, bytes / type_size(c.type));
    benchmark::ClobberMemory();
  }
  const double moved = static_cast<double>(state.iterations()) * static_cast<double>(bytes) *
                       static_cast<double>(c.fan_in + 1);
  state.SetBytesProcessed(static_cast<std::int64_t>(moved));
  state.counters["vs_memcpy"] = moved / (seconds() - start) / floor;
  state.counters["memcpy_GB/s"] = floor * 1e-9;
}

void add(const Case& c) {
  const std::string name = std::string(op_name(c.op)) + "/" + type_name(c.type) + "/" +
                           isa_name(c.isa) + "/k" + std::to_string(c.fan_in) +
                           (c.in_place ? "/in_place" : "") +
                           (c.store == Store::kPastCaches ? "/past_caches" : "");
  auto* const bench =
      benchmark::RegisterBenchmark(name.c_str(), [c](benchmark::State& state) { run(state, c); });
  for (const std::size_t bytes : kSizes) bench->Arg(static_cast<std::int64_t>(bytes));
}

void add_all() {
  const Isa best = best_isa();
  for (const Isa isa : kIsas) {
    if (!isa_supported(isa)) continue;
    for (const std::size_t k : {2U, 3U, 4U, 8U}) add({isa, ESP_SUM, ESP_FLOAT, k, false});
    add({isa, ESP_SUM, ESP_FLOAT, 2, true});
    add({isa, ESP_SUM, ESP_FLOAT, 2, false, Store::kPastCaches});
  }
  for (int type = 0; type < ESP_TYPE_COUNT; ++type) {
    for (esp_op op = 0; op < ESP_OP_BUILTIN_COUNT; ++op) {
      const auto t = static_cast<esp_type>(type);
      const bool known = op == ESP_SUM_REPRODUCIBLE || (op == ESP_SUM && t == ESP_FLOAT);
      if (op_defined(op, t) && !known) add({best, op, t, 2, true});
    }
  }
}

}  // namespace
}  // namespace espalier

int main(int argc, char** argv) {
  std::string smoke = "--benchmark_min_time=0.0001";
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--smoke") argv[i] = smoke.data();
  }
  espalier::add_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
