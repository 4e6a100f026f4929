// The reproducible sum against exact arithmetic, in any order and grouping.
#include "core/reproducible_sum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/unit/datatype_reference.hpp"

namespace espalier {
namespace {

using FormBytes = std::vector<std::byte>;
constexpr esp_type kFloatingTypes[] = {
    ESP_HALF,        ESP_BFLOAT16,      ESP_FLOAT,          ESP_DOUBLE,
    ESP_LONG_DOUBLE, ESP_COMPLEX_FLOAT, ESP_COMPLEX_DOUBLE, ESP_COMPLEX_LONG_DOUBLE};

FormBytes enter(esp_type type, const void* values, std::size_t count) {
  const ElementForm& form = *reproducible_form(type);
  FormBytes forms(count * form.bytes);
  form.enter(forms.data(), static_cast<const std::byte*>(values), count);
  return forms;
}
template <typename T>
T left(esp_type type, const FormBytes& form) {
  T value;
  std::memset(static_cast<void*>(&value), 0xff, sizeof value);
  reproducible_form(type)->leave(reinterpret_cast<std::byte*>(&value), form.data(), 1);
  return value;
}
FormBytes combined(esp_type type, const std::vector<const void*>& operands) {
  const ElementForm& form = *reproducible_form(type);
  FormBytes result(form.bytes);
  form.combine(result.data(), operands.data(), operands.size(), 1);
  return result;
}
template <typename T>
FormBytes summed(esp_type type, const std::vector<T>& values) {
  const FormBytes forms = enter(type, values.data(), values.size());
  std::vector<const void*> operands;
  for (std::size_t i = 0; i < values.size(); ++i) {
    operands.push_back(forms.data() + i * reproducible_form(type)->bytes);
  }
  return combined(type, operands);
}
template <typename T>
T reproducible(esp_type type, const std::vector<T>& values) {
  return left<T>(type, summed(type, values));
}
double reproducible(const std::vector<double>& values) {
  return reproducible(ESP_DOUBLE, values);
}

// The sum in a random tree of partial sums, of random fan-in.
FormBytes sum_in_some_order(esp_type type, const FormBytes& forms, reference::Random& random) {
  const std::size_t bytes = reproducible_form(type)->bytes;
  std::vector<FormBytes> parts;
  for (std::size_t at = 0; at < forms.size(); at += bytes) {
    parts.emplace_back(forms.begin() + static_cast<std::ptrdiff_t>(at),
                       forms.begin() + static_cast<std::ptrdiff_t>(at + bytes));
  }
  while (parts.size() > 1) {
    std::shuffle(parts.begin(), parts.end(), random);
    const std::size_t k = 2 + random() % std::min<std::size_t>(5, parts.size() - 1);
    std::vector<const void*> operands;
    for (std::size_t j = 0; j < k; ++j) operands.push_back(parts[parts.size() - 1 - j].data());
    FormBytes sum = combined(type, operands);
    parts.resize(parts.size() - k);
    parts.push_back(std::move(sum));
  }
  return parts[0];
}

// ---- what is exact

// An integer times 2^-1140, in 32 bits a place. Numbers come in by arithmetic, not by their bits.
class Exact {
 public:
  void add(double x, int sign = 1) {
    int exponent = 0;
    double rest = std::frexp(std::fabs(x), &exponent);
    if (x < 0) sign = -sign;
    for (int bit = exponent + kBias; rest != 0; --bit) {
      rest *= 2;
      if (rest < 1) continue;
      rest -= 1;
      places_[static_cast<std::size_t>((bit - 1) / 32)] +=
          sign * (std::int64_t{1} << (bit - 1) % 32);
    }
  }
  void add_places(const Exact& other, std::int64_t factor, std::size_t shift) {
    for (std::size_t i = 0; i + shift < kPlaces; ++i) {
      places_[i + shift] += factor * other.places_[i];
    }
    carry();
  }
  bool is_negative() {
    carry();
    return places_[kPlaces - 1] < 0;
  }
  bool is_zero() {
    carry();
    return std::all_of(places_.begin(), places_.end(), [](std::int64_t p) { return p == 0; });
  }

