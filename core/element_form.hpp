// ElementForm: another form for elements, in which they travel and are combined.
//
// The caller's elements are brought into it before an operation and back at its end, where elements
// that lie apart are packed and unpacked (coll/algorithms/packing.cpp). All between is the plan of
// longer elements. Values only; thread-safe to read. path: data
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/datatype.hpp"
#include "core/pattern.hpp"

namespace espalier {

struct ElementForm {
  std::uint32_t value_bytes;  // of an element of the caller's type
  std::uint32_t bytes;        // of one in this form
  void (*enter)(std::byte* forms, const std::byte* values, std::size_t count);
  void (*leave)(std::byte* values, const std::byte* forms, std::size_t count);
  CombineKernel combine;
};

// As the pattern's pack() and unpack(), in that form if it is one: positions are those of what is
// packed, in whole elements.
void pack(const Pattern& pattern, const ElementForm* form, std::byte* packed,
          const std::byte* elements, std::uint64_t first, std::uint64_t bytes) noexcept;
void unpack(const Pattern& pattern, const ElementForm* form, std::byte* elements,
            const std::byte* packed, std::uint64_t first, std::uint64_t bytes) noexcept;

}  // namespace espalier
