// DeviceMover's combinations: kernels of the library on the played driver, the bits of the host's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstring>
#include <thread>

#include "coll/device/device_reductions.hpp"
#include "core/device/kernels/kernel_names.hpp"
#include "core/device/kernels/kernel_ptx.hpp"
#include "core/kernels/isa.hpp"
#include "mover_bed.hpp"
#include "tests/unit/datatype_reference.hpp"

namespace espalier::device::test {
namespace {

constexpr std::uint64_t kReducedElements = 1500;

struct ReducerBed : MoverBed {
  explicit ReducerBed(const char* environment = "", std::uint64_t from_bytes = 1)
      : MoverBed(environment), reductions(*driver, log, from_bytes) {}

  const DeviceReduction* find(esp_op op, esp_type type, std::uint64_t bytes = 1 << 20) {
    return reductions.find({op, type, bytes, home});
  }

  DeviceReductions reductions;
};

// Operands by turns on the device and in memory of the mover's, the result in one of them or apart.
class Operands {
 public:
  Operands(ReducerBed& bed, esp_type type, std::size_t k)
      : bed_(bed), bytes_(kReducedElements * type_size(type)), random_(k) {
    for (std::size_t j = 0; j <= k; ++j) {
      std::vector<std::byte> values(bytes_);
      reference::fill(type, random_, values.data(), kReducedElements);
      const bool away = j % 2 == 0;
      std::byte* const at = away ? bed.played.allocate(bytes_) : bed.mover.allocate(bytes_);
      if (away) {
        bed.played.put(at, values.data(), bytes_);
      } else {
        std::memcpy(at, values.data(), bytes_);
      }
      places_.push_back(at);
      values_.push_back(std::move(values));
    }
  }
  ~Operands() {
    for (std::size_t j = 0; j < places_.size(); ++j) {
      if (j % 2 == 0) bed_.played.free(places_[j]);
      if (j % 2 != 0) bed_.mover.release(places_[j], bytes_);
    }
  }
  Move move(const DeviceReduction& reduction, std::size_t into) {
    const std::size_t k = places_.size() - 1;
    operands_.assign(places_.begin(), places_.begin() + static_cast<std::ptrdiff_t>(k));
    return {.dst = places_[into],
            .operands = operands_.data(),
            .operand_count = k,
            .elements = kReducedElements,
            .element_bytes = static_cast<std::uint32_t>(bytes_ / kReducedElements),
            .reduction = &reduction};
  }
  std::vector<std::byte> expected(esp_op op, esp_type type) const {
    std::vector<const void*> from;
    for (std::size_t j = 0; j + 1 < values_.size(); ++j) from.push_back(values_[j].data());
    std::vector<std::byte> result(bytes_);
    combine_kernel_for(best_isa(), op, type)(result.data(), from.data(), from.size(),
                                             kReducedElements);
    return result;
  }
  std::vector<std::byte> at(std::size_t place) const {
    std::vector<std::byte> came(bytes_);
    if (place % 2 == 0) {
      bed_.played.get(came.data(), places_[place], bytes_);
    } else {
      std::memcpy(came.data(), places_[place], bytes_);
    }
    return came;
  }

