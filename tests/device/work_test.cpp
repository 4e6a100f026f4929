// Driver, at work: memory, copies, streams, events, kernels, contexts, errors, lost devices.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <thread>

#include "played.hpp"

namespace espalier::device::test {
namespace {

using testing::HasSubstr;

constexpr std::size_t kBytes = 100000;

std::vector<std::byte> pattern(std::uint64_t seed, std::size_t bytes = kBytes) {
  std::vector<std::byte> made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::byte>((i * 7 + seed) % 251);
  return made;
}

void* memory_of(const DeviceMemory& memory, std::size_t offset = 0) {
  return static_cast<std::byte*>(memory.handle()) + offset;
}

TEST(Work, CopiesBetweenAnyTwoPlaces) {
  Bed bed;
  Driver& driver = *bed.driver;
  const Stream stream = must(driver.make_stream(bed.home));
  const DeviceMemory a = must(driver.allocate(bed.home, kBytes));
  const DeviceMemory b = must(driver.allocate(bed.home, kBytes));
  std::vector<std::byte> from = pattern(1);
  std::vector<std::byte> to(kBytes);
  const HostRegistration from_pinned = must(driver.register_host(from.data(), kBytes, bed.home));
  const HostRegistration to_pinned = must(driver.register_host(to.data(), kBytes, bed.home));
  must(driver.copy(stream, a.handle(), from.data(), kBytes));
  must(driver.copy(stream, b.handle(), a.handle(), kBytes));
  must(driver.copy(stream, to.data(), b.handle(), kBytes));
  bed.finish(stream);
  EXPECT_EQ(to, from);
  EXPECT_EQ(bed.played.count("synchronous copies"), 0u);
  must(driver.copy(stream, to.data(), b.handle(), 0));  // Nothing: not even a call.
  EXPECT_EQ(bed.played.count("cuMemcpyAsync"), 3u);
}

TEST(Work, CopiesOfUnregisteredMemoryAreDoneAtOnce) {
  Bed bed;
  Driver& driver = *bed.driver;
  const Stream stream = must(driver.make_stream(bed.home));
  const DeviceMemory memory = must(driver.allocate(bed.home, kBytes));
  const std::vector<std::byte> from = pattern(2);
  std::vector<std::byte> to(kBytes);
  must(driver.copy(stream, memory.handle(), from.data(), kBytes));
  must(driver.copy(stream, to.data(), memory.handle(), kBytes));
  EXPECT_EQ(to, from);
  EXPECT_EQ(bed.played.count("synchronous copies"), 2u);
}

TEST(Work, EventsArePendingUntilWhatIsBeforeThemIsDone) {
  Bed bed;
  Driver& driver = *bed.driver;
  const Stream stream = must(driver.make_stream(bed.home));
  const DeviceMemory memory = must(driver.allocate(bed.home, kBytes));
  const Event event = must(driver.make_event(bed.home));
  EXPECT_EQ(must(driver.query(event)), EventState::kDone);  // Never recorded.
  std::vector<std::byte> to(kBytes);
  const HostRegistration pinned = must(driver.register_host(to.data(), kBytes, bed.home));
  bed.played.hold(true);
  must(driver.copy(stream, to.data(), memory.handle(), kBytes));
  must(driver.record(event, stream));
  EXPECT_EQ(must(driver.query(event)), EventState::kPending);
  bed.played.hold(false);
  bed.await(event);
  bed.played.hold(true);
  must(driver.copy(stream, to.data(), memory.handle(), kBytes));
  must(driver.record(event, stream));
  EXPECT_EQ(must(driver.query(event)), EventState::kPending);
  bed.played.hold(false);
  bed.await(event);
}

// Whatever the order in which the streams' work is done.
TEST(Work, StreamsThatWaitForEventsAreOrdered) {
  for (int seed = 1; seed <= 20; ++seed) {
    Bed bed(("PLAYED_CUDA_SEED=" + std::to_string(seed)).c_str());
    Driver& driver = *bed.driver;
    const Stream one = must(driver.make_stream(bed.home));
    const Stream two = must(driver.make_stream(bed.home));
    const Event between = must(driver.make_event(bed.home));
    const DeviceMemory a = must(driver.allocate(bed.home, kBytes));
    const DeviceMemory b = must(driver.allocate(bed.home, kBytes));
    std::vector<std::byte> from = pattern(static_cast<std::uint64_t>(seed));
    std::vector<std::byte> to(kBytes);
    const HostRegistration f = must(driver.register_host(from.data(), kBytes, bed.home));
    const HostRegistration t = must(driver.register_host(to.data(), kBytes, bed.home));
    must(driver.copy(one, a.handle(), from.data(), kBytes));
    must(driver.record(between, one));
    must(driver.wait(two, between));
    must(driver.copy(two, b.handle(), a.handle(), kBytes));
    must(driver.copy(two, to.data(), b.handle(), kBytes));
    bed.finish(two);
    EXPECT_EQ(to, from) << seed;
  }
}

TEST(Work, KernelsCombine) {
  Bed bed;
  Driver& driver = *bed.driver;
  constexpr std::uint64_t kCount = 1000;
  const std::string ptx =
      ".version 6.4\n.target sm_50\n.address_size 64\n.visible .entry played_sum_f32(\n"
      "  .param .u64 played_sum_f32_param_0,\n  .param .u64 .ptr .global .align 4 p1,\n"
      "  .param .align 8 .b8 p2[8],\n  .param .u64 p3\n)\n{ ret; }\n";
  const Module module = must(driver.load_module(bed.home, ptx));
  const Kernel kernel = must(driver.kernel(module, "played_sum_f32"));
  const Stream stream = must(driver.make_stream(bed.home));
  const DeviceMemory memory = must(driver.allocate(bed.home, 3 * kCount * sizeof(float)));
  std::vector<float> numbers(2 * kCount);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  void* a = memory.handle();
  void* b = memory_of(memory, kCount * sizeof(float));
  void* dst = memory_of(memory, 2 * kCount * sizeof(float));
  must(driver.copy(stream, a, numbers.data(), numbers.size() * sizeof(float)));
  {
    void* dst_then = dst;
    std::uint64_t count = kCount;
    std::array<void*, 4> parameters = {&dst_then, &a, &b, &count};
    bed.played.hold(true);
    must(driver.launch(stream, kernel, {.blocks = 4, .threads = 256}, parameters.data()));
    dst_then = nullptr;  // Parameters were taken.
    count = 0;
  }
  bed.played.hold(false);
  std::vector<float> sums(kCount);
  must(driver.copy(stream, sums.data(), dst, kCount * sizeof(float)));
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(sums[i], static_cast<float>(kCount + 2 * i)) << i;
  }

