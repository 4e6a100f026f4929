#include "tests/support/allocations.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

// Writers: all threads; who reads it counts those of one phase in which others rest.
std::atomic<std::uint64_t> count{0};

void* take(std::size_t bytes) noexcept {
  count.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(bytes);
}
void* take(std::size_t bytes, std::align_val_t alignment) noexcept {
  count.fetch_add(1, std::memory_order_relaxed);
  const auto to = static_cast<std::size_t>(alignment);
  return std::aligned_alloc(to, (bytes + to - 1) / to * to);
}
void* need(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

namespace espalier::test {
std::uint64_t allocations() noexcept {
  return count.load(std::memory_order_relaxed);
}
}  // namespace espalier::test

void* operator new(std::size_t bytes) {
  return need(take(bytes));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return take(bytes);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return need(take(bytes, alignment));
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return take(bytes, alignment);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
