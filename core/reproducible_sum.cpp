#include "core/reproducible_sum.hpp"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/kernels/elements.hpp"

namespace espalier {
namespace {

using Wide = unsigned __int128;

// Bin 0 begins at 2^-kBias, below the lowest bit of any type. Numbers around 1 are in the middle of
// a bin: most sums have numbers of one bin only.
constexpr int kBias = 514 * ReproducibleSum::kBinBits + ReproducibleSum::kBinBits / 2;

// A number as an integer of up to 64 bits, times 2^exponent.
struct Scaled {
  bool negative = false;
  std::uint32_t special = 0;
  std::uint64_t digits = 0;
  int exponent = 0;
};

constexpr std::uint32_t special_of(bool negative, bool infinite) noexcept {
  if (!infinite) return ReproducibleSum::kNan;
  return negative ? ReproducibleSum::kNegativeInfinity : ReproducibleSum::kInfinity;
}

// The formats of IEEE 754 in which a number's leading bit is not written.
template <typename BitsOf, int precision>
struct Format {
  using Bits = BitsOf;
  static constexpr int kBytes = sizeof(Bits);
  static constexpr int kPrecision = precision;
  static constexpr int kExponentBits = 8 * kBytes - precision;
  static constexpr int kExponents = 1 << kExponentBits;
  // Of the lowest bit of the smallest numbers.
  static constexpr int kExponentMin = 3 - kExponents / 2 - precision;
  static constexpr Bits kInfinite = static_cast<Bits>(Bits{kExponents - 1} << (precision - 1));
  static constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * kBytes - 1));

  static Scaled split(const std::byte* from) noexcept {
    Bits bits;
    std::memcpy(&bits, from, kBytes);
    const bool negative = (bits & kSign) != 0;
    const Bits magnitude = bits & static_cast<Bits>(~kSign);
    if (magnitude >= kInfinite) return {negative, special_of(negative, magnitude == kInfinite)};
    const int field = static_cast<int>(magnitude >> (precision - 1));
    const std::uint64_t fraction = magnitude & ((std::uint64_t{1} << (precision - 1)) - 1);
    const std::uint64_t leading = field > 0 ? std::uint64_t{1} << (precision - 1) : 0;
    return {negative, 0, fraction | leading, std::max(field, 1) - 1 + kExponentMin};
  }
  // Up to 2^precision, times 2^exponent; fewer bits where that is the smallest exponent. A carry
  // goes on into the exponent, and what is too large gives infinity.
  static void join(std::byte* to, bool negative, Wide digits, int exponent) noexcept {
    Wide bits = (static_cast<Wide>(exponent - kExponentMin) << (precision - 1)) + digits;
    if (digits == 0) bits = 0;
    put(to, negative, bits < kInfinite ? static_cast<Bits>(bits) : kInfinite);
  }
  static void join_special(std::byte* to, std::uint32_t special) noexcept {
    constexpr Bits kQuiet = static_cast<Bits>(Bits{1} << (precision - 2));
    const bool negative = special == ReproducibleSum::kNegativeInfinity;
    const bool infinite = negative || special == ReproducibleSum::kInfinity;
    put(to, negative, infinite ? kInfinite : static_cast<Bits>(kInfinite | kQuiet));
  }

 private:
  static void put(std::byte* to, bool negative, Bits magnitude) noexcept {
    const Bits bits = negative ? static_cast<Bits>(magnitude | kSign) : magnitude;
    std::memcpy(to, &bits, kBytes);
  }
};

// x87's: 64 digits, all written, then sign and exponent, then padding, which results have as zero.
struct Extended {
  static constexpr int kBytes = sizeof(long double);
  static constexpr int kPrecision = 64;
  static constexpr int kExponentMin = 1 - 16383 - 63;
  static constexpr std::uint16_t kInfinite = 0x7fff, kSign = 0x8000;
  static constexpr std::uint64_t kLeading = std::uint64_t{1} << 63;