 private:
  ReducerBed& bed_;
  std::size_t bytes_;
  reference::Random random_;
  std::vector<std::byte*> places_;
  std::vector<std::vector<std::byte>> values_;
  std::vector<const void*> operands_;
};

// Apart from the payload of a NaN that a sum or product makes.
void expect_same(esp_op op, esp_type type, std::vector<std::byte> came,
                 std::vector<std::byte> wanted) {
  const std::size_t bytes = type_size(type);
  for (std::size_t at = 0; at < came.size(); at += bytes) {
    if (std::memcmp(&came[at], &wanted[at], bytes) == 0) continue;
    ASSERT_TRUE(!op_exact(op, type) && reference::has_nan(type, &came[at]) &&
                reference::has_nan(type, &wanted[at]))
        << op_name(op) << " of " << type_name(type) << ", element " << at / bytes;
  }
}

#define NEEDS_KERNELS() \
  if (kernel_texts().empty()) GTEST_SKIP() << "built without kernels of devices"

TEST(DeviceReducer, GivesTheHostsBitsForAnyNumberOfOperands) {
  NEEDS_KERNELS();
  ReducerBed bed("PLAYED_CUDA_DELAY_US=0");
  std::uint64_t combined = 0;
  for (int op = 0; op < ESP_OP_BUILTIN_COUNT; ++op) {
    for (int t = 0; t < ESP_TYPE_COUNT; ++t) {
      const auto type = static_cast<esp_type>(t);
      const DeviceReduction* const reduction = bed.find(op, type);
      ASSERT_EQ(reduction != nullptr, reduction_name(op, type) != nullptr);
      if (reduction == nullptr) continue;
      for (const std::size_t k : {2, 8, 9, 23}) {
        Operands operands(bed, type, k);
        Pending done;
        ASSERT_EQ(bed.mover.move(operands.move(*reduction, k), done), Posted::kPending);
        bed.finish(done);
        ASSERT_TRUE(done.status.ok()) << bed.mover.why();
        expect_same(op, type, operands.at(k), operands.expected(op, type));
        ++combined;
      }
    }
  }
  EXPECT_GT(combined, 300u);
  EXPECT_EQ(bed.counters.device_reductions.value(), combined);
}

TEST(DeviceReducer, TakesAnyOperandAsDestination) {
  NEEDS_KERNELS();
  ReducerBed bed("PLAYED_CUDA_DELAY_US=0");
  const DeviceReduction* const reduction = bed.find(ESP_SUM, ESP_DOUBLE);
  ASSERT_NE(reduction, nullptr);
  for (const std::size_t k : {2, 8, 9, 16, 23}) {
    for (std::size_t into = 0; into < k; ++into) {
      Operands operands(bed, ESP_DOUBLE, k);
      Pending done;
      ASSERT_EQ(bed.mover.move(operands.move(*reduction, into), done), Posted::kPending);
      bed.finish(done);
      expect_same(ESP_SUM, ESP_DOUBLE, operands.at(into), operands.expected(ESP_SUM, ESP_DOUBLE));
    }
  }
}

TEST(DeviceReducer, TellsOfALaunchThatFailsAndGoesOn) {
  NEEDS_KERNELS();
  ReducerBed bed;
  const DeviceReduction* const reduction = bed.find(ESP_MAX, ESP_INT32);
  ASSERT_NE(reduction, nullptr);
  Operands operands(bed, ESP_INT32, 12);  // of two launches: the second fails
  bed.played.fail("cuLaunchKernel:2:2");
  Pending failed;
  ASSERT_EQ(bed.mover.move(operands.move(*reduction, 12), failed), Posted::kPending);
  EXPECT_EQ(failed.times, 0);
  bed.finish(failed);
  EXPECT_EQ(failed.status, Status(ESP_ERR_DEVICE, 0));
  EXPECT_EQ(bed.mover.why(), "cuLaunchKernel: out of memory (2)");
  Pending done;
  ASSERT_EQ(bed.mover.move(operands.move(*reduction, 12), done), Posted::kPending);
  bed.finish(done);
  EXPECT_TRUE(done.status.ok());
  expect_same(ESP_MAX, ESP_INT32, operands.at(12), operands.expected(ESP_MAX, ESP_INT32));
}

TEST(DeviceReducer, TellsOfAStreamThatCannotBeMade) {
  NEEDS_KERNELS();
  ReducerBed bed;
  const DeviceReduction* const reduction = bed.find(ESP_MAX, ESP_INT32);
  Operands operands(bed, ESP_INT32, 2);
  bed.played.fail("cuStreamCreate:1:2");
  Pending failed;
  ASSERT_EQ(bed.mover.move(operands.move(*reduction, 2), failed), Posted::kPending);
  bed.finish(failed);
  EXPECT_EQ(failed.status, Status(ESP_ERR_DEVICE, 0));
  EXPECT_EQ(bed.mover.why(), "cuStreamCreate: out of memory (2)");
}

TEST(DeviceReducer, HasRoomForSoManyAndThenRefuses) {
  NEEDS_KERNELS();
  ReducerBed bed("PLAYED_CUDA_DELAY_US=0");
  const DeviceReduction* const reduction = bed.find(ESP_SUM, ESP_INT32);
  Operands operands(bed, ESP_INT32, 2);
  bed.played.hold(true);
  std::array<Pending, 128> waiting;
  for (Pending& one : waiting) {
    ASSERT_EQ(bed.mover.move(operands.move(*reduction, 2), one), Posted::kPending);
  }
  Pending refused;
  EXPECT_EQ(bed.mover.move(operands.move(*reduction, 2), refused), Posted::kRetry);
  EXPECT_EQ(bed.mover.progress(), 0);
  bed.played.hold(false);
  for (Pending& one : waiting) bed.finish(one);
  EXPECT_EQ(bed.mover.move(operands.move(*reduction, 2), refused), Posted::kPending);
  bed.finish(refused);
}

// What is taken back is not written any more when that returns.
TEST(DeviceReducer, WaitsForAKernelThatIsTakenBack) {
  NEEDS_KERNELS();
  ReducerBed bed("PLAYED_CUDA_DELAY_US=0");
  const DeviceReduction* const reduction = bed.find(ESP_SUM, ESP_INT32);
  Operands operands(bed, ESP_INT32, 2);
  bed.played.hold(true);
  Pending taken;
  ASSERT_EQ(bed.mover.move(operands.move(*reduction, 2), taken), Posted::kPending);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    bed.played.hold(false);
  });
  bed.mover.cancel(taken);
  expect_same(ESP_SUM, ESP_INT32, operands.at(2), operands.expected(ESP_SUM, ESP_INT32));
  later.join();
  bed.mover.progress();
  EXPECT_EQ(taken.times, 0);
}

