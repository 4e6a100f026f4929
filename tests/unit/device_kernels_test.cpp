// The kernels of devices against those of the host: the same bits. They run compiled for the host,
// and as what the library has of them in PTX, which an interpreter runs. What else must and must
// not be in the PTX: tests/kernels/ptx.py.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/datatype.hpp"
#include "core/device/kernels/host_kernels.hpp"
#include "core/device/kernels/kernel_names.hpp"
#include "core/device/kernels/kernel_ptx.hpp"
#include "core/device/kernels/parameters.hpp"
#include "core/kernels/isa.hpp"
#include "tests/unit/datatype_reference.hpp"
#include "tests/unit/ptx_machine.hpp"

namespace espalier::device {
namespace {

constexpr std::size_t kLongest = 4099;  // elements
constexpr std::size_t kMargin = 64;     // bytes around what is written, which must stay
constexpr std::byte kUntouched{0xa5};

bool has_long_double(esp_type type) {
  return type == ESP_LONG_DOUBLE || type == ESP_COMPLEX_LONG_DOUBLE || type == ESP_LONG_DOUBLE_INT;
}

// Memory for elements, from `shift` bytes behind a multiple of 64 on.
class Elements {
 public:
  explicit Elements(std::size_t bytes) : memory_(bytes + 4 * kMargin, kUntouched) {}
  std::byte* at(std::size_t shift) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    return memory_.data() + 2 * kMargin - address % kMargin + shift % kMargin;
  }
  void forget() { memory_.assign(memory_.size(), kUntouched); }
  // Nothing before and behind them was written.
  bool margins_kept(std::byte* begin, std::size_t bytes) {
    const std::string margin(kMargin, static_cast<char>(kUntouched));
    return std::memcmp(begin - kMargin, margin.data(), kMargin) == 0 &&
           std::memcmp(begin + bytes, margin.data(), kMargin) == 0;
  }

 private:
  std::vector<std::byte> memory_;
};

class DeviceKernels : public testing::TestWithParam<int> {
 protected:
  DeviceKernels() : expected_(kLongest * bytes_), output_(kLongest * bytes_) {
    for (std::size_t j = 0; j < kMostSources; ++j) {
      originals_.emplace_back(kLongest * bytes_);
      reference::fill(type_, random_, originals_.back().data(), kLongest);
      sources_.emplace_back(kLongest * bytes_);
    }
  }

  // visit(name, kernel of the host) for each operator.
  template <typename Visit>
  void for_each_operator(Visit visit) {
    for (esp_op op = 0; op < ESP_OP_BUILTIN_COUNT; ++op) {
      const char* const name = reduction_name(op, type_);
      if (name == nullptr) continue;
      op_ = op;
      SCOPED_TRACE(std::string(op_name(op)) + " of " + type_name(type_) + ": " + name);
      visit(name, combine_kernel_for(best_isa(), op, type_));
      if (HasFatalFailure()) return;
    }
  }

  // Source j at shifts[j], the result at shifts[k], or in the place of source `into`.
  void check(const char* name, CombineKernel kernel, std::size_t k, std::size_t count,
             const std::vector<std::size_t>& shifts, std::uint64_t threads,
             std::size_t into = kMostSources) {
    ReduceParameters p{};
    p.k = k;
    p.count = count;
    for (std::size_t j = 0; j < k; ++j) {
      std::byte* const source = sources_[j].at(shifts[j]);
      std::memcpy(source, originals_[j].data(), count * bytes_);
      p.sources[j] = source;
    }
    kernel(expected_.data(), p.sources, k, count);
    output_.forget();
    std::byte* const result = into < k ? sources_[into].at(shifts[into]) : output_.at(shifts[k]);
    p.dst = result;
    const void* parameters[] = {&p};
    if (machine_.has_value()) {
      ASSERT_EQ(machine_->run(1, static_cast<std::uint32_t>(threads), &p), "");
    } else {
      ASSERT_TRUE(run_kernel_on_host(name, threads, parameters));
    }
    ASSERT_TRUE(into < k || output_.margins_kept(result, count * bytes_));
    expect_same(result, count);
  }

