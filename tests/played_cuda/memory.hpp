// Memory of played devices: addresses that the processor cannot touch. The bytes are in a file that
// is mapped elsewhere, too, and that other processes find by way of /proc.
//
// At the file's beginning a table says which allocations live, so others see what was freed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "tests/played_cuda/control.hpp"

namespace played {

struct Context;

// A line of the table.
struct Allocation {
  std::atomic<std::uint64_t> id;  // 0: free
  std::uint64_t offset;
  std::uint64_t bytes;
};

class Heap {
 public:
  static constexpr std::size_t kLines = 4096;
  static constexpr std::uint64_t kPage = 4096;
  static constexpr std::uint64_t kTableBytes =
      (kLines * sizeof(Allocation) + kPage - 1) & ~(kPage - 1);

  // Takes the file over. nullptr: it cannot be mapped.
  static std::unique_ptr<Heap> map(int file, std::uint64_t bytes);
  ~Heap();
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  int file() const noexcept { return file_; }
  std::uint64_t bytes() const noexcept { return bytes_; }
  Allocation& line(std::size_t index) noexcept { return table_[index]; }
  bool has(cuda::Address at) const noexcept { return at >= base_ && at - base_ < bytes_; }
  cuda::Address address(std::uint64_t offset) const noexcept { return base_ + offset; }
  std::uint64_t offset(cuda::Address at) const noexcept { return at - base_; }
  std::byte* touchable(cuda::Address at) const noexcept { return bytes_at_ + (at - base_); }

 private:
  Heap(int file, std::uint64_t bytes) : file_(file), bytes_(bytes) {}

  int file_;
  std::uint64_t bytes_;     // of memory, without the table
  cuda::Address base_ = 0;  // where devices see it
  Allocation* table_ = nullptr;
  std::byte* bytes_at_ = nullptr;
};

// What the driver knows of an address.
struct Known {
  enum Kind { kNothing, kDevice, kOpened, kRegistered, kManaged };
  Kind kind = kNothing;
  int device = 0;
  Context* context = nullptr;
  cuda::Address base = 0;
  std::uint64_t bytes = 0;
  std::uint64_t id = 0;
  std::byte* touchable = nullptr;  // the address asked for
};

class Memory {
 public:
  ~Memory();
  // 0: there is no room.
  cuda::Address allocate(Context& context, int device, std::uint64_t bytes);
  // False: no allocation begins there.
  bool free(cuda::Address at);
  void free_all_of(const Context& context);

  Known find(cuda::Address at);
  // The bytes at an address of a device or the host. Faults: freed memory, more than an allocation.
  std::byte* use(const char* call, cuda::Address at, std::uint64_t bytes);

  bool add_host(void* at, std::uint64_t bytes, Context& context, Known::Kind kind);
  // False: no such range begins there.
  bool remove_host(void* at, Known::Kind kind);
  void* map_host(std::uint64_t bytes);

  bool export_handle(cuda::Address at, cuda::IpcHandle& handle);
  cuda::Code open_handle(const cuda::IpcHandle& handle, Context& context, cuda::Address& at);
  bool close_handle(cuda::Address at);
  // A file of its own, which is read from there on. -1: not whole pages of one allocation.
  int range_file(cuda::Address at, std::uint64_t bytes);

 private:
  struct Held {  // of an allocation of this process
    std::size_t line;
    Context* context;
  };
  struct Device {
    std::unique_ptr<Heap> heap;
    std::map<std::uint64_t, Held> held;  // by offset
  };
  struct Import {
    std::unique_ptr<Heap> heap;
    std::size_t line = 0;
    std::uint64_t id = 0;
    Context* context = nullptr;
    int opened = 0;
  };
  struct Host {
    std::uint64_t bytes, id;
    Context* context;
    Known::Kind kind;
  };
  Device& device(int number);
  std::uint64_t next_id() noexcept;
  Known find_import(const Import& import, cuda::Address at);

  std::map<int, Device> devices_;
  std::vector<Import> imports_;
  std::map<std::uintptr_t, Host> host_;
  std::map<std::uintptr_t, std::uint64_t> mapped_;  // by map_host()
  std::uint64_t last_id_ = 0;
};

}  // namespace played
