#include "esp-bench/device.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>

namespace espalier::bench {
namespace cuda = device::cuda;
namespace {

constexpr const char* kPlayedSymbol = "espalier_played_driver";

[[noreturn]] void refuse_device(const std::string& why) {
  throw std::runtime_error("--alloc device: " + why);
}

const char* driver_library() {
  const char* const named = std::getenv("ESPALIER_CUDA_DRIVER");
  return named != nullptr && *named != '\0' ? named : "libcuda.so.1";
}

template <typename Function>
void find_in(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr) refuse_device(fmt::format("{} has no {}", driver_library(), name));
}

}  // namespace

void Device::load() {
  void* const library = ::dlopen(driver_library(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) refuse_device(::dlerror());
  find_in(library, "cuInit", driver_.init);
  find_in(library, "cuDriverGetVersion", driver_.driver_get_version);
  find_in(library, "cuGetErrorString", driver_.get_error_string);
  find_in(library, "cuDeviceGetCount", driver_.device_get_count);
  find_in(library, "cuDeviceGet", driver_.device_get);
  find_in(library, "cuDeviceGetName", driver_.device_get_name);
  find_in(library, "cuDevicePrimaryCtxRetain", driver_.primary_retain);
  find_in(library, "cuCtxSetCurrent", set_current_);
  find_in(library, "cuMemAlloc_v2", driver_.mem_alloc);
  find_in(library, "cuMemFree_v2", driver_.mem_free);
  find_in(library, "cuMemAllocHost_v2", allocate_host_);
  find_in(library, "cuMemFreeHost", release_host_);
  find_in(library, "cuMemcpyAsync", driver_.memcpy_async);
  find_in(library, "cuStreamCreate", driver_.stream_create);
  find_in(library, "cuStreamSynchronize", finish_);
  is_played_ = ::dlsym(library, kPlayedSymbol) != nullptr;
}

Device::Device(int rank) {
  load();
  check(driver_.init(0), "cuInit");
  int devices = 0, number = 0;
  check(driver_.device_get_count(&devices), "cuDeviceGetCount");
  if (devices == 0) refuse_device("the driver has no device");
  check(driver_.device_get(&number, rank % devices), "cuDeviceGet");
  cuda::Context context = nullptr;
  check(driver_.primary_retain(&context, number), "cuDevicePrimaryCtxRetain");
  check(set_current_(context), "cuCtxSetCurrent");
  for (cuda::Stream& stream : streams_) {
    check(driver_.stream_create(&stream, cuda::kStreamNonBlocking), "cuStreamCreate");
  }
  set_name(number, devices);
}

void Device::set_name(int number, int devices) {
  char text[256] = {};
  int version = 0;
  check(driver_.device_get_name(text, sizeof text, number), "cuDeviceGetName");
  check(driver_.driver_get_version(&version), "cuDriverGetVersion");
  name_ = fmt::format("{} (CUDA {}.{})", text, version / 1000, version % 1000 / 10);
  if (devices > 1) name_ += fmt::format(", one of {}", devices);
}

void Device::check(cuda::Code code, const char* call) const {
  if (code == cuda::kSuccess) return;
  const char* text = nullptr;
  driver_.get_error_string(code, &text);
  refuse_device(fmt::format("{}: {} ({})", call, text != nullptr ? text : "?", int{code}));
}

std::byte* Device::allocate(std::size_t bytes) {
  cuda::Address at = 0;
  check(driver_.mem_alloc(&at, bytes), "cuMemAlloc");
  return static_cast<std::byte*>(cuda::pointer_of(at));
}

void Device::release(std::byte* at) noexcept {
  driver_.mem_free(cuda::address_of(at));
}

std::byte* Device::allocate_host(std::size_t bytes) {
  void* at = nullptr;
  check(allocate_host_(&at, bytes), "cuMemAllocHost");
  return static_cast<std::byte*>(at);
}

void Device::release_host(std::byte* at) noexcept {
  release_host_(at);
}

void Device::start_copy(Stream stream, void* to, const void* from, std::size_t bytes) {
  check(driver_.memcpy_async(cuda::address_of(to), cuda::address_of(from), bytes, streams_[stream]),
        "cuMemcpyAsync");
}

void Device::finish(Stream stream) {
  check(finish_(streams_[stream]), "cuStreamSynchronize");
}

}  // namespace espalier::bench
