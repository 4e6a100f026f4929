// CudaDriver: memory, streams, events, kernels, and sharing with other processes.
#include <fmt/format.h>

#include <cstring>

#include "core/device/cuda_driver.hpp"

namespace espalier::device {

// Memory ------------------------------------------------------------------------------------------

Result<DeviceMemory> CudaDriver::allocate(Home home, std::uint64_t bytes) {
  cuda::Address address = 0;
  const Outcome outcome =
      inside(home, "cuMemAlloc", [&] { return fn_.mem_alloc(&address, bytes); });
  if (!outcome) return outcome.error();
  return DeviceMemory(*this, cuda::pointer_of(address), home);
}

void CudaDriver::free(void* address, Home home) noexcept {
  (void)inside(home, "cuMemFree", [&] { return fn_.mem_free(cuda::address_of(address)); });
}

Result<HostRegistration> CudaDriver::register_host(void* at, std::uint64_t bytes, Home home) {
  cuda::Address seen = 0;
  Outcome outcome = inside(home, "cuMemHostRegister", [&] {
    return fn_.host_register(at, bytes, cuda::kHostRegisterPortable | cuda::kHostRegisterDeviceMap);
  });
  if (!outcome) return outcome.error();
  HostRegistration registration(*this, at, home);
  outcome = inside(home, "cuMemHostGetDevicePointer",
                   [&] { return fn_.host_device_pointer(&seen, at, 0); });
  if (!outcome) return outcome.error();
  // Kernels and flags are given the host's address.
  if (seen != cuda::address_of(at)) {
    return error(ESP_ERR_UNSUPPORTED,
                 fmt::format("device {} sees memory of the host at another address", home.device));
  }
  return registration;
}

void CudaDriver::unregister_host(void* address, Home home) noexcept {
  (void)inside(home, "cuMemHostUnregister", [&] { return fn_.host_unregister(address); });
}

// Streams and events ------------------------------------------------------------------------------

Result<Stream> CudaDriver::make_stream(Home home) {
  cuda::Stream stream = nullptr;
  const Outcome outcome = inside(
      home, "cuStreamCreate", [&] { return fn_.stream_create(&stream, cuda::kStreamNonBlocking); });
  if (!outcome) return outcome.error();
  return Stream(*this, stream, home);
}

void CudaDriver::destroy_stream(void* handle, Home home) noexcept {
  (void)inside(home, "cuStreamDestroy", [&] { return fn_.stream_destroy(handle); });
}

Result<Event> CudaDriver::make_event(Home home) {
  cuda::Event event = nullptr;
  const Outcome outcome = inside(
      home, "cuEventCreate", [&] { return fn_.event_create(&event, cuda::kEventDisableTiming); });
  if (!outcome) return outcome.error();
  return Event(*this, event, home);
}

void CudaDriver::destroy_event(void* handle, Home home) noexcept {
  (void)inside(home, "cuEventDestroy", [&] { return fn_.event_destroy(handle); });
}

Outcome CudaDriver::copy(const Stream& stream, void* dst, const void* src, std::uint64_t bytes) {
  if (bytes == 0) return Unit{};
  return inside(stream.home(), "cuMemcpyAsync", [&] {
    return fn_.memcpy_async(cuda::address_of(dst), cuda::address_of(src), bytes, stream.handle());
  });
}

Outcome CudaDriver::record(const Event& event, const Stream& stream) {
  return inside(stream.home(), "cuEventRecord",
                [&] { return fn_.event_record(event.handle(), stream.handle()); });
}

Outcome CudaDriver::query_in(const Home& home, void* event, EventState& state) {
  return inside(home, "cuEventQuery", [&] {
    const cuda::Code code = fn_.event_query(event);
    state = code == cuda::kNotReady ? EventState::kPending : EventState::kDone;
    return code == cuda::kNotReady ? cuda::kSuccess : code;
  });
}

Result<EventState> CudaDriver::query(const Event& event) {
  EventState state = EventState::kDone;
  if (Outcome asked = query_in(event.home(), event.handle(), state); !asked) return asked.error();
  return state;
}

Outcome CudaDriver::wait(const Stream& stream, const Event& event) {
  return inside(stream.home(), "cuStreamWaitEvent",
                [&] { return fn_.stream_wait_event(stream.handle(), event.handle(), 0); });
}

Outcome CudaDriver::write_flag(const Stream& stream, std::uint32_t* flag, std::uint32_t value) {
  return inside(stream.home(), "cuStreamWriteValue32", [&] {
    return fn_.stream_write_value(stream.handle(), cuda::address_of(flag), value, 0);
  });
}

// Of the program's --------------------------------------------------------------------------------

Result<ForeignStream> CudaDriver::foreign_stream(void* handle) {
  cuda::Context context = nullptr;
  const cuda::Code code = fn_.stream_get_context(handle, &context);
  if (code != cuda::kSuccess) return failure("cuStreamGetCtx", code);
  ForeignStream stream{.handle = handle,
                       .home = {.context = reinterpret_cast<std::uintptr_t>(context)}};
  cuda::Device device = kNoDevice;
  const Outcome outcome =
      inside(stream.home, "cuCtxGetDevice", [&] { return fn_.ctx_get_device(&device); });
  if (!outcome) return outcome.error();
  stream.home.device = device;
  return stream;
}

Outcome CudaDriver::check_foreign(void* event, const ForeignStream& stream) {
  EventState state = EventState::kDone;
  return query_in(stream.home, event, state);
}

Outcome CudaDriver::record(const Event& event, const ForeignStream& stream) {
  return record_foreign(event.handle(), stream);
}

Outcome CudaDriver::record_foreign(void* event, const ForeignStream& stream) {
  return inside(stream.home, "cuEventRecord",
                [&] { return fn_.event_record(event, stream.handle); });
}

Outcome CudaDriver::wait_flag(const ForeignStream& stream, const std::uint32_t* flag,
                              std::uint32_t value) {
  return inside(stream.home, "cuStreamWaitValue32", [&] {
    return fn_.stream_wait_value(stream.handle, cuda::address_of(flag), value,
                                 cuda::kWaitGreaterEqual);
  });
}

// Kernels -----------------------------------------------------------------------------------------

Result<Module> CudaDriver::load_module(Home home, std::string_view ptx) {
  cuda::Module module = nullptr;
  const Outcome outcome = inside(home, "cuModuleLoadData", [&] {
    return fn_.module_load_data(&module, std::string(ptx).c_str());
  });
  if (!outcome) return outcome.error();
  return Module(*this, module, home);
}

void CudaDriver::unload(void* handle, Home home) noexcept {
  (void)inside(home, "cuModuleUnload", [&] { return fn_.module_unload(handle); });
}

Result<Kernel> CudaDriver::kernel(const Module& module, const char* name) {
  cuda::Function function = nullptr;
  const Outcome outcome = inside(module.home(), "cuModuleGetFunction", [&] {
    return fn_.module_get_function(&function, module.handle(), name);
  });
  if (!outcome) {
    Error failed = outcome.error();
    failed.text += fmt::format("; of kernel {}", name);
    return failed;
  }
  return Kernel{.handle = function, .home = module.home()};
}

Outcome CudaDriver::launch(const Stream& stream, const Kernel& kernel, Grid grid,
                           void** parameters) {
  return inside(stream.home(), "cuLaunchKernel", [&] {
    return fn_.launch_kernel(kernel.handle, grid.blocks, 1, 1, grid.threads, 1, 1, 0,
                             stream.handle(), parameters, nullptr);
  });
}

// Sharing -----------------------------------------------------------------------------------------

Result<MemoryHandle> CudaDriver::export_memory(const Place& place) {
  static_assert(sizeof(cuda::IpcHandle) == MemoryHandle::kBytes);
  cuda::IpcHandle made = {};
  const Outcome outcome = inside(place.home, "cuIpcGetMemHandle",
                                 [&] { return fn_.ipc_get_mem_handle(&made, place.base); });
  if (!outcome) return outcome.error();
  MemoryHandle handle;
  std::memcpy(handle.bytes.data(), made.bytes.data(), made.bytes.size());
  return handle;
}

Result<OpenedMemory> CudaDriver::open_memory(Home home, const MemoryHandle& handle) {
  cuda::IpcHandle asked = {};
  std::memcpy(asked.bytes.data(), handle.bytes.data(), asked.bytes.size());
  cuda::Address address = 0;
  const Outcome outcome = inside(home, "cuIpcOpenMemHandle", [&] {
    return fn_.ipc_open_mem_handle(&address, asked, cuda::kIpcLazyPeerAccess);
  });
  if (!outcome) return outcome.error();
  return OpenedMemory(*this, cuda::pointer_of(address), home);
}

void CudaDriver::close_memory(void* address, Home home) noexcept {
  (void)inside(home, "cuIpcCloseMemHandle",
               [&] { return fn_.ipc_close_mem_handle(cuda::address_of(address)); });
}

Result<Descriptor> CudaDriver::dma_buf(const Place& place, const void* at, std::uint64_t bytes) {
  int file = -1;
  const Outcome outcome = inside(place.home, "cuMemGetHandleForAddressRange", [&] {
    return fn_.range_handle(&file, cuda::address_of(at), bytes, cuda::kRangeHandleDmaBuf, 0);
  });
  if (!outcome) return outcome.error();
  return Descriptor(file);
}

Result<bool> CudaDriver::reaches(DeviceNumber from, DeviceNumber to) {
  if (from == to) return true;
  int can = 0;
  const cuda::Code code = fn_.device_can_access_peer(&can, from, to);
  if (code != cuda::kSuccess) return failure("cuDeviceCanAccessPeer", code, from);
  return can != 0;
}

}  // namespace espalier::device
