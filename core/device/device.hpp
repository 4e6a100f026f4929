// Driver: what the library asks of the software that drives devices (GPUs), whoever made it.
//
// A table of functions and a few values; one provider per kind of driver (cuda_driver.hpp). None of
// these calls waits for a device, but for free() of DeviceMemory and as copy() says. An error's
// text is the driver's: "cuMemcpyAsync: out of memory (2)"; whoever speaks of an operation adds the
// rank.
//
// Contexts: what is about an allocation is done in the context that it belongs to, other work in
// the device's primary one, which is retained from then on. Each call puts the caller's current
// context back.
//
// Ownership: what is made here belongs to the caller, as an Owned, and must be gone before its
// driver. Threads: any; an object by one thread at a time. path: data (copy, launch, record, query,
// tag), slow (the rest)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/descriptor.hpp"
#include "core/status.hpp"

namespace espalier::device {

// A device of a driver, by the driver's count of those that this process sees.
using DeviceNumber = std::int32_t;
inline constexpr DeviceNumber kNoDevice = -1;

// kHost: memory the driver knows nothing of. kRegistered: of the host, which the driver has pinned
// or has given. kManaged: moves between host and devices by itself.
enum class MemoryKind : std::uint8_t { kHost, kRegistered, kDevice, kManaged };
const char* memory_kind_name(MemoryKind kind) noexcept;
// Whether the processor may read and write it.
constexpr bool host_may_touch(MemoryKind kind) noexcept {
  return kind != MemoryKind::kDevice;
}

// Where work is done: a device, and the driver's context, as a number; 0: the primary one.
struct Home {
  DeviceNumber device = kNoDevice;
  std::uintptr_t context = 0;
  friend bool operator==(const Home&, const Home&) noexcept = default;
};

// What the driver says of a pointer at once. `allocation` is never given twice in a process: memory
// that is freed and given again, at the same address, has another one. 0: memory of the host that
// the driver does not know.
struct Tag {
  std::uint64_t allocation = 0;
  bool known = false;  // to the driver
};

// Where a pointer points. Of kHost the rest has no meaning.
struct Place {
  MemoryKind kind = MemoryKind::kHost;
  bool shareable = false;  // by export_memory()
  Home home;
  std::uintptr_t base = 0;  // of the allocation
  std::uint64_t bytes = 0;
  std::uint64_t allocation = 0;

  bool holds(const void* at, std::uint64_t count) const noexcept {
    const auto from = reinterpret_cast<std::uintptr_t>(at);
    return from >= base && from - base <= bytes && count <= bytes - (from - base);
  }
};

struct DeviceInfo {
  std::string name;
  std::string bus_address;  // "0000:17:00.0"
  std::uint64_t memory_bytes = 0;
  int major = 0, minor = 0;  // of what it can compute
  bool dma_buf = false;
};
struct DriverInfo {
  std::string name;     // "CUDA"
  std::string version;  // "12.4"
  bool played = false;  // no device: the library of tests that plays the driver
  std::vector<DeviceInfo> devices;
};

// Names an allocation to another process of this machine.
struct MemoryHandle {
  static constexpr std::size_t kBytes = 64;
  std::array<std::byte, kBytes> bytes = {};
};

struct Grid {
  std::uint32_t blocks = 1;
  std::uint32_t threads = 1;  // of each block
};

enum class EventState : std::uint8_t { kPending, kDone };

class Driver;

// What a driver has made: destroyed by Release when this goes. What `handle` is the driver knows.
template <auto Release>
class Owned {
 public:
  Owned() = default;
  Owned(Driver& driver, void* handle, Home home) noexcept
      : driver_(&driver), handle_(handle), home_(home) {}
  Owned(Owned&& other) noexcept
      : driver_(other.driver_),
        handle_(std::exchange(other.handle_, nullptr)),
        home_(other.home_) {}
  Owned& operator=(Owned&& other) noexcept {
    if (this != &other) {
      reset();
      driver_ = other.driver_;
      handle_ = std::exchange(other.handle_, nullptr);
      home_ = other.home_;
    }
    return *this;
  }
  ~Owned() { reset(); }

  void reset() noexcept {
    if (handle_ != nullptr) (driver_->*Release)(std::exchange(handle_, nullptr), home_);
  }
  // Never given back.
  void abandon() noexcept { handle_ = nullptr; }
  explicit operator bool() const noexcept { return handle_ != nullptr; }
  void* handle() const noexcept { return handle_; }  // of memory: its address
  const Home& home() const noexcept { return home_; }

