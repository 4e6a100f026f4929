// The played driver itself: what programs do wrong ends them, with the reason; and what a real one
// would forgive is found.
#include <gmock/gmock.h>

#include "played.hpp"

namespace espalier::device::test {
namespace {

constexpr std::size_t kFaultBytes = 4096;

// The library under test in a child that is started anew, because a thread does not survive fork().
class PlayedFaults : public testing::Test {
 protected:
  PlayedFaults() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(PlayedFaults, TheHostCannotTouchADevice) {
  Bed bed;
  volatile std::byte* const memory = bed.played.allocate(kFaultBytes);
  EXPECT_DEATH(memory[0] = std::byte{1}, "");
  EXPECT_DEATH((void)memory[kFaultBytes - 1], "");
}

TEST_F(PlayedFaults, FreedMemory) {
  Bed bed;
  const Stream stream = must(bed.driver->make_stream(bed.home));
  std::byte* const a = bed.played.allocate(kFaultBytes);
  std::byte* const b = bed.played.allocate(kFaultBytes);
  bed.played.free(b);
  EXPECT_DEATH((void)bed.driver->copy(stream, a, b, 8), "fault: cuMemcpyAsync: .* is freed");
  EXPECT_DEATH((void)bed.played.driver.mem_free(cuda::address_of(b)), "fault: cuMemFree");
  EXPECT_DEATH((void)bed.played.driver.mem_free(cuda::address_of(a + 1)), "fault: cuMemFree");
  EXPECT_DEATH((void)bed.driver->copy(stream, a + 8, a, kFaultBytes), "beyond the end");
}

TEST_F(PlayedFaults, DestroyedEventsAndStreams) {
  Bed bed;
  cuda::Event event = nullptr;
  cuda::Stream stream = nullptr;
  ASSERT_EQ(bed.played.driver.event_create(&event, 0), cuda::kSuccess);
  ASSERT_EQ(bed.played.driver.stream_create(&stream, 0), cuda::kSuccess);
  ASSERT_EQ(bed.played.driver.event_record(event, stream), cuda::kSuccess);
  ASSERT_EQ(bed.played.driver.event_destroy(event), cuda::kSuccess);
  EXPECT_DEATH((void)bed.played.driver.event_query(event), "cuEventQuery: the event is destroyed");
  EXPECT_DEATH((void)bed.played.driver.event_record(event, stream), "the event is destroyed");
  ASSERT_EQ(bed.played.driver.stream_destroy(stream), cuda::kSuccess);
  EXPECT_DEATH((void)bed.played.program.stream_synchronize(stream), "the stream is destroyed");
  EXPECT_DEATH((void)bed.played.driver.stream_wait_event(stream, &event, 0), "is destroyed");
}

TEST_F(PlayedFaults, FlagsThatAreNotRegistered) {
  Bed bed;
  const Stream stream = must(bed.driver->make_stream(bed.home));
  const ForeignStream foreign = must(bed.driver->foreign_stream(stream.handle()));
  alignas(4096) static std::uint32_t flag = 0;
  EXPECT_DEATH((void)bed.driver->wait_flag(foreign, &flag, 1),
               "cuStreamWaitValue32: the flag is in memory that is not registered");
  HostRegistration pinned = must(bed.driver->register_host(&flag, sizeof flag, bed.home));
  must(bed.driver->wait_flag(foreign, &flag, 1));
  EXPECT_DEATH(pinned.reset(), "cuMemHostUnregister: a stream uses this memory");
  __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
  bed.finish(stream);
}

TEST_F(PlayedFaults, WrongContexts) {
  Bed bed;
  cuda::Stream stream = nullptr;
  ASSERT_EQ(bed.played.driver.stream_create(&stream, 0), cuda::kSuccess);
  std::byte* const memory = bed.played.allocate(kFaultBytes);
  const cuda::Address at = cuda::address_of(memory);
  bed.played.make_context();
  EXPECT_DEATH((void)bed.played.driver.memcpy_async(at, at + 8, 8, stream), "another context");
  cuda::Event event = nullptr;
  ASSERT_EQ(bed.played.driver.event_create(&event, 0), cuda::kSuccess);
  ASSERT_EQ(bed.played.program.ctx_set_current(bed.context), cuda::kSuccess);
  EXPECT_DEATH((void)bed.played.driver.event_record(event, stream), "of another context");
  for (int i = 0; i < 2; ++i) {  // Of each that was created.
    ASSERT_EQ(bed.played.program.ctx_set_current(nullptr), cuda::kSuccess);
  }
  EXPECT_DEATH((void)bed.played.driver.mem_free(at), "no current context");
  EXPECT_DEATH((void)bed.played.driver.push_current(&event), "no such context");
}

// Whichever order the seed draws.
TEST_F(PlayedFaults, AccessesThatNoEventOrders) {
  for (int seed = 1; seed <= 4; ++seed) {
    const auto race = [seed] {
      Bed bed(("PLAYED_CUDA_SEED=" + std::to_string(seed)).c_str());
      const Stream one = must(bed.driver->make_stream(bed.home));
      const Stream two = must(bed.driver->make_stream(bed.home));
      std::byte* const memory = bed.played.allocate(3 * kFaultBytes);
      must(bed.driver->copy(one, memory + kFaultBytes, memory, kFaultBytes));
      must(bed.driver->copy(two, memory + 2 * kFaultBytes, memory + kFaultBytes, kFaultBytes));
      bed.finish(one);
      bed.finish(two);
    };
    EXPECT_DEATH(race(), "no event orders them") << seed;
  }
}

TEST_F(PlayedFaults, ReadsOfTheSameAndWhatTheProgramHasAwaitedAreFine) {
  Bed bed;
  const Stream one = must(bed.driver->make_stream(bed.home));
  const Stream two = must(bed.driver->make_stream(bed.home));
  std::byte* const memory = bed.played.allocate(3 * kFaultBytes);
  must(bed.driver->copy(one, memory + kFaultBytes, memory, kFaultBytes));
  must(bed.driver->copy(two, memory + 2 * kFaultBytes, memory, kFaultBytes));
  bed.finish(one);
  must(bed.driver->copy(two, memory + 2 * kFaultBytes, memory + kFaultBytes, kFaultBytes));
  bed.finish(two);
}

TEST_F(PlayedFaults, UnregisteringWhatAStreamUses) {
  Bed bed;
  const Stream stream = must(bed.driver->make_stream(bed.home));
  std::byte* const memory = bed.played.allocate(kFaultBytes);
  std::vector<std::byte> host(kFaultBytes);
  HostRegistration pinned = must(bed.driver->register_host(host.data(), kFaultBytes, bed.home));
  bed.played.hold(true);
  must(bed.driver->copy(stream, host.data(), memory, kFaultBytes));
  // Who looks before the event sees this.
  EXPECT_EQ(host[7], std::byte{0xa5});
  EXPECT_DEATH(pinned.reset(), "cuMemHostUnregister: a stream uses this memory");
  bed.played.hold(false);
  bed.finish(stream);
}

TEST_F(PlayedFaults, FlagsInUnregisteredMemory) {
  Bed bed;
  const Stream stream = must(bed.driver->make_stream(bed.home));
  std::uint32_t flag = 0;
  EXPECT_DEATH((void)bed.driver->write_flag(stream, &flag, 1), "memory that is not registered");
}

TEST_F(PlayedFaults, FailuresOfBadForm) {
  const Played played;
  EXPECT_DEATH(played.fail("cuMemAlloc"), "is not function:number:code");
}

TEST_F(PlayedFaults, FailuresByTheEnvironment) {
  Bed bed("PLAYED_CUDA_FAIL=cuMemAlloc:2:2");
  (void)bed.played.allocate(kFaultBytes);
  EXPECT_FALSE(bed.driver->allocate(bed.home, kFaultBytes).ok());
  EXPECT_TRUE(bed.driver->allocate(bed.home, kFaultBytes).ok());
}

}  // namespace
}  // namespace espalier::device::test
