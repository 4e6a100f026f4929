#include "esp-bench/buffer_memory.hpp"

#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "esp-bench/device.hpp"

namespace espalier::bench {
namespace {

constexpr std::size_t kWholePage = 4096;

std::byte* existing(void* got, std::size_t bytes, const char* from) {
  if (got == nullptr) {
    throw std::runtime_error("no memory for " + std::to_string(bytes) + " bytes of buffers" + from);
  }
  return static_cast<std::byte*>(got);
}

class HostMemory final : public BufferMemory {
 public:
  std::byte* allocate(std::size_t bytes) override {
    return existing(std::aligned_alloc(kWholePage, bytes), bytes, "");
  }
  void release(std::byte* at) noexcept override { std::free(at); }
};

class LibraryMemory final : public BufferMemory {
 public:
  explicit LibraryMemory(Backend& backend) : backend_(backend) {}
  std::byte* allocate(std::size_t bytes) override {
    return existing(backend_.allocate(bytes), bytes, " from esp_alloc");
  }
  void release(std::byte* at) noexcept override { backend_.release(at); }

 private:
  Backend& backend_;
};

// The processor works on a copy in registered memory of the host, which grows
// as needed.
class DeviceMemory final : public BufferMemory {
 public:
  explicit DeviceMemory(int rank) : gpu_(rank) {
    device_ = gpu_.name();
    is_played_ = gpu_.is_played();
  }
  ~DeviceMemory() override {
    if (copy_ != nullptr) gpu_.release_host(copy_);
  }
  std::byte* allocate(std::size_t bytes) override { return gpu_.allocate(bytes); }
  void release(std::byte* at) noexcept override { gpu_.release(at); }
  std::byte* to_write(std::byte* /*at*/, std::size_t bytes) override { return copy_of(bytes); }
  void written(std::byte* at, std::size_t bytes) override {
    if (bytes > 0) gpu_.copy(Device::kToDevice, at, copy_, bytes);
  }
  const std::byte* to_read(const std::byte* at, std::size_t bytes) override {
    std::byte* const copy = copy_of(bytes);
    if (bytes > 0) gpu_.copy(Device::kToHost, copy, at, bytes);
    return copy;
  }

 private:
  std::byte* copy_of(std::size_t bytes) {
    if (bytes <= copy_bytes_) return copy_;
    if (copy_ != nullptr) gpu_.release_host(std::exchange(copy_, nullptr));
    copy_bytes_ = 0;
    copy_ = gpu_.allocate_host(bytes);
    copy_bytes_ = bytes;
    return copy_;
  }

  Device gpu_;
  std::byte* copy_ = nullptr;
  std::size_t copy_bytes_ = 0;
};

}  // namespace

std::unique_ptr<BufferMemory> BufferMemory::open(Backend& backend, Alloc alloc) {
  if (alloc == Alloc::kLibrary) return std::make_unique<LibraryMemory>(backend);
  if (alloc == Alloc::kDevice) return std::make_unique<DeviceMemory>(backend.rank());
  return std::make_unique<HostMemory>();
}

}  // namespace espalier::bench
