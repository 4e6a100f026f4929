// A device (GPU) as programs have it: by the driver's own functions, found by
// dlopen. The driver is the library that ESPALIER_CUDA_DRIVER names, as the
// library's setting has it.
//
// A driver that cannot be had, and its errors, are thrown, with its words.
// Threads: main. path: setup
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "core/device/cuda_abi.hpp"

namespace espalier::bench {

class Device {
 public:
  // The first of all devices for rank 0, the next for rank 1, and round again.
  // Its primary context is this thread's from then on, for as long as the
  // process lasts.
  explicit Device(int rank);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const std::string& name() const { return name_; }  // "NVIDIA H200 (CUDA 12.4), one of 8"
  bool is_played() const { return is_played_; }      // no device: the library of tests

  std::byte* allocate(std::size_t bytes);
  void release(std::byte* at) noexcept;
  // Of the host, registered: copies of it do not wait.
  std::byte* allocate_host(std::size_t bytes);
  void release_host(std::byte* at) noexcept;

  // Between any two places; streams go on beside each other.
  enum Stream : std::size_t { kToDevice, kToHost, kStreams };
  void start_copy(Stream stream, void* to, const void* from, std::size_t bytes);
  // Until all in that stream is done.
  void finish(Stream stream);
  void copy(Stream stream, void* to, const void* from, std::size_t bytes) {
    start_copy(stream, to, from, bytes);
    finish(stream);
  }

 private:
  using Abi = device::cuda::Functions;
  void load();
  void set_name(int number, int devices);
  void check(device::cuda::Code code, const char* call) const;

  Abi driver_;  // those of them that are used here
  device::cuda::Code (*set_current_)(device::cuda::Context) = nullptr;
  device::cuda::Code (*allocate_host_)(void**, std::size_t) = nullptr;
  device::cuda::Code (*release_host_)(void*) = nullptr;
  device::cuda::Code (*finish_)(device::cuda::Stream) = nullptr;
  std::array<device::cuda::Stream, kStreams> streams_ = {};
  std::string name_;
  bool is_played_ = false;
};

}  // namespace espalier::bench
