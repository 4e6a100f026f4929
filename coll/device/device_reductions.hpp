// DeviceReductions: the kernels that combine for calls with memory of a device, by operator, type
// and place. Each is loaded when a call first needs it, and kept.
//
// Where there is none the host combines: for users' operators, sums in another form and types that
// devices lack; below a size; in a build without kernels; and, said once, when one was not loaded.
//
// Ownership: borrows the driver; owns what is found, which lasts as long. Threads: one at a time
// (find, describe); what is found is immutable. path: data (found before), slow
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "coll/engine/mover.hpp"
#include "core/device/device.hpp"
#include "core/log.hpp"

namespace espalier {

struct DeviceReduction : Reduction {
  const char* name = nullptr;
  device::Home home;
  device::Module module;
  device::Kernel kernel;
};

class DeviceReductions {
 public:
  // `from_bytes`: of a call's block; 0: the host combines all.
  DeviceReductions(device::Driver& driver, const Log& log, std::uint64_t from_bytes) noexcept
      : driver_(driver), log_(log), from_bytes_(from_bytes) {}

  struct Wanted {
    esp_op op = ESP_SUM;
    esp_type type = ESP_BYTE;
    std::uint64_t bytes = 0;  // of the call's block
    device::Home home;
  };
  // nullptr: the host combines.
  const DeviceReduction* find(const Wanted& wanted);
  // Who combines, for people.
  std::string describe() const;

 private:
  const DeviceReduction* load(const char* name, device::Home home);

  device::Driver& driver_;
  const Log& log_;
  const std::uint64_t from_bytes_;
  std::vector<std::unique_ptr<DeviceReduction>> loaded_;
  std::string refused_;  // why none is loaded any more
};

}  // namespace espalier