  static Scaled split(const std::byte* from) noexcept {
    std::uint64_t digits = 0;
    std::uint16_t head = 0;
    std::memcpy(&digits, from, sizeof digits);
    std::memcpy(&head, from + sizeof digits, sizeof head);
    const bool negative = (head & kSign) != 0;
    const int field = head & kInfinite;
    if (field == kInfinite) return {negative, special_of(negative, (digits << 1) == 0)};
    return {negative, 0, digits, std::max(field, 1) - 1 + kExponentMin};
  }
  static void join(std::byte* to, bool negative, Wide digits, int exponent) noexcept {
    const bool carries = digits >> 64 != 0;
    const auto written = carries ? kLeading : static_cast<std::uint64_t>(digits);
    int field = written >= kLeading ? exponent - kExponentMin + (carries ? 2 : 1) : 0;
    field = std::min<int>(field, kInfinite);
    put(to, negative, field == kInfinite ? kLeading : written, static_cast<std::uint16_t>(field));
  }
  static void join_special(std::byte* to, std::uint32_t special) noexcept {
    const bool negative = special == ReproducibleSum::kNegativeInfinity;
    const bool infinite = negative || special == ReproducibleSum::kInfinity;
    put(to, negative, infinite ? kLeading : kLeading | kLeading >> 1, kInfinite);
  }

 private:
  static void put(std::byte* to, bool negative, std::uint64_t digits,
                  std::uint16_t field) noexcept {
    const auto head = static_cast<std::uint16_t>(negative ? field | kSign : field);
    std::memset(to, 0, kBytes);
    std::memcpy(to, &digits, sizeof digits);
    std::memcpy(to + sizeof digits, &head, sizeof head);
  }
};

int width(Wide number) noexcept {
  const auto high = static_cast<std::uint64_t>(number >> 64);
  if (high != 0) return 64 + static_cast<int>(std::bit_width(high));
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(number)));
}

// ---- one number

template <typename F>
ReproducibleSum sum_of(const std::byte* from) noexcept {
  const Scaled number = F::split(from);
  ReproducibleSum sum;
  sum.special = number.special;
  if (number.digits == 0) return sum;
  constexpr int kBits = ReproducibleSum::kBinBits;
  const int lowest = number.exponent + kBias;
  sum.top = (lowest + static_cast<int>(std::bit_width(number.digits)) - 1) / kBits;
  // Counted from the lowest of the bins: all digits of 64 lie above.
  const Wide digits = static_cast<Wide>(number.digits) << (lowest - (sum.top - 2) * kBits);
  for (int i = 0; i < ReproducibleSum::kBins; ++i) {
    const auto digit = static_cast<std::uint32_t>(digits >> ((2 - i) * kBits));
    sum.digits[i] = number.negative ? -std::int64_t{digit} : std::int64_t{digit};
  }
  return sum;
}

// To nearest, ties to even.
Wide rounded(Wide number, int dropped) noexcept {
  if (dropped >= 128) return 0;  // Numbers are below 2^127.
  const Wide rest = number & ((Wide{1} << dropped) - 1), half = Wide{1} << (dropped - 1);
  const Wide kept = number >> dropped;
  return kept + (rest > half || (rest == half && (kept & 1) != 0) ? 1 : 0);
}

template <typename F>
void round_to(std::byte* to, const ReproducibleSum& sum) noexcept {
  if (sum.special != 0) return F::join_special(to, sum.special);
  __int128 value = 0;  // Of kNumbersMax numbers below 2^127.
  for (const std::int64_t digit : sum.digits) {
    value = value * (__int128{1} << ReproducibleSum::kBinBits) + digit;
  }
  const bool negative = value < 0;
  const Wide magnitude = negative ? -static_cast<Wide>(value) : static_cast<Wide>(value);
  const int lowest = (sum.top - 2) * ReproducibleSum::kBinBits - kBias;
  const int kept = std::max(lowest + width(magnitude) - F::kPrecision, F::kExponentMin);
  const int dropped = kept - lowest;
  F::join(to, negative, dropped > 0 ? rounded(magnitude, dropped) : magnitude << -dropped, kept);
}

// ---- elements of `parts` numbers