  const auto nothing = driver.kernel(module, "nothing");
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.error().text,
            "cuModuleGetFunction: named symbol not found (500); of kernel nothing");
  const auto bad = driver.load_module(bed.home, "no text of PTX");
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().text, "cuModuleLoadData: a PTX JIT compilation failed (218)");
  const Outcome empty = driver.launch(stream, kernel, {.blocks = 0}, nullptr);
  EXPECT_FALSE(empty.ok());
}

TEST(Work, FlagsAreWrittenBehindWhatIsBeforeThem) {
  Bed bed;
  Driver& driver = *bed.driver;
  struct alignas(64) Target {
    std::array<std::byte, 4096> bytes = {};
    std::uint32_t flag = 0;
  };
  const auto target = std::make_unique<Target>();
  const HostRegistration pinned =
      must(driver.register_host(target.get(), sizeof(Target), bed.home));
  const Stream stream = must(driver.make_stream(bed.home));
  const DeviceMemory memory = must(driver.allocate(bed.home, sizeof target->bytes));
  const std::vector<std::byte> from = pattern(5, sizeof target->bytes);
  must(driver.copy(stream, memory.handle(), from.data(), from.size()));
  must(driver.copy(stream, target->bytes.data(), memory.handle(), from.size()));
  must(driver.write_flag(stream, &target->flag, 77));
  while (__atomic_load_n(&target->flag, __ATOMIC_ACQUIRE) != 77) ::usleep(100);
  EXPECT_TRUE(std::equal(from.begin(), from.end(), target->bytes.begin()));
  bed.finish(stream);
}

// Contexts ----------------------------------------------------------------------------------------

