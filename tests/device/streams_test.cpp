// Driver: streams and events that the program has made.
#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <thread>

#include "played.hpp"

namespace espalier::device::test {
namespace {

constexpr std::uint64_t kStreamBytes = 4096;
const cuda::Stream kNullStream = nullptr,
                   kLegacy = reinterpret_cast<cuda::Stream>(played::kLegacyStream),
                   kOfThread = reinterpret_cast<cuda::Stream>(played::kThreadStream);

// A program's stream, a flag, and memory on both sides.
class Waiting {
 public:
  explicit Waiting(cuda::Stream of = nullptr) : handle(of) {
    if (of == nullptr) {
      EXPECT_EQ(bed.played.driver.stream_create(&handle, cuda::kStreamNonBlocking), cuda::kSuccess);
    }
    stream = must(bed.driver->foreign_stream(handle));
    pinned = must(bed.driver->register_host(&host, sizeof host, bed.home));
    memory = bed.played.allocate(kStreamBytes);
    const std::vector<std::byte> from(kStreamBytes, std::byte{7});
    bed.played.put(memory, from.data(), from.size());
  }
  // Behind whatever is in the stream.
  void copy_out() {
    ASSERT_EQ(bed.played.driver.memcpy_async(cuda::address_of(host.bytes.data()),
                                             cuda::address_of(memory), kStreamBytes, handle),
              cuda::kSuccess);
  }
  void raise(std::uint32_t value) { __atomic_store_n(&host.flag, value, __ATOMIC_RELEASE); }
  void finish() {
    ASSERT_EQ(bed.played.program.stream_synchronize(handle), cuda::kSuccess);
    EXPECT_EQ(host.bytes.front(), std::byte{7});
    EXPECT_EQ(host.bytes.back(), std::byte{7});
  }

