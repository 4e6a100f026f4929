// Memory, pointers, copies, and sharing with other processes.
#include <fmt/format.h>

#include <cstring>

#include "tests/played_cuda/calls.hpp"
#include "tests/played_cuda/state.hpp"

namespace espalier::device::cuda {
namespace {

using played::Call;
using played::fault;
using played::Known;
using played::Operation;
using played::state;

constexpr int kUnwritten = 0xa5;

// Of what a device does not see: 0, as a pointer that nobody knows.
std::uint64_t attribute_of(const Known& known, int attribute, Address at) {
  if (known.kind == Known::kNothing) return 0;
  const bool of_pool = state.settings.pool && known.kind == Known::kDevice;
  switch (attribute) {
    case kAttributeContext:
      return of_pool ? 0 : address_of(known.context);
    case kAttributeMemoryType:
      return known.kind == Known::kRegistered ? kTypeHost : kTypeDevice;
    case kAttributeBufferId:
      return known.id;
    case kAttributeIsManaged:
      return known.kind == Known::kManaged ? 1 : 0;
    case kAttributeDeviceOrdinal:
      return static_cast<std::uint64_t>(known.device);
    case kAttributeIsIpcCapable:
      return known.kind == Known::kDevice && !of_pool ? 1 : 0;
    case kAttributeRangeStart:
      return known.base;
    case kAttributeRangeSize:
      return known.bytes;
    default:
      fault("cuPointerGetAttributes", fmt::format("attribute {} of {:#x}", attribute, at));
  }
}

bool is_wide(int attribute) {
  return attribute == kAttributeContext || attribute == kAttributeBufferId ||
         attribute == kAttributeRangeStart || attribute == kAttributeRangeSize;
}

bool is_pageable(Address at) {
  return state.memory.find(at).kind == Known::kNothing;
}

// Checks and submits a copy. True: the caller waits for it, as memory of the host is not
// registered.
bool submit_copy(const char* call, played::Stream& stream, Address dst, Address src,
                 std::size_t bytes) {
  Operation copy;
  copy.call = call;
  std::byte* const to = state.memory.use(call, dst, bytes);
  state.memory.use(call, src, bytes);
  const bool waits = is_pageable(dst) || is_pageable(src);
  // Who reads it before it is there shall notice.
  if (state.memory.find(dst).kind == Known::kRegistered && !state.streams.uses(to, bytes)) {
    std::memset(to, kUnwritten, bytes);
  }
  copy.host = {{static_cast<std::uintptr_t>(dst), bytes},
               {static_cast<std::uintptr_t>(src), bytes}};
  copy.work = [dst, src, bytes](const Operation& self) {
    const std::byte* const from = state.streams.use(self, src, bytes, false);
    std::memmove(state.streams.use(self, dst, bytes, true), from, bytes);
  };
  state.streams.submit(stream, std::move(copy));
  if (waits) state.failures.note("synchronous copies");
  return waits;
}

// In the current context's default stream, to its end.
Code copy_now(Call& call, const char* name, Address dst, Address src, std::size_t bytes) {
  played::Stream& stream = *state.current(name).default_stream;
  submit_copy(name, stream, dst, src, bytes);
  state.streams.finish(call.lock(), stream);
  return state.failures.lost();
}

}  // namespace

Code cuMemAlloc_v2(Address* address, std::size_t bytes) {
  const Call call("cuMemAlloc");
  if (call.fails()) return call.code();
  if (bytes == 0) return kInvalidValue;
  played::Context& context = state.current("cuMemAlloc");
  *address = state.memory.allocate(context, context.device, bytes);
  return *address != 0 ? kSuccess : kOutOfMemory;
}

Code cuMemFree_v2(Address address) {
  Call call("cuMemFree");
  if (call.fails()) return call.code();
  state.current("cuMemFree");
  state.streams.finish(call.lock(), nullptr);
  if (!state.memory.free(address)) {
    fault("cuMemFree", fmt::format("nothing that is not freed begins at {:#x}", address));
  }
  return kSuccess;
}

Code cuMemAllocManaged(Address* address, std::size_t bytes, unsigned) {
  const Call call("cuMemAllocManaged");
  if (call.fails()) return call.code();
  void* const made = state.memory.map_host(bytes);
  if (made == nullptr) return kOutOfMemory;
  *address = address_of(made);
  state.memory.add_host(made, bytes, state.current("cuMemAllocManaged"), Known::kManaged);
  return kSuccess;
}

Code cuMemAllocHost_v2(void** at, std::size_t bytes) {
  const Call call("cuMemAllocHost");
  if (call.fails()) return call.code();
  *at = state.memory.map_host(bytes);
  if (*at == nullptr) return kOutOfMemory;
  state.memory.add_host(*at, bytes, state.current("cuMemAllocHost"), Known::kRegistered);
  return kSuccess;
}

Code cuMemFreeHost(void* at) {
  Call call("cuMemFreeHost");
  if (call.fails()) return call.code();
  state.streams.finish(call.lock(), nullptr);
  if (!state.memory.remove_host(at, Known::kRegistered)) return kInvalidValue;
  return kSuccess;
}

Code cuMemHostRegister_v2(void* at, std::size_t bytes, unsigned) {
  const Call call("cuMemHostRegister");
  if (call.fails()) return call.code();
  played::Context& context = state.current("cuMemHostRegister");
  const bool added = state.memory.add_host(at, bytes, context, Known::kRegistered);
  return added ? kSuccess : kAlreadyRegistered;
}

Code cuMemHostUnregister(void* at) {
  const Call call("cuMemHostUnregister");
  if (call.fails()) return call.code();
  const Known known = state.memory.find(address_of(at));
  if (known.kind != Known::kRegistered || known.base != address_of(at)) return kNotRegistered;
  if (state.streams.uses(at, known.bytes)) {
    fault("cuMemHostUnregister", "a stream uses this memory");
  }
  state.memory.remove_host(at, Known::kRegistered);
  return kSuccess;
}

Code cuMemHostGetDevicePointer_v2(Address* address, void* at, unsigned) {
  const Call call("cuMemHostGetDevicePointer");
  if (call.fails()) return call.code();
  *address = address_of(at);
  return is_pageable(*address) ? kInvalidValue : kSuccess;
}

Code cuPointerGetAttributes(unsigned count, int* attributes, void** values, Address at) {
  const Call call("cuPointerGetAttributes");
  if (call.fails()) return call.code();
  const Known known = state.memory.find(at);
  for (unsigned i = 0; i < count; ++i) {
    const std::uint64_t value = attribute_of(known, attributes[i], at);
    const auto narrow = static_cast<std::uint32_t>(value);
    if (is_wide(attributes[i])) std::memcpy(values[i], &value, sizeof value);
    if (!is_wide(attributes[i])) std::memcpy(values[i], &narrow, sizeof narrow);
  }
  return kSuccess;
}

Code cuMemcpyAsync(Address dst, Address src, std::size_t bytes, Stream handle) {
  Call call("cuMemcpyAsync");
  if (call.fails()) return call.code();
  played::Stream& stream = played::stream_of("cuMemcpyAsync", handle);
  if (submit_copy("cuMemcpyAsync", stream, dst, src, bytes)) {
    state.streams.finish(call.lock(), stream);
    return state.failures.lost();
  }
  return kSuccess;
}

Code cuMemcpyHtoD_v2(Address dst, const void* src, std::size_t bytes) {
  Call call("cuMemcpyHtoD");
  if (call.fails()) return call.code();
  return copy_now(call, "cuMemcpyHtoD", dst, address_of(src), bytes);
}

Code cuMemcpyDtoH_v2(void* dst, Address src, std::size_t bytes) {
  Call call("cuMemcpyDtoH");
  if (call.fails()) return call.code();
  return copy_now(call, "cuMemcpyDtoH", address_of(dst), src, bytes);
}

Code cuMemsetD8_v2(Address dst, unsigned char value, std::size_t bytes) {
  Call call("cuMemsetD8");
  if (call.fails()) return call.code();
  played::Stream& stream = *state.current("cuMemsetD8").default_stream;
  state.memory.use("cuMemsetD8", dst, bytes);
  Operation set;
  set.call = "cuMemsetD8";
  set.work = [=](const Operation& self) {
    std::memset(state.streams.use(self, dst, bytes, true), value, bytes);
  };
  state.streams.submit(stream, std::move(set));
  state.streams.finish(call.lock(), stream);
  return state.failures.lost();
}

// Sharing -----------------------------------------------------------------------------------------

Code cuIpcGetMemHandle(IpcHandle* handle, Address address) {
  const Call call("cuIpcGetMemHandle");
  if (call.fails()) return call.code();
  return state.memory.export_handle(address, *handle) ? kSuccess : kInvalidValue;
}

Code cuIpcOpenMemHandle_v2(Address* address, IpcHandle handle, unsigned) {
  const Call call("cuIpcOpenMemHandle");
  if (call.fails()) return call.code();
  return state.memory.open_handle(handle, state.current("cuIpcOpenMemHandle"), *address);
}

Code cuIpcCloseMemHandle(Address address) {
  Call call("cuIpcCloseMemHandle");
  if (call.fails()) return call.code();
  state.streams.finish(call.lock(), nullptr);
  return state.memory.close_handle(address) ? kSuccess : kInvalidValue;
}

Code cuMemGetHandleForAddressRange(void* handle, Address at, std::size_t bytes, int type,
                                   unsigned long long) {
  const Call call("cuMemGetHandleForAddressRange");
  if (call.fails()) return call.code();
  const int file = type == kRangeHandleDmaBuf ? state.memory.range_file(at, bytes) : -1;
  if (file < 0) return kInvalidValue;
  std::memcpy(handle, &file, sizeof file);
  return kSuccess;
}

}  // namespace espalier::device::cuda
