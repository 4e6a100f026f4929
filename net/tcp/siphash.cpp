#include "net/tcp/siphash.hpp"

#include <bit>
#include <cstring>

namespace espalier::net {
namespace {

std::uint64_t word_at(const std::byte* bytes) noexcept {
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof word);  // little-endian, as net/frame.cpp asserts
  return word;
}

struct State {
  std::uint64_t v0, v1, v2, v3;

  void rounds(int count) noexcept {
    for (; count > 0; --count) {
      v0 += v1;
      v1 = std::rotl(v1, 13) ^ v0;
      v0 = std::rotl(v0, 32);
      v2 += v3;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 += v3;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 += v1;
      v1 = std::rotl(v1, 17) ^ v2;
      v2 = std::rotl(v2, 32);
    }
  }
  void absorb(std::uint64_t word) noexcept {
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  }
};

}  // namespace

std::uint64_t siphash24(const SipKey& key, std::span<const std::byte> message) noexcept {
  const std::uint64_t k0 = word_at(key.data()), k1 = word_at(key.data() + 8);
  State state = {k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du, k0 ^ 0x6c7967656e657261u,
                 k1 ^ 0x7465646279746573u};
  const std::size_t whole = message.size() / 8 * 8;
  for (std::size_t at = 0; at < whole; at += 8) state.absorb(word_at(message.data() + at));
  std::uint64_t last = std::uint64_t{message.size()} << 56;
  for (std::size_t i = whole; i < message.size(); ++i) {
    last |= std::to_integer<std::uint64_t>(message[i]) << (8 * (i - whole));
  }
  state.absorb(last);
  state.v2 ^= 0xff;
  state.rounds(4);
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

}  // namespace espalier::net
