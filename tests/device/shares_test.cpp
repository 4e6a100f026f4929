// DeviceShares: names of memory of a device, and what another process makes of them.
#include <gmock/gmock.h>

#include <algorithm>

#include "../unit/child.hpp"
#include "coll/device/device_shares.hpp"
#include "mover_bed.hpp"

namespace espalier::device::test {
namespace {

using testing::HasSubstr;

constexpr std::size_t kPlaceBytes = 4096, kPlaces = 66, kOpenMost = 64;
constexpr Rank kOwner = 5;
constexpr const char* kSmallDevice = "PLAYED_CUDA_MEMORY=4194304 PLAYED_CUDA_DELAY_US=0";

struct SharesBed : MoverBed {
  explicit SharesBed(const char* environment = kSmallDevice) : MoverBed(environment) {}

  const void* open(const AwayName& name) { return shares.open(kOwner, name); }
  void open_and_close(const AwayName& name) {
    const void* const place = open(name);
    ASSERT_NE(place, nullptr);
    shares.close(kOwner, place);
  }
  // The first byte of a place.
  int read(const void* place) {
    std::byte* const run = mover.allocate(kPlaceBytes);
    Pending done;
    EXPECT_EQ(shares.fetch(run, place, kPlaceBytes, done), Posted::kPending);
    finish(done);
    const int value = std::to_integer<int>(run[0]);
    EXPECT_TRUE(std::all_of(run, run + kPlaceBytes, [&](std::byte b) { return b == run[0]; }));
    mover.release(run, kPlaceBytes);
    return value;
  }
  std::uint64_t opened() const { return played.count("cuIpcOpenMemHandle"); }
  std::uint64_t closed() const { return played.count("cuIpcCloseMemHandle"); }

  DeviceShares shares{{drivers, *driver, mover, log}};
};

// A process with so many allocations, each full of its number, and their names.
class OwnerOfPlaces {
 public:
  const AwayName& name(std::size_t number) const { return told_->names[number]; }
  void await_names() const { espalier::test::wait_for(told_->step, 1); }
  // The first one; what is given has the same address, other bytes, and the last name.
  void free_and_give_again() const {
    told_->step.store(2);
    while (told_->step.load() == 2) ::usleep(200);
    ASSERT_EQ(told_->step.load(), 3) << "at another address";
  }
  const AwayName& name_of_given() const { return told_->names[kPlaces]; }

 private:
  struct Told {
    std::atomic<int> step{0};
    std::array<AwayName, kPlaces + 1> names;
  };
  static int own(Told& told) {
    SharesBed bed;
    std::array<std::byte*, kPlaces> places;
    const auto give = [&](std::size_t number, int value) {
      std::byte* const at = bed.played.allocate(kPlaceBytes);
      const std::vector<std::byte> bytes(kPlaceBytes, static_cast<std::byte>(value));
      bed.played.put(at, bytes.data(), bytes.size());
      told.names[number] = bed.shares.name_of(at);
      return at;
    };
    for (std::size_t i = 0; i < kPlaces; ++i) places[i] = give(i, static_cast<int>(i));
    told.step.store(1);
    espalier::test::wait_for(told.step, 2);
    bed.played.free(places[0]);
    const bool again = give(kPlaces, 200) == places[0];
    told.step.store(again ? 3 : -1);
    espalier::test::wait_for(told.step, 4);  // It is ended before that.
    return 0;
  }

