// The library's kernels, from their PTX by way of a driver to bytes in a device's memory.
#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "core/device/kernels/kernel_names.hpp"
#include "core/device/kernels/kernel_ptx.hpp"
#include "core/device/kernels/parameters.hpp"
#include "played.hpp"

namespace espalier::device::test {
namespace {

constexpr std::uint64_t kElements = 5000;

TEST(LibraryKernels, AreLoadedAndReduce) {
  Bed bed;
  Driver& driver = *bed.driver;
  const char* const name = reduction_name(ESP_SUM, ESP_INT32);
  if (kernel_texts().empty()) GTEST_SKIP() << "built without kernels of devices";
  const Module module = must(driver.load_module(bed.home, kernel_ptx(name)));
  const Kernel kernel = must(driver.kernel(module, name));
  const Stream stream = must(driver.make_stream(bed.home));
  constexpr std::size_t kBytes = kElements * sizeof(std::int32_t);
  const DeviceMemory memory = must(driver.allocate(bed.home, 3 * kBytes));
  auto* const at = static_cast<std::byte*>(memory.handle());
  std::vector<std::int32_t> numbers(3 * kElements);
  std::iota(numbers.begin(), numbers.end(), 1);
  must(driver.copy(stream, at, numbers.data(), 3 * kBytes));
  ReduceParameters parameters = {
      .dst = at, .sources = {at, at + kBytes, at + 2 * kBytes}, .count = kElements, .k = 3};
  void* passed = &parameters;
  must(driver.launch(stream, kernel, {.blocks = useful_blocks(kBytes, 4), .threads = kBlockThreads},
                     &passed));
  std::vector<std::int32_t> sums(kElements);
  must(driver.copy(stream, sums.data(), at, kBytes));
  for (std::size_t i = 0; i < kElements; ++i) {
    ASSERT_EQ(sums[i], numbers[i] + numbers[i + kElements] + numbers[i + 2 * kElements]) << i;
  }
}

TEST(LibraryKernels, CopyRows) {
  Bed bed;
  Driver& driver = *bed.driver;
  if (kernel_texts().empty()) GTEST_SKIP() << "built without kernels of devices";
  const Module module = must(driver.load_module(bed.home, kernel_ptx(kCopyRowsKernel)));
  const Kernel kernel = must(driver.kernel(module, std::string(kCopyRowsKernel).c_str()));
  const Stream stream = must(driver.make_stream(bed.home));
  const DeviceMemory memory = must(driver.allocate(bed.home, 1000));
  auto* const at = static_cast<std::byte*>(memory.handle());
  std::vector<std::byte> bytes(1000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i % 251);
  must(driver.copy(stream, at, bytes.data(), bytes.size()));
  CopyRowsParameters parameters = {
      .dst = at + 500, .src = at, .rows = 10, .row_bytes = 3, .dst_stride = 3, .src_stride = 7};
  void* passed = &parameters;
  must(driver.launch(stream, kernel, {.blocks = 1, .threads = kBlockThreads}, &passed));
  std::vector<std::byte> packed(30);
  must(driver.copy(stream, packed.data(), at + 500, packed.size()));
  for (std::size_t i = 0; i < packed.size(); ++i) {
    EXPECT_EQ(packed[i], bytes[i / 3 * 7 + i % 3]) << i;
  }
}

TEST(LibraryKernels, AllHaveAPlayedOne) {
  Bed bed;
  for (const KernelText& text : kernel_texts()) {
    const Module module = must(bed.driver->load_module(bed.home, text.ptx));
    (void)must(bed.driver->kernel(module, std::string(text.name).c_str()));
  }
}

}  // namespace
}  // namespace espalier::device::test
