#include "core/pattern.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/datatype.hpp"

namespace espalier {
namespace {

// Of a built-in type; 0: there is none.
std::uint64_t built_in_bytes(esp_type type) noexcept {
  return type < ESP_TYPE_COUNT ? type_size(type) : 0;
}

Error no_such_type(esp_type type) {
  return error(ESP_ERR_TYPE, fmt::format("there is no built-in type {}", static_cast<int>(type)));
}

Error too_large() {
  return error(ESP_ERR_ARGUMENT, "an element of more than 2^47 bytes (was a number negative?)");
}

bool is_too_large(std::uint64_t a, std::uint64_t b, std::uint64_t& product) noexcept {
  return __builtin_mul_overflow(a, b, &product) || product > Pattern::kBytesMax;
}

}  // namespace

Pattern Pattern::plain(esp_type type) noexcept {
  Pattern p;
  p.type_ = type;
  p.packed_ = p.extent_ = p.block_ = p.stride_ = built_in_bytes(type);
  return p;
}

// `span`: bytes from the beginning to the end of the last block.
Outcome Pattern::settle(std::uint64_t span, std::size_t extent, std::uint64_t type_bytes) {
  if (packed_ == 0) return error(ESP_ERR_ARGUMENT, "an element of nothing");
  extent_ = span;
  if (extent > 0 && is_too_large(extent, type_bytes, extent_)) return too_large();
  elements_ = packed_ / type_bytes;
  return Unit{};
}

Result<Pattern> Pattern::strided(esp_type type, std::size_t blocks, std::size_t length,
                                 std::size_t stride, std::size_t extent) {
  const std::uint64_t bytes = built_in_bytes(type);
  if (bytes == 0) return no_such_type(type);
  Pattern p;
  p.type_ = type;
  std::uint64_t last = 0;
  const bool large =
      is_too_large(length, bytes, p.block_) || is_too_large(stride, bytes, p.stride_) ||
      is_too_large(blocks, p.block_, p.packed_) ||
      is_too_large(blocks > 0 ? blocks - 1 : 0, p.stride_, last) || last + p.block_ > kBytesMax;
  if (large) return too_large();
  p.overlaps_ = blocks > 1 && p.stride_ < p.block_;
  if (p.stride_ == p.block_) p.block_ = p.stride_ = p.packed_;  // one block
  if (Outcome sound = p.settle(last + (blocks > 0 ? length * bytes : 0), extent, bytes); !sound) {
    return sound.error();
  }
  return p;
}

Result<Pattern> Pattern::listed(esp_type type, std::span<const std::size_t> lengths,
                                std::span<const std::size_t> displs, std::size_t extent) {
  const std::uint64_t bytes = built_in_bytes(type);
  if (bytes == 0) return no_such_type(type);
  Pattern p;
  p.type_ = type;
  p.packed_ = 0;
  std::uint64_t span = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> spans;
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    std::uint64_t length = 0, offset = 0;
    if (is_too_large(lengths[b], bytes, length) || is_too_large(displs[b], bytes, offset) ||
        p.packed_ + length > kBytesMax || offset + length > kBytesMax) {
      return too_large();
    }
    if (length == 0) continue;
    p.blocks_.push_back({offset, p.packed_});
    p.packed_ += length;
    span = std::max(span, offset + length);
    spans.emplace_back(offset, offset + length);
  }
  std::sort(spans.begin(), spans.end());
  for (std::size_t b = 1; b < spans.size(); ++b) {
    p.overlaps_ = p.overlaps_ || spans[b].first < spans[b - 1].second;
  }
  p.block_ = 0;
  if (Outcome sound = p.settle(span, extent, bytes); !sound) return sound.error();
  return p;
}

// copy(offset in memory, position packed relative to `first`, bytes), block by block; false ends
// it.
template <typename Copy>
bool Pattern::walk(std::uint64_t first, std::uint64_t bytes, Copy&& copy) const noexcept {
  std::uint64_t element = first / packed_ * extent_;
  std::uint64_t at = first % packed_;
  std::uint64_t packed = 0;
  std::size_t block = 0;
  if (!blocks_.empty()) {
    const auto after =
        std::upper_bound(blocks_.begin(), blocks_.end(), at,
                         [](std::uint64_t position, const Block& b) { return position < b.begin; });
    block = static_cast<std::size_t>(after - blocks_.begin()) - 1;
  }
  while (packed < bytes) {
    std::uint64_t offset, end;  // of the block; where it ends, packed
    if (blocks_.empty()) {
      const std::uint64_t number = at / block_;
      offset = number * stride_ + at % block_;
      end = (number + 1) * block_;
    } else {
      offset = blocks_[block].offset + (at - blocks_[block].begin);
      end = block + 1 < blocks_.size() ? blocks_[block + 1].begin : packed_;
      if (++block == blocks_.size()) block = 0;
    }
    const std::uint64_t n = std::min(end - at, bytes - packed);
    if (!copy(element + offset, packed, n)) return false;
    packed += n;
    at += n;
    if (at == packed_) {
      at = 0;
      element += extent_;
    }
  }
  return true;
}

void Pattern::pack(std::byte* packed, const std::byte* elements, std::uint64_t first,
                   std::uint64_t bytes) const noexcept {
  walk(first, bytes, [&](std::uint64_t offset, std::uint64_t at, std::uint64_t n) {
    std::memcpy(packed + at, elements + offset, n);
    return true;
  });
}

void Pattern::unpack(std::byte* elements, const std::byte* packed, std::uint64_t first,
                     std::uint64_t bytes) const noexcept {
  walk(first, bytes, [&](std::uint64_t offset, std::uint64_t at, std::uint64_t n) {
    std::memcpy(elements + offset, packed + at, n);
    return true;
  });
}

bool Pattern::for_each_piece(std::uint64_t first, std::uint64_t bytes, VisitPiece visit,
                             void* context) const noexcept {
  // What is plain is in one piece, however many elements.
  if (is_plain()) return visit(context, first, 0, bytes);
  return walk(first, bytes, [&](std::uint64_t offset, std::uint64_t at, std::uint64_t n) {
    return visit(context, offset, at, n);
  });
}

TypeTable::TypeTable() {
  for (int t = 0; t < ESP_TYPE_COUNT; ++t) {
    patterns_.push_back(std::make_unique<const Pattern>(Pattern::plain(static_cast<esp_type>(t))));
  }
}

esp_type TypeTable::add(Pattern pattern) {
  std::size_t at = ESP_TYPE_COUNT;
  while (at < patterns_.size() && patterns_[at] != nullptr) ++at;
  if (at == patterns_.size()) patterns_.emplace_back();
  patterns_[at] = std::make_unique<const Pattern>(std::move(pattern));
  return static_cast<esp_type>(at);
}

bool TypeTable::remove(esp_type type) noexcept {
  if (type < ESP_TYPE_COUNT || find(type) == nullptr) return false;
  patterns_[static_cast<std::size_t>(type)].reset();
  return true;
}

}  // namespace espalier