  // Apart from the payload of a NaN that an addition or a multiplication makes or passes on.
  void expect_same(std::byte* result, std::size_t count) {
    if (std::memcmp(result, expected_.data(), count * bytes_) == 0) return;
    for (std::size_t at = 0; at < count * bytes_; at += bytes_) {
      std::byte* const a = result + at;
      std::byte* const b = expected_.data() + at;
      if (std::memcmp(a, b, bytes_) == 0) continue;
      ASSERT_TRUE(!op_exact(op_, type_) && reference::has_nan(type_, a) &&
                  reference::first_difference(type_, a, b, 1) == 1)
          << "byte " << at << " of " << count << " elements";
    }
  }

  const esp_type type_ = static_cast<esp_type>(GetParam());
  const std::size_t bytes_ = type_size(type_);
  esp_op op_ = ESP_SUM;
  reference::Random random_{static_cast<std::uint64_t>(7 + GetParam())};
  std::vector<std::vector<std::byte>> originals_;
  std::vector<Elements> sources_;
  std::vector<std::byte> expected_;
  Elements output_;
  std::optional<PtxMachine> machine_;  // where PTX runs
};

const std::vector<std::size_t> kAligned(kMostSources + 1, 0);

TEST_P(DeviceKernels, GiveTheHostsBitsForAnyCountAndNumberOfSources) {
  std::vector<std::size_t> counts = {1000, kLongest};
  for (std::size_t count = 0; count <= 70; ++count) counts.push_back(count);
  for_each_operator([&](const char* name, CombineKernel kernel) {
    for (std::size_t k = 1; k <= kMostSources; ++k) {
      for (const std::size_t count : counts) {
        ASSERT_NO_FATAL_FAILURE(check(name, kernel, k, count, kAligned, count % 2 == 0 ? 7 : 64))
            << "k " << k << ", count " << count;
      }
    }
  });
}

// Equally far from alignment, so by elements, and by anything.
TEST_P(DeviceKernels, TakePointersOfAnyAlignment) {
  for_each_operator([&](const char* name, CombineKernel kernel) {
    for (std::size_t shift = 0; shift < 18; ++shift) {
      std::vector<std::size_t> alike(kMostSources + 1, shift);
      std::vector<std::size_t> by_elements;
      std::vector<std::size_t> by_anything;
      for (std::size_t j = 0; j <= kMostSources; ++j) {
        by_elements.push_back((shift + j) * bytes_);
        by_anything.push_back(shift * (2 * j + 1) + j);
      }
      for (const auto& shifts : {alike, by_elements, by_anything}) {
        for (const std::size_t count : {std::size_t{3}, std::size_t{75}}) {
          for (const std::size_t k : {std::size_t{1}, std::size_t{2}, std::size_t{5}}) {
            ASSERT_NO_FATAL_FAILURE(check(name, kernel, k, count, shifts, 5))
                << "shift " << shift << ", k " << k << ", count " << count;
          }
        }
      }
    }
  });
}

TEST_P(DeviceKernels, TakeAnyOneSourceAsDestination) {
  for_each_operator([&](const char* name, CombineKernel kernel) {
    for (std::size_t k = 1; k <= kMostSources; ++k) {
      for (std::size_t into = 0; into < k; ++into) {
        for (const std::size_t count : {std::size_t{1}, std::size_t{37}, kLongest}) {
          ASSERT_NO_FATAL_FAILURE(check(name, kernel, k, count, kAligned, 300, into))
              << "k " << k << ", count " << count << ", into " << into;
        }
      }
    }
  });
}

// Fewer cases: it is the same source. Vectors and what is left of them, elements, single bytes.
TEST_P(DeviceKernels, GiveTheHostsBitsAsPtx) {
  if (kernel_texts().empty()) GTEST_SKIP() << "built without kernels of devices";
  for_each_operator([&](const char* name, CombineKernel kernel) {
    machine_.emplace(kernel_ptx(name));
    std::vector<std::size_t> by_elements;
    std::vector<std::size_t> by_anything;
    for (std::size_t j = 0; j <= kMostSources; ++j) {
      by_elements.push_back(j * bytes_);
      by_anything.push_back(2 * j + 1);
    }
    const std::vector<std::size_t> alike(kMostSources + 1, bytes_);
    for (const std::size_t k :
         {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{kMostSources}}) {
      for (const auto& shifts : {kAligned, alike, by_elements, by_anything}) {
        for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{333}}) {
          ASSERT_NO_FATAL_FAILURE(check(name, kernel, k, count, shifts, 3))
              << "k " << k << ", count " << count << ", first at " << shifts[0];
        }
      }
      ASSERT_NO_FATAL_FAILURE(check(name, kernel, k, 333, kAligned, 5, k - 1));
    }
  });
}

