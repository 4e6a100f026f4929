// DeviceMover's copies: their order, their ends, what is taken back, and calls of the driver that
// fail. What it combines: reducer_test.cpp.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <thread>

#include "coll/device/stream_order.hpp"
#include "mover_bed.hpp"

namespace espalier::device::test {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kMovedBytes = 40'000, kStreamCopies = 128;

std::vector<std::byte> numbered(std::uint64_t seed, std::uint64_t bytes = kMovedBytes) {
  std::vector<std::byte> made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::byte>((i * 13 + seed) % 251);
  return made;
}

// Elements on a device, and the run that they are packed in.
class Elements {
 public:
  explicit Elements(MoverBed& bed, std::uint64_t seed = 1, std::uint64_t bytes = kMovedBytes)
      : bed_(bed),
        bytes_(bytes),
        there(bed.played.allocate(bytes)),
        run(bed.mover.allocate(bytes)) {
    put(numbered(seed, bytes));
    std::fill_n(run, bytes, std::byte{0});
  }
  Elements(const Elements&) = delete;
  ~Elements() {
    (void)bed_.played.driver.mem_free(cuda::address_of(there));  // Of a device that may be lost.
    bed_.mover.release(run, bytes_);
  }

  Repack packing() { return {&plain_, nullptr, there, run, 0, bytes_, true}; }
  Repack unpacking() { return {&plain_, nullptr, there, run, 0, bytes_, false}; }
  void put(const std::vector<std::byte>& what) { bed_.played.put(there, what.data(), what.size()); }
  std::vector<std::byte> get() {
    std::vector<std::byte> bytes(bytes_);
    bed_.played.get(bytes.data(), there, bytes_);
    return bytes;
  }
  std::vector<std::byte> packed() const { return {run, run + bytes_}; }

 private:
  MoverBed& bed_;
  const std::uint64_t bytes_;
  const Pattern plain_ = Pattern::plain(ESP_BYTE);

 public:
  std::byte* const there;
  std::byte* const run;
};

TEST(DeviceMover, CopiesBothWays) {
  MoverBed bed;
  Elements elements(bed, 3);
  const std::uint64_t waited = bed.played.count("synchronous copies");
  Pending packed, unpacked;
  ASSERT_EQ(bed.mover.repack(elements.packing(), packed), Posted::kPending);
  EXPECT_EQ(packed.times, 0) << "it ends in progress() alone";
  bed.finish(packed);
  EXPECT_TRUE(packed.status.ok());
  EXPECT_EQ(elements.packed(), numbered(3));
  std::ranges::copy(numbered(4), elements.run);
  ASSERT_EQ(bed.mover.repack(elements.unpacking(), unpacked), Posted::kPending);
  bed.finish(unpacked);
  EXPECT_EQ(bed.played.count("synchronous copies"), waited);
  EXPECT_EQ(elements.get(), numbered(4));
  EXPECT_EQ(bed.counters.device_copies.value(), 2u);
  EXPECT_EQ(bed.counters.device_copy_bytes.value(), 2 * kMovedBytes);
}

TEST(DeviceMover, CopiesMemoryOfTheHostAtOnce) {
  MoverBed bed;
  const Pattern bytes = Pattern::plain(ESP_BYTE);
  std::vector<std::byte> from = numbered(5), to(kMovedBytes);
  std::byte* const registered = bed.mover.allocate(kMovedBytes);
  Pending none;
  ASSERT_EQ(
      bed.mover.repack({&bytes, nullptr, from.data(), registered, 0, kMovedBytes, true}, none),
      Posted::kDone);
  ASSERT_EQ(bed.mover.repack({&bytes, nullptr, to.data(), registered, 0, kMovedBytes, false}, none),
            Posted::kDone);
  EXPECT_EQ(to, from);
  const void* operand = from.data();
  ASSERT_EQ(bed.mover.move({registered, &operand, 1, kMovedBytes, 1}, none), Posted::kDone);
  bed.mover.release(registered, kMovedBytes);
  EXPECT_EQ(none.times, 0);
  EXPECT_EQ(bed.played.count("cuMemcpyAsync"), 0u);
}

// Of each element two blocks of three integers, two apart; the copies begin inside of one.
TEST(DeviceMover, CopiesBlockByBlock) {
  MoverBed bed;
  constexpr std::uint64_t kExtent = 9 * sizeof(std::int32_t), kCount = 10;
  constexpr std::uint64_t kAt = 20, kBytes = 4 * 24 + 8;
  const Pattern apart = std::move(*Pattern::strided(ESP_INT32, 2, 3, 5, 9));
  Elements elements(bed, 7, kCount * kExtent);
  const std::vector<std::byte> before = elements.get();
  Pending packed, unpacked;
  Repack what = {&apart, nullptr, elements.there, elements.run, kAt, kBytes, true};
  ASSERT_EQ(bed.mover.repack(what, packed), Posted::kPending);
  bed.finish(packed);
  std::vector<std::byte> wanted(kBytes);
  apart.pack(wanted.data(), before.data(), kAt, kBytes);
  EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), elements.run));
  std::ranges::copy(numbered(9, kBytes), elements.run);
  what.packs = false;
  ASSERT_EQ(bed.mover.repack(what, unpacked), Posted::kPending);
  bed.finish(unpacked);
  std::vector<std::byte> after = before;
  apart.unpack(after.data(), numbered(9, kBytes).data(), kAt, kBytes);
  EXPECT_EQ(elements.get(), after) << "nothing between the blocks is written";
}

