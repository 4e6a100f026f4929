// Floors of memory of a device: plain copies by the driver, each waited for,
// between registered memory of the host and the device, both ways at once, and
// from place to place on the device.
//
// What staging by hand costs at least; and by rate, what bytes that must cross
// a lane do. One process has the device. Times are per copy, over a ring of
// buffers.
#include <algorithm>
#include <memory>

#include "esp-bench/clock.hpp"
#include "esp-bench/device.hpp"
#include "esp-bench/floors.hpp"
#include "esp-bench/report.hpp"

namespace espalier::bench {
namespace {

// Two rings on the device and two on the host.
class Rings {
 public:
  Rings(Device& device, std::size_t bytes)
      : device_(device),
        on_device_{device.allocate(bytes), device.allocate(bytes)},
        on_host_{device.allocate_host(bytes), device.allocate_host(bytes)} {
    for (std::byte* host : on_host_) std::fill_n(host, bytes, std::byte{1});
    for (std::byte* there : on_device_) device.copy(Device::kToDevice, there, on_host_[0], bytes);
  }
  ~Rings() {
    for (std::byte* at : on_device_) device_.release(at);
    for (std::byte* at : on_host_) device_.release_host(at);
  }
  Rings(const Rings&) = delete;
  Rings& operator=(const Rings&) = delete;
  std::byte* device(std::size_t i) const { return on_device_[i]; }
  std::byte* host(std::size_t i) const { return on_host_[i]; }

 private:
  Device& device_;
  std::byte* on_device_[2];
  std::byte* on_host_[2];
};

// `copy` is called with the place of each buffer in its ring, and waits.
template <typename Copy>
Summary time_copies(std::size_t slots, std::size_t stride, const Options& options, Copy copy) {
  const std::size_t ring = slots * stride;
  const int samples = options.smoke ? 3 : 50;
  constexpr int kLeast = 3;
  const std::int64_t end = now_ns() + static_cast<std::int64_t>(options.budget_ms * 1e6);
  std::vector<double> each_us;
  for (int sample = -1; sample < samples; ++sample) {  // One for warm-up.
    if (sample >= kLeast && now_ns() > end) break;
    const std::int64_t start = now_ns();
    for (std::size_t at = 0; at < ring; at += stride) copy(at);
    const auto elapsed = static_cast<double>(now_ns() - start);
    if (sample >= 0) each_us.push_back(elapsed / static_cast<double>(slots) * 1e-3);
  }
  return summarize(each_us);
}

}  // namespace

std::vector<Floor> measure_device_floors(const Options& options, Circumstances& seen) {
  Device device(0);
  seen.device = device.name();
  seen.device_is_played = device.is_played();
  std::vector<Floor> floors;
  for (const std::size_t bytes : options.sizes) {
    const std::size_t stride = (bytes + 63) / 64 * 64;
    const std::size_t slots = std::clamp<std::size_t>(options.ring_bytes / stride, 2, 64);
    const Rings rings(device, slots * stride);
    const auto add = [&](const char* name, const char* note, auto copy) {
      floors.push_back({name, bytes, time_copies(slots, stride, options, copy), note});
    };
    add("to-device", "", [&](std::size_t at) {
      device.copy(Device::kToDevice, rings.device(0) + at, rings.host(0) + at, bytes);
    });
    add("to-host", "", [&](std::size_t at) {
      device.copy(Device::kToHost, rings.host(1) + at, rings.device(1) + at, bytes);
    });
    add("both-ways", "each way", [&](std::size_t at) {
      device.start_copy(Device::kToDevice, rings.device(0) + at, rings.host(0) + at, bytes);
      device.start_copy(Device::kToHost, rings.host(1) + at, rings.device(1) + at, bytes);
      device.finish(Device::kToDevice);
      device.finish(Device::kToHost);
    });
    add("on-device", "", [&](std::size_t at) {
      device.copy(Device::kToDevice, rings.device(0) + at, rings.device(1) + at, bytes);
    });
  }
  return floors;
}

}  // namespace espalier::bench
