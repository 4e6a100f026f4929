// Keys, and where they come from. Within the program a key is 64 bits without a sign whose order is
// that of the values: one sort for both types, and a search for splitters that ends after 64 bits.
//
// No communication. path: data (to_key, to_value, digest), setup (the rest)
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sorting {

using Key = std::uint64_t;

enum class Type { kInt64, kDouble };

// Of doubles the order is total: -nan, -inf, ..., -0, 0, ..., inf, nan.
constexpr Key kSign = Key{1} << 63;
constexpr Key to_key(std::int64_t value) {
  return static_cast<Key>(value) ^ kSign;
}
constexpr Key to_key(double value) {
  const Key bits = std::bit_cast<Key>(value);
  return (bits & kSign) != 0 ? ~bits : bits ^ kSign;
}
// The 8 bytes of a value of this type, as they stand in a file.
constexpr Key key_of_bits(Key bits, Type type) {
  return type == Type::kInt64 ? bits ^ kSign : to_key(std::bit_cast<double>(bits));
}
constexpr Key bits_of_key(Key key, Type type) {
  if (type == Type::kInt64) return key ^ kSign;
  return (key & kSign) != 0 ? key ^ kSign : ~key;
}

enum class Kind { kUniform, kSkewed, kEqual, kFew, kSorted, kReversed };
// How many keys each rank has before the sort.
enum class Spread { kEven, kHalf, kOne };

struct Recipe {
  Kind kind = Kind::kUniform;
  Type type = Type::kInt64;
  std::uint64_t seed = 1;
};

// Key `index` of `count`: the same for everybody who asks.
Key make_key(const Recipe& recipe, std::uint64_t index, std::uint64_t count);

// How many of `total` keys each of `ranks` ranks has; kEven: the first have one more where the
// number does not divide; kHalf: odd ranks have none; kOne: rank 0 has all.
std::vector<std::uint64_t> spread(std::uint64_t total, int ranks, Spread how);
// The sum of the counts before `rank`.
std::uint64_t before(std::span<const std::uint64_t> counts, int rank);

// Of a multiset of keys: the same whatever their order and whatever ranks they are on, since it
// adds up; two multisets that differ have the same one with a chance of 2^-128. Sums wrap around.
struct Digest {
  std::uint64_t count = 0, first = 0, second = 0;
  friend bool operator==(const Digest&, const Digest&) = default;
};
Digest digest(std::span<const Key> keys);

}  // namespace sorting
