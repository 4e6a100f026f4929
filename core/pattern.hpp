// Pattern: where the parts of an element lie that is not in one piece, and how such elements are
// packed and unpacked.
//
// An element is blocks of bytes, at offsets from its beginning, in order; elements follow each
// other at their extent. Packed, they are one run without gaps, and positions are counted in it.
// Values only; thread-safe to read. path: data (pack, unpack), setup (the rest)
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/status.hpp"

namespace espalier {

class Pattern {
 public:
  Pattern() = default;
  // All of an element of a built-in type.
  static Pattern plain(esp_type type) noexcept;
  // In elements of the built-in `type`. ESP_ERR_TYPE: there is none; ESP_ERR_ARGUMENT: an element
  // of nothing, or of more than kBytesMax.
  static Result<Pattern> strided(esp_type type, std::size_t blocks, std::size_t length,
                                 std::size_t stride, std::size_t extent);
  static Result<Pattern> listed(esp_type type, std::span<const std::size_t> lengths,
                                std::span<const std::size_t> displs, std::size_t extent);
  static constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 47;

  esp_type type() const noexcept { return type_; }
  // Elements of the built-in type in one of these.
  std::uint64_t elements() const noexcept { return elements_; }
  std::uint64_t packed_bytes() const noexcept { return packed_; }
  std::uint64_t extent_bytes() const noexcept { return extent_; }
  // Elements are in one piece and follow each other without gaps.
  bool is_plain() const noexcept {
    return blocks_.empty() && block_ == packed_ && extent_ == packed_;
  }
  // Some byte belongs to two blocks of an element.
  bool overlaps() const noexcept { return overlaps_; }

  // `bytes` packed bytes from position `first` on, of the elements at `elements`.
  void pack(std::byte* packed, const std::byte* elements, std::uint64_t first,
            std::uint64_t bytes) const noexcept;
  void unpack(std::byte* elements, const std::byte* packed, std::uint64_t first,
              std::uint64_t bytes) const noexcept;
  // For who copies by itself: each piece of it, in order, from its beginning in memory (from that
  // of the elements) and packed (from `first`). False ends it, and is the answer.
  using VisitPiece = bool (*)(void* context, std::uint64_t offset, std::uint64_t packed,
                              std::uint64_t bytes) noexcept;
  bool for_each_piece(std::uint64_t first, std::uint64_t bytes, VisitPiece visit,
                      void* context) const noexcept;

 private:
  struct Block {
    std::uint64_t offset, begin;  // in memory; packed
  };
  template <typename Copy>
  bool walk(std::uint64_t first, std::uint64_t bytes, Copy&& copy) const noexcept;
  Outcome settle(std::uint64_t span, std::size_t extent, std::uint64_t type_bytes);

  esp_type type_ = ESP_BYTE;
  bool overlaps_ = false;
  std::uint64_t elements_ = 1;
  std::uint64_t packed_ = 1, extent_ = 1;
  std::uint64_t block_ = 1, stride_ = 1;  // strided
  std::vector<Block> blocks_;             // listed: else empty
};

// The types of a job: the built-in ones, and those that were made. A made type has a number from
// ESP_TYPE_COUNT on, which is used again when it is gone. Threads: owner.
class TypeTable {
 public:
  TypeTable();
  // nullptr: there is no such type.
  const Pattern* find(esp_type type) const noexcept {
    const auto at = static_cast<std::size_t>(type);
    return at < patterns_.size() ? patterns_[at].get() : nullptr;
  }
  esp_type add(Pattern pattern);
  // False: it is none that was made.
  bool remove(esp_type type) noexcept;

 private:
  std::vector<std::unique_ptr<const Pattern>> patterns_;
};

}  // namespace espalier
