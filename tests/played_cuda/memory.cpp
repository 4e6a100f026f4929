#include "tests/played_cuda/memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "tests/played_cuda/state.hpp"

namespace played {
namespace {

constexpr std::uint64_t kMagic = 0x6465'7961'6c70'2021;  // of handles
constexpr std::uint64_t kLine = 256;                     // between allocations, and their alignment

struct Handle {
  std::uint64_t magic, process, file, bytes, line, id, device;
};
static_assert(sizeof(Handle) <= sizeof(cuda::IpcHandle));

std::uint64_t round_up(std::uint64_t value, std::uint64_t to) {
  return (value + to - 1) / to * to;
}

}  // namespace

std::unique_ptr<Heap> Heap::map(int file, std::uint64_t bytes) {
  std::unique_ptr<Heap> heap(new Heap(file, bytes));
  void* all = ::mmap(nullptr, kTableBytes + bytes, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_NORESERVE, file, 0);
  if (all == MAP_FAILED) return nullptr;
  heap->table_ = static_cast<Allocation*>(all);
  heap->bytes_at_ = static_cast<std::byte*>(all) + kTableBytes;
  void* base =
      ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return nullptr;
  heap->base_ = cuda::address_of(base);
  return heap;
}

Heap::~Heap() {
  if (table_ != nullptr) ::munmap(static_cast<void*>(table_), kTableBytes + bytes_);
  if (base_ != 0) ::munmap(cuda::pointer_of(base_), bytes_);
  ::close(file_);
}

Memory::~Memory() {
  for (const auto& [at, bytes] : mapped_) ::munmap(reinterpret_cast<void*>(at), bytes);
}

// Also of no other process, so that numbers in handles cannot be mistaken.
std::uint64_t Memory::next_id() noexcept {
  return static_cast<std::uint64_t>(::getpid()) << 32 | ++last_id_;
}

Memory::Device& Memory::device(int number) {
  Device& found = devices_[number];
  if (found.heap == nullptr) {
    const std::uint64_t bytes = state.settings.memory_bytes;
    const int file = ::memfd_create("played_cuda", MFD_CLOEXEC);
    if (file < 0 || ::ftruncate(file, static_cast<off_t>(Heap::kTableBytes + bytes)) != 0) {
      fault("cuMemAlloc", "no file for the memory of a device");
    }
    found.heap = Heap::map(file, bytes);
    if (found.heap == nullptr) fault("cuMemAlloc", "no room for the memory of a device");
  }
  return found;
}

cuda::Address Memory::allocate(Context& context, int number, std::uint64_t bytes) {
  Device& where = device(number);
  const std::uint64_t alignment = bytes >= Heap::kPage ? Heap::kPage : kLine;
  std::uint64_t offset = 0;  // The first gap: addresses are given again soon.
  for (const auto& [begin, held] : where.held) {
    if (offset + bytes + kLine <= begin) break;
    offset = round_up(begin + where.heap->line(held.line).bytes + kLine, alignment);
  }
  if (bytes > where.heap->bytes() || offset > where.heap->bytes() - bytes) return 0;
  for (std::size_t i = 0; i < Heap::kLines; ++i) {
    Allocation& line = where.heap->line(i);
    if (line.id.load() != 0) continue;
    line.offset = offset;
    line.bytes = bytes;
    line.id.store(next_id());
    where.held[offset] = {i, &context};
    return where.heap->address(offset);
  }
  return 0;
}

bool Memory::free(cuda::Address at) {
  for (auto& [number, where] : devices_) {
    if (where.heap == nullptr || !where.heap->has(at)) continue;
    const auto found = where.held.find(where.heap->offset(at));
    if (found == where.held.end()) return false;
    Allocation& line = where.heap->line(found->second.line);
    // Whoever still reads it finds this.
    std::memset(where.heap->touchable(at), 0xdd, std::min<std::uint64_t>(line.bytes, 1 << 20));
    line.id.store(0);
    where.held.erase(found);
    return true;
  }
  return remove_host(cuda::pointer_of(at), Known::kManaged);
}

void Memory::free_all_of(const Context& context) {
  for (auto& [number, where] : devices_) {
    std::vector<std::uint64_t> offsets;
    for (const auto& [offset, held] : where.held) {
      if (held.context == &context) offsets.push_back(offset);
    }
    for (const std::uint64_t offset : offsets) free(where.heap->address(offset));
  }
}

Known Memory::find_import(const Import& import, cuda::Address at) {
  const Allocation& line = import.heap->line(import.line);
  const cuda::Address base = import.heap->address(line.offset);
  if (line.id.load() != import.id || at < base || at - base >= line.bytes) return {};
  return {.kind = Known::kOpened,
          .device = import.context->device,
          .context = import.context,
          .base = base,
          .bytes = line.bytes,
          .id = import.id,
          .touchable = import.heap->touchable(at)};
}

Known Memory::find(cuda::Address at) {
  for (auto& [number, where] : devices_) {
    if (where.heap == nullptr || !where.heap->has(at)) continue;
    auto found = where.held.upper_bound(where.heap->offset(at));
    if (found == where.held.begin()) return {};
    --found;
    const Allocation& line = where.heap->line(found->second.line);
    if (where.heap->offset(at) - found->first >= line.bytes) return {};
    return {.kind = Known::kDevice,
            .device = number,
            .context = found->second.context,
            .base = where.heap->address(line.offset),
            .bytes = line.bytes,
            .id = line.id.load(),
            .touchable = where.heap->touchable(at)};
  }
  for (const Import& import : imports_) {
    if (import.heap->has(at)) return find_import(import, at);
  }
  auto found = host_.upper_bound(static_cast<std::uintptr_t>(at));
  if (found == host_.begin()) return {};
  --found;
  const Host& host = found->second;
  if (at - found->first >= host.bytes) return {};
  return {.kind = host.kind,
          .device = host.context->device,
          .context = host.context,
          .base = found->first,
          .bytes = host.bytes,
          .id = host.id,
          .touchable = static_cast<std::byte*>(cuda::pointer_of(at))};
}

std::byte* Memory::use(const char* call, cuda::Address at, std::uint64_t bytes) {
  const Known known = find(at);
  if (known.kind != Known::kNothing) {
    const bool device = known.kind == Known::kDevice || known.kind == Known::kOpened;
    if (device && bytes > known.bytes - (at - known.base)) {
      fault(call,
            fmt::format("{} bytes at {:#x} go beyond the end of their allocation", bytes, at));
    }
    return known.touchable;
  }
  for (const auto& [number, where] : devices_) {
    if (where.heap != nullptr && where.heap->has(at)) {
      fault(call, fmt::format("memory of device {} at {:#x} is freed", number, at));
    }
  }
  for (const Import& import : imports_) {
    if (import.heap->has(at)) fault(call, "opened memory was freed by its owner");
  }
  return static_cast<std::byte*>(cuda::pointer_of(at));
}

// Memory of the host ------------------------------------------------------------------------------

bool Memory::add_host(void* at, std::uint64_t bytes, Context& context, Known::Kind kind) {
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  const auto next = host_.lower_bound(begin);
  if (next != host_.end() && next->first < begin + bytes) return false;
  if (next != host_.begin() && std::prev(next)->first + std::prev(next)->second.bytes > begin) {
    return false;
  }
  host_[begin] = {bytes, next_id(), &context, kind};
  return true;
}

bool Memory::remove_host(void* at, Known::Kind kind) {
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  const auto found = host_.find(begin);
  if (found == host_.end() || found->second.kind != kind) return false;
  host_.erase(found);
  if (const auto mapped = mapped_.find(begin); mapped != mapped_.end()) {
    ::munmap(at, mapped->second);
    mapped_.erase(mapped);
  }
  return true;
}

void* Memory::map_host(std::uint64_t bytes) {
  void* made = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return nullptr;
  mapped_[reinterpret_cast<std::uintptr_t>(made)] = bytes;
  return made;
}

// Other processes ---------------------------------------------------------------------------------

bool Memory::export_handle(cuda::Address at, cuda::IpcHandle& handle) {
  const Known known = find(at);
  if (known.kind != Known::kDevice) return false;
  const Device& where = device(known.device);
  const Handle content = {.magic = kMagic,
                          .process = static_cast<std::uint64_t>(::getpid()),
                          .file = static_cast<std::uint64_t>(where.heap->file()),
                          .bytes = where.heap->bytes(),
                          .line = where.held.at(where.heap->offset(known.base)).line,
                          .id = known.id,
                          .device = static_cast<std::uint64_t>(known.device)};
  std::memset(handle.bytes.data(), 0, handle.bytes.size());
  std::memcpy(handle.bytes.data(), &content, sizeof content);
  return true;
}

cuda::Code Memory::open_handle(const cuda::IpcHandle& handle, Context& context, cuda::Address& at) {
  Handle content;
  std::memcpy(&content, handle.bytes.data(), sizeof content);
  if (content.magic != kMagic || content.line >= Heap::kLines) return cuda::kInvalidValue;
  if (content.process == static_cast<std::uint64_t>(::getpid())) return cuda::kInvalidContext;
  for (Import& import : imports_) {
    if (import.id != content.id || import.opened == 0) continue;
    ++import.opened;
    at = import.heap->address(import.heap->line(import.line).offset);
    return cuda::kSuccess;
  }
  const std::string path = fmt::format("/proc/{}/fd/{}", content.process, content.file);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return cuda::kMapFailed;
  Import import;
  import.heap = Heap::map(file, content.bytes);
  if (import.heap == nullptr) return cuda::kMapFailed;
  if (import.heap->line(content.line).id.load() != content.id) return cuda::kInvalidValue;
  import.line = content.line;
  import.id = content.id;
  import.context = &context;
  import.opened = 1;
  at = import.heap->address(import.heap->line(content.line).offset);
  imports_.push_back(std::move(import));
  return cuda::kSuccess;
}

bool Memory::close_handle(cuda::Address at) {
  for (auto import = imports_.begin(); import != imports_.end(); ++import) {
    if (!import->heap->has(at)) continue;
    if (--import->opened == 0) imports_.erase(import);
    return true;
  }
  return false;
}

int Memory::range_file(cuda::Address at, std::uint64_t bytes) {
  const Known known = find(at);
  if (known.kind != Known::kDevice || at % Heap::kPage != 0 || bytes % Heap::kPage != 0 ||
      bytes == 0 || bytes > round_up(known.bytes, Heap::kPage) - (at - known.base)) {
    return -1;
  }
  const Heap& heap = *device(known.device).heap;
  const std::string path = fmt::format("/proc/self/fd/{}", heap.file());
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return -1;
  ::lseek(file, static_cast<off_t>(Heap::kTableBytes + heap.offset(at)), SEEK_SET);
  return file;
}

}  // namespace played