TEST_P(DeviceKernels, HaveANameWhereTheHostHasAKernel) {
  for (esp_op op = 0; op < ESP_OP_BUILTIN_COUNT; ++op) {
    const bool wanted =
        combine_kernel_for(best_isa(), op, type_) != nullptr && !has_long_double(type_);
    EXPECT_EQ(reduction_name(op, type_) != nullptr, wanted) << op_name(op);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, DeviceKernels, testing::Range(0, static_cast<int>(ESP_TYPE_COUNT)),
                         [](const testing::TestParamInfo<int>& type) {
                           return std::string(type_name(static_cast<esp_type>(type.param)));
                         });

TEST(DeviceKernelNames, AreOfKnownOperatorsAndTypesOnly) {
  EXPECT_STREQ(reduction_name(ESP_MAX, ESP_INT32), "esp_max_int32");
  EXPECT_STREQ(reduction_name(ESP_SUM, ESP_INT32), "esp_sum_uint32");
  EXPECT_STREQ(reduction_name(ESP_SUM_REPRODUCIBLE, ESP_INT8), "esp_sum_uint8");
  EXPECT_STREQ(reduction_name(ESP_LXOR, ESP_BOOL), "esp_lxor_uint8");
  EXPECT_STREQ(reduction_name(ESP_MINLOC, ESP_2INT), "esp_minloc_2int");
  EXPECT_EQ(reduction_name(-1, ESP_INT32), nullptr);
  EXPECT_EQ(reduction_name(ESP_OP_BUILTIN_COUNT, ESP_INT32), nullptr);
  EXPECT_EQ(reduction_name(ESP_SUM, ESP_TYPE_COUNT), nullptr);
  EXPECT_EQ(reduction_name(ESP_SUM, ESP_TYPE_HIGHEST), nullptr);
  EXPECT_FALSE(run_kernel_on_host("esp_sum_nothing", 1, nullptr));
}

TEST(DeviceKernelNames, AreThoseOfTheModules) {
  EXPECT_EQ(kernel_ptx("esp_sum_nothing"), "");
  if (kernel_texts().empty()) GTEST_SKIP() << "built without kernels of devices";
  EXPECT_EQ(kernel_texts().size(), std::size(kReductionNames) + 1);
  const auto expect_module = [](std::string_view name) {
    const std::string_view ptx = kernel_ptx(name);
    const std::size_t entry = ptx.find(".entry " + std::string(name) + "(");
    EXPECT_NE(entry, std::string_view::npos) << name;
    EXPECT_EQ(ptx.find(".entry"), entry) << name;
    EXPECT_EQ(ptx.rfind(".entry"), entry) << name;
    EXPECT_EQ(ptx.data()[ptx.size()], '\0') << name;
  };
  for (const ReductionName& reduction : kReductionNames) expect_module(reduction.name);
  expect_module(kCopyRowsKernel);
}

// Rows that lie apart are packed, and unpacked.
void expect_rows_copied(const std::function<bool(CopyRowsParameters)>& run) {
  constexpr std::size_t kRows = 5;
  for (const std::size_t row_bytes : {0u, 1u, 2u, 4u, 6u, 8u, 16u, 24u, 48u, 67u}) {
    for (const std::size_t apart : {0u, 1u, 2u, 4u, 8u, 16u, 32u}) {
      for (const std::size_t shift : {0u, 1u, 2u, 4u, 8u, 12u}) {
        const std::size_t stride = row_bytes + apart;
        Elements spread(kRows * stride);
        Elements packed(kRows * row_bytes);
        std::byte* const from = spread.at(shift);
        for (std::size_t i = 0; i < kRows * stride; ++i) from[i] = static_cast<std::byte>(i * 7);
        std::byte* const to = packed.at(0);
        ASSERT_TRUE(run({to, from, kRows, row_bytes, row_bytes, stride}));
        ASSERT_TRUE(packed.margins_kept(to, kRows * row_bytes));
        for (std::size_t row = 0; row < kRows; ++row) {
          ASSERT_EQ(std::memcmp(to + row * row_bytes, from + row * stride, row_bytes), 0);
        }
        std::vector<std::byte> expected(from, from + kRows * stride);
        for (std::size_t row = 0; row < kRows; ++row) {
          for (std::size_t i = 0; i < apart; ++i) {
            expected[row * stride + row_bytes + i] = kUntouched;
          }
        }
        spread.forget();
        ASSERT_TRUE(run({from, to, kRows, row_bytes, stride, row_bytes}));
        ASSERT_EQ(std::vector<std::byte>(from, from + kRows * stride), expected)
            << row_bytes << " bytes, " << apart << " apart, shifted by " << shift;
        ASSERT_TRUE(spread.margins_kept(from, kRows * stride));
      }
    }
  }
}

TEST(CopyRowsKernel, CopiesRowsAndNothingBetweenThem) {
  for (const std::uint64_t threads : {1u, 3u, 300u}) {
    expect_rows_copied([threads](CopyRowsParameters p) {
      const void* parameters[] = {&p};
      return run_kernel_on_host(kCopyRowsKernel, threads, parameters);
    });
  }
}

TEST(CopyRowsKernel, DoesSoAsPtx) {
  if (kernel_texts().empty()) GTEST_SKIP() << "built without kernels of devices";
  PtxMachine machine(kernel_ptx(kCopyRowsKernel));
  expect_rows_copied([&machine](CopyRowsParameters p) {
    const std::string fault = machine.run(2, 3, &p);
    EXPECT_EQ(fault, "");
    return fault.empty();
  });
}

// The interpreter does not pass over what it does not know, or what a device refuses.
TEST(PtxMachine, FindsFaults) {
  std::uint64_t words[2] = {5, 0};
  const auto run = [&words](const std::string& body) {
    const std::uint64_t address = reinterpret_cast<std::uint64_t>(words);
    PtxMachine machine(".visible .entry f(\n)\n{\n.reg .b64 %rd<9>;\n" + body + "ret;\n}\n");
    return machine.run(1, 1, &address);
  };
  const std::string load = "ld.param.u64 %rd1, [f_param_0];\nld.global.u64 %rd2, [%rd1];\n";
  EXPECT_EQ(run(load + "add.s64 %rd2, %rd2, -7;\nst.global.u64 [%rd1+8], %rd2;\n"), "");
  EXPECT_EQ(static_cast<std::int64_t>(words[1]), -2);
  EXPECT_NE(run(load + "fma.rn.f64 %fd1, %fd1, %fd1, %fd1;\n"), "");
  EXPECT_NE(run(load + "min.f32 %f1, %f1, %f1;\n"), "");
  EXPECT_NE(run(load + "add.rn.ftz.f32 %f1, %f1, %f1;\n"), "");
  EXPECT_NE(run("ld.param.u64 %rd1, [f_param_0];\nld.global.u32 %r1, [%rd1+2];\n"), "");
  EXPECT_NE(run("$L__BB0_1:\nbra.uni $L__BB0_1;\n"), "");
}

TEST(LaunchShape, HasABlockForWhatItsThreadsMoveUpToTheMost) {
  EXPECT_EQ(useful_blocks(0, 100), 1u);
  EXPECT_EQ(useful_blocks(4095, 100), 1u);
  EXPECT_EQ(useful_blocks(10 * 4096, 100), 11u);
  EXPECT_EQ(useful_blocks(std::uint64_t{1} << 40, 100), 100u);
}

}  // namespace
}  // namespace espalier::device