// Segments of three buffers on the device.
class Segments {
 public:
  Segments(ReducerBed& bed, std::size_t count) : bed_(bed), values_(count * kEach) {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = static_cast<std::int32_t>(3 * i);
    for (std::byte*& at : buffers_) {
      at = bed.played.allocate(values_.size() * 4);
      bed.played.put(at, values_.data(), values_.size() * 4);
    }
  }
  ~Segments() {
    for (std::byte* at : buffers_) bed_.played.free(at);
  }
  Posted post(const DeviceReduction& reduction, std::size_t segment, Pending& op) {
    const auto at = [&](int buffer) { return buffers_[buffer] + segment * kEach * 4; };
    const void* const operands[] = {at(0), at(1)};
    return bed_.mover.move({.dst = at(2),
                            .operands = operands,
                            .operand_count = 2,
                            .elements = kEach,
                            .element_bytes = 4,
                            .reduction = &reduction},
                           op);
  }
  // Of the first element of the segment.
  bool is_combined(std::size_t segment) {
    std::vector<std::int32_t> came(values_.size());
    bed_.played.get(came.data(), buffers_[2], came.size() * 4);
    bool all = true;
    for (std::size_t i = segment * kEach; i < (segment + 1) * kEach; ++i) {
      all = all && came[i] == 2 * values_[i];
    }
    return all;
  }

 private:
  static constexpr std::size_t kEach = 1000;
  ReducerBed& bed_;
  std::vector<std::int32_t> values_;
  std::array<std::byte*, 3> buffers_ = {};
};

// Two are launched at once; of those that wait meanwhile one is missing and one is taken back.
TEST(DeviceReducer, LaunchesWhatLiesOneBehindTheOtherAsOne) {
  NEEDS_KERNELS();
  ReducerBed bed("PLAYED_CUDA_DELAY_US=0");
  const DeviceReduction* const reduction = bed.find(ESP_SUM, ESP_INT32);
  ASSERT_NE(reduction, nullptr);
  Segments segments(bed, 12);
  bed.played.hold(true);
  std::array<Pending, 12> all;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i == 6) continue;
    ASSERT_EQ(segments.post(*reduction, i, all[i]), Posted::kPending);
  }
  EXPECT_EQ(bed.played.count("cuLaunchKernel"), 2u);
  bed.mover.cancel(all[9]);
  bed.played.hold(false);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i != 6 && i != 9) bed.finish(all[i]);
  }
  EXPECT_EQ(bed.played.count("cuLaunchKernel"), 5u) << "2 to 5, 7 and 8, 10 and 11";
  EXPECT_EQ(bed.counters.device_reductions.value(), 10u);
  bed.mover.progress();
  EXPECT_EQ(all[9].times, 0);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(segments.is_combined(i), i != 6 && i != 9) << i;
  }
}

// All of one launch have its error.
TEST(DeviceReducer, TellsAllOfALaunchThatFails) {
  NEEDS_KERNELS();
  ReducerBed bed("PLAYED_CUDA_DELAY_US=0");
  const DeviceReduction* const reduction = bed.find(ESP_SUM, ESP_INT32);
  Segments segments(bed, 6);
  bed.played.hold(true);
  std::array<Pending, 6> all;
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(segments.post(*reduction, i, all[i]), Posted::kPending);
  }
  bed.played.fail("cuLaunchKernel:1:2");
  bed.played.hold(false);
  for (Pending& one : all) bed.finish(one);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].status.ok(), i < 2) << i;
}