 private:
  static constexpr std::size_t kPlaces = 76;
  static constexpr int kBias = 1140;
  void carry() {
    for (std::size_t i = 0; i + 1 < kPlaces; ++i) {
      const std::int64_t above = places_[i] >> 32;
      places_[i] -= above * (std::int64_t{1} << 32);
      places_[i + 1] += above;
    }
  }
  std::array<std::int64_t, kPlaces> places_ = {};
};

// |exact sum - result| <= n * 2^-64 * max|x| + half a unit in the last place of the result.
bool is_within_bound(const std::vector<double>& values, double result) {
  Exact distance, bound;
  double largest = 0;
  for (const double x : values) {
    distance.add(x);
    largest = std::max(largest, std::fabs(x));
  }
  distance.add(result, -1);
  Exact most;
  most.add(largest);
  const double above = std::nextafter(std::fabs(result), std::numeric_limits<double>::infinity());
  Exact unit;  // above the result, and below it at most as much
  unit.add(above);
  unit.add(std::fabs(result), -1);
  // bound * 2^65 - |distance| * 2^65, and 2^64 are two places.
  bound.add_places(most, 2 * static_cast<std::int64_t>(values.size()), 0);
  bound.add_places(unit, 1, 2);
  bound.add_places(distance, distance.is_negative() ? 2 : -2, 2);
  return !bound.is_negative();
}

double random_double(reference::Random& random, int exponents) {
  const double fraction = std::ldexp(static_cast<double>(random() >> 11), -53) + 1;
  const int exponent =
      static_cast<int>(random() % static_cast<unsigned>(2 * exponents)) - exponents;
  return std::ldexp((random() & 1) != 0 ? -fraction : fraction, exponent);
}

// ---- tests

TEST(ReproducibleSum, OneHalfComesBackAsItIs) {
  for (unsigned pattern = 0; pattern < 0x10000; ++pattern) {
    const auto bits = static_cast<std::uint16_t>(pattern);
    for (const bool half : {true, false}) {
      const std::uint16_t infinite = half ? 0x7c00 : 0x7f80, quiet = half ? 0x7e00 : 0x7fc0;
      const unsigned magnitude = pattern & 0x7fff;
      const std::uint16_t expected = magnitude > infinite ? quiet : magnitude == 0 ? 0 : bits;
      const esp_type type = half ? ESP_HALF : ESP_BFLOAT16;
      ASSERT_EQ(left<std::uint16_t>(type, enter(type, &bits, 1)), expected) << pattern;
    }
  }
}

template <typename T>
void expect_one_comes_back(esp_type type) {
  reference::Random random(7);
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {Limits::max(),
                           Limits::min(),
                           Limits::denorm_min(),
                           Limits::infinity(),
                           Limits::min() - Limits::denorm_min(),
                           T(1),
                           Limits::epsilon()};
  for (int i = 0; i < 20'000; ++i) {
    const T fraction = std::ldexp(static_cast<T>(random()), -64) + 1;
    const int span = Limits::max_exponent - Limits::min_exponent + Limits::digits;
    values.push_back(std::ldexp(fraction, static_cast<int>(random() % static_cast<unsigned>(span)) +
                                              Limits::min_exponent - Limits::digits));
  }
  for (const T x : values) {
    for (const T signed_x : {x, -x}) {
      const T back = left<T>(type, enter(type, &signed_x, 1));
      ASSERT_EQ(back, x == 0 ? T(0) : signed_x);
      ASSERT_FALSE(x == 0 && std::signbit(back));
    }
  }
}

TEST(ReproducibleSum, OneNumberComesBackAsItIs) {
  expect_one_comes_back<float>(ESP_FLOAT);
  expect_one_comes_back<double>(ESP_DOUBLE);
  if (reproducible_form(ESP_LONG_DOUBLE) != nullptr) {
    expect_one_comes_back<long double>(ESP_LONG_DOUBLE);
  }
}

TEST(ReproducibleSum, IsThereForNumbersThatFit) {
  for (int t = 0; t < ESP_TYPE_COUNT; ++t) {
    const auto type = static_cast<esp_type>(t);
    const bool longest = type == ESP_LONG_DOUBLE || type == ESP_COMPLEX_LONG_DOUBLE;
    const bool floating = type >= ESP_HALF && type <= ESP_COMPLEX_LONG_DOUBLE;
    const ElementForm* form = reproducible_form(type);
    ASSERT_EQ(form != nullptr, floating && (!longest || LDBL_MANT_DIG <= 64)) << type_name(type);
    if (form == nullptr) continue;
    EXPECT_EQ(form->value_bytes, type_size(type));
    EXPECT_EQ(form->bytes, type >= ESP_COMPLEX_FLOAT ? 64u : 32u);
  }
}

// The state, too: whoever combines it further gets the same.
TEST(ReproducibleSum, IsTheSameBitsInAnyOrderAndGrouping) {
  constexpr std::size_t kCount = 40;
  for (const esp_type type : kFloatingTypes) {
    if (reproducible_form(type) == nullptr) continue;
    reference::Random random(11);
    for (int trial = 0; trial < 200; ++trial) {
      FormBytes values(kCount * type_size(type));
      if (trial % 2 == 0) {
        reference::fill(type, random, values.data(), kCount);  // special values among them
      } else if (type == ESP_LONG_DOUBLE || type == ESP_COMPLEX_LONG_DOUBLE) {
        for (std::size_t at = 0; at < values.size(); at += sizeof(long double)) {
          const long double x = std::ldexp(static_cast<long double>(random()),
                                           static_cast<int>(random() % 30000) - 15000);
          std::memcpy(values.data() + at, &x, sizeof x);
        }
      } else {  // of all magnitudes
        for (std::byte& byte : values) byte = static_cast<std::byte>(random());
      }
      const FormBytes forms = enter(type, values.data(), kCount);
      const FormBytes first = sum_in_some_order(type, forms, random);
      for (int order = 0; order < 5; ++order) {
        ASSERT_EQ(sum_in_some_order(type, forms, random), first) << type_name(type);
      }
    }
  }
}

// As long as no bits are dropped, it is what is exact, rounded once.
TEST(ReproducibleSum, IsRoundedOnceWhereNothingIsDropped) {
#ifdef __SIZEOF_FLOAT128__
  __extension__ using Quad = __float128;
  reference::Random random(13);
  for (int trial = 0; trial < 5000; ++trial) {
    std::vector<double> values(1 + random() % 20);
    std::vector<float> floats;
    Quad exact = 0, exact_floats = 0;
    for (double& x : values) {
      x = random_double(random, 10);
      exact += x;
      floats.push_back(static_cast<float>(x));
      exact_floats += floats.back();
    }
    ASSERT_EQ(reproducible(values), static_cast<double>(exact));
    ASSERT_EQ(reproducible(ESP_FLOAT, floats), static_cast<float>(exact_floats));
  }
#endif
}

TEST(ReproducibleSum, OfHalvesIsRoundedOnce) {
  reference::Random random(17);
  for (int trial = 0; trial < 5000; ++trial) {
    std::vector<reference::Half> halves(1 + random() % 20);
    double exact = 0;  // of 40 bits
    for (reference::Half& x : halves) {
      do {
        x = reference::Half{static_cast<std::uint16_t>(random())};
      } while ((x.bits & 0x7c00) == 0x7c00);
      exact += x.value();
    }
    const reference::Half sum = reproducible(ESP_HALF, halves);
    ASSERT_EQ(sum.bits, exact == 0 ? 0 : reference::Half::round(exact).bits) << exact;
  }
}

TEST(ReproducibleSum, ErrorIsWithinItsBound) {
  reference::Random random(19);
  int inexact = 0;
  for (const int exponents : {3, 20, 60, 300, 1000}) {
    for (int trial = 0; trial < 1000; ++trial) {
      std::vector<double> values(2 + random() % 60);
      for (double& x : values) x = random_double(random, exponents);
      if (trial % 2 == 0) {  // What is large cancels.
        const std::size_t half = values.size() / 2;
        for (std::size_t i = 0; i < half; ++i) values[half + i] = -values[i];
      }
      const double result = reproducible(values);
      ASSERT_TRUE(is_within_bound(values, result)) << exponents;
      Exact rest;
      for (const double x : values) rest.add(x);
      rest.add(result, -1);
      inexact += rest.is_zero() ? 0 : 1;
    }
  }
  EXPECT_GT(inexact, 1000) << "the bound was put to the test";
}

TEST(ReproducibleSum, OfWhatCancels) {
  EXPECT_EQ(reproducible({1e16, 1, -1e16}), 1.0);
  EXPECT_EQ(reproducible({0x1p48, 0x1p-16, -0x1p48}), 0x1p-16) << "in the lowest of three bins";
  EXPECT_EQ(reproducible({0x1p48, 0x1p-17, -0x1p48}), 0.0) << "below: dropped";
  EXPECT_EQ(reproducible({0x1p47, 0x1p-48, -0x1p47}), 0x1p-48);
}

TEST(ReproducibleSum, OfZeros) {
  for (const std::vector<double>& zeros :
       {std::vector<double>{-0.0}, {-0.0, -0.0}, {-0.0, 0.0}, {1.0, -1.0}, {-1.0, 1.0}}) {
    const double sum = reproducible(zeros);
    EXPECT_EQ(sum, 0.0);
    EXPECT_FALSE(std::signbit(sum));
  }
}

TEST(ReproducibleSum, OfInfinitiesAndNans) {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("17");
  EXPECT_EQ(reproducible({1, infinity, -5}), infinity);
  EXPECT_EQ(reproducible({-infinity, DBL_MAX, -infinity}), -infinity);
  const auto bits = [](double x) {
    std::uint64_t word = 0;
    std::memcpy(&word, &x, sizeof word);
    return word;
  };
  constexpr std::uint64_t kNan = 0x7ff8000000000000;
  EXPECT_EQ(bits(reproducible({infinity, -infinity})), kNan);
  EXPECT_EQ(bits(reproducible({1, -nan})), kNan);
  EXPECT_EQ(bits(reproducible({infinity, nan, -nan})), kNan);
}

TEST(ReproducibleSum, OverflowsInItsResultAlone) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(reproducible({DBL_MAX, DBL_MAX, -DBL_MAX}), DBL_MAX);
  EXPECT_EQ(reproducible({DBL_MAX, DBL_MAX}), infinity);
  EXPECT_EQ(reproducible({-DBL_MAX, -DBL_MAX}), -infinity);
  const double half_unit = std::ldexp(1.0, 970 - 1);
  EXPECT_EQ(reproducible({DBL_MAX, half_unit}), DBL_MAX);
  EXPECT_EQ(reproducible({DBL_MAX, half_unit, half_unit}), infinity);
  const float float_infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(reproducible<float>(ESP_FLOAT, {FLT_MAX, FLT_MAX, -FLT_MAX}), FLT_MAX);
  EXPECT_EQ(reproducible<float>(ESP_FLOAT, {FLT_MAX, FLT_MAX}), float_infinity);
  if (reproducible_form(ESP_LONG_DOUBLE) == nullptr) return;
  using Long = std::vector<long double>;
  EXPECT_EQ(reproducible(ESP_LONG_DOUBLE, Long{LDBL_MAX, LDBL_MAX, -LDBL_MAX}), LDBL_MAX);
  EXPECT_EQ(reproducible(ESP_LONG_DOUBLE, Long{LDBL_MAX, LDBL_MAX}),
            std::numeric_limits<long double>::infinity());
  // All 64 digits round up to the next power of two.
  const long double ones = 2 - LDBL_EPSILON;
  EXPECT_EQ(reproducible(ESP_LONG_DOUBLE, Long{ones, LDBL_EPSILON / 2}), 2.0L);
}

TEST(ReproducibleSum, OfSubnormals) {
  constexpr double kLeast = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(reproducible({kLeast, kLeast, kLeast}), 3 * kLeast);
  EXPECT_EQ(reproducible({DBL_MIN, -kLeast}), DBL_MIN - kLeast);
  EXPECT_EQ(reproducible({DBL_MIN - kLeast, kLeast}), DBL_MIN);
}

// As many as there may be, all as large as a digit can be: nothing overflows.
TEST(ReproducibleSum, OfAsManyNumbersAsThereMayBe) {
  for (const double x : {0x1.fffffffffffffp1000, -0x1.fffffffffffffp-3, 1.0}) {
    ReproducibleSum one, sum;
    std::memcpy(&one, enter(ESP_DOUBLE, &x, 1).data(), sizeof one);
    for (std::uint32_t bit = 1; bit < ReproducibleSum::kNumbersMax; bit *= 2) {
      sum.add(one);
      one.add(one);
    }
    FormBytes form(sizeof sum);
    std::memcpy(form.data(), &sum, sizeof sum);
    const auto expected = static_cast<double>(static_cast<long double>(x) * 0x7fffffff);
    EXPECT_EQ(left<double>(ESP_DOUBLE, form), expected);
  }
}

TEST(ReproducibleSum, LeavesPaddingZero) {
  if (reproducible_form(ESP_LONG_DOUBLE) == nullptr) GTEST_SKIP() << "no padding";
  const long double x = 3;
  std::array<std::byte, sizeof x> written;
  written.fill(std::byte{0xff});
  reproducible_form(ESP_LONG_DOUBLE)
      ->leave(written.data(), enter(ESP_LONG_DOUBLE, &x, 1).data(), 1);
  EXPECT_TRUE(std::all_of(written.begin() + 10, written.end(),
                          [](std::byte b) { return b == std::byte{0}; }));
}

// ---- many elements

TEST(ReproducibleSum, CombinesIntoAnyOperandAtAnyAddress) {
  constexpr std::size_t kCount = 77, kOperands = 5;
  for (const esp_type type : {ESP_FLOAT, ESP_COMPLEX_DOUBLE}) {
    const ElementForm& form = *reproducible_form(type);
    reference::Random random(23);
    FormBytes memory(kOperands * (kCount * form.bytes + 8));
    std::vector<std::byte*> operands;
    for (std::size_t k = 0; k < kOperands; ++k) {
      FormBytes values(kCount * type_size(type));
      reference::fill(type, random, values.data(), kCount);
      operands.push_back(memory.data() + k * (kCount * form.bytes + 8) + k);
      form.enter(operands.back(), values.data(), kCount);
    }
    const std::vector<const void*> sources(operands.begin(), operands.end());
    FormBytes expected(kCount * form.bytes);
    form.combine(expected.data(), sources.data(), kOperands, kCount);
    const FormBytes before = memory;
    for (std::byte* to : operands) {
      memory = before;
      form.combine(to, sources.data(), kOperands, kCount);
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), to));
    }
  }
}

