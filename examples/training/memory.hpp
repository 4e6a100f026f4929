// Where gradients lie: on the host, or on the first device of CUDA's driver, which is loaded at run
// time and needs no headers of CUDA's. Collectives see by themselves which it is.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <type_traits>
#include <vector>

// The library of the driver: the one that the library's setting CUDA_DRIVER names.
inline const char* driver_library() {
  const char* const named = std::getenv("ESPALIER_CUDA_DRIVER");
  return named != nullptr && *named != '\0' ? named : "libcuda.so.1";
}

// What the program needs of the driver. All functions answer 0 when all is well.
struct Driver {
  // What is missing; nullptr: nothing, and the device is this thread's from now on.
  const char* load(const char* library) {
    void* const handle = ::dlopen(library, RTLD_NOW | RTLD_GLOBAL);
    if (handle == nullptr) return ::dlerror();
    int (*init)(unsigned) = nullptr;
    int (*get_device)(int*, int) = nullptr;
    int (*retain)(void**, int) = nullptr;
    int (*set_current)(void*) = nullptr;
    const auto find = [handle](const char* name, auto& function) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
      return function != nullptr;
    };
    const bool whole = find("cuInit", init) && find("cuDeviceGet", get_device) &&
                       find("cuDevicePrimaryCtxRetain", retain) &&
                       find("cuCtxSetCurrent", set_current) &&
                       find("cuCtxSynchronize", synchronize) && find("cuMemAlloc_v2", allocate) &&
                       find("cuMemFree_v2", release) && find("cuMemcpyHtoD_v2", write) &&
                       find("cuMemcpyDtoH_v2", read);
    int device = 0;
    void* context = nullptr;
    const bool works = whole && init(0) == 0 && get_device(&device, 0) == 0 &&
                       retain(&context, device) == 0 && set_current(context) == 0;
    return works ? nullptr : "it is no driver of a device that works";
  }

  int (*synchronize)() = nullptr;
  int (*allocate)(std::uint64_t*, std::size_t) = nullptr;
  int (*release)(std::uint64_t) = nullptr;
  int (*write)(std::uint64_t, const void*, std::size_t) = nullptr;
  int (*read)(void*, std::uint64_t, std::size_t) = nullptr;
};

// A run of doubles that collectives take. `driver` nullptr: on the host.
class Values {
 public:
  Values(const Driver* driver, std::size_t count) : driver_(driver), host_(count) {
    if (driver_ != nullptr) must(driver_->allocate(&device_, bytes()), "cuMemAlloc");
  }
  Values(const Values&) = delete;
  ~Values() {
    if (driver_ != nullptr) must(driver_->release(device_), "cuMemFree");
  }

  // What is computed with; where driver_ is, a copy of what collectives take.
  std::vector<double>& host() { return host_; }
  std::span<double> shared() {
    if (driver_ == nullptr) return host_;
    return {reinterpret_cast<double*>(device_), host_.size()};
  }
  // Complete when this returns: a collective begins to read when it is called.
  void put() {
    if (driver_ == nullptr) return;
    must(driver_->write(device_, host_.data(), bytes()), "cuMemcpyHtoD");
    must(driver_->synchronize(), "cuCtxSynchronize");
  }
  void get() {
    if (driver_ != nullptr) must(driver_->read(host_.data(), device_, bytes()), "cuMemcpyDtoH");
  }

 private:
  std::size_t bytes() const { return host_.size() * sizeof(double); }
  static void must(int code, const char* call) {
    if (code == 0) return;
    std::fprintf(stderr, "training: %s: error %d of the driver\n", call, code);
    std::abort();
  }

  const Driver* driver_;
  std::uint64_t device_ = 0;
  std::vector<double> host_;
};
