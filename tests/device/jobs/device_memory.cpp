#include "tests/device/jobs/device_memory.hpp"

#include <dlfcn.h>
#include <errno.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

namespace test {
namespace {

constexpr std::byte kUntouched{0xa5};
constexpr unsigned kNonBlocking = 1;  // a stream beside the default one
constexpr int kNotReady = 600;

void must(int result, const char* what) {
  if (result == 0) return;
  std::fprintf(stderr, "%s: %s: error %d of the driver\n", program_invocation_short_name, what,
               result);
  std::abort();
}

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace

std::unique_ptr<Device> Device::open(const char* library, const char*& why) {
  void* const handle = ::dlopen(library, RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) {
    why = ::dlerror();
    return nullptr;
  }
  auto device = std::make_unique<Device>();
  int (*init)(unsigned) = nullptr;
  int (*get)(int*, int) = nullptr;
  int (*retain)(void**, int) = nullptr;
  int (*set)(void*) = nullptr;
  const bool whole = find(handle, "cuInit", init) && find(handle, "cuDeviceGet", get) &&
                     find(handle, "cuDevicePrimaryCtxRetain", retain) &&
                     find(handle, "cuCtxSetCurrent", set) &&
                     find(handle, "cuMemAlloc_v2", device->allocate_) &&
                     find(handle, "cuMemFree_v2", device->free_) &&
                     find(handle, "cuMemcpyHtoD_v2", device->write_) &&
                     find(handle, "cuMemcpyDtoH_v2", device->read_) &&
                     find(handle, "cuMemAllocHost_v2", device->allocate_host_) &&
                     find(handle, "cuStreamCreate", device->make_stream_) &&
                     find(handle, "cuEventCreate", device->make_event_) &&
                     find(handle, "cuMemcpyAsync", device->copy_) &&
                     find(handle, "cuStreamSynchronize", device->finish_) &&
                     find(handle, "cuEventQuery", device->query_);
  int number = 0;
  void* context = nullptr;
  why = "it has not all functions";
  if (!whole) return nullptr;
  why = "it has no device that works";
  if (init(0) != 0 || get(&number, 0) != 0 || retain(&context, number) != 0 || set(context) != 0) {
    return nullptr;
  }
  return device;
}

std::byte* Device::allocate(std::size_t bytes) {
  Address at = 0;
  must(allocate_(&at, bytes), "cuMemAlloc");
  return reinterpret_cast<std::byte*>(at);
}

void Device::free(std::byte* at) {
  must(free_(reinterpret_cast<Address>(at)), "cuMemFree");
}

void Device::write(std::byte* to, const void* from, std::size_t bytes) {
  if (bytes > 0) must(write_(reinterpret_cast<Address>(to), from, bytes), "cuMemcpyHtoD");
}

void Device::read(void* to, const std::byte* from, std::size_t bytes) {
  if (bytes > 0) must(read_(to, reinterpret_cast<Address>(from), bytes), "cuMemcpyDtoH");
}

std::byte* Device::allocate_host(std::size_t bytes) {
  void* at = nullptr;
  must(allocate_host_(&at, bytes), "cuMemAllocHost");
  return static_cast<std::byte*>(at);
}

void* Device::make_stream() {
  void* stream = nullptr;
  must(make_stream_(&stream, kNonBlocking), "cuStreamCreate");
  return stream;
}

void* Device::make_event() {
  void* event = nullptr;
  must(make_event_(&event, 0), "cuEventCreate");
  return event;
}

void Device::copy(void* stream, void* to, const void* from, std::size_t bytes) {
  must(copy_(reinterpret_cast<Address>(to), reinterpret_cast<Address>(from), bytes, stream),
       "cuMemcpyAsync");
}

void Device::finish(void* stream) {
  must(finish_(stream), "cuStreamSynchronize");
}

bool Device::is_done(void* event) {
  const int result = query_(event);
  if (result != kNotReady) must(result, "cuEventQuery");
  return result == 0;
}

Device& the_device() {
  static const std::unique_ptr<Device> opened = [] {
    const char* const library = std::getenv("DEVICE_LIBRARY");
    const char* why = nullptr;
    auto device = Device::open(library != nullptr ? library : "libcuda.so.1", why);
    if (device != nullptr) return device;
    std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, why);
    std::exit(77);
  }();
  return *opened;
}

Bytes numbers(int seed, std::size_t bytes, unsigned below) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::vector<std::uint32_t> values(bytes / 4 + 1);
  for (auto& value : values) value = static_cast<std::uint32_t>(random() % below);
  Bytes data(bytes);
  if (bytes > 0) std::memcpy(data.data(), values.data(), bytes);
  return data;
}

Buffer::Buffer(Device* device, std::size_t bytes) : device_(device), bytes_(bytes) {
  const std::size_t all = bytes + 2 * kGuard;
  memory_ = device != nullptr ? device->allocate(all) : static_cast<std::byte*>(std::malloc(all));
  const Bytes untouched(all, kUntouched);
  if (device != nullptr) {
    device->write(memory_, untouched.data(), all);
  } else {
    std::memcpy(memory_, untouched.data(), all);
  }
}

Buffer::~Buffer() {
  if (memory_ == nullptr) return;
  if (device_ != nullptr) {
    device_->free(memory_);
  } else {
    std::free(memory_);
  }
}

void Buffer::write(const Bytes& what) {
  const std::size_t bytes = std::min(bytes_, what.size());
  if (device_ != nullptr) {
    device_->write(at(), what.data(), bytes);
  } else {
    std::copy_n(what.data(), bytes, at());
  }
}

Bytes Buffer::read(bool& whole) const {
  Bytes all(bytes_ + 2 * kGuard);
  if (device_ != nullptr) {
    device_->read(all.data(), memory_, all.size());
  } else {
    std::memcpy(all.data(), memory_, all.size());
  }
  const auto untouched = [](std::byte b) { return b == kUntouched; };
  whole = std::all_of(all.begin(), all.begin() + kGuard, untouched) &&
          std::all_of(all.end() - kGuard, all.end(), untouched);
  return {all.begin() + kGuard, all.end() - kGuard};
}

}  // namespace test
