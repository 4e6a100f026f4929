// CallSignature: what a rank calls, in 16 bytes, so that members of a team can tell a mismatch.
//
// It stands in full on the team's board and as a hash in every segment.
// Values. path: short
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>

#include "coll/plan/plan.hpp"

namespace espalier {

// CallSignature::options of blocking calls: the user's that leave everything to choice, and those
// that other functions make for their own ends, which must not meet the user's. What hashes have,
// purposes have not.
inline constexpr std::uint8_t kHashBit = 0x80;
// Of hashes: turned over where the call is a round of a persistent request, which others only meet.
inline constexpr std::uint8_t kPersistentBit = 0x40;
enum class Purpose : std::uint8_t {
  kUser = 1,
  kTeamDup,
  kTeamSplit,
  kTeamInclude,
  kRegion,
  kRegionEnd,
  kGraph,
  kGrid,
  kPersistent,  // Not blocking, and the user's: bound once, started again and again.
};
static_assert(static_cast<std::uint8_t>(Purpose::kPersistent) < kHashBit);
// "esp_team_dup", ...; nullptr: the user's.
const char* purpose_name(Purpose purpose) noexcept;

struct CallSignature {
  std::uint8_t collective = 0;
  std::uint8_t type = 0;
  std::uint8_t op = 0;       // user-defined ones: creation order from ESP_OP_BUILTIN_COUNT on
  std::uint8_t options = 0;  // a Purpose, or a hash of options and blocking/non-blocking form
  // Of neighbours the graph's number; where all members know the lengths of blocks, their hash.
  std::int32_t root = 0;
  std::uint64_t count = 0;

  friend bool operator==(const CallSignature&, const CallSignature&) noexcept = default;

  using Words = std::array<std::uint64_t, 2>;
  Words words() const noexcept { return std::bit_cast<Words>(*this); }
  static std::uint64_t hash(const Words& words) noexcept {
    return (words[0] ^ words[1] * 0xff51afd7ed558ccdULL) * 0x9e3779b97f4a7c15ULL;
  }
  std::uint64_t hash() const noexcept { return hash(words()); }
  // "bcast of 12 int32 from root 3", "esp_team_dup"
  std::string to_text() const;
  // Of calls with the same text: " with other lengths of blocks"; else empty.
  std::string difference_text(const CallSignature& other) const;
  // Do they differ in the lengths of blocks alone, of those that all members know?
  bool differs_in_lengths(const CallSignature& other) const noexcept;
};
static_assert(sizeof(CallSignature) == 16);

// Hash of the lengths of blocks, one after the other, in elements of the signature's type.
inline std::uint64_t hash_length(std::uint64_t before, std::uint64_t elements) noexcept {
  const std::uint64_t mixed = (before ^ elements) * 0x9e3779b97f4a7c15ULL;
  return mixed ^ mixed >> 29;
}

// The same for a point-to-point message, of which only the size can differ.
inline std::uint32_t flow_signature(std::uint64_t bytes) noexcept {
  return static_cast<std::uint32_t>(bytes * 0x9e3779b97f4a7c15ULL >> 32);
}

}  // namespace espalier