  espalier::test::Shared<Told> told_;
  espalier::test::Child child_{[this] { return own(*told_); }};
};

bool is_nameless(const AwayName& name) {
  return name.bytes == AwayName().bytes;
}

TEST(DeviceShares, NamesAnAllocationOnce) {
  SharesBed bed;
  std::byte* const one = bed.played.allocate(kPlaceBytes);
  std::byte* const two = bed.played.allocate(kPlaceBytes);
  const AwayName name = bed.shares.name_of(one);
  EXPECT_FALSE(is_nameless(name));
  EXPECT_EQ(bed.shares.name_of(one).bytes, name.bytes);
  EXPECT_NE(bed.shares.name_of(one + 8).bytes, name.bytes);
  EXPECT_NE(bed.shares.name_of(two).bytes, name.bytes);
  EXPECT_EQ(bed.played.count("cuIpcGetMemHandle"), 2u);
}

TEST(DeviceShares, NamesWhatIsGivenAgainAnew) {
  SharesBed bed;
  std::byte* const first = bed.played.allocate(kPlaceBytes);
  const AwayName name = bed.shares.name_of(first);
  bed.played.free(first);
  ASSERT_EQ(bed.played.allocate(kPlaceBytes), first);
  EXPECT_NE(bed.shares.name_of(first).bytes, name.bytes);
  EXPECT_EQ(bed.played.count("cuIpcGetMemHandle"), 2u);
}

// More allocations than are remembered.
TEST(DeviceShares, NamesAreRightWhenTheyAreForgotten) {
  SharesBed bed;
  std::vector<AwayName> names;
  std::vector<std::byte*> places;
  for (std::size_t i = 0; i < 2 * kPlaces; ++i) {
    places.push_back(bed.played.allocate(kPlaceBytes));
    names.push_back(bed.shares.name_of(places.back()));
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_EQ(bed.shares.name_of(places[i]).bytes, names[i].bytes);
  }
}

TEST(DeviceShares, OthersHaveNoName) {
  SharesBed bed;
  int here = 0;
  EXPECT_TRUE(is_nameless(bed.shares.name_of(&here)));
  std::byte* const registered = bed.mover.allocate(kPlaceBytes);
  EXPECT_TRUE(is_nameless(bed.shares.name_of(registered)));
  bed.mover.release(registered, kPlaceBytes);
  EXPECT_EQ(bed.open(AwayName()), nullptr);
  EXPECT_EQ(bed.opened(), 0u);
  std::byte* const memory = bed.played.allocate(kPlaceBytes);
  bed.played.fail("cuIpcGetMemHandle:1:1");
  EXPECT_TRUE(is_nameless(bed.shares.name_of(memory)));
  EXPECT_FALSE(is_nameless(bed.shares.name_of(memory))) << "that was once";
  bed.played.fail("cuPointerGetAttributes:1:999");
  EXPECT_TRUE(is_nameless(bed.shares.name_of(memory)));
}

TEST(DeviceShares, MemoryOfAPoolHasNoName) {
  SharesBed bed("PLAYED_CUDA_POOL=1");
  EXPECT_TRUE(is_nameless(bed.shares.name_of(bed.played.allocate(kPlaceBytes))));
  EXPECT_EQ(bed.played.count("cuIpcGetMemHandle"), 0u);
}

TEST(DeviceShares, OpensAnAllocationOnce) {
  const OwnerOfPlaces owner;
  SharesBed bed;
  owner.await_names();
  const void* const place = bed.open(owner.name(7));
  ASSERT_NE(place, nullptr);
  EXPECT_EQ(bed.open(owner.name(7)), place);
  EXPECT_EQ(bed.read(place), 7);
  bed.shares.close(kOwner, place);
  bed.shares.close(kOwner, place);
  bed.open_and_close(owner.name(7));
  EXPECT_EQ(bed.opened(), 1u);
  EXPECT_EQ(bed.closed(), 0u);
}

// Numbers are of a process.
TEST(DeviceShares, AnotherOwnersNumberIsOfOtherMemory) {
  const OwnerOfPlaces owner;
  SharesBed bed;
  owner.await_names();
  bed.open_and_close(owner.name(1));
  const void* const of_other = bed.shares.open(kOwner + 1, owner.name(1));
  ASSERT_NE(of_other, nullptr);
  bed.shares.close(kOwner + 1, of_other);
  EXPECT_EQ(bed.opened(), 2u);
}

TEST(DeviceShares, OfSoManyTheOldestThatIsIdleIsClosed) {
  const OwnerOfPlaces owner;
  SharesBed bed;
  owner.await_names();
  const void* const held = bed.open(owner.name(0));
  for (std::size_t i = 1; i < kOpenMost; ++i) bed.open_and_close(owner.name(i));
  bed.open_and_close(owner.name(1));  // Used again: the third is the oldest.
  EXPECT_EQ(bed.opened(), kOpenMost);
  EXPECT_EQ(bed.closed(), 0u);
  bed.open_and_close(owner.name(kOpenMost));
  EXPECT_EQ(bed.opened(), kOpenMost + 1);
  EXPECT_EQ(bed.closed(), 1u);
  for (const std::size_t number : {std::size_t{1}, std::size_t{3}, kOpenMost}) {
    bed.open_and_close(owner.name(number));
  }
  EXPECT_EQ(bed.opened(), kOpenMost + 1) << "these stayed";
  EXPECT_EQ(bed.read(held), 0);
  bed.shares.close(kOwner, held);
  bed.open_and_close(owner.name(2));
  EXPECT_EQ(bed.opened(), kOpenMost + 2);
}

TEST(DeviceShares, NoneIsClosedThatIsRead) {
  const OwnerOfPlaces owner;
  SharesBed bed;
  owner.await_names();
  std::vector<const void*> held;
  for (std::size_t i = 0; i < kOpenMost; ++i) held.push_back(bed.open(owner.name(i)));
  EXPECT_EQ(bed.open(owner.name(kOpenMost)), nullptr);
  EXPECT_EQ(bed.opened(), kOpenMost) << "the driver was not asked";
  bed.shares.close(kOwner, held[3]);
  const void* const now = bed.open(owner.name(kOpenMost));
  ASSERT_NE(now, nullptr) << "that there was no room is not remembered";
  EXPECT_EQ(bed.read(now), static_cast<int>(kOpenMost));
  EXPECT_EQ(bed.closed(), 1u);
}

TEST(DeviceShares, WhatIsRefusedIsNotAskedForAgain) {
  const OwnerOfPlaces owner;
  SharesBed bed;
  owner.await_names();
  bed.played.fail("cuIpcOpenMemHandle:1:201,cuIpcOpenMemHandle:2:205");
  EXPECT_EQ(bed.open(owner.name(1)), nullptr);
  EXPECT_THAT(bed.warning, HasSubstr("memory of a device of rank 5 is copied through the host: "
                                     "cuIpcOpenMemHandle: invalid device context (201)"));
  bed.warning.clear();
  EXPECT_EQ(bed.open(owner.name(1)), nullptr);
  EXPECT_EQ(bed.opened(), 1u);
  EXPECT_EQ(bed.open(owner.name(2)), nullptr);
  EXPECT_EQ(bed.warning, "") << "one warning is enough";
  bed.open_and_close(owner.name(3));
  EXPECT_EQ(bed.open(owner.name(2)), nullptr);
  EXPECT_EQ(bed.opened(), 3u);
}

// What its owner has freed, and the opener not closed, takes memory yet.
TEST(DeviceShares, MakesRoomBeforeItGivesUp) {
  const OwnerOfPlaces owner;
  SharesBed bed;
  owner.await_names();
  const void* const held = bed.open(owner.name(0));
  bed.open_and_close(owner.name(1));
  bed.open_and_close(owner.name(2));
  bed.played.fail("cuIpcOpenMemHandle:1:2,cuIpcOpenMemHandle:2:2");
  bed.open_and_close(owner.name(3));
  EXPECT_EQ(bed.closed(), 2u);
  EXPECT_EQ(bed.warning, "");
  bed.played.fail("cuIpcOpenMemHandle:1:2,cuIpcOpenMemHandle:2:2");
  EXPECT_EQ(bed.open(owner.name(4)), nullptr);
  EXPECT_EQ(bed.closed(), 3u) << "all but the one that is read";
  EXPECT_THAT(bed.warning, HasSubstr("cuIpcOpenMemHandle: out of memory (2)"));
  EXPECT_EQ(bed.read(held), 0);
}

TEST(DeviceShares, MemoryThatIsFreedAndGivenAgainIsOther) {
  const OwnerOfPlaces owner;
  SharesBed bed;
  owner.await_names();
  bed.open_and_close(owner.name(0));
  owner.free_and_give_again();
  const void* const given = bed.open(owner.name_of_given());
  ASSERT_NE(given, nullptr);
  EXPECT_EQ(bed.read(given), 200);
  EXPECT_EQ(bed.opened(), 2u);
}

TEST(DeviceShares, MemoryThatWasFreedBeforeIsRefused) {
  const OwnerOfPlaces owner;
  SharesBed bed;
  owner.await_names();
  owner.free_and_give_again();
  EXPECT_EQ(bed.open(owner.name(0)), nullptr);
  EXPECT_THAT(bed.warning, HasSubstr("cuIpcOpenMemHandle: invalid argument (1)"));
  EXPECT_EQ(bed.open(owner.name(0)), nullptr);
  EXPECT_EQ(bed.opened(), 1u);
}

TEST(DeviceShares, ALostDeviceIsNoReasonToWarn) {
  const OwnerOfPlaces owner;
  SharesBed bed;
  owner.await_names();
  bed.played.fail("cuIpcOpenMemHandle:1:719");
  EXPECT_EQ(bed.open(owner.name(0)), nullptr);
  EXPECT_EQ(bed.warning, "");
}

TEST(DeviceShares, AFetchMayBeTakenBackOrFail) {
  const OwnerOfPlaces owner;
  SharesBed bed;
  owner.await_names();
  const void* const place = bed.open(owner.name(9));
  std::byte* const run = bed.shares.allocate(kPlaceBytes);
  Pending taken, failed;
  EXPECT_EQ(bed.shares.fetch(run, place, kPlaceBytes, taken), Posted::kPending);
  bed.shares.cancel(taken);
  bed.mover.progress();
  EXPECT_EQ(taken.times, 0);
  bed.played.fail("cuMemcpyAsync:1:2");
  EXPECT_EQ(bed.shares.fetch(run, place, kPlaceBytes, failed), Posted::kPending);
  bed.finish(failed);
  EXPECT_EQ(failed.status, Status(ESP_ERR_DEVICE, 0));
  bed.shares.release(run, kPlaceBytes);
  EXPECT_EQ(bed.read(place), 9);
}

}  // namespace
}  // namespace espalier::device::test
