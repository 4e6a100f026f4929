// The played driver of CUDA as tests see it: what they may ask of it besides the driver's
// functions, and the functions that programs call and the library does not.
//
// The environment, read when the library is loaded: PLAYED_CUDA_DEVICES (1), _MEMORY (bytes of
// each, 256 MiB), _PEERS (1: devices reach each other), _POOL (1: memory as from the driver's
// pools, which belongs to no context), _VERSION (12040), _SEED, _DELAY_US (the
// longest delay of a thing in a stream, 200), and _FAIL, as Control::fail.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/device/cuda_abi.hpp"

namespace played {

namespace cuda = espalier::device::cuda;

// The symbol that tells the library that no device is behind the driver.
inline constexpr const char* kControlSymbol = "espalier_played_driver";

// CUDA's names for default streams of the current context, as numbers: the one of all threads, and
// the calling thread's own.
inline constexpr std::uintptr_t kLegacyStream = 1, kThreadStream = 2;

struct Control {
  // "cuMemcpyAsync:3:2,...": the third call from now on answers with code 2. A code after which
  // nothing works (719) is every later call's, too.
  void (*fail)(const char* calls);
  // How often a function was called; also "synchronous copies".
  std::uint64_t (*count)(const char* name);
  // While 1 nothing in any stream goes on.
  void (*hold)(int hold);
};

// X(member, name, parameters), as ESP_CUDA_FUNCTIONS.
#define PLAYED_PROGRAM_FUNCTIONS(X)                                                               \
  X(ctx_get_current, cuCtxGetCurrent, (Context * context))                                        \
  X(ctx_set_current, cuCtxSetCurrent, (Context context))                                          \
  X(ctx_create, cuCtxCreate_v2, (Context * context, unsigned flags, Device device))               \
  X(ctx_destroy, cuCtxDestroy_v2, (Context context))                                              \
  X(ctx_synchronize, cuCtxSynchronize, ())                                                        \
  X(stream_synchronize, cuStreamSynchronize, (Stream stream))                                     \
  X(mem_alloc_managed, cuMemAllocManaged, (Address * address, std::size_t bytes, unsigned flags)) \
  X(mem_alloc_host, cuMemAllocHost_v2, (void** at, std::size_t bytes))                            \
  X(mem_free_host, cuMemFreeHost, (void* at))                                                     \
  X(memcpy_to_device, cuMemcpyHtoD_v2, (Address dst, const void* src, std::size_t bytes))         \
  X(memcpy_to_host, cuMemcpyDtoH_v2, (void* dst, Address src, std::size_t bytes))                 \
  X(memset_bytes, cuMemsetD8_v2, (Address dst, unsigned char value, std::size_t bytes))           \
  X(get_error_name, cuGetErrorName, (Code code, const char** text))

struct ProgramFunctions {
  using Code = cuda::Code;
  using Device = cuda::Device;
  using Address = cuda::Address;
  using Context = cuda::Context;
  using Stream = cuda::Stream;
#define PLAYED_MEMBER(member, name, parameters) cuda::Code(*member) parameters = nullptr;
  PLAYED_PROGRAM_FUNCTIONS(PLAYED_MEMBER)
#undef PLAYED_MEMBER
};

}  // namespace played
