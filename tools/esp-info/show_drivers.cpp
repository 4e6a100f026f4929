// Drivers of devices (GPUs): what this process would use, or why it cannot.
#include <fmt/format.h>

#include "core/config_value.hpp"
#include "core/device/drivers.hpp"
#include "core/device/kernels/kernel_ptx.hpp"
#include "tools/esp-info/commands.hpp"

namespace esp_info {

using espalier::Config;
using espalier::Result;
namespace device = espalier::device;

int show_drivers(const Config& config) {
  device::Drivers drivers(config);
  const Result<device::Driver*> driver = drivers.open();
  if (!driver) {
    fmt::print("no driver of devices: {}\n", driver.error().text);
    return 0;
  }
  const Result<device::DriverInfo> info = driver.value()->describe();
  if (!info) {
    fmt::print("driver of devices not usable: {}\n", info.error().text);
    return 0;
  }
  fmt::print("driver of devices: {} {}{}, {}\n", info.value().name, info.value().version,
             info.value().played ? " (played by a library of tests, no device)" : "",
             info.value().devices.empty() ? "which has no device here" : "with");
  int number = 0;
  for (const device::DeviceInfo& one : info.value().devices) {
    fmt::print("  device {}: {} at {}, {} of memory, computes as {}.{}{}\n", number++, one.name,
               one.bus_address, espalier::format_size(one.memory_bytes), one.major, one.minor,
               one.dma_buf ? ", memory as dma-buf" : "");
  }
  const std::size_t kernels = device::kernel_texts().size();
  fmt::print("  {}\n", kernels == 0 ? "no kernels: the library was built without, the host reduces"
                                    : fmt::format("{} kernels for reductions and copies", kernels));
  return 0;
}

}  // namespace esp_info
