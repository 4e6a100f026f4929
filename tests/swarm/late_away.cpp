#include "tests/swarm/late_away.hpp"

#include <cstring>

namespace espalier::swarm {

LateAway::LateAway(const SharedDevices& devices, std::uint64_t seed, Rank rank, LateMover& mover)
    : devices_(devices),
      opens_(devices.opens[static_cast<std::size_t>(rank)]),
      prng_(seed ^ 0x61776179 ^ static_cast<std::uint64_t>(rank) << 40),
      mover_(mover) {}

AwayName LateAway::name_of(const void* at) noexcept {
  AwayName name;
  if (!prng_.chance(devices_.nameless)) std::memcpy(name.bytes.data(), &at, sizeof at);
  return name;
}

const void* LateAway::open(Rank, const AwayName& name) noexcept {
  const void* at = nullptr;
  std::memcpy(&at, name.bytes.data(), sizeof at);
  if (at == nullptr || !opens_ || prng_.chance(devices_.refused)) return nullptr;
  ++open_;
  return at;
}

void LateAway::close(Rank, const void*) noexcept {
  ESP_ASSERT(open_ > 0);
  --open_;
}

Posted LateAway::fetch(std::byte* dst, const void* src, std::uint64_t bytes,
                       Completion& op) noexcept {
  auto* elements = static_cast<std::byte*>(const_cast<void*>(src));
  return mover_.repack({&bytes_, nullptr, elements, dst, 0, bytes, true}, op);
}

std::byte* LateAway::allocate(std::uint64_t bytes) noexcept {
  ++allocated_;
  return mover_.allocate(bytes);
}

void LateAway::release(std::byte* memory, std::uint64_t bytes) noexcept {
  --allocated_;
  mover_.release(memory, bytes);
}

}  // namespace espalier::swarm
