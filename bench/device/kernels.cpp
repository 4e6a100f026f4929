// esp-device-kernels: the reduction kernels of devices beside copies on the device.
//
// Prediction: a kernel of k inputs reads k arrays and writes one, so it moves k + 1 bytes for each
// byte of the result where a copy moves two; both are bound by the device's memory, and the rate
// of moved bytes should be that of a copy from some MiB up.
//
// usage: esp-device-kernels [--smoke]
// Prints a line for each sum of floats: k (0: a copy), bytes of the result, microseconds (the
// median of samples of some launches in a row). The driver is the library that ESPALIER_CUDA_DRIVER
// names. Exit codes: 0 measured, 1 no device or a failure, 2 a wrong option, 77 built without
// kernels.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "bench/esp-bench/clock.hpp"
#include "core/device/drivers.hpp"
#include "core/device/kernels/kernel_names.hpp"
#include "core/device/kernels/kernel_ptx.hpp"
#include "core/device/kernels/parameters.hpp"

namespace espalier::device {
namespace {

constexpr Home kHome = {.device = 0};
constexpr std::uint32_t kMostBlocks = 4096;

template <typename T>
T must(Result<T> result) {
  if (result.ok()) return std::move(result.value());
  std::fprintf(stderr, "esp-device-kernels: %s\n", result.error().text.c_str());
  std::exit(1);
}

class Bench {
 public:
  explicit Bench(Driver& driver, bool smoke)
      : driver_(driver),
        smoke_(smoke),
        stream_(must(driver.make_stream(kHome))),
        event_(must(driver.make_event(kHome))) {}

  void copies(std::size_t bytes) {
    report(0, bytes, [&] { must(driver_.copy(stream_, at(bytes, 0), at(bytes, 1), bytes)); });
  }

  void sums(std::size_t bytes, std::uint64_t k) {
    const char* const name = reduction_name(ESP_SUM, ESP_FLOAT);
    if (!module_) module_ = must(driver_.load_module(kHome, kernel_ptx(name)));
    const Kernel kernel = must(driver_.kernel(module_, name));
    ReduceParameters parameters = {
        .dst = at(bytes, 0), .sources = {}, .count = bytes / sizeof(float), .k = k};
    for (std::uint64_t i = 0; i < k; ++i) parameters.sources[i] = at(bytes, i + 1);
    void* passed = &parameters;
    const Grid grid = {.blocks = useful_blocks(bytes, kMostBlocks), .threads = kBlockThreads};
    report(k, bytes, [&] { must(driver_.launch(stream_, kernel, grid, &passed)); });
  }

 private:
  // Array `i` of those of `bytes`, which are allocated and zeroed when they are first asked for.
  std::byte* at(std::size_t bytes, std::uint64_t i) {
    const std::uint64_t all = (kMostSources + 1) * bytes;
    if (memory_bytes_ < all) {
      memory_.reset();
      memory_ = must(driver_.allocate(kHome, all));
      memory_bytes_ = all;
      const std::vector<std::byte> zeros(bytes);
      for (std::uint64_t j = 0; j <= kMostSources; ++j) {
        auto* const array = static_cast<std::byte*>(memory_.handle()) + j * bytes;
        must(driver_.copy(stream_, array, zeros.data(), bytes));
      }
      finish();
    }
    return static_cast<std::byte*>(memory_.handle()) + i * bytes;
  }

  void finish() {
    must(driver_.record(event_, stream_));
    while (must(driver_.query(event_)) == EventState::kPending) {
    }
  }

  template <typename Start>
  void report(std::uint64_t k, std::size_t bytes, Start start) {
    const int samples = smoke_ ? 3 : 21, launches = smoke_ ? 1 : 20;
    std::vector<double> us;
    for (int sample = -1; sample < samples; ++sample) {  // One for warm-up.
      const std::int64_t begin = bench::now_ns();
      for (int i = 0; i < launches; ++i) start();
      finish();
      if (sample >= 0) us.push_back(static_cast<double>(bench::now_ns() - begin) / launches * 1e-3);
    }
    std::nth_element(us.begin(), us.begin() + samples / 2, us.end());
    std::printf("%llu %zu %.3f\n", static_cast<unsigned long long>(k), bytes,
                us[static_cast<std::size_t>(samples / 2)]);
  }

  Driver& driver_;
  const bool smoke_;
  const Stream stream_;
  const Event event_;
  Module module_;
  DeviceMemory memory_;
  std::uint64_t memory_bytes_ = 0;
};

int run(bool smoke) {
  if (kernel_texts().empty()) {
    std::fprintf(stderr, "esp-device-kernels: built without kernels of devices\n");
    return 77;
  }
  Config config;
  const char* const named = std::getenv("ESPALIER_CUDA_DRIVER");
  if (named != nullptr) config.cuda_driver = named;
  Drivers drivers(config);
  Driver& driver = *must(drivers.open());
  if (must(driver.describe()).devices.empty()) {
    std::fprintf(stderr, "esp-device-kernels: the driver has no device\n");
    return 1;
  }
  Bench bench(driver, smoke);
  const std::vector<std::size_t> sizes =
      smoke ? std::vector<std::size_t>{64 << 10} : std::vector<std::size_t>{64 << 20, 1 << 20};
  for (const std::size_t bytes : sizes) {  // The largest first: memory is allocated once.
    bench.copies(bytes);
    for (const std::uint64_t k : {2, 3, 4, 8}) bench.sums(bytes, k);
  }
  return 0;
}

}  // namespace
}  // namespace espalier::device

int main(int argc, char** argv) {
  const bool smoke = argc == 2 && std::strcmp(argv[1], "--smoke") == 0;
  if (argc > 1 && !smoke) {
    std::fprintf(stderr, "usage: esp-device-kernels [--smoke]\n");
    return 2;
  }
  return espalier::device::run(smoke);
}