 private:
  Driver* driver_ = nullptr;
  void* handle_ = nullptr;
  Home home_;
};

// A stream that the program has made.
struct ForeignStream {
  void* handle = nullptr;
  Home home;
};

// A function of a Module, for as long as that lasts.
struct Kernel {
  void* handle = nullptr;
  Home home;
};

class Driver {
 public:
  // How Owned gives back; not for others. Errors go unsaid; a later call has them.
  virtual void destroy_stream(void* handle, Home home) noexcept = 0;
  virtual void destroy_event(void* handle, Home home) noexcept = 0;
  virtual void unload(void* handle, Home home) noexcept = 0;
  virtual void free(void* address, Home home) noexcept = 0;
  virtual void close_memory(void* address, Home home) noexcept = 0;
  virtual void unregister_host(void* address, Home home) noexcept = 0;

  using Stream = Owned<&Driver::destroy_stream>;  // with work in it: what is under way goes on
  using Event = Owned<&Driver::destroy_event>;    // recorded or not
  using Module = Owned<&Driver::unload>;
  using DeviceMemory = Owned<&Driver::free>;          // waits for what uses it
  using OpenedMemory = Owned<&Driver::close_memory>;  // another process's
  using HostRegistration = Owned<&Driver::unregister_host>;

  virtual ~Driver() = default;

  // Initialises the driver, which may take a second; for those who show it.
  virtual Result<DriverInfo> describe() = 0;

  // One call of the driver's, without a context. What it does not know is the host's.
  virtual Result<Tag> tag(const void* at) = 0;
  // See PointerKinds, which remembers.
  virtual Result<Place> place(const void* at) = 0;

  virtual Result<DeviceMemory> allocate(Home home, std::uint64_t bytes) = 0;
  // Pins memory of the host, so that copies of it do not wait and devices may write it.
  virtual Result<HostRegistration> register_host(void* at, std::uint64_t bytes, Home home) = 0;

  virtual Result<Stream> make_stream(Home home) = 0;
  virtual Result<Event> make_event(Home home) = 0;
  // Between any two places. Of memory of the host that is not registered the call may wait until
  // the copy is done, and for what is in the stream before it.
  virtual Outcome copy(const Stream& stream, void* dst, const void* src, std::uint64_t bytes) = 0;
  virtual Result<Module> load_module(Home home, std::string_view ptx) = 0;
  virtual Result<Kernel> kernel(const Module& module, const char* name) = 0;
  // `parameters`: the address of each; read before the call returns.
  virtual Outcome launch(const Stream& stream, const Kernel& kernel, Grid grid,
                         void** parameters) = 0;
  // Of the same home. An event that is recorded again is about the later time.
  virtual Outcome record(const Event& event, const Stream& stream) = 0;
  // Never recorded: kDone. An error: what was before it in the stream has failed, or anything else
  // on the device.
  virtual Result<EventState> query(const Event& event) = 0;
  // What comes later in the stream waits for the event, as it is recorded now.
  virtual Outcome wait(const Stream& stream, const Event& event) = 0;
  // Into registered memory, after all that is in the stream before.
  virtual Outcome write_flag(const Stream& stream, std::uint32_t* flag, std::uint32_t value) = 0;

  // Streams and events of the program's, by its handles. ESP_ERR_ARGUMENT: the driver does not take
  // the handle. For the driver's words for "the default stream" it is the caller's context's, or
  // thread's.
  virtual Result<ForeignStream> foreign_stream(void* handle) = 0;
  // Whether the driver takes the event's handle, too. Nothing is recorded.
  virtual Outcome check_foreign(void* event, const ForeignStream& stream) = 0;
  virtual Outcome record(const Event& event, const ForeignStream& stream) = 0;
  virtual Outcome record_foreign(void* event, const ForeignStream& stream) = 0;
  // What comes later in the stream waits until the flag, in registered memory, is `value` or one of
  // the 2^31 - 1 after it. The host may write it.
  virtual Outcome wait_flag(const ForeignStream& stream, const std::uint32_t* flag,
                            std::uint32_t value) = 0;

  // Of the allocation that the place is in; opened at its base, by other processes.
  virtual Result<MemoryHandle> export_memory(const Place& place) = 0;
  virtual Result<OpenedMemory> open_memory(Home home, const MemoryHandle& handle) = 0;
  // A file that adapters register; whole pages.
  virtual Result<Descriptor> dma_buf(const Place& place, const void* at, std::uint64_t bytes) = 0;
  // Whether `from` can read and write memory of `to` without the host.
  virtual Result<bool> reaches(DeviceNumber from, DeviceNumber to) = 0;

  // The device has failed for good in this process, by an error that every later call repeats: what
  // used it must end. The text is of the first such error.
  virtual bool lost(DeviceNumber device) const noexcept = 0;
  virtual std::string why_lost(DeviceNumber device) const = 0;
};

using Stream = Driver::Stream;
using Event = Driver::Event;
using Module = Driver::Module;
using DeviceMemory = Driver::DeviceMemory;
using OpenedMemory = Driver::OpenedMemory;
using HostRegistration = Driver::HostRegistration;

}  // namespace espalier::device
