// The few functions, numbers and structures of CUDA's driver that the library uses, under names of
// ours. The driver's binary interface is fixed: new meanings come as new functions (_v2). No header
// of the vendor's is needed to build, nor its library to link.
//
// Threads: constants. path: setup
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace espalier::device::cuda {

using Device = int;  // equal to its number
using Address = unsigned long long;
using Context = void*;
using Stream = void*;
using Event = void*;
using Module = void*;
using Function = void*;
struct IpcHandle {  // passed by value
  std::array<char, 64> bytes;
};

// The oldest that has all functions below: 11.7.
inline constexpr int kOldestVersion = 11070;

enum Code : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kDeinitialized = 4,
  kNoDevices = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kMapFailed = 205,
  kEccUncorrectable = 214,
  kInvalidPtx = 218,
  kNvlinkUncorrectable = 220,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchTimeout = 702,
  kContextDestroyed = 709,
  kAssert = 710,
  kAlreadyRegistered = 712,
  kNotRegistered = 713,
  kHardwareStack = 714,
  kIllegalInstruction = 715,
  kMisaligned = 716,
  kInvalidAddressSpace = 717,
  kInvalidCounter = 718,
  kLaunchFailed = 719,
  kNotPermitted = 800,
  kNotSupported = 801,
  kUnknown = 999,
};

enum DeviceAttribute : int {
  kComputeMajor = 75,
  kComputeMinor = 76,
  kDmaBufSupported = 124,
};

enum PointerAttribute : int {
  kAttributeContext = 1,
  kAttributeMemoryType = 2,
  kAttributeBufferId = 7,
  kAttributeIsManaged = 8,
  kAttributeDeviceOrdinal = 9,
  kAttributeIsIpcCapable = 10,
  kAttributeRangeStart = 11,
  kAttributeRangeSize = 12,
};

enum MemoryType : unsigned { kTypeHost = 1, kTypeDevice = 2, kTypeArray = 3, kTypeUnified = 4 };

inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kWaitGreaterEqual = 0;  // cyclic
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr unsigned kHostRegisterPortable = 1;
inline constexpr unsigned kHostRegisterDeviceMap = 2;
inline constexpr unsigned kIpcLazyPeerAccess = 1;
inline constexpr int kRangeHandleDmaBuf = 1;

// X(member, name in the library, parameters); all return a Code.
#define ESP_CUDA_FUNCTIONS(X)                                                                     \
  X(init, cuInit, (unsigned flags))                                                               \
  X(driver_get_version, cuDriverGetVersion, (int* version))                                       \
  X(get_error_string, cuGetErrorString, (Code code, const char** text))                           \
  X(device_get_count, cuDeviceGetCount, (int* count))                                             \
  X(device_get, cuDeviceGet, (Device * device, int number))                                       \
  X(device_get_name, cuDeviceGetName, (char* name, int bytes, Device device))                     \
  X(device_total_mem, cuDeviceTotalMem_v2, (std::size_t * bytes, Device device))                  \
  X(device_get_attribute, cuDeviceGetAttribute, (int* value, int attribute, Device device))       \
  X(device_get_bus_id, cuDeviceGetPCIBusId, (char* id, int bytes, Device device))                 \
  X(device_can_access_peer, cuDeviceCanAccessPeer, (int* can, Device from, Device to))            \
  X(primary_retain, cuDevicePrimaryCtxRetain, (Context * context, Device device))                 \
  X(primary_release, cuDevicePrimaryCtxRelease_v2, (Device device))                               \
  X(push_current, cuCtxPushCurrent_v2, (Context context))                                         \
  X(pop_current, cuCtxPopCurrent_v2, (Context * context))                                         \
  X(ctx_get_device, cuCtxGetDevice, (Device * device))                                            \
  X(mem_alloc, cuMemAlloc_v2, (Address * address, std::size_t bytes))                             \
  X(mem_free, cuMemFree_v2, (Address address))                                                    \
  X(host_register, cuMemHostRegister_v2, (void* at, std::size_t bytes, unsigned flags))           \
  X(host_unregister, cuMemHostUnregister, (void* at))                                             \
  X(host_device_pointer, cuMemHostGetDevicePointer_v2,                                            \
    (Address * address, void* at, unsigned flags))                                                \
  X(pointer_get_attributes, cuPointerGetAttributes,                                               \
    (unsigned count, int* attributes, void** values, Address at))                                 \
  X(memcpy_async, cuMemcpyAsync, (Address dst, Address src, std::size_t bytes, Stream stream))    \
  X(stream_create, cuStreamCreate, (Stream * stream, unsigned flags))                             \
  X(stream_destroy, cuStreamDestroy_v2, (Stream stream))                                          \
  X(stream_wait_event, cuStreamWaitEvent, (Stream stream, Event event, unsigned flags))           \
  X(stream_get_context, cuStreamGetCtx, (Stream stream, Context * context))                       \
  X(stream_wait_value, cuStreamWaitValue32_v2,                                                    \
    (Stream stream, Address at, std::uint32_t value, unsigned flags))                             \
  X(stream_write_value, cuStreamWriteValue32_v2,                                                  \
    (Stream stream, Address at, std::uint32_t value, unsigned flags))                             \
  X(event_create, cuEventCreate, (Event * event, unsigned flags))                                 \
  X(event_destroy, cuEventDestroy_v2, (Event event))                                              \
  X(event_record, cuEventRecord, (Event event, Stream stream))                                    \
  X(event_query, cuEventQuery, (Event event))                                                     \
  X(module_load_data, cuModuleLoadData, (Module * module, const void* text))                      \
  X(module_unload, cuModuleUnload, (Module module))                                               \
  X(module_get_function, cuModuleGetFunction,                                                     \
    (Function * function, Module module, const char* name))                                       \
  X(launch_kernel, cuLaunchKernel,                                                                \
    (Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,      \
     unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream stream, void** parameters, \
     void** extra))                                                                               \
  X(ipc_get_mem_handle, cuIpcGetMemHandle, (IpcHandle * handle, Address address))                 \
  X(ipc_open_mem_handle, cuIpcOpenMemHandle_v2,                                                   \
    (Address * address, IpcHandle handle, unsigned flags))                                        \
  X(ipc_close_mem_handle, cuIpcCloseMemHandle, (Address address))                                 \
  X(range_handle, cuMemGetHandleForAddressRange,                                                  \
    (void* handle, Address at, std::size_t bytes, int type, unsigned long long flags))

struct Functions {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration is no expression.
#define ESP_CUDA_MEMBER(member, name, parameters) Code(*member) parameters = nullptr;
  ESP_CUDA_FUNCTIONS(ESP_CUDA_MEMBER)
#undef ESP_CUDA_MEMBER
};

inline Address address_of(const void* at) noexcept {
  return reinterpret_cast<std::uintptr_t>(at);
}
inline void* pointer_of(Address at) noexcept {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(at));
}

// Whether every later call in the process says the same.
constexpr bool is_final(Code code) noexcept {
  switch (code) {
    case kEccUncorrectable:
    case kNvlinkUncorrectable:
    case kIllegalAddress:
    case kLaunchTimeout:
    case kAssert:
    case kHardwareStack:
    case kIllegalInstruction:
    case kMisaligned:
    case kInvalidAddressSpace:
    case kInvalidCounter:
    case kLaunchFailed:
      return true;
    default:
      return false;
  }
}

}  // namespace espalier::device::cuda