// As sums that are reproducible: here every value twice.
TEST(DeviceMover, BringsElementsIntoAnotherForm) {
  MoverBed bed;
  constexpr ElementForm kTwice = {1, 2,
                                  [](std::byte* forms, const std::byte* values, std::size_t count) {
                                    for (std::size_t i = 0; i < 2 * count; ++i)
                                      forms[i] = values[i / 2];
                                  },
                                  [](std::byte* values, const std::byte* forms, std::size_t count) {
                                    for (std::size_t i = 0; i < count; ++i)
                                      values[i] = forms[2 * i];
                                  },
                                  nullptr};
  constexpr std::uint64_t kAt = 100, kCount = 3000;  // values
  Elements elements(bed, 2);
  Repack what = elements.packing();
  what.form = &kTwice;
  what.at = 2 * kAt;
  what.bytes = 2 * kCount;
  Pending packed, unpacked;
  ASSERT_EQ(bed.mover.repack(what, packed), Posted::kPending);
  bed.finish(packed);
  const std::vector<std::byte> values = numbered(2);
  for (std::uint64_t i = 0; i < 2 * kCount; ++i) ASSERT_EQ(elements.run[i], values[kAt + i / 2]);
  const std::vector<std::byte> other = numbered(8, 2 * kCount);
  std::ranges::copy(other, elements.run);
  what.packs = false;
  ASSERT_EQ(bed.mover.repack(what, unpacked), Posted::kPending);
  bed.finish(unpacked);
  std::vector<std::byte> wanted = values;
  for (std::uint64_t i = 0; i < kCount; ++i) wanted[kAt + i] = other[2 * i];
  EXPECT_EQ(elements.get(), wanted);
  EXPECT_EQ(bed.counters.device_copy_bytes.value(), 2 * kCount);
}

// Ends of one direction come in the order of the posts; the other goes on by itself.
TEST(DeviceMover, EndsEachDirectionInOrder) {
  for (int seed = 1; seed <= 5; ++seed) {
    MoverBed bed(("PLAYED_CUDA_SEED=" + std::to_string(seed)).c_str());
    constexpr int kCopies = 12;
    struct Numbered : Completion {
      Numbered() noexcept
          : Completion([](Completion& self, Status) noexcept {
              auto& one = static_cast<Numbered&>(self);
              one.ended->push_back(one.number);
            }) {}
      std::vector<int>* ended = nullptr;
      int number = 0;
    };
    std::array<Numbered, kCopies> completions;
    std::array<std::vector<int>, 2> ended;
    std::vector<std::unique_ptr<Elements>> elements;
    for (int i = 0; i < kCopies; ++i) {
      auto& one = *elements.emplace_back(std::make_unique<Elements>(bed));
      completions[static_cast<std::size_t>(i)].number = i;
      completions[static_cast<std::size_t>(i)].ended = &ended[i % 2];
      const Repack what = i % 2 == 0 ? one.packing() : one.unpacking();
      ASSERT_EQ(bed.mover.repack(what, completions[static_cast<std::size_t>(i)]), Posted::kPending);
    }
    while (ended[0].size() + ended[1].size() < kCopies) (void)bed.mover.progress();
    for (const auto& one : ended) {
      EXPECT_EQ(one.size(), kCopies / 2u);
      EXPECT_TRUE(std::ranges::is_sorted(one));
    }
  }
}

