#include "net/sim/packet_faults.hpp"

#include <algorithm>

namespace espalier::sim {
namespace {

// A reordered packet is late by up to so many times what one needs.
constexpr std::uint64_t kReorderSpan = 4;
constexpr std::uint64_t kReorderNs = 1000;  // and this, where that is nothing

}  // namespace

void damage(std::vector<std::byte>& bytes, Prng& prng) {
  switch (prng.below(4)) {
    case 0:
      bytes.resize(1 + prng.below(bytes.size()));
      [[fallthrough]];
    case 1: {
      const std::size_t begin = prng.below(bytes.size());
      const std::size_t end = std::min(bytes.size(), begin + 1 + prng.below(64));
      for (std::size_t i = begin; i < end; ++i) bytes[i] = static_cast<std::byte>(prng.next());
      return;
    }
    default:
      for (std::uint64_t flips = 1 + prng.below(3); flips > 0; --flips) {
        bytes[prng.below(bytes.size())] ^= std::byte{1} << prng.below(8);
      }
  }
}

std::uint64_t overtaking_ns(const World::Price& price, std::uint64_t bytes) noexcept {
  const double one = price.latency_ns + static_cast<double>(bytes) * price.ns_per_byte;
  return kReorderNs + kReorderSpan * static_cast<std::uint64_t>(one);
}

}  // namespace espalier::sim
