#include "tests/swarm/values.hpp"

#include <algorithm>
#include <cstring>

#include "core/kernels/isa.hpp"
#include "core/prng.hpp"

namespace espalier::swarm {
namespace {

// inout = in after inout, as maps x -> a x + b.
void compose(const void* in, void* inout, std::size_t count, esp_type, void*) {
  const auto* left = static_cast<const std::byte*>(in);
  auto* right = static_cast<std::byte*>(inout);
  for (std::size_t i = 0; i < count; ++i, left += 8, right += 8) {
    std::uint32_t f[2], g[2];
    std::memcpy(f, left, 8);
    std::memcpy(g, right, 8);
    const std::uint32_t both[2] = {f[0] * g[0], f[0] * g[1] + f[1]};
    std::memcpy(right, both, 8);
  }
}

void fill(std::byte* at, std::uint64_t bytes, std::uint64_t seed, std::int32_t member) {
  std::uint64_t state = seed + 0x632be59bd9b4e019ULL * static_cast<std::uint64_t>(member + 1);
  for (std::uint64_t i = 0; i < bytes; i += 8) {
    const std::uint64_t word = splitmix64(state);
    std::memcpy(at + i, &word, std::min<std::uint64_t>(8, bytes - i));
  }
}

}  // namespace

void contribute(std::vector<std::byte>& bytes, std::uint64_t seed, std::int32_t member) {
  fill(bytes.data(), bytes.size(), seed, member);
}

Combiner combiner(const OpSpec& op) {
  if (!op.reduces()) return {};
  if (op.ordered) return Combiner(UserOperator{compose, nullptr, false}, op.type);
  static const Isa isa = best_isa();  // asking takes long
  return Combiner(combine_kernel_for(isa, op.op, op.type), op.type);
}

void Buffer::fill(std::uint64_t seed, std::int32_t member) {
  swarm::fill(data(), bytes_, seed, member);
}

bool Buffer::intact() const noexcept {
  const auto is_untouched = [](std::byte b) { return b == kUntouched; };
  return std::all_of(memory_.begin(), memory_.begin() + kFence, is_untouched) &&
         std::all_of(memory_.end() - kFence, memory_.end(), is_untouched);
}

void Buffer::spoil() noexcept {
  std::fill_n(data(), bytes_, std::byte{0xbb});
}

}  // namespace espalier::swarm
