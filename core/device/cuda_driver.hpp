// CudaDriver: Driver over CUDA's driver library, which is found when the process runs.
//
// The library's handle is held until this goes. Nothing initialises the driver but describe() and
// what makes something on a device: until then the driver says that it is not initialised, so no
// memory of its exists.
// Threads: as Driver. path: as Driver
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "core/device/cuda_abi.hpp"
#include "core/device/device.hpp"

namespace espalier::device {

class CudaDriver final : public Driver {
 public:
  // `library` is a handle of dlopen(), which is given up in any case. ESP_ERR_UNSUPPORTED: too old,
  // or no driver of CUDA's.
  static Result<std::unique_ptr<Driver>> open(void* library);
  ~CudaDriver() override;
  CudaDriver(const CudaDriver&) = delete;
  CudaDriver& operator=(const CudaDriver&) = delete;

  void destroy_stream(void* handle, Home home) noexcept override;
  void destroy_event(void* handle, Home home) noexcept override;
  void unload(void* handle, Home home) noexcept override;
  void free(void* address, Home home) noexcept override;
  void close_memory(void* address, Home home) noexcept override;
  void unregister_host(void* address, Home home) noexcept override;

  Result<DriverInfo> describe() override;
  Result<Tag> tag(const void* at) override;
  Result<Place> place(const void* at) override;
  Result<DeviceMemory> allocate(Home home, std::uint64_t bytes) override;
  Result<HostRegistration> register_host(void* at, std::uint64_t bytes, Home home) override;
  Result<Stream> make_stream(Home home) override;
  Result<Event> make_event(Home home) override;
  Outcome copy(const Stream& stream, void* dst, const void* src, std::uint64_t bytes) override;
  Result<Module> load_module(Home home, std::string_view ptx) override;
  Result<Kernel> kernel(const Module& module, const char* name) override;
  Outcome launch(const Stream& stream, const Kernel& kernel, Grid grid, void** parameters) override;
  Outcome record(const Event& event, const Stream& stream) override;
  Result<EventState> query(const Event& event) override;
  Outcome wait(const Stream& stream, const Event& event) override;
  Outcome write_flag(const Stream& stream, std::uint32_t* flag, std::uint32_t value) override;
  Result<ForeignStream> foreign_stream(void* handle) override;
  Outcome check_foreign(void* event, const ForeignStream& stream) override;
  Outcome record(const Event& event, const ForeignStream& stream) override;
  Outcome record_foreign(void* event, const ForeignStream& stream) override;
  Outcome wait_flag(const ForeignStream& stream, const std::uint32_t* flag,
                    std::uint32_t value) override;
  Result<MemoryHandle> export_memory(const Place& place) override;
  Result<OpenedMemory> open_memory(Home home, const MemoryHandle& handle) override;
  Result<Descriptor> dma_buf(const Place& place, const void* at, std::uint64_t bytes) override;
  Result<bool> reaches(DeviceNumber from, DeviceNumber to) override;
  bool lost(DeviceNumber device) const noexcept override;
  std::string why_lost(DeviceNumber device) const override;

 private:
  static constexpr DeviceNumber kDevicesMax = 64;
  struct DeviceState {
    // Writers: any, under the lock, once. Publishes the context that is retained.
    std::atomic<cuda::Context> primary{nullptr};
    // Writers: any, under the lock, once. Publishes `why`.
    std::atomic<bool> lost{false};
    std::string why;
  };

  explicit CudaDriver(void* library) : library_(library) {}
  Outcome find_functions();
  Result<DeviceInfo> describe_device(int number) const;
  Error failure(const char* call, cuda::Code code, DeviceNumber device = kNoDevice) const;
  Result<cuda::Context> context_of(const Home& home);
  Outcome query_in(const Home& home, void* event, EventState& state);
  // Calls the driver in the home's context; `call` names the function in errors.
  template <typename Work>
  Outcome inside(const Home& home, const char* call, Work&& work);

  void* library_;
  cuda::Functions fn_;
  bool played_ = false;
  int version_ = 0;
  mutable std::mutex lock_;
  mutable std::array<DeviceState, kDevicesMax> devices_;
};

template <typename Work>
Outcome CudaDriver::inside(const Home& home, const char* call, Work&& work) {
  const Result<cuda::Context> context = context_of(home);
  if (!context) return context.error();
  cuda::Code code = fn_.push_current(context.value());
  if (code != cuda::kSuccess) return failure("cuCtxPushCurrent", code, home.device);
  code = work();
  cuda::Context popped = nullptr;
  const cuda::Code back = fn_.pop_current(&popped);
  if (code != cuda::kSuccess) return failure(call, code, home.device);
  if (back != cuda::kSuccess) return failure("cuCtxPopCurrent", back, home.device);
  return Unit{};
}

}  // namespace espalier::device
