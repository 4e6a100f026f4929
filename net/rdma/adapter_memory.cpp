#include "net/rdma/adapter_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

namespace espalier::rdma {
namespace {

Error failed(const char* call, std::size_t bytes) {
  const int number = errno;
  return error(number == ENOMEM ? ESP_ERR_NO_MEMORY : ESP_ERR_NETWORK,
               fmt::format("{} of {} bytes for an adapter: {}", call, bytes, std::strerror(number)),
               kNoRank, number);
}

}  // namespace

Result<std::unique_ptr<AdapterMemory>> AdapterMemory::create(std::size_t bytes) {
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return failed("mmap", bytes);
  std::unique_ptr<AdapterMemory> made(new AdapterMemory(static_cast<std::byte*>(mapped), bytes));
  if (::madvise(mapped, bytes, MADV_DONTFORK) != 0) return failed("madvise", bytes);
  return made;
}

AdapterMemory::~AdapterMemory() {
  ::munmap(begin_, bytes_);
}

}  // namespace espalier::rdma
