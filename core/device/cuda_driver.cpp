#include "core/device/cuda_driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <utility>

namespace espalier::device {
namespace {

// The library of tests has this symbol, too.
constexpr const char* kPlayedSymbol = "espalier_played_driver";

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

// What is asked of a pointer, each into a zeroed word: the driver writes 4 or 8 bytes.
class PointerAnswers {
 public:
  enum Index { kType, kBuffer, kManaged, kOrdinal, kContext, kShareable, kStart, kSize, kCount };

  // The first `count` of the order above.
  cuda::Code ask(const cuda::Functions& fn, const void* at, unsigned count) noexcept {
    static constexpr std::array<cuda::PointerAttribute, kCount> kAttributes = {
        cuda::kAttributeMemoryType,    cuda::kAttributeBufferId, cuda::kAttributeIsManaged,
        cuda::kAttributeDeviceOrdinal, cuda::kAttributeContext,  cuda::kAttributeIsIpcCapable,
        cuda::kAttributeRangeStart,    cuda::kAttributeRangeSize};
    std::array<int, kCount> attributes;
    std::array<void*, kCount> values;
    for (unsigned i = 0; i < count; ++i) {
      attributes[i] = kAttributes[i];
      values[i] = &words_[i];
    }
    return fn.pointer_get_attributes(count, attributes.data(), values.data(), cuda::address_of(at));
  }
  std::uint64_t operator[](Index index) const noexcept { return words_[index]; }
  bool known() const noexcept {
    return words_[kType] == cuda::kTypeHost || words_[kType] == cuda::kTypeDevice ||
           words_[kType] == cuda::kTypeUnified;
  }
  MemoryKind kind() const noexcept {
    if (!known()) return MemoryKind::kHost;
    if (words_[kManaged] != 0) return MemoryKind::kManaged;
    return words_[kType] == cuda::kTypeHost ? MemoryKind::kRegistered : MemoryKind::kDevice;
  }