// Everything once; the caller's current context is looked at after each.
void do_everything(Bed& bed, Home home, const std::function<void(const char*)>& look) {
  Driver& driver = *bed.driver;
  std::vector<std::byte> host(kBytes);
  {
    const Stream stream = must(driver.make_stream(home));
    look("make_stream");
    const DeviceMemory memory = must(driver.allocate(home, kBytes));
    look("allocate");
    const HostRegistration pinned = must(driver.register_host(host.data(), kBytes, home));
    look("register_host");
    const Event event = must(driver.make_event(home));
    look("make_event");
    must(driver.copy(stream, memory.handle(), host.data(), kBytes));
    look("copy");
    must(driver.record(event, stream));
    look("record");
    must(driver.wait(stream, event));
    look("wait");
    bed.await(event);
    look("query");
    const Place place = must(driver.place(memory.handle()));
    look("place");
    (void)must(driver.export_memory(place));
    look("export_memory");
    EXPECT_FALSE(driver.allocate(home, std::uint64_t{1} << 40).ok());
    look("a call that fails");
    bed.finish(stream);
  }
  look("destruction");
}

TEST(Contexts, OfTheCallerAreNeverChanged) {
  Bed bed("PLAYED_CUDA_DEVICES=2");
  const Home second = {.device = 0,
                       .context = reinterpret_cast<std::uintptr_t>(bed.played.make_context(0))};
  const cuda::Context current = bed.played.make_context(1);
  const auto look = [&](const char* what) { EXPECT_EQ(bed.played.current(), current) << what; };
  do_everything(bed, bed.home, look);
  do_everything(bed, second, look);
  do_everything(bed, {.device = 1}, look);  // The primary one.
}

TEST(Contexts, NeedNotBeCurrent) {
  Bed bed;
  std::thread other([&] {
    const auto look = [&](const char* what) { EXPECT_EQ(bed.played.current(), nullptr) << what; };
    do_everything(bed, bed.home, look);
    do_everything(bed, {.device = 0}, look);
  });
  other.join();
}

TEST(Contexts, PrimaryOnesAreRetainedOnceAndReleased) {
  const Played played;
  {
    Drivers drivers(played_config());
    Driver& driver = *drivers.loaded();
    const Stream one = must(driver.make_stream({.device = 0}));
    const Stream two = must(driver.make_stream({.device = 0}));
    EXPECT_EQ(played.count("cuDevicePrimaryCtxRetain"), 1u);
    EXPECT_EQ(played.count("cuDevicePrimaryCtxRelease"), 0u);
  }
  EXPECT_EQ(played.count("cuDevicePrimaryCtxRelease"), 1u);
}

TEST(Contexts, OfMemoryThatHasNoneArePrimary) {
  Bed bed("PLAYED_CUDA_POOL=1");
  std::byte* const memory = bed.played.allocate(kBytes);
  const Place place = must(bed.driver->place(memory));
  EXPECT_EQ(place.home, (Home{.device = 0}));
  EXPECT_FALSE(place.shareable);
  const Stream stream = must(bed.driver->make_stream(place.home));
  must(bed.driver->copy(stream, memory, memory + 100, 100));
  bed.finish(stream);
  EXPECT_EQ(bed.played.count("cuDevicePrimaryCtxRetain"), 1u);
}

TEST(Contexts, OfNoDevice) {
  Bed bed;
  for (const DeviceNumber device : {-1, 1000}) {
    const auto stream = bed.driver->make_stream({.device = device});
    ASSERT_FALSE(stream.ok());
    EXPECT_EQ(stream.error().status.code(), ESP_ERR_ARGUMENT);
  }
  const auto stream = bed.driver->make_stream({.device = 1});
  ASSERT_FALSE(stream.ok());
  EXPECT_EQ(stream.error().text, "cuDevicePrimaryCtxRetain: invalid device ordinal (101)");
}

TEST(Contexts, ThatAreDestroyedAreSaid) {
  Bed bed;
  const Stream stream = must(bed.driver->make_stream(bed.home));
  ASSERT_EQ(bed.played.program.ctx_destroy(bed.context), cuda::kSuccess);
  const auto event = bed.driver->make_event(bed.home);
  ASSERT_FALSE(event.ok());
  EXPECT_EQ(event.error().text, "cuCtxPushCurrent: context is destroyed (709)");
}