TEST(DeviceMover, HasRoomForSoManyOfADirection) {
  MoverBed bed("PLAYED_CUDA_DELAY_US=0");
  Elements elements(bed, 1, 64), others(bed, 1, 64);
  bed.played.hold(true);
  std::array<Pending, kStreamCopies> waiting;
  for (Pending& one : waiting) {
    ASSERT_EQ(bed.mover.repack(elements.packing(), one), Posted::kPending);
  }
  Pending refused, other_way;
  EXPECT_EQ(bed.mover.repack(elements.packing(), refused), Posted::kRetry);
  EXPECT_EQ(bed.mover.repack(others.unpacking(), other_way), Posted::kPending);
  EXPECT_EQ(bed.mover.progress(), 0);
  bed.played.hold(false);
  for (Pending& one : waiting) bed.finish(one);
  bed.finish(other_way);
  EXPECT_EQ(refused.times, 0);
  ASSERT_EQ(bed.mover.repack(elements.packing(), refused), Posted::kPending);
  bed.finish(refused);
}

// Who sleeps is woken while there are copies, and not for ever.
TEST(DeviceMover, ATimerWakesWhoSleepsMeanwhile) {
  MoverBed bed("PLAYED_CUDA_DELAY_US=0");
  Elements elements(bed);
  EXPECT_TRUE(bed.timers.empty());
  bed.played.hold(true);
  Pending done;
  ASSERT_EQ(bed.mover.repack(elements.packing(), done), Posted::kPending);
  for (int i = 0; i < 3; ++i) {
    EXPECT_LE(bed.timers.next_deadline_ns(), bed.clock.now_ns() + 20'000);
    EXPECT_EQ(bed.timers.run_expired(bed.clock.now_ns() + 20'000), 1u);
    bed.mover.progress();
  }
  bed.played.hold(false);
  bed.finish(done);
  (void)bed.timers.run_expired(bed.clock.now_ns() + 20'000);
  bed.mover.progress();
  EXPECT_TRUE(bed.timers.empty());
}

TEST(DeviceMover, HasLanesOfEachDevice) {
  MoverBed bed("PLAYED_CUDA_DEVICES=2 PLAYED_CUDA_DELAY_US=0");
  EXPECT_EQ(bed.mover.home(), (Home{0, 0}));
  const cuda::Context second = bed.played.make_context(1);
  Elements there(bed, 6);
  Pending first_done, second_done;
  ASSERT_EQ(bed.mover.repack(there.packing(), second_done), Posted::kPending);
  EXPECT_EQ(bed.mover.home(), (Home{1, reinterpret_cast<std::uintptr_t>(second)}));
  ASSERT_EQ(bed.played.program.ctx_set_current(bed.context), cuda::kSuccess);
  Elements here(bed, 5);
  ASSERT_EQ(bed.mover.repack(here.packing(), first_done), Posted::kPending);
  bed.finish(first_done);
  bed.finish(second_done);
  EXPECT_EQ(bed.mover.home().device, 1) << "the one that was met first";
  EXPECT_EQ(bed.played.count("cuStreamCreate"), 2u);
  EXPECT_EQ(here.packed(), numbered(5));
  EXPECT_EQ(there.packed(), numbered(6));
  EXPECT_EQ(bed.played.current(), bed.context);
}

// What is behind a place in the program's stream -------------------------------------------------

TEST(DeviceMover, WaitsForTheStreamOfTheProgram) {
  MoverBed bed("PLAYED_CUDA_DELAY_US=0");
  Elements elements(bed);
  StreamOrders orders(*bed.driver, bed.clock, bed.log);
  cuda::Stream stream = nullptr;
  ASSERT_EQ(bed.played.driver.stream_create(&stream, cuda::kStreamNonBlocking), cuda::kSuccess);
  StreamOrder* const order = must(orders.take(stream, nullptr));
  bed.played.hold(true);
  must(order->enter());
  Repack what = elements.packing();
  what.behind = order;
  Pending done;
  EXPECT_EQ(bed.mover.repack(what, done), Posted::kRetry);
  EXPECT_FALSE(bed.timers.empty()) << "who tries again is woken";
  EXPECT_EQ(bed.played.count("cuMemcpyAsync"), 0u);
  bed.played.hold(false);
  Posted posted = Posted::kRetry;
  while (posted == Posted::kRetry) posted = bed.mover.repack(what, done);
  EXPECT_EQ(posted, Posted::kPending);
  bed.finish(done);
  EXPECT_EQ(elements.packed(), numbered(1));
  StreamOrders::give_back(*order);
}

TEST(DeviceMover, AStreamThatFailsFailsWhatIsBehindIt) {
  MoverBed bed("PLAYED_CUDA_DELAY_US=0");
  Elements elements(bed);
  StreamOrders orders(*bed.driver, bed.clock, bed.log);
  cuda::Stream stream = nullptr;
  ASSERT_EQ(bed.played.driver.stream_create(&stream, cuda::kStreamNonBlocking), cuda::kSuccess);
  StreamOrder* const order = must(orders.take(stream, nullptr));
  must(order->enter());
  bed.played.fail("cuEventQuery:1:999");
  Repack what = elements.packing();
  what.behind = order;
  Pending failed;
  ASSERT_EQ(bed.mover.repack(what, failed), Posted::kPending);
  EXPECT_EQ(failed.times, 0);
  bed.finish(failed);
  EXPECT_EQ(failed.status, Status(ESP_ERR_DEVICE, 0));
  EXPECT_EQ(bed.mover.why(), "cuEventQuery: unknown error (999)");
  StreamOrders::give_back(*order);
}

// Taken back --------------------------------------------------------------------------------------

// When it returns nothing is written any more.
TEST(DeviceMover, WaitsForACopyThatIsTakenBack) {
  MoverBed bed("PLAYED_CUDA_DELAY_US=0");
  Elements elements(bed, 6), others(bed, 7);
  bed.played.hold(true);
  Pending taken, stays;
  ASSERT_EQ(bed.mover.repack(elements.packing(), taken), Posted::kPending);
  ASSERT_EQ(bed.mover.repack(others.packing(), stays), Posted::kPending);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    bed.played.hold(false);
  });
  bed.mover.cancel(taken);
  EXPECT_EQ(elements.packed(), numbered(6));
  later.join();
  bed.finish(stays);
  EXPECT_EQ(taken.times, 0);
  EXPECT_EQ(others.packed(), numbered(7));
}

// A device that answers nothing holds nobody up for ever.
TEST(DeviceMover, GivesUpOnACopyThatDoesNotEnd) {
  class Hasty final : public Clock {
   public:
    std::uint64_t now_ns() noexcept override { return now_ += kNanosecondsPerSecond; }

   private:
    std::uint64_t now_ = 0;
  };
  MoverBed bed("PLAYED_CUDA_DELAY_US=0");
  Hasty clock;
  DeviceMover mover{{bed.drivers, *bed.driver, bed.timers, clock, bed.counters, 0}};
  std::byte* const there = bed.played.allocate(kMovedBytes);
  std::byte* const run = mover.allocate(kMovedBytes);
  const Pattern bytes = Pattern::plain(ESP_BYTE);
  bed.played.hold(true);
  Pending taken;
  ASSERT_EQ(mover.repack({&bytes, nullptr, there, run, 0, kMovedBytes, true}, taken),
            Posted::kPending);
  mover.cancel(taken);
  EXPECT_EQ(mover.progress(), 0);
  bed.played.hold(false);
  while (mover.progress() == 0) ::usleep(20);
  EXPECT_EQ(taken.times, 0);
  mover.release(run, kMovedBytes);
}

TEST(DeviceMover, WhatHasFailedMayBeTakenBack) {
  MoverBed bed;
  Elements elements(bed);
  bed.played.fail("cuPointerGetAttributes:1:999");
  Pending taken;
  ASSERT_EQ(bed.mover.repack(elements.packing(), taken), Posted::kPending);
  bed.mover.cancel(taken);
  EXPECT_EQ(bed.mover.progress(), 0);
  EXPECT_EQ(taken.times, 0);
}

// The driver fails --------------------------------------------------------------------------------

// One copy ends so, from progress(), and those after it are as ever.
TEST(DeviceMover, TellsOfEachCallThatFails) {
  for (const char* const call : {"cuPointerGetAttributes", "cuStreamCreate", "cuEventCreate",
                                 "cuMemcpyAsync", "cuEventRecord", "cuEventQuery"}) {
    SCOPED_TRACE(call);
    MoverBed bed("PLAYED_CUDA_DELAY_US=0");
    Elements elements(bed);
    bed.played.fail((std::string(call) + ":1:2").c_str());
    Pending failed, done;
    ASSERT_EQ(bed.mover.repack(elements.packing(), failed), Posted::kPending);
    EXPECT_EQ(failed.times, 0);
    bed.finish(failed);
    EXPECT_EQ(failed.status, Status(ESP_ERR_DEVICE, 0));
    EXPECT_EQ(bed.mover.why(), std::string(call) + ": out of memory (2)");
    ASSERT_EQ(bed.mover.repack(elements.packing(), done), Posted::kPending);
    bed.finish(done);
    EXPECT_TRUE(done.status.ok());
    EXPECT_EQ(elements.packed(), numbered(1));
  }
}

// The last of its events: what was made before goes, and all is made anew.
TEST(DeviceMover, MakesALaneAnewThatWasHalfMade) {
  MoverBed bed("PLAYED_CUDA_DELAY_US=0");
  Elements elements(bed);
  bed.played.fail("cuEventCreate:128:2");
  Pending failed, done;
  ASSERT_EQ(bed.mover.repack(elements.packing(), failed), Posted::kPending);
  bed.finish(failed);
  EXPECT_EQ(bed.played.count("cuEventDestroy"), kStreamCopies - 1);
  EXPECT_EQ(bed.played.count("cuStreamDestroy"), 1u);
  ASSERT_EQ(bed.mover.repack(elements.packing(), done), Posted::kPending);
  bed.finish(done);
  EXPECT_TRUE(done.status.ok());
}

// What was copied of it before is under way: it ends when that has come.
TEST(DeviceMover, AFailedBlockIsToldBehindTheOthers) {
  MoverBed bed("PLAYED_CUDA_DELAY_US=0");
  const Pattern apart = std::move(*Pattern::strided(ESP_INT32, 2, 3, 5, 9));
  Elements elements(bed);
  bed.played.hold(true);
  bed.played.fail("cuMemcpyAsync:2:2");
  Pending failed;
  ASSERT_EQ(bed.mover.repack({&apart, nullptr, elements.there, elements.run, 0, 240, true}, failed),
            Posted::kPending);
  EXPECT_EQ(bed.mover.progress(), 0);
  bed.played.hold(false);
  bed.finish(failed);
  EXPECT_EQ(failed.status, Status(ESP_ERR_DEVICE, 0));
  EXPECT_EQ(bed.played.count("cuMemcpyAsync"), 2u) << "nothing is begun behind it";
}

// Whatever is under way or comes later; all have the words of the first error.
TEST(DeviceMover, EndsAllOfALostDevice) {
  MoverBed bed("PLAYED_CUDA_DELAY_US=0");
  Elements elements(bed);
  bed.played.hold(true);
  std::array<Pending, 4> all;
  ASSERT_EQ(bed.mover.repack(elements.packing(), all[0]), Posted::kPending);
  ASSERT_EQ(bed.mover.repack(elements.unpacking(), all[1]), Posted::kPending);
  bed.played.fail("cuMemcpyAsync:1:700");
  ASSERT_EQ(bed.mover.repack(elements.packing(), all[2]), Posted::kPending);
  ASSERT_EQ(bed.mover.repack(elements.packing(), all[3]), Posted::kPending);
  for (Pending& one : all) {
    bed.finish(one);
    EXPECT_EQ(one.status, Status(ESP_ERR_DEVICE, 0));
    EXPECT_EQ(bed.mover.why(),
              "cuMemcpyAsync: an illegal memory access was encountered (700); device 0 is lost");
  }
  EXPECT_EQ(bed.mover.progress(), 0);
}

}  // namespace
}  // namespace espalier::device::test
