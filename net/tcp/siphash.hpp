// SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012): a keyed hash that
// nobody without the key can predict.
//
// Ours, because it is forty lines with published test vectors and needs no library; 64 bits are
// enough for a challenge that is answered once. It authenticates; it does not encrypt. path: setup
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace espalier::net {

using SipKey = std::array<std::byte, 16>;

std::uint64_t siphash24(const SipKey& key, std::span<const std::byte> message) noexcept;

}  // namespace espalier::net
