// Memory of a device, as programs that use the library have it: by the driver itself, whichever is
// loaded: a real one, or the played one of tests/played_cuda.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace test {

using Bytes = std::vector<std::byte>;

// Loads the driver; the first device is the process's from then on.
class Device {
 public:
  // nullptr: a device of it cannot be had; `why` says so.
  static std::unique_ptr<Device> open(const char* library, const char*& why);

  std::byte* allocate(std::size_t bytes);
  void free(std::byte* at);
  // Waits.
  void write(std::byte* to, const void* from, std::size_t bytes);
  void read(void* to, const std::byte* from, std::size_t bytes);

  // Registered memory of the host, until the process ends.
  std::byte* allocate_host(std::size_t bytes);
  void* make_stream();
  void* make_event();
  // Between any two places, of which those of the host are registered; does not wait.
  void copy(void* stream, void* to, const void* from, std::size_t bytes);
  void finish(void* stream);
  bool is_done(void* event);

 private:
  using Address = std::uint64_t;
  int (*allocate_)(Address*, std::size_t) = nullptr;
  int (*free_)(Address) = nullptr;
  int (*write_)(Address, const void*, std::size_t) = nullptr;
  int (*read_)(void*, Address, std::size_t) = nullptr;
  int (*allocate_host_)(void**, std::size_t) = nullptr;
  int (*make_stream_)(void**, unsigned) = nullptr;
  int (*make_event_)(void**, unsigned) = nullptr;
  int (*copy_)(Address, Address, std::size_t, void*) = nullptr;
  int (*finish_)(void*) = nullptr;
  int (*query_)(void*) = nullptr;
};

// The device of the driver that DEVICE_LIBRARY names, opened when it is first asked for; without
// one the program ends with 77, and says why.
Device& the_device();

// Small integers, so that sums are exact.
Bytes numbers(int seed, std::size_t bytes, unsigned below = 1000);

// A buffer on the host or on a device, between guards. `device` nullptr: on the host.
class Buffer {
 public:
  Buffer(Device* device, std::size_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept
      : device_(other.device_),
        bytes_(other.bytes_),
        memory_(std::exchange(other.memory_, nullptr)) {}

  std::byte* at() const noexcept { return memory_ + kGuard; }
  void write(const Bytes& what);
  void abandon() noexcept { memory_ = nullptr; }
  // Of as many bytes as it has. `whole`: nothing was written beside them.
  Bytes read(bool& whole) const;

 private:
  static constexpr std::size_t kGuard = 256;

  Device* device_;
  std::size_t bytes_;
  std::byte* memory_;
};

}  // namespace test