// Of a device, apart from each other, used again; and no more than there is.
TEST(DeviceMemoryOfCalls, IsUsedAgain) {
  NEEDS_KERNELS();
  ReducerBed bed("PLAYED_CUDA_DELAY_US=0");
  const DeviceReduction* const reduction = bed.find(ESP_SUM, ESP_INT32);
  ASSERT_NE(reduction, nullptr);
  std::byte* const first = bed.mover.allocate_beside(*reduction, 1000);
  std::byte* const second = bed.mover.allocate_beside(*reduction, 5 << 20);
  ASSERT_TRUE(first != nullptr && second != nullptr && first != second);
  EXPECT_EQ(PointerKinds(bed.drivers).of(second)->kind, MemoryKind::kDevice);
  bed.mover.release_beside(second);
  EXPECT_EQ(bed.mover.allocate_beside(*reduction, 8 << 20), second);
  EXPECT_EQ(bed.mover.allocate_beside(*reduction, std::uint64_t{256} << 20), nullptr);
  bed.played.fail("cuMemAlloc:1:2");
  EXPECT_EQ(bed.mover.allocate_beside(*reduction, 4 << 20), nullptr);
  const std::uint64_t asked = bed.played.count("cuMemAlloc");
  EXPECT_EQ(bed.mover.allocate_beside(*reduction, 4 << 20), nullptr);
  EXPECT_EQ(bed.played.count("cuMemAlloc"), asked) << "it is not asked for again";
  bed.mover.release_beside(first);
  EXPECT_EQ(bed.mover.allocate_beside(*reduction, 1), first);
}

TEST(DeviceReductions, AreLoadedOnceForAHome) {
  NEEDS_KERNELS();
  ReducerBed bed;
  const DeviceReduction* const first = bed.find(ESP_SUM, ESP_INT32);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(bed.find(ESP_SUM, ESP_INT32), first);
  EXPECT_EQ(bed.find(ESP_SUM, ESP_UINT32), first) << "the same kernel";
  EXPECT_EQ(bed.played.count("cuModuleLoadData"), 1u);
  EXPECT_NE(bed.find(ESP_SUM, ESP_FLOAT), first);
  EXPECT_EQ(bed.played.count("cuModuleLoadData"), 2u);
  EXPECT_THAT(bed.reductions.describe(), ::testing::HasSubstr("by the device from 1 bytes on"));
}

TEST(DeviceReductions, AreTheHostsBelowASizeAndWhereThereIsNoKernel) {
  NEEDS_KERNELS();
  ReducerBed bed("", 4096);
  EXPECT_EQ(bed.find(ESP_SUM, ESP_INT32, 4095), nullptr);
  EXPECT_NE(bed.find(ESP_SUM, ESP_INT32, 4096), nullptr);
  EXPECT_EQ(bed.find(ESP_SUM, ESP_LONG_DOUBLE), nullptr);
  EXPECT_EQ(bed.find(ESP_SUM_REPRODUCIBLE, ESP_INT32), bed.find(ESP_SUM, ESP_INT32));
  EXPECT_EQ(bed.find(ESP_OP_BUILTIN_COUNT, ESP_INT32), nullptr) << "a user's";
  ReducerBed off("", 0);
  EXPECT_EQ(off.find(ESP_SUM, ESP_INT32), nullptr);
  EXPECT_THAT(off.reductions.describe(), ::testing::HasSubstr("off by DEVICE_REDUCE_BYTES"));
}

TEST(DeviceReductions, AreTheHostsWhenOneIsNotLoaded) {
  NEEDS_KERNELS();
  for (const char* const call : {"cuModuleLoadData", "cuModuleGetFunction"}) {
    ReducerBed bed;
    bed.played.fail((std::string(call) + ":1:2").c_str());
    EXPECT_EQ(bed.find(ESP_SUM, ESP_INT32), nullptr);
    EXPECT_THAT(bed.warning, ::testing::HasSubstr("kernel esp_sum_uint32 was not loaded"));
    EXPECT_THAT(bed.warning, ::testing::HasSubstr(std::string(call) + ": out of memory (2)"));
    bed.warning.clear();
    EXPECT_EQ(bed.find(ESP_SUM, ESP_FLOAT), nullptr);
    EXPECT_EQ(bed.warning, "");
    EXPECT_EQ(bed.played.count("cuModuleLoadData"), 1u);
    EXPECT_THAT(bed.reductions.describe(),
                ::testing::HasSubstr("by the host: " + std::string(call)));
  }
}

// Copies of such memory are right; a kernel cannot reach it.
TEST(DeviceReductions, DoNotReachMemoryThatIsNotRegistered) {
  ReducerBed bed;
  std::byte* const memory = bed.mover.allocate(3 << 20);
  EXPECT_TRUE(bed.mover.reduces_in(memory));
  bed.played.fail("cuMemHostRegister:1:2");
  std::byte* const other = bed.mover.allocate(5 << 20);
  ASSERT_NE(other, nullptr);
  EXPECT_FALSE(bed.mover.reduces_in(other));
  bed.mover.release(other, 5 << 20);
  bed.mover.release(memory, 3 << 20);
}

}  // namespace
}  // namespace espalier::device::test