 private:
  std::array<std::uint64_t, kCount> words_ = {};
};

// Before cuInit() and after the end of main() the driver has no memory.
bool has_no_memory(cuda::Code code) noexcept {
  return code == cuda::kNotInitialized || code == cuda::kDeinitialized;
}

esp_status status_of(cuda::Code code) noexcept {
  switch (code) {
    case cuda::kOutOfMemory:
      return ESP_ERR_NO_MEMORY;
    case cuda::kNotSupported:
      return ESP_ERR_UNSUPPORTED;
    case cuda::kInvalidHandle:  // Of the program's: those of ours are the driver's own.
    case cuda::kInvalidContext:
    case cuda::kContextDestroyed:
      return ESP_ERR_ARGUMENT;
    default:
      return ESP_ERR_SYSTEM;
  }
}

}  // namespace

// Opening -----------------------------------------------------------------------------------------

Result<std::unique_ptr<Driver>> CudaDriver::open(void* library) {
  std::unique_ptr<CudaDriver> driver(new CudaDriver(library));
  if (Outcome found = driver->find_functions(); !found) return found.error();
  return std::unique_ptr<Driver>(std::move(driver));
}

Outcome CudaDriver::find_functions() {
  const auto version =
      reinterpret_cast<decltype(fn_.driver_get_version)>(::dlsym(library_, "cuDriverGetVersion"));
  if (version == nullptr) {
    return error(ESP_ERR_UNSUPPORTED, "the library is no driver of CUDA's: no cuDriverGetVersion");
  }
  if (const cuda::Code code = version(&version_); code != cuda::kSuccess) {
    return error(ESP_ERR_UNSUPPORTED, fmt::format("cuDriverGetVersion: error {}", int{code}));
  }
  if (version_ < cuda::kOldestVersion) {
    return error(ESP_ERR_UNSUPPORTED,
                 fmt::format("the driver is too old: it is of CUDA {}, {} is needed",
                             version_text(version_), version_text(cuda::kOldestVersion)));
  }
#define ESP_CUDA_FIND(member, name, parameters)                                  \
  fn_.member = reinterpret_cast<decltype(fn_.member)>(::dlsym(library_, #name)); \
  if (fn_.member == nullptr) {                                                   \
    return error(ESP_ERR_UNSUPPORTED, "the driver has no " #name);               \
  }
  ESP_CUDA_FUNCTIONS(ESP_CUDA_FIND)
#undef ESP_CUDA_FIND
  played_ = ::dlsym(library_, kPlayedSymbol) != nullptr;
  return Unit{};
}

CudaDriver::~CudaDriver() {
  for (DeviceNumber device = 0; device < kDevicesMax; ++device) {
    if (devices_[device].primary.load(std::memory_order_relaxed) != nullptr) {
      (void)fn_.primary_release(device);
    }
  }
  ::dlclose(library_);
}

Result<DriverInfo> CudaDriver::describe() {
  DriverInfo info;
  info.name = "CUDA";
  info.version = version_text(version_);
  info.played = played_;
  cuda::Code code = fn_.init(0);
  if (code == cuda::kNoDevices) return info;
  if (code != cuda::kSuccess) return failure("cuInit", code);
  int count = 0;
  code = fn_.device_get_count(&count);
  if (code != cuda::kSuccess) return failure("cuDeviceGetCount", code);
  for (int number = 0; number < count; ++number) {
    Result<DeviceInfo> one = describe_device(number);
    if (!one) return one.error();
    info.devices.push_back(std::move(*one));
  }
  return info;
}

Result<DeviceInfo> CudaDriver::describe_device(int number) const {
  constexpr int kNameBytes = 256;
  std::array<char, kNameBytes> text = {};
  DeviceInfo info;
  cuda::Device device = 0;
  cuda::Code code = fn_.device_get(&device, number);
  if (code != cuda::kSuccess) return failure("cuDeviceGet", code, number);
  code = fn_.device_get_name(text.data(), kNameBytes - 1, device);
  if (code != cuda::kSuccess) return failure("cuDeviceGetName", code, number);
  info.name = text.data();
  code = fn_.device_get_bus_id(text.data(), kNameBytes - 1, device);
  if (code != cuda::kSuccess) return failure("cuDeviceGetPCIBusId", code, number);
  info.bus_address = text.data();
  std::size_t bytes = 0;
  code = fn_.device_total_mem(&bytes, device);
  if (code != cuda::kSuccess) return failure("cuDeviceTotalMem", code, number);
  info.memory_bytes = bytes;
  int dma_buf = 0;
  code = fn_.device_get_attribute(&info.major, cuda::kComputeMajor, device);
  if (code == cuda::kSuccess) {
    code = fn_.device_get_attribute(&info.minor, cuda::kComputeMinor, device);
  }
  if (code == cuda::kSuccess) {
    code = fn_.device_get_attribute(&dma_buf, cuda::kDmaBufSupported, device);
  }
  if (code != cuda::kSuccess) return failure("cuDeviceGetAttribute", code, number);
  info.dma_buf = dma_buf != 0;
  return info;
}

// Errors and contexts -----------------------------------------------------------------------------

Error CudaDriver::failure(const char* call, cuda::Code code, DeviceNumber device) const {
  const char* said = nullptr;
  if (fn_.get_error_string(code, &said) != cuda::kSuccess || said == nullptr)
    said = "unknown error";
  std::string text = fmt::format("{}: {} ({})", call, said, int{code});
  const bool known = device >= 0 && device < kDevicesMax;
  if (known && cuda::is_final(code)) {
    text += fmt::format("; device {} is lost", device);
    const std::lock_guard guard(lock_);
    DeviceState& state = devices_[device];
    if (!state.lost.load(std::memory_order_relaxed)) {
      state.why = text;
      state.lost.store(true, std::memory_order_release);
    }
  }
  return error(status_of(code), std::move(text));
}

bool CudaDriver::lost(DeviceNumber device) const noexcept {
  return device >= 0 && device < kDevicesMax &&
         devices_[device].lost.load(std::memory_order_acquire);
}

std::string CudaDriver::why_lost(DeviceNumber device) const {
  return lost(device) ? devices_[device].why : std::string();
}

Result<cuda::Context> CudaDriver::context_of(const Home& home) {
  if (home.context != 0) return reinterpret_cast<cuda::Context>(home.context);
  if (home.device < 0 || home.device >= kDevicesMax) {
    return error(ESP_ERR_ARGUMENT, fmt::format("there is no device {}", home.device));
  }
  DeviceState& state = devices_[home.device];
  if (cuda::Context known = state.primary.load(std::memory_order_acquire)) return known;
  const std::lock_guard guard(lock_);
  if (cuda::Context known = state.primary.load(std::memory_order_relaxed)) return known;
  // Whoever works without a context of the program's may be the first to ask the driver anything.
  cuda::Code code = fn_.init(0);
  if (code != cuda::kSuccess) return failure("cuInit", code);
  cuda::Context context = nullptr;
  code = fn_.primary_retain(&context, home.device);
  // Not with the device: that would lock again, and none of these errors is final.
  if (code != cuda::kSuccess) return failure("cuDevicePrimaryCtxRetain", code);
  state.primary.store(context, std::memory_order_release);
  return context;
}

// Pointers ----------------------------------------------------------------------------------------

Result<Tag> CudaDriver::tag(const void* at) {
  PointerAnswers answers;
  const cuda::Code code = answers.ask(fn_, at, PointerAnswers::kBuffer + 1);
  if (has_no_memory(code)) return Tag{};
  if (code != cuda::kSuccess) return failure("cuPointerGetAttributes", code);
  return Tag{.allocation = answers[PointerAnswers::kBuffer], .known = answers.known()};
}

Result<Place> CudaDriver::place(const void* at) {
  PointerAnswers answers;
  const cuda::Code code = answers.ask(fn_, at, PointerAnswers::kCount);
  if (has_no_memory(code)) return Place{};
  if (code != cuda::kSuccess) return failure("cuPointerGetAttributes", code);
  if (!answers.known()) return Place{};
  return Place{.kind = answers.kind(),
               .shareable = answers[PointerAnswers::kShareable] != 0,
               .home = {.device = static_cast<DeviceNumber>(answers[PointerAnswers::kOrdinal]),
                        .context = answers[PointerAnswers::kContext]},
               .base = answers[PointerAnswers::kStart],
               .bytes = answers[PointerAnswers::kSize],
               .allocation = answers[PointerAnswers::kBuffer]};
}

}  // namespace espalier::device