  struct alignas(4096) Host {
    std::array<std::byte, kStreamBytes> bytes = {};
    std::uint32_t flag = 0;
  };
  Bed bed;
  Host host;
  cuda::Stream handle;
  ForeignStream stream;
  HostRegistration pinned;
  std::byte* memory = nullptr;
};

TEST(ForeignStreams, AreOfTheContextThatMadeThem) {
  Bed bed("PLAYED_CUDA_DEVICES=2");
  cuda::Stream handle = nullptr;
  const cuda::Context other = bed.played.make_context(1);
  ASSERT_EQ(bed.played.driver.stream_create(&handle, 0), cuda::kSuccess);
  bed.played.make_context(0);
  const ForeignStream stream = must(bed.driver->foreign_stream(handle));
  EXPECT_EQ(stream.handle, handle);
  EXPECT_EQ(stream.home, (Home{.device = 1, .context = reinterpret_cast<std::uintptr_t>(other)}));
}

TEST(ForeignStreams, TheDefaultOnesAreTheCurrentContexts) {
  Bed bed;
  for (void* const handle : {kNullStream, kLegacy, kOfThread}) {
    const ForeignStream stream = must(bed.driver->foreign_stream(handle));
    EXPECT_EQ(stream.handle, handle);
    EXPECT_EQ(stream.home, bed.home);
  }
}

TEST(ForeignStreams, OfEachThreadItsOwn) {
  Waiting w(kOfThread);
  std::atomic<bool> waits{false};
  std::thread other([&] {
    EXPECT_EQ(w.bed.played.program.ctx_set_current(w.bed.context), cuda::kSuccess);
    must(w.bed.driver->wait_flag(w.stream, &w.host.flag, 1));
    waits = true;
    EXPECT_EQ(w.bed.played.program.stream_synchronize(kOfThread), cuda::kSuccess);
  });
  while (!waits) ::usleep(100);
  w.copy_out();
  w.finish();  // That of the other is still waiting.
  w.raise(1);
  other.join();
}

// What is in a stream that blocks, in the legacy stream, and in the first again, comes in order.
TEST(ForeignStreams, TheLegacyOneWaitsForOthersAndTheyForIt) {
  for (const bool blocks : {true, false}) {
    SCOPED_TRACE(blocks);
    Waiting w(kLegacy);
    cuda::Stream handle = nullptr;
    ASSERT_EQ(w.bed.played.driver.stream_create(&handle, blocks ? 0 : cuda::kStreamNonBlocking),
              cuda::kSuccess);
    const ForeignStream stream = must(w.bed.driver->foreign_stream(handle));
    const Event legacy_done = must(w.bed.driver->make_event(w.bed.home));
    const Event later_done = must(w.bed.driver->make_event(w.bed.home));
    must(w.bed.driver->wait_flag(stream, &w.host.flag, 1));
    must(w.bed.driver->record(legacy_done, w.stream));
    if (blocks) {
      ::usleep(20'000);
      EXPECT_EQ(must(w.bed.driver->query(legacy_done)), EventState::kPending);
      w.raise(1);
    }
    w.bed.await(legacy_done);
    must(w.bed.driver->wait_flag(w.stream, &w.host.flag, 2));
    must(w.bed.driver->record(later_done, stream));
    w.raise(blocks ? 1 : 2);
    if (blocks) {
      ::usleep(20'000);
      EXPECT_EQ(must(w.bed.driver->query(later_done)), EventState::kPending);
      w.raise(2);
    }
    w.bed.await(later_done);
    EXPECT_EQ(w.bed.played.program.stream_synchronize(kLegacy), cuda::kSuccess);
  }
}

// The driver finds accesses that nothing orders: here they are in order without an event.
TEST(ForeignStreams, TheLegacyOneOrdersAccesses) {
  for (int seed = 1; seed <= 10; ++seed) {
    Waiting w(kLegacy);
    cuda::Stream handle = nullptr;
    ASSERT_EQ(w.bed.played.driver.stream_create(&handle, 0), cuda::kSuccess);
    const auto copy = [&](cuda::Stream stream, std::size_t to, std::size_t from) {
      ASSERT_EQ(w.bed.played.driver.memcpy_async(cuda::address_of(w.memory + to),
                                                 cuda::address_of(w.memory + from), 100, stream),
                cuda::kSuccess);
    };
    copy(handle, 200, 0);
    copy(kLegacy, 400, 200);
    copy(kOfThread, 600, 400);
    copy(kLegacy, 800, 600);
    copy(handle, 1000, 800);
    w.copy_out();
    w.finish();
  }
}

TEST(ForeignStreams, StrangersAreTheCallersFault) {
  Bed bed;
  int word = 0;
  const auto stranger = bed.driver->foreign_stream(&word);
  ASSERT_FALSE(stranger.ok());
  EXPECT_EQ(stranger.error().text, "cuStreamGetCtx: invalid resource handle (400)");
  EXPECT_EQ(stranger.error().status.code(), ESP_ERR_ARGUMENT);
  cuda::Stream handle = nullptr;
  ASSERT_EQ(bed.played.driver.stream_create(&handle, 0), cuda::kSuccess);
  const ForeignStream stream = must(bed.driver->foreign_stream(handle));
  const Outcome event = bed.driver->record_foreign(&word, stream);
  ASSERT_FALSE(event.ok());
  EXPECT_EQ(event.error().text, "cuEventRecord: invalid resource handle (400)");
  EXPECT_EQ(event.error().status.code(), ESP_ERR_ARGUMENT);
  ASSERT_EQ(bed.played.driver.stream_destroy(handle), cuda::kSuccess);
  EXPECT_FALSE(bed.driver->foreign_stream(handle).ok());
}

TEST(ForeignStreams, EventsOfOursAreRecordedThere) {
  Waiting w;
  const Event event = must(w.bed.driver->make_event(w.stream.home));
  w.bed.played.hold(true);
  w.copy_out();
  must(w.bed.driver->record(event, w.stream));
  EXPECT_EQ(must(w.bed.driver->query(event)), EventState::kPending);
  w.bed.played.hold(false);
  w.bed.await(event);
  w.finish();
}

TEST(ForeignStreams, WaitUntilTheHostHasWrittenTheFlag) {
  Waiting w;
  cuda::Event event = nullptr;
  ASSERT_EQ(w.bed.played.driver.event_create(&event, 0), cuda::kSuccess);
  w.raise(4);
  must(w.bed.driver->wait_flag(w.stream, &w.host.flag, 5));
  must(w.bed.driver->record_foreign(event, w.stream));
  w.copy_out();
  constexpr useconds_t kLong = 50'000;
  ::usleep(kLong);
  EXPECT_EQ(w.bed.played.driver.event_query(event), cuda::kNotReady);
  w.raise(5);
  w.finish();
  EXPECT_EQ(w.bed.played.driver.event_query(event), cuda::kSuccess);
}

// Late readers of a flag that has gone on; also beyond its last value.
TEST(ForeignStreams, GoOnWithALaterValueOfTheFlag) {
  Waiting w;
  for (const std::uint32_t flag : {9u, 100u, 0x80000005u}) {
    w.raise(flag);
    must(w.bed.driver->wait_flag(w.stream, &w.host.flag, 6));
    w.copy_out();
    w.finish();
  }
  w.raise(3);
  must(w.bed.driver->wait_flag(w.stream, &w.host.flag, 0xfffffffe));
  w.copy_out();
  w.finish();
}

// What the program knew when it wrote the flag comes before what waits for it, in streams that wait
// for an event behind it, too. The driver finds accesses that nothing orders.
TEST(ForeignStreams, AFlagOrdersWhatWasKnown) {
  for (int seed = 1; seed <= 10; ++seed) {
    Waiting w;
    Driver& driver = *w.bed.driver;
    const Stream ours = must(driver.make_stream(w.bed.home));
    const Stream third = must(driver.make_stream(w.bed.home));
    const Event behind = must(driver.make_event(w.stream.home));
    must(driver.wait_flag(w.stream, &w.host.flag, 1));
    w.copy_out();
    must(driver.record(behind, w.stream));
    must(driver.wait(third, behind));
    must(driver.copy(third, w.memory, w.memory + kStreamBytes / 2, 100));
    must(driver.copy(ours, w.memory + 200, w.memory + kStreamBytes / 2, 100));
    w.bed.finish(ours);
    w.raise(1);
    w.bed.finish(third);
    w.finish();
  }
}

}  // namespace
}  // namespace espalier::device::test
