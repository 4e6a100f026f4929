// A real driver, where there is one: that numbers and functions mean what cuda_abi.hpp says.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/device/drivers.hpp"
#include "core/device/pointer_kinds.hpp"

namespace espalier::device::test {
namespace {

constexpr std::size_t kRealBytes = 1 << 20;

class RealDriver : public testing::Test {
 protected:
  void SetUp() override {
    const Result<Driver*> opened = drivers_.open();
    if (!opened) GTEST_SKIP() << opened.error().text;
    driver_ = opened.value();
    const Result<DriverInfo> info = driver_->describe();
    if (!info) GTEST_SKIP() << info.error().text;
    if (info.value().devices.empty()) GTEST_SKIP() << "no device";
    ASSERT_FALSE(info.value().played);
    EXPECT_GE(info.value().devices[0].major, 3);
    EXPECT_GT(info.value().devices[0].memory_bytes, 1u << 28);
  }
  template <typename T>
  T take(Result<T> result) {
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().text);
    if (!result) std::abort();
    return std::move(result.value());
  }
  void finish(const Stream& stream) {
    const Event event = take(driver_->make_event(stream.home()));
    take(driver_->record(event, stream));
    while (take(driver_->query(event)) == EventState::kPending) ::usleep(10);
  }

  Drivers drivers_{Config()};
  Driver* driver_ = nullptr;
  const Home home_ = {.device = 0};
};

TEST_F(RealDriver, KnowsPlaces) {
  PointerKinds kinds(drivers_);
  std::vector<std::byte> host(kRealBytes);
  EXPECT_EQ(take(kinds.of(host.data())).kind, MemoryKind::kHost);
  std::uint64_t first = 0;
  void* address = nullptr;
  {
    const DeviceMemory memory = take(driver_->allocate(home_, kRealBytes));
    address = memory.handle();
    const Place place = take(kinds.of(static_cast<std::byte*>(address) + 1000));
    EXPECT_EQ(place.kind, MemoryKind::kDevice);
    EXPECT_EQ(place.home.device, 0);
    EXPECT_NE(place.home.context, 0u);
    EXPECT_EQ(place.base, reinterpret_cast<std::uintptr_t>(address));
    EXPECT_EQ(place.bytes, kRealBytes);
    EXPECT_TRUE(place.shareable);
    EXPECT_NE(place.allocation, 0u);
    first = place.allocation;
  }
  EXPECT_EQ(take(kinds.of(address)).kind, MemoryKind::kHost);
  const DeviceMemory again = take(driver_->allocate(home_, kRealBytes));
  EXPECT_NE(take(kinds.of(again.handle())).allocation, first);
  {
    const HostRegistration pinned = take(driver_->register_host(host.data(), kRealBytes, home_));
    EXPECT_EQ(take(kinds.of(host.data() + 5)).kind, MemoryKind::kRegistered);
  }
  EXPECT_EQ(take(kinds.of(host.data())).kind, MemoryKind::kHost);
}

TEST_F(RealDriver, CopiesAndRaisesFlags) {
  struct alignas(4096) Pinned {
    std::vector<std::byte>::value_type bytes[kRealBytes];
    std::uint32_t flag;
  };
  const auto pinned = std::make_unique<Pinned>();
  pinned->flag = 0;
  std::vector<std::byte> from(kRealBytes);
  for (std::size_t i = 0; i < kRealBytes; ++i) from[i] = static_cast<std::byte>(i % 253);
  const HostRegistration held = take(driver_->register_host(pinned.get(), sizeof(Pinned), home_));
  const DeviceMemory memory = take(driver_->allocate(home_, kRealBytes));
  const Stream one = take(driver_->make_stream(home_));
  const Stream two = take(driver_->make_stream(home_));
  const Event between = take(driver_->make_event(home_));
  take(driver_->copy(one, memory.handle(), from.data(), kRealBytes));
  take(driver_->record(between, one));
  take(driver_->wait(two, between));
  take(driver_->copy(two, pinned->bytes, memory.handle(), kRealBytes));
  take(driver_->write_flag(two, &pinned->flag, 77));
  while (__atomic_load_n(&pinned->flag, __ATOMIC_ACQUIRE) != 77) ::usleep(10);
  EXPECT_TRUE(std::equal(from.begin(), from.end(), pinned->bytes));
  finish(two);
}

TEST_F(RealDriver, RunsText) {
  const std::string ptx =
      ".version 6.4\n.target sm_50\n.address_size 64\n"
      ".visible .entry store(.param .u64 at, .param .u32 value)\n{\n"
      ".reg .b64 %a, %g;\n.reg .b32 %v;\n"
      "ld.param.u64 %a, [at];\nld.param.u32 %v, [value];\n"
      "cvta.to.global.u64 %g, %a;\nst.global.u32 [%g], %v;\nret;\n}\n";
  const Module module = take(driver_->load_module(home_, ptx));
  const Kernel kernel = take(driver_->kernel(module, "store"));
  const Stream stream = take(driver_->make_stream(home_));
  const DeviceMemory memory = take(driver_->allocate(home_, 4096));
  void* at = memory.handle();
  std::uint32_t value = 4711;
  void* parameters[] = {&at, &value};
  take(driver_->launch(stream, kernel, {.blocks = 1, .threads = 1}, parameters));
  std::uint32_t seen = 0;
  take(driver_->copy(stream, &seen, at, sizeof seen));
  finish(stream);
  EXPECT_EQ(seen, 4711u);
  EXPECT_EQ(driver_->kernel(module, "nothing").error().text.substr(0, 19), "cuModuleGetFunction");
}

TEST_F(RealDriver, SaysWhatFails) {
  const auto memory = driver_->allocate(home_, std::uint64_t{1} << 50);
  ASSERT_FALSE(memory.ok());
  EXPECT_EQ(memory.error().text, "cuMemAlloc: out of memory (2)");
  EXPECT_EQ(memory.error().status.code(), ESP_ERR_NO_MEMORY);
  EXPECT_FALSE(driver_->lost(0));
}

TEST_F(RealDriver, ExportsMemory) {
  const DeviceMemory memory = take(driver_->allocate(home_, 4 << 20));
  const Place place = take(driver_->place(memory.handle()));
  (void)take(driver_->export_memory(place));
  if (take(driver_->describe()).devices[0].dma_buf) {
    EXPECT_TRUE(take(driver_->dma_buf(place, memory.handle(), 2 << 20)).is_open());
  }
}

}  // namespace
}  // namespace espalier::device::test
