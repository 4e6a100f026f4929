// Memory of devices in two processes, and as a file.
#include <gmock/gmock.h>
#include <sys/mman.h>

#include "../unit/child.hpp"
#include "played.hpp"

namespace espalier::device::test {
namespace {

using espalier::test::Child;
using espalier::test::Shared;
using espalier::test::wait_for;
using testing::HasSubstr;

constexpr std::size_t kSharedBytes = 50000;

// What an owner tells another process.
struct Offer {
  std::atomic<int> step{0};
  MemoryHandle handle;
};

struct OpenedBed {
  OpenedBed() : stream(must(bed.driver->make_stream(bed.home))), bytes(kSharedBytes) {}
  Bed bed;
  Stream stream;
  std::vector<std::byte> bytes;
};

// Reads what the owner has written, writes something else, and says so. Exit codes name a failure.
int use_and_answer(Offer& offer) {
  wait_for(offer.step, 1);
  OpenedBed other;
  Result<OpenedMemory> opened = other.bed.driver->open_memory(other.bed.home, offer.handle);
  if (!opened) return 10;
  const Place place = must(other.bed.driver->place(opened->handle()));
  if (place.kind != MemoryKind::kDevice || place.bytes != kSharedBytes || place.shareable)
    return 11;
  must(other.bed.driver->copy(other.stream, other.bytes.data(), opened->handle(), kSharedBytes));
  for (const std::byte byte : other.bytes) {
    if (byte != std::byte{17}) return 12;
  }
  std::memset(other.bytes.data(), 18, kSharedBytes);
  must(other.bed.driver->copy(other.stream, opened->handle(), other.bytes.data(), kSharedBytes));
  offer.step.store(2);
  wait_for(offer.step, 3);  // The owner frees it.
  opened->reset();
  return other.bed.driver->open_memory(other.bed.home, offer.handle).ok() ? 13 : 0;
}

TEST(Sharing, BetweenTwoProcesses) {
  const Shared<Offer> offer;
  Child child([&] { return use_and_answer(*offer); });
  OpenedBed owner;
  std::byte* const memory = owner.bed.played.allocate(kSharedBytes);
  std::memset(owner.bytes.data(), 17, kSharedBytes);
  owner.bed.played.put(memory, owner.bytes.data(), kSharedBytes);
  // Any address of the allocation names it.
  offer->handle =
      must(owner.bed.driver->export_memory(must(owner.bed.driver->place(memory + 100))));
  offer->step.store(1);
  wait_for(offer->step, 2);
  owner.bed.played.get(owner.bytes.data(), memory, kSharedBytes);
  EXPECT_EQ(owner.bytes.front(), std::byte{18});
  EXPECT_EQ(owner.bytes.back(), std::byte{18});
  owner.bed.played.free(memory);
  offer->step.store(3);
  EXPECT_EQ(child.wait(), 0);
}

TEST(Sharing, IsRefusedForWhatCannotBeShared) {
  Bed bed;
  cuda::Address managed = 0;
  ASSERT_EQ(bed.played.program.mem_alloc_managed(&managed, kSharedBytes, 1), cuda::kSuccess);
  const Place place = must(bed.driver->place(cuda::pointer_of(managed)));
  EXPECT_FALSE(place.shareable);
  const auto handle = bed.driver->export_memory(place);
  ASSERT_FALSE(handle.ok());
  EXPECT_EQ(handle.error().text, "cuIpcGetMemHandle: invalid argument (1)");

  const auto stranger = bed.driver->open_memory(bed.home, MemoryHandle());
  ASSERT_FALSE(stranger.ok());
  EXPECT_EQ(stranger.error().text, "cuIpcOpenMemHandle: invalid argument (1)");

  // As the driver of a real device: not in the owner's process.
  const Place own = must(bed.driver->place(bed.played.allocate(kSharedBytes)));
  const auto here = bed.driver->open_memory(bed.home, must(bed.driver->export_memory(own)));
  ASSERT_FALSE(here.ok());
  EXPECT_EQ(here.error().text, "cuIpcOpenMemHandle: invalid device context (201)");
}

TEST(Sharing, OpenedMemoryThatItsOwnerHasFreedIsFound) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto use_freed = [] {
    const Shared<Offer> offer;
    Child owner([&] {
      OpenedBed of_owner;
      std::byte* const memory = of_owner.bed.played.allocate(kSharedBytes);
      offer->handle =
          must(of_owner.bed.driver->export_memory(must(of_owner.bed.driver->place(memory))));
      offer->step.store(1);
      wait_for(offer->step, 2);
      of_owner.bed.played.free(memory);
      offer->step.store(3);
      wait_for(offer->step, 4);
      return 0;
    });
    wait_for(offer->step, 1);
    OpenedBed other;
    const OpenedMemory opened = must(other.bed.driver->open_memory(other.bed.home, offer->handle));
    offer->step.store(2);
    wait_for(offer->step, 3);
    (void)other.bed.driver->copy(other.stream, other.bytes.data(), opened.handle(), 8);
  };
  EXPECT_DEATH(use_freed(), "opened memory was freed by its owner");
}

TEST(DmaBuf, IsAFileOfWholePages) {
  Bed bed;
  constexpr std::size_t kPage = 4096;
  std::byte* const memory = bed.played.allocate(4 * kPage);
  const std::vector<std::byte> from(kPage, std::byte{33});
  bed.played.put(memory + kPage, from.data(), kPage);
  const Place place = must(bed.driver->place(memory));
  const Descriptor file = must(bed.driver->dma_buf(place, memory + kPage, 2 * kPage));
  std::vector<std::byte> seen(kPage);
  ASSERT_EQ(::read(file.fd(), seen.data(), kPage), static_cast<ssize_t>(kPage));
  EXPECT_EQ(seen, from);
  const auto part = bed.driver->dma_buf(place, memory + 1, kPage);
  ASSERT_FALSE(part.ok());
  EXPECT_EQ(part.error().text, "cuMemGetHandleForAddressRange: invalid argument (1)");
}

}  // namespace
}  // namespace espalier::device::test
