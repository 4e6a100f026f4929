#include "net/buffer_pool.hpp"

#include <algorithm>
#include <bit>
#include <new>

#include "core/assert.hpp"

namespace espalier::net {
namespace {
constexpr std::size_t kAlignment = 64;
}

// Stands before the memory that is handed out.
struct alignas(kAlignment) BufferPool::Block {
  Block* next = nullptr;
  unsigned size_class = 0;

  std::byte* memory() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
  static Block* of(std::byte* memory) noexcept { return reinterpret_cast<Block*>(memory) - 1; }
  static void free(Block* block) noexcept {
    ::operator delete(block, std::align_val_t{kAlignment});
  }
};

BufferPool::~BufferPool() {
  ESP_ASSERT(in_use_bytes_ == 0);
  for (Block* block : kept_) {
    while (block != nullptr) {
      Block* next = block->next;
      Block::free(block);
      block = next;
    }
  }
}

std::byte* BufferPool::take(std::uint64_t bytes) noexcept {
  const std::uint64_t units = bytes == 0 ? 0 : (bytes - 1) >> kSmallestShift;
  const auto size_class = static_cast<unsigned>(std::bit_width(units));
  if (size_class >= kClasses) return nullptr;
  const std::uint64_t room = use_bytes_ - std::min(use_bytes_, in_use_bytes_);
  if (class_bytes(size_class) > room) [[unlikely]]
    return nullptr;
  Block* block = kept_[size_class];
  if (block != nullptr) [[likely]] {
    kept_[size_class] = block->next;
    kept_bytes_ -= class_bytes(size_class);
  } else {
    void* memory = ::operator new(sizeof(Block) + class_bytes(size_class),
                                  std::align_val_t{kAlignment}, std::nothrow);
    if (memory == nullptr) return nullptr;
    block = ::new (memory) Block;
    block->size_class = size_class;
  }
  in_use_bytes_ += class_bytes(size_class);
  return block->memory();
}

void BufferPool::give(std::byte* memory) noexcept {
  Block* block = Block::of(memory);
  const std::uint64_t bytes = class_bytes(block->size_class);
  ESP_ASSERT(in_use_bytes_ >= bytes);
  in_use_bytes_ -= bytes;
  if (kept_bytes_ + bytes > keep_bytes_) return Block::free(block);
  kept_bytes_ += bytes;
  block->next = kept_[block->size_class];
  kept_[block->size_class] = block;
}

}  // namespace espalier::net