// Errors ------------------------------------------------------------------------------------------

TEST(Errors, AreTheCallAndTheDriversText) {
  Bed bed;
  Driver& driver = *bed.driver;
  const auto memory = driver.allocate(bed.home, std::uint64_t{1} << 40);
  ASSERT_FALSE(memory.ok());
  EXPECT_EQ(memory.error().text, "cuMemAlloc: out of memory (2)");
  EXPECT_EQ(memory.error().status.code(), ESP_ERR_NO_MEMORY);

  const Stream stream = must(driver.make_stream(bed.home));
  const DeviceMemory place = must(driver.allocate(bed.home, kBytes));
  bed.played.fail("cuMemcpyAsync:2:2,cuMemcpyAsync:3:801,cuMemcpyAsync:4:12345");
  must(driver.copy(stream, place.handle(), memory_of(place, 50), 10));
  const Outcome full = driver.copy(stream, place.handle(), memory_of(place, 50), 10);
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().text, "cuMemcpyAsync: out of memory (2)");
  const Outcome unsupported = driver.copy(stream, place.handle(), memory_of(place, 50), 10);
  ASSERT_FALSE(unsupported.ok());
  EXPECT_EQ(unsupported.error().status.code(), ESP_ERR_UNSUPPORTED);
  const Outcome strange = driver.copy(stream, place.handle(), memory_of(place, 50), 10);
  ASSERT_FALSE(strange.ok());
  EXPECT_EQ(strange.error().text, "cuMemcpyAsync: unknown error (12345)");
  EXPECT_FALSE(driver.lost(0));
  EXPECT_EQ(driver.why_lost(0), "");
  must(driver.copy(stream, place.handle(), memory_of(place, 50), 10));
}

TEST(Errors, RegisteringTwiceIsOne) {
  Bed bed;
  std::vector<std::byte> host(kBytes);
  const HostRegistration one = must(bed.driver->register_host(host.data(), kBytes, bed.home));
  const auto two = bed.driver->register_host(host.data() + 10, 10, bed.home);
  ASSERT_FALSE(two.ok());
  EXPECT_THAT(two.error().text, HasSubstr("cuMemHostRegister: part or all of the requested"));
}

TEST(Errors, OfALostDeviceAreForGood) {
  Bed bed;
  Driver& driver = *bed.driver;
  const Stream stream = must(driver.make_stream(bed.home));
  const DeviceMemory memory = must(driver.allocate(bed.home, kBytes));
  const Event event = must(driver.make_event(bed.home));
  must(driver.copy(stream, memory.handle(), memory_of(memory, kBytes / 2), 100));
  must(driver.record(event, stream));
  bed.played.fail("cuEventQuery:1:719");
  const auto state = driver.query(event);
  ASSERT_FALSE(state.ok());
  EXPECT_EQ(state.error().text, "cuEventQuery: unspecified launch failure (719); device 0 is lost");
  EXPECT_TRUE(driver.lost(0));
  EXPECT_FALSE(driver.lost(1));
  EXPECT_EQ(driver.why_lost(0), state.error().text);
  EXPECT_FALSE(driver.copy(stream, memory.handle(), memory_of(memory, 50), 10).ok());
  EXPECT_FALSE(driver.make_stream(bed.home).ok());
  EXPECT_EQ(driver.why_lost(0), state.error().text);
}

TEST(Reach, IsWhatTheDriverSays) {
  Bed bed("PLAYED_CUDA_DEVICES=2");
  EXPECT_TRUE(must(bed.driver->reaches(0, 0)));
  EXPECT_TRUE(must(bed.driver->reaches(0, 1)));
  EXPECT_FALSE(bed.driver->reaches(0, 7).ok());
}

TEST(Reach, MayBeNone) {
  Bed bed("PLAYED_CUDA_DEVICES=2 PLAYED_CUDA_PEERS=0");
  EXPECT_FALSE(must(bed.driver->reaches(0, 1)));
  EXPECT_TRUE(must(bed.driver->reaches(1, 1)));
}

}  // namespace
}  // namespace espalier::device::test
