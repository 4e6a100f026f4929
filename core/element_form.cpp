#include "core/element_form.hpp"

#include <algorithm>

namespace espalier {
namespace {

// Elements that lie apart are packed by so many bytes first.
constexpr std::uint64_t kChunkBytes = 4096;

// visit(position among the caller's packed bytes, how many, the same place in the form).
template <typename Byte, typename Visit>
void for_each_chunk(const ElementForm& form, Byte* packed, std::uint64_t first, std::uint64_t bytes,
                    Visit&& visit) noexcept {
  std::uint64_t element = first / form.bytes;
  const std::uint64_t end = element + bytes / form.bytes;
  const std::uint64_t most = kChunkBytes / form.value_bytes;
  while (element < end) {
    const std::uint64_t count = std::min(most, end - element);
    visit(element * form.value_bytes, count * form.value_bytes, packed, count);
    packed += count * form.bytes;
    element += count;
  }
}

}  // namespace

void pack(const Pattern& pattern, const ElementForm* form, std::byte* packed,
          const std::byte* elements, std::uint64_t first, std::uint64_t bytes) noexcept {
  if (form == nullptr) return pattern.pack(packed, elements, first, bytes);
  if (pattern.is_plain()) {
    form->enter(packed, elements + first / form->bytes * form->value_bytes, bytes / form->bytes);
    return;
  }
  for_each_chunk(*form, packed, first, bytes,
                 [&](std::uint64_t at, std::uint64_t length, std::byte* to, std::uint64_t count) {
                   alignas(16) std::byte values[kChunkBytes];
                   pattern.pack(values, elements, at, length);
                   form->enter(to, values, count);
                 });
}

void unpack(const Pattern& pattern, const ElementForm* form, std::byte* elements,
            const std::byte* packed, std::uint64_t first, std::uint64_t bytes) noexcept {
  if (form == nullptr) return pattern.unpack(elements, packed, first, bytes);
  if (pattern.is_plain()) {
    form->leave(elements + first / form->bytes * form->value_bytes, packed, bytes / form->bytes);
    return;
  }
  for_each_chunk(
      *form, packed, first, bytes,
      [&](std::uint64_t at, std::uint64_t length, const std::byte* from, std::uint64_t count) {
        alignas(16) std::byte values[kChunkBytes];
        form->leave(values, from, count);
        pattern.unpack(elements, values, at, length);
      });
}

}  // namespace espalier