// Field by field: a copy as a whole would be through memory, in other widths than what is added.
template <typename Sum, typename Copy>
void copy_fields(Sum& sum, Copy&& copy) noexcept {
  copy(&sum.top, offsetof(ReproducibleSum, top), sizeof sum.top);
  copy(&sum.special, offsetof(ReproducibleSum, special), sizeof sum.special);
  for (std::size_t i = 0; i < ReproducibleSum::kBins; ++i) {
    copy(&sum.digits[i], offsetof(ReproducibleSum, digits) + i * sizeof sum.digits[i],
         sizeof sum.digits[i]);
  }
}
ReproducibleSum read_sum(const std::byte* from) noexcept {
  ReproducibleSum sum;
  copy_fields(sum, [from](void* field, std::size_t at, std::size_t bytes) {
    std::memcpy(field, from + at, bytes);
  });
  return sum;
}
void write_sum(std::byte* to, const ReproducibleSum& sum) noexcept {
  copy_fields(sum, [to](const void* field, std::size_t at, std::size_t bytes) {
    std::memcpy(to + at, field, bytes);
  });
}

template <typename F, int parts>
void enter(std::byte* forms, const std::byte* values, std::size_t count) {
  for (std::size_t i = 0; i < count * parts; ++i) {
    write_sum(forms + i * sizeof(ReproducibleSum), sum_of<F>(values + i * F::kBytes));
  }
}

template <typename F, int parts>
void leave(std::byte* values, const std::byte* forms, std::size_t count) {
  for (std::size_t i = 0; i < count * parts; ++i) {
    round_to<F>(values + i * F::kBytes, read_sum(forms + i * sizeof(ReproducibleSum)));
  }
}

template <int parts>
void combine_sums(void* dst, const void* const* src, std::size_t k, std::size_t count) {
  for (std::size_t at = 0; at < count * parts * sizeof(ReproducibleSum);
       at += sizeof(ReproducibleSum)) {
    const auto operand = [&](std::size_t j) {
      return read_sum(static_cast<const std::byte*>(src[j]) + at);
    };
    ReproducibleSum sum = operand(0);
    for (std::size_t j = 1; j < k; ++j) sum.add(operand(j));
    write_sum(static_cast<std::byte*>(dst) + at, sum);
  }
}

template <typename F, int parts = 1>
constexpr ElementForm kForm = {F::kBytes * parts, sizeof(ReproducibleSum) * parts, &enter<F, parts>,
                               &leave<F, parts>, &combine_sums<parts>};

using HalfFormat = Format<std::uint16_t, 11>;
using Bfloat16Format = Format<std::uint16_t, 8>;
using FloatFormat = Format<std::uint32_t, 24>;
using DoubleFormat = Format<std::uint64_t, 53>;
static_assert(DoubleFormat::kExponentMin == -1074 && FloatFormat::kExponentMin == -149);
static_assert(HalfFormat::kExponentMin == -24 && Bfloat16Format::kExponentMin == -133);
static_assert(Extended::kExponentMin + kBias > 0);

}  // namespace

ReproducibleSum ReproducibleSum::sum_apart(ReproducibleSum a, ReproducibleSum b) noexcept {
  if (a.top < b.top) std::swap(a, b);
  a.special |= b.special;
  for (int i = a.top - b.top, from = 0; i < kBins; ++i) a.digits[i] += b.digits[from++];
  return a;
}

const ElementForm* reproducible_form(esp_type type) noexcept {
  switch (type) {
    case ESP_HALF:
      return &kForm<HalfFormat>;
    case ESP_BFLOAT16:
      return &kForm<Bfloat16Format>;
    case ESP_FLOAT:
      return &kForm<FloatFormat>;
    case ESP_DOUBLE:
      return &kForm<DoubleFormat>;
    case ESP_COMPLEX_FLOAT:
      return &kForm<FloatFormat, 2>;
    case ESP_COMPLEX_DOUBLE:
      return &kForm<DoubleFormat, 2>;
#if LDBL_MANT_DIG == 64
    case ESP_LONG_DOUBLE:
      return &kForm<Extended>;
    case ESP_COMPLEX_LONG_DOUBLE:
      return &kForm<Extended, 2>;
#endif
    default:
      return nullptr;
  }
}

}  // namespace espalier
