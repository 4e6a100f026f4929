// Copies of payloads. Any thread. path: data
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace espalier {

// From the end, so that no load follows a store to almost the same place of another page.
inline void copy_backwards(void* dst, const void* src, std::size_t bytes) noexcept {
  struct Line {
    std::byte bytes[64];
  };
  auto* to = static_cast<std::byte*>(dst) + bytes;
  const auto* from = static_cast<const std::byte*>(src) + bytes;
  for (; bytes >= sizeof(Line); bytes -= sizeof(Line)) {
    Line line;
    std::memcpy(&line, from -= sizeof(Line), sizeof(Line));
    std::memcpy(to -= sizeof(Line), &line, sizeof(Line));
  }
  std::memcpy(dst, src, bytes);
}

// As memcpy. From 2 or 4 KiB on libc copies with one instruction (rep movsb), which AMD's Zen 3 and
// 4 execute 13 times slower (2.3 GB/s, not 30) where the destination is 1 to 31 bytes ahead of the
// source modulo the size of a page: as from the begin of a page to a buffer of malloc, which begins
// 16 bytes after one (glibc's bug 30994). From the end it is 22 GB/s.
inline void copy_bytes(void* dst, const void* src, std::size_t bytes) noexcept {
  constexpr std::uintptr_t kPage = 4096, kSlowBelow = 32;
  constexpr std::size_t kShort = 2048;
  const std::uintptr_t ahead =
      (reinterpret_cast<std::uintptr_t>(dst) - reinterpret_cast<std::uintptr_t>(src)) % kPage;
  if (bytes <= kShort || ahead == 0 || ahead >= kSlowBelow) [[likely]] {
    std::memcpy(dst, src, bytes);
  } else {
    copy_backwards(dst, src, bytes);
  }
}

// The same for ranges that may overlap.
inline void move_bytes(void* dst, const void* src, std::size_t bytes) noexcept {
  const auto to = reinterpret_cast<std::uintptr_t>(dst);
  const auto from = reinterpret_cast<std::uintptr_t>(src);
  if (to < from + bytes && from < to + bytes) {
    std::memmove(dst, src, bytes);
  } else {
    copy_bytes(dst, src, bytes);
  }
}

}  // namespace espalier