// Of elements that lie apart, in pieces of any length.
TEST(ReproducibleSum, EntersAndLeavesElementsThatLieApart) {
  constexpr std::size_t kElements = 900, kEach = 3, kExtent = 5;
  auto strided = Pattern::strided(ESP_DOUBLE, kEach, 1, 2, kExtent);
  ASSERT_TRUE(strided.ok()) << strided.error().text;
  const ElementForm* form = reproducible_form(ESP_DOUBLE);
  std::vector<double> values(kElements * kExtent), back(values.size(), -1);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) + 0.5;
  const std::size_t bytes = kElements * kEach * form->bytes;
  FormBytes packed(bytes);
  const auto* from = reinterpret_cast<const std::byte*>(values.data());
  auto* to = reinterpret_cast<std::byte*>(back.data());
  for (std::size_t at = 0, piece = form->bytes; at < bytes; at += piece, piece += form->bytes) {
    piece = std::min(piece, bytes - at);
    pack(*strided, form, packed.data() + at, from, at, piece);
    unpack(*strided, form, to, packed.data() + at, at, piece);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool moves = i % kExtent % 2 == 0;
    ASSERT_EQ(back[i], moves ? values[i] : -1) << i;
  }
  std::fill(back.begin(), back.end(), -1);
  pack(*strided, form, packed.data(), from, 0, bytes);
  unpack(*strided, form, to, packed.data(), 0, bytes);
  EXPECT_EQ(back[4], values[4]);
  EXPECT_EQ(back[values.size() - 1], values[values.size() - 1]);
  EXPECT_EQ(back[3], -1);
}

}  // namespace
}  // namespace espalier
