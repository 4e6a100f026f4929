// Every kernel of every instruction set of this machine against the reference model.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "core/datatype.hpp"
#include "core/kernels/isa.hpp"
#include "tests/unit/datatype_reference.hpp"

namespace espalier {
namespace {

constexpr std::size_t kMaxFanIn = 9;
constexpr std::size_t kMaxCount = 4099;  // Several strips of every type, and a remainder.
constexpr std::size_t kGuardBytes = 64;  // And the alignment that shifts start from.
constexpr std::byte kGuardByte{0xa5};

// An array of elements at a chosen distance from alignment, with room for guard bytes around it.
class Array {
 public:
  explicit Array(esp_type type) : memory_(type_size(type) * kMaxCount + 4 * kGuardBytes) {
    shift_to(0);
  }
  // The contents do not move with it.
  void shift_to(std::size_t shift) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    begin_ = memory_.data() + (2 * kGuardBytes - address % kGuardBytes) + shift % kGuardBytes;
  }
  std::byte* data() { return begin_; }
  void assign(const Array& other, std::size_t bytes) { std::memcpy(begin_, other.begin_, bytes); }
  void guard(std::size_t bytes) {
    std::fill(begin_ - kGuardBytes, begin_ + bytes + kGuardBytes, kGuardByte);
  }
  bool guards_untouched(std::size_t bytes) const {
    const auto is_guard = [](std::byte b) { return b == kGuardByte; };
    return std::all_of(begin_ - kGuardBytes, begin_, is_guard) &&
           std::all_of(begin_ + bytes, begin_ + bytes + kGuardBytes, is_guard);
  }

 private:
  std::vector<std::byte> memory_;
  std::byte* begin_ = nullptr;
};

std::vector<Isa> supported_isas() {
  std::vector<Isa> isas;
  std::copy_if(kIsas.begin(), kIsas.end(), std::back_inserter(isas), isa_supported);
  return isas;
}

// What combines another form of the elements has a test of its own (reproducible_sum_test.cpp).
bool has_kernel(esp_op op, esp_type type) {
  return combine_kernel_for(best_isa(), op, type) != nullptr;
}

class CombineKernels : public testing::TestWithParam<int> {
 protected:
  CombineKernels() {
    for (std::size_t j = 0; j < kMaxFanIn; ++j) {
      originals_.emplace_back(type_);
      reference::fill(type_, random_, originals_.back().data(), kMaxCount);
      sources_.emplace_back(type_);
    }
  }

  // Places source j at a distance from alignment that depends on j and `seed`.
  void place_sources(std::size_t seed, std::size_t count) {
    pointers_.clear();
    for (std::size_t j = 0; j < kMaxFanIn; ++j) {
      sources_[j].shift_to(seed == 0 ? 0 : seed * (2 * j + 1) + j);
      sources_[j].assign(originals_[j], count * bytes_);
      pointers_.push_back(sources_[j].data());
    }
  }

