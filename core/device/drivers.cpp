#include "core/device/drivers.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/device/cuda_driver.hpp"

namespace espalier::device {
namespace {

constexpr const char* kUsualLibrary = "libcuda.so.1";

}  // namespace

Drivers::Drivers(const Config& config, const Log* log)
    : log_(log),
      library_(config.cuda_driver.empty() ? kUsualLibrary : config.cuda_driver),
      looking_(config.devices != DevicesMode::kOff),
      doubts_(log != nullptr && library_ != kUsualLibrary) {
  set_sign();
}

// Until somebody has looked the first time, and while the end of the list cannot be held, anything
// may be.
void Drivers::set_sign() noexcept {
  auto* const there = reinterpret_cast<link_map*>(this);  // any that is not null
  word_ = driver_ != nullptr || looking_ ? there : nullptr;
  link_map* const* of_list = driver_ == nullptr && looking_ ? objects_.sign() : nullptr;
  sign_.store(of_list != nullptr ? of_list : &word_, std::memory_order_relaxed);
}

Driver* Drivers::look() {
  objects_.catch_up();
  void* const library = ::dlopen(library_.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  set_sign();
  if (library == nullptr) {
    if (doubts_) doubt_setting();
    return nullptr;
  }
  const Result<Driver*> taken = take(library);
  if (!taken) {
    why_not_ = taken.error().text;
    if (log_ != nullptr) log_->warn("buffers may not be memory of devices: {}", why_not_);
  }
  return driver_.get();
}

// A name without a folder is the linker's to find, which would load it.
void Drivers::doubt_setting() {
  const bool is_path = library_.find('/') != std::string::npos;
  if (is_path && ::access(library_.c_str(), R_OK) != 0) {
    doubts_ = false;
    log_->warn("CUDA_DRIVER is {}: {}; no memory is taken for a device's", library_,
               std::strerror(errno));
  } else if (void* const usual = ::dlopen(kUsualLibrary, RTLD_LAZY | RTLD_NOLOAD)) {
    ::dlclose(usual);
    doubts_ = false;
    log_->warn("CUDA_DRIVER is {}, and the program has loaded {}: memory of devices is not seen",
               library_, kUsualLibrary);
  }
}

Result<Driver*> Drivers::take(void* library) {
  looking_ = false;
  Result<std::unique_ptr<Driver>> made = CudaDriver::open(library);
  if (!made) {
    set_sign();
    return error(made.error().status.code(), fmt::format("{}: {}", library_, made.error().text));
  }
  driver_ = std::move(*made);
  set_sign();
  return driver_.get();
}

Result<Driver*> Drivers::open() {
  if (driver_ != nullptr) return driver_.get();
  if (!why_not_.empty()) return error(ESP_ERR_UNSUPPORTED, why_not_);
  if (!looking_) return error(ESP_ERR_UNSUPPORTED, "off by DEVICES");
  void* const library = ::dlopen(library_.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const said = ::dlerror();
    return error(ESP_ERR_UNSUPPORTED, said != nullptr ? said : library_);
  }
  Result<Driver*> taken = take(library);
  if (!taken) why_not_ = taken.error().text;
  return taken;
}

}  // namespace espalier::device
