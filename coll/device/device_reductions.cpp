#include "coll/device/device_reductions.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/device/kernels/kernel_names.hpp"
#include "core/device/kernels/kernel_ptx.hpp"

namespace espalier {

const DeviceReduction* DeviceReductions::find(const Wanted& wanted) {
  if (from_bytes_ == 0 || wanted.bytes < from_bytes_ || !refused_.empty()) return nullptr;
  const char* const name = device::reduction_name(wanted.op, wanted.type);
  if (name == nullptr) return nullptr;
  for (const auto& one : loaded_) {
    if (one->name == name && one->home == wanted.home) return one.get();
  }
  return load(name, wanted.home);
}

const DeviceReduction* DeviceReductions::load(const char* name, device::Home home) {
  const std::string_view text = device::kernel_ptx(name);
  if (text.empty()) return nullptr;
  auto module = driver_.load_module(home, text);
  Result<device::Kernel> kernel = error(ESP_ERR_DEVICE, "");
  if (module.ok()) kernel = driver_.kernel(*module, name);
  if (!kernel.ok()) {
    refused_ = (module.ok() ? kernel.error() : module.error()).text;
    log_.warn("the host reduces what lies on devices, because kernel {} was not loaded: {}", name,
              refused_);
    return nullptr;
  }
  auto loaded = std::make_unique<DeviceReduction>();
  loaded->name = name;
  loaded->home = home;
  loaded->module = std::move(*module);
  loaded->kernel = *kernel;
  loaded_.push_back(std::move(loaded));
  return loaded_.back().get();
}

std::string DeviceReductions::describe() const {
  if (device::kernel_texts().empty()) {
    return "reduced by the host: the library was built without kernels";
  }
  if (from_bytes_ == 0) return "reduced by the host: off by DEVICE_REDUCE_BYTES";
  if (!refused_.empty()) return fmt::format("reduced by the host: {}", refused_);
  return fmt::format("reduced by the device from {} bytes on (DEVICE_REDUCE_BYTES)", from_bytes_);
}

}  // namespace espalier
