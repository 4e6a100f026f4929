// The driver, its devices and contexts.
#include "tests/played_cuda/calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "tests/played_cuda/state.hpp"

namespace espalier::device::cuda {
namespace {

using played::Call;
using played::context_stack;
using played::fault;
using played::state;

const std::map<int, std::pair<const char*, const char*>> kErrors = {
    {kSuccess, {"CUDA_SUCCESS", "no error"}},
    {kInvalidValue, {"CUDA_ERROR_INVALID_VALUE", "invalid argument"}},
    {kOutOfMemory, {"CUDA_ERROR_OUT_OF_MEMORY", "out of memory"}},
    {kNotInitialized, {"CUDA_ERROR_NOT_INITIALIZED", "initialization error"}},
    {kNoDevices, {"CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"}},
    {kInvalidDevice, {"CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"}},
    {kInvalidContext, {"CUDA_ERROR_INVALID_CONTEXT", "invalid device context"}},
    {kMapFailed, {"CUDA_ERROR_MAP_FAILED", "mapping of buffer object failed"}},
    {kInvalidPtx, {"CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"}},
    {kInvalidHandle, {"CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"}},
    {kNotFound, {"CUDA_ERROR_NOT_FOUND", "named symbol not found"}},
    {kNotReady, {"CUDA_ERROR_NOT_READY", "device not ready"}},
    {kIllegalAddress, {"CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"}},
    {kContextDestroyed, {"CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"}},
    {kAlreadyRegistered,
     {"CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
      "part or all of the requested memory range is already mapped"}},
    {kNotRegistered,
     {"CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
      "pointer does not correspond to a registered memory region"}},
    {kLaunchFailed, {"CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"}},
    {kNotSupported, {"CUDA_ERROR_NOT_SUPPORTED", "operation not supported"}},
    {kUnknown, {"CUDA_ERROR_UNKNOWN", "unknown error"}},
};

bool is_device(int device) {
  return device >= 0 && device < state.settings.devices;
}

}  // namespace

Code cuInit(unsigned) {
  const Call call("cuInit", Call::kAlways);
  if (state.settings.devices == 0) return kNoDevices;
  state.initialised = true;
  return kSuccess;
}

Code cuDriverGetVersion(int* version) {
  const Call call("cuDriverGetVersion", Call::kAlways);
  *version = state.settings.version;
  return kSuccess;
}

Code cuGetErrorString(Code code, const char** text) {
  const auto found = kErrors.find(code);
  *text = found != kErrors.end() ? found->second.second : nullptr;
  return found != kErrors.end() ? kSuccess : kInvalidValue;
}

Code cuGetErrorName(Code code, const char** text) {
  const auto found = kErrors.find(code);
  *text = found != kErrors.end() ? found->second.first : nullptr;
  return found != kErrors.end() ? kSuccess : kInvalidValue;
}

Code cuDeviceGetCount(int* count) {
  const Call call("cuDeviceGetCount");
  if (call.fails()) return call.code();
  *count = state.settings.devices;
  return kSuccess;
}

Code cuDeviceGet(Device* device, int number) {
  const Call call("cuDeviceGet");
  if (call.fails()) return call.code();
  if (!is_device(number)) return kInvalidDevice;
  *device = number;
  return kSuccess;
}

Code cuDeviceGetName(char* name, int bytes, Device device) {
  const Call call("cuDeviceGetName");
  if (call.fails()) return call.code();
  if (!is_device(device)) return kInvalidDevice;
  std::snprintf(name, static_cast<std::size_t>(bytes), "Played device, no GPU");
  return kSuccess;
}

Code cuDeviceTotalMem_v2(std::size_t* bytes, Device device) {
  const Call call("cuDeviceTotalMem");
  if (call.fails()) return call.code();
  if (!is_device(device)) return kInvalidDevice;
  *bytes = state.settings.memory_bytes;
  return kSuccess;
}

Code cuDeviceGetAttribute(int* value, int attribute, Device device) {
  const Call call("cuDeviceGetAttribute");
  if (call.fails()) return call.code();
  if (!is_device(device)) return kInvalidDevice;
  switch (attribute) {
    case kComputeMajor:
      *value = 9;
      return kSuccess;
    case kComputeMinor:
      *value = 0;
      return kSuccess;
    case kDmaBufSupported:
      *value = 1;
      return kSuccess;
    default:
      return kInvalidValue;
  }
}

Code cuDeviceGetPCIBusId(char* id, int bytes, Device device) {
  const Call call("cuDeviceGetPCIBusId");
  if (call.fails()) return call.code();
  if (!is_device(device)) return kInvalidDevice;
  std::snprintf(id, static_cast<std::size_t>(bytes), "0000:%02x:00.0", device + 1);
  return kSuccess;
}

Code cuDeviceCanAccessPeer(int* can, Device from, Device to) {
  const Call call("cuDeviceCanAccessPeer");
  if (call.fails()) return call.code();
  if (!is_device(from) || !is_device(to)) return kInvalidDevice;
  *can = from != to && state.settings.peers ? 1 : 0;
  return kSuccess;
}

// Contexts ----------------------------------------------------------------------------------------

Code cuDevicePrimaryCtxRetain(Context* context, Device device) {
  const Call call("cuDevicePrimaryCtxRetain");
  if (call.fails()) return call.code();
  if (!is_device(device)) return kInvalidDevice;
  for (const auto& one : state.contexts) {
    if (!one->primary || one->device != device || one->destroyed) continue;
    ++one->retained;
    *context = one.get();
    return kSuccess;
  }
  played::Context& made = state.make_context(device, true);
  made.retained = 1;
  *context = &made;
  return kSuccess;
}

Code cuDevicePrimaryCtxRelease_v2(Device device) {
  Call call("cuDevicePrimaryCtxRelease");
  if (call.fails()) return call.code();
  for (const auto& one : state.contexts) {
    if (!one->primary || one->device != device || one->retained == 0) continue;
    if (--one->retained > 0) return kSuccess;
    state.streams.finish(call.lock(), one.get());
    state.memory.free_all_of(*one);
    one->destroyed = true;
    return kSuccess;
  }
  return kInvalidContext;
}

Code cuCtxCreate_v2(Context* context, unsigned, Device device) {
  const Call call("cuCtxCreate");
  if (call.fails()) return call.code();
  if (!is_device(device)) return kInvalidDevice;
  played::Context& made = state.make_context(device, false);
  context_stack().push(&made);
  *context = &made;
  return kSuccess;
}

Code cuCtxDestroy_v2(Context context) {
  Call call("cuCtxDestroy");
  if (call.fails()) return call.code();
  played::Context* const known = state.known(context, "cuCtxDestroy");
  if (known->destroyed || known->primary) fault("cuCtxDestroy", "it is destroyed, or the primary");
  state.streams.finish(call.lock(), known);
  state.memory.free_all_of(*known);
  known->destroyed = true;
  if (context_stack().top() == known) context_stack().pop();
  return kSuccess;
}

Code cuCtxPushCurrent_v2(Context context) {
  const Call call("cuCtxPushCurrent");
  if (call.fails()) return call.code();
  played::Context* const known = state.known(context, "cuCtxPushCurrent");
  if (known->destroyed) return kContextDestroyed;
  context_stack().push(known);
  return kSuccess;
}

Code cuCtxPopCurrent_v2(Context* context) {
  const Call call("cuCtxPopCurrent", Call::kAlways);
  if (context != nullptr) *context = context_stack().top();
  context_stack().pop();
  return kSuccess;
}

Code cuCtxGetDevice(Device* device) {
  const Call call("cuCtxGetDevice");
  if (call.fails()) return call.code();
  *device = state.current("cuCtxGetDevice").device;
  return kSuccess;
}

Code cuCtxGetCurrent(Context* context) {
  const Call call("cuCtxGetCurrent");
  if (call.fails()) return call.code();
  *context = context_stack().top();
  return kSuccess;
}

Code cuCtxSetCurrent(Context context) {
  const Call call("cuCtxSetCurrent");
  if (call.fails()) return call.code();
  if (context_stack().top() != nullptr) context_stack().pop();
  if (context != nullptr) context_stack().push(state.known(context, "cuCtxSetCurrent"));
  return kSuccess;
}

Code cuCtxSynchronize() {
  Call call("cuCtxSynchronize");
  if (call.fails()) return call.code();
  state.streams.finish(call.lock(), &state.current("cuCtxSynchronize"));
  return state.failures.lost();
}

}  // namespace espalier::device::cuda