  // Calls check(kernel, k) with the kernels of every operator and instruction set, with the sources
  // in place and the result of the reference in expected_.
  template <typename Check>
  void for_each_kernel(Check check) {
    for (esp_op op = 0; op < ESP_OP_BUILTIN_COUNT; ++op) {
      if (!has_kernel(op, type_)) continue;
      for (std::size_t k = 1; k <= kMaxFanIn; ++k) {
        place_sources(0, kMaxCount);
        reference::combine(op, type_, expected_.data(), pointers_.data(), k, kMaxCount);
        for (const Isa isa : supported_isas()) {
          for (const Store store : {Store::kCached, Store::kPastCaches}) {
            SCOPED_TRACE(std::string(op_name(op)) + " of " + type_name(type_) + " with " +
                         isa_name(isa) + ", k " + std::to_string(k) +
                         (store == Store::kCached ? "" : ", past the caches"));
            check(combine_kernel_for(isa, op, type_, store), k);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }

  void expect_same(std::byte* actual, std::size_t count) {
    ASSERT_EQ(reference::first_difference(type_, actual, expected_.data(), count), count);
  }

  const esp_type type_ = static_cast<esp_type>(GetParam());
  const std::size_t bytes_ = type_size(type_);
  reference::Random random_{static_cast<std::uint64_t>(20240 + GetParam())};
  std::vector<Array> originals_;
  std::vector<Array> sources_;
  std::vector<const void*> pointers_;
  Array expected_{type_};
  Array output_{type_};
};

TEST_P(CombineKernels, AgreeWithTheReferenceForEveryCountAndFanIn) {
  std::vector<std::size_t> counts = {1000, 2048, 3001, kMaxCount};
  for (std::size_t count = 0; count <= 130; ++count) counts.push_back(count);
  for_each_kernel([&](CombineKernel kernel, std::size_t k) {
    place_sources(0, kMaxCount);
    for (const std::size_t count : counts) {
      output_.guard(count * bytes_);
      kernel(output_.data(), pointers_.data(), k, count);
      ASSERT_TRUE(output_.guards_untouched(count * bytes_)) << count;
      ASSERT_NO_FATAL_FAILURE(expect_same(output_.data(), count));
    }
  });
}

#if defined(__x86_64__)
// Only some have a way past the caches of their own.
TEST(CombineKernelStores, PastTheCachesAreOthers) {
  for (const Isa isa : supported_isas()) {
    const auto differ = [isa](esp_op op, esp_type type) {
      return combine_kernel_for(isa, op, type, Store::kCached) !=
             combine_kernel_for(isa, op, type, Store::kPastCaches);
    };
    for (const esp_op op : {ESP_SUM, ESP_MIN, ESP_MAX}) {
      for (const esp_type type : {ESP_INT32, ESP_UINT64, ESP_FLOAT, ESP_DOUBLE}) {
        EXPECT_TRUE(differ(op, type)) << isa_name(isa) << " " << op_name(op) << type_name(type);
      }
      EXPECT_FALSE(differ(op, ESP_INT16));
    }
    EXPECT_FALSE(differ(ESP_PROD, ESP_FLOAT));
  }
}
#endif

TEST_P(CombineKernels, TakePointersOfAnyAlignment) {
  constexpr std::size_t kCount = 75;
  for_each_kernel([&](CombineKernel kernel, std::size_t k) {
    for (std::size_t seed = 1; seed <= 19; ++seed) {
      place_sources(seed, kCount);
      output_.shift_to(seed * 7);
      output_.guard(kCount * bytes_);
      kernel(output_.data(), pointers_.data(), k, kCount);
      ASSERT_TRUE(output_.guards_untouched(kCount * bytes_)) << seed;
      ASSERT_NO_FATAL_FAILURE(expect_same(output_.data(), kCount)) << seed;
    }
  });
}

TEST_P(CombineKernels, TakeAnyOneSourceAsDestination) {
  for_each_kernel([&](CombineKernel kernel, std::size_t k) {
    for (std::size_t alias = 0; alias < k; ++alias) {
      for (const std::size_t count : {std::size_t{1}, std::size_t{37}, kMaxCount}) {
        place_sources(alias, count);
        kernel(sources_[alias].data(), pointers_.data(), k, count);
        ASSERT_NO_FATAL_FAILURE(expect_same(sources_[alias].data(), count)) << alias;
      }
    }
  });
}

// Apart from the payload of a NaN that an addition or a multiplication makes or passes on.
TEST_P(CombineKernels, GiveTheSameBitsOnEveryInstructionSet) {
  const std::vector<Isa> isas = supported_isas();
  if (isas.size() < 2) GTEST_SKIP() << "only " << supported_isas_text() << " on this machine";
  place_sources(0, kMaxCount);
  std::vector<std::byte> results[2];
  for (esp_op op = 0; op < ESP_OP_BUILTIN_COUNT; ++op) {
    if (!has_kernel(op, type_)) continue;
    for (std::size_t k = 2; k <= kMaxFanIn; ++k) {
      for (std::size_t i = 0; i < isas.size(); ++i) {
        std::vector<std::byte>& result = results[i == 0 ? 0 : 1];
        result.assign(kMaxCount * bytes_, i == 0 ? std::byte{0} : std::byte{0xff});
        combine_kernel_for(isas[i], op, type_)(result.data(), pointers_.data(), k, kMaxCount);
        if (i == 0) continue;
        for (std::size_t at = 0; at < kMaxCount * bytes_; at += bytes_) {
          std::byte* const a = results[0].data() + at;
          std::byte* const b = results[1].data() + at;
          if (std::memcmp(a, b, bytes_) == 0) continue;
          ASSERT_FALSE(op_exact(op, type_)) << isa_name(isas[i]) << " k " << k << " at " << at;
          ASSERT_TRUE(reference::has_nan(type_, a) && reference::has_nan(type_, b) &&
                      reference::first_difference(type_, a, b, 1) == 1)
              << op_name(op) << " with " << isa_name(isas[i]) << " k " << k << " at " << at;
        }
      }
    }
  }
}

TEST_P(CombineKernels, GiveTheSameBitsInAnyOrderWhereSaidToBeExact) {
  constexpr std::size_t kCount = 1024;
  place_sources(0, kCount);
  std::vector<std::byte> first(kCount * bytes_);
  std::vector<std::byte> other(kCount * bytes_);
  for (esp_op op = 0; op < ESP_OP_BUILTIN_COUNT; ++op) {
    if (!op_exact(op, type_) || !has_kernel(op, type_)) continue;
    SCOPED_TRACE(op_name(op));
    const CombineKernel kernel = combine_kernel_for(best_isa(), op, type_);
    std::vector<const void*> order = pointers_;
    kernel(first.data(), order.data(), kMaxFanIn, kCount);
    for (int trial = 0; trial < 8; ++trial) {
      std::shuffle(order.begin(), order.end(), random_);
      kernel(other.data(), order.data(), kMaxFanIn, kCount);
      ASSERT_EQ(first, other);
    }
    // And however the combining is grouped.
    const void* two[2] = {first.data(), other.data()};
    kernel(first.data(), pointers_.data(), 4, kCount);
    kernel(other.data(), pointers_.data() + 4, kMaxFanIn - 4, kCount);
    kernel(first.data(), two, 2, kCount);
    kernel(other.data(), pointers_.data(), kMaxFanIn, kCount);
    ASSERT_EQ(first, other);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, CombineKernels, testing::Range(0, static_cast<int>(ESP_TYPE_COUNT)),
                         [](const testing::TestParamInfo<int>& type) {
                           return std::string(type_name(static_cast<esp_type>(type.param)));
                         });

}  // namespace
}  // namespace espalier
