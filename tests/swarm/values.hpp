// Values: memory of users, what stands in it, and operators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "coll/engine/combiner.hpp"
#include "tests/swarm/scenario.hpp"

namespace espalier::swarm {

// Fills `bytes` with what depends on (seed, member) and the position.
void contribute(std::vector<std::byte>& bytes, std::uint64_t seed, std::int32_t member);

// The operator of a reduction. The ordered one composes affine maps over the integers mod 2^32:
// associative, exact, and different for every order.
Combiner combiner(const OpSpec& op);

// Memory of a user, between two fences.
class Buffer {
 public:
  void create(std::uint64_t bytes) {
    memory_.assign(bytes + 2 * kFence, kUntouched);
    bytes_ = bytes;
  }
  std::byte* data() noexcept { return memory_.empty() ? nullptr : memory_.data() + kFence; }
  const std::byte* data() const noexcept {
    return memory_.empty() ? nullptr : memory_.data() + kFence;
  }
  std::uint64_t bytes() const noexcept { return bytes_; }
  void fill(std::uint64_t seed, std::int32_t member);
  // Nothing was written beside it.
  bool intact() const noexcept;
  // The user has it back and uses it for something else.
  void spoil() noexcept;

  friend bool operator==(const Buffer&, const Buffer&) = default;

  static constexpr std::byte kUntouched{0xa5};

 private:
  static constexpr std::size_t kFence = 16;
  std::vector<std::byte> memory_;
  std::uint64_t bytes_ = 0;
};

}  // namespace espalier::swarm
