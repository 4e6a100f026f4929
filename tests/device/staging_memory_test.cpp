// StagingMemory: registered once, used again, and given where nothing more is registered.
#include "coll/device/staging_memory.hpp"

#include <gmock/gmock.h>

#include <set>

#include "played.hpp"

namespace espalier::device::test {
namespace {

constexpr std::uint64_t kLeast = 4096, kSlab = 1 << 20, kMiB = 1 << 20;

struct StagingBed : Bed {
  std::byte* take(std::uint64_t bytes) { return staging->take(bytes, home); }
  std::uint64_t registered() const { return played.count("cuMemHostRegister"); }
  std::uint64_t unregistered() const { return played.count("cuMemHostUnregister"); }

  std::unique_ptr<StagingMemory> staging = std::make_unique<StagingMemory>(*driver);
};

TEST(StagingMemory, IsWhatDevicesCopyToWithoutWaiting) {
  StagingBed bed;
  constexpr std::uint64_t kSizes[] = {0, 1, 64, 5000, kSlab - 1, kSlab, 3 * kMiB};
  for (const std::uint64_t bytes : kSizes) {
    std::byte* const block = bed.take(bytes);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0u);
    EXPECT_TRUE(bed.staging->is_registered(block));
    EXPECT_EQ(must(bed.driver->place(block)).kind, MemoryKind::kRegistered);
    std::memset(block, 1, bytes);
    bed.staging->give_back(block, bytes);
  }
  bed.staging->give_back(nullptr, kSlab);
  int here = 0;
  EXPECT_FALSE(bed.staging->is_registered(reinterpret_cast<std::byte*>(&here)));
}

TEST(StagingMemory, IsRegisteredOnce) {
  StagingBed bed;
  for (const std::uint64_t bytes : {std::uint64_t{100}, 3 * kMiB}) {
    std::byte* const block = bed.take(bytes);
    bed.staging->give_back(block, bytes);
    const std::uint64_t before = bed.registered();
    EXPECT_EQ(bed.take(bytes - 50), block) << "of the same power of two";
    EXPECT_EQ(bed.registered(), before);
    std::byte* const another = bed.take(bytes);
    EXPECT_NE(another, block);
    bed.staging->give_back(another, bytes);
    bed.staging->give_back(block, bytes);
  }
}

TEST(StagingMemory, SmallBlocksArePartsOfASlab) {
  StagingBed bed;
  std::set<std::byte*> blocks;
  for (std::uint64_t i = 0; i < kSlab / kLeast; ++i) blocks.insert(bed.take(kLeast));
  EXPECT_EQ(blocks.size(), kSlab / kLeast);
  EXPECT_EQ(static_cast<std::uint64_t>(*blocks.rbegin() - *blocks.begin()), kSlab - kLeast);
  EXPECT_EQ(bed.registered(), 1u);
  blocks.insert(bed.take(kLeast));
  EXPECT_EQ(bed.registered(), 2u);
  for (std::byte* const block : blocks) bed.staging->give_back(block, kLeast);
  EXPECT_EQ(bed.unregistered(), 0u) << "slabs stay";
}

// 256 MiB of blocks that are areas of their own.
TEST(StagingMemory, KeepsSoMuchAndGivesBackTheRest) {
  StagingBed bed;
  constexpr std::uint64_t kLarge = 128 * kMiB;
  std::byte* const a = bed.take(kLarge);
  std::byte* const b = bed.take(kLarge);
  std::byte* const c = bed.take(kLarge - 5);
  bed.staging->give_back(a, kLarge);
  bed.staging->give_back(b, kLarge);
  EXPECT_EQ(bed.unregistered(), 0u);
  bed.staging->give_back(c, kLarge - 5);
  EXPECT_EQ(bed.unregistered(), 1u);
  EXPECT_FALSE(bed.staging->is_registered(c));
  std::byte* const again = bed.take(kLarge);  // Taken out, it counts no more.
  EXPECT_TRUE(again == a || again == b);
  std::byte* const fresh = bed.take(kMiB);
  bed.staging->give_back(fresh, kMiB);
  EXPECT_EQ(bed.unregistered(), 1u);
  EXPECT_EQ(bed.registered(), 4u);
}

TEST(StagingMemory, IsGivenWhereNothingMoreIsRegistered) {
  StagingBed bed;
  for (const char* const call : {"cuMemHostRegister:1:2", "cuMemHostGetDevicePointer:1:801"}) {
    for (const std::uint64_t bytes : {std::uint64_t{100}, 2 * kMiB}) {
      SCOPED_TRACE(testing::Message() << call << ", " << bytes);
      bed.staging = std::make_unique<StagingMemory>(*bed.driver);
      bed.played.fail(call);
      std::byte* const block = bed.take(bytes);
      ASSERT_NE(block, nullptr);
      EXPECT_FALSE(bed.staging->is_registered(block));
      EXPECT_EQ(must(bed.driver->place(block)).kind, MemoryKind::kHost);
      std::memset(block, 1, bytes);
      bed.staging->give_back(block, bytes);
      EXPECT_EQ(bed.take(bytes), block);
      std::byte* const other = bed.take(2 * bytes + kSlab);
      EXPECT_TRUE(bed.staging->is_registered(other)) << "that was once";
    }
  }
}

TEST(StagingMemory, MoreThanThereIsIsNone) {
  StagingBed bed;
  for (const std::uint64_t bytes : {std::uint64_t{1} << 48, ~std::uint64_t{0}}) {
    EXPECT_EQ(bed.take(bytes), nullptr);
  }
  EXPECT_EQ(bed.registered(), 0u);
}

TEST(StagingMemory, GoesWithItsOwner) {
  StagingBed bed;
  (void)bed.take(1);
  bed.staging->give_back(bed.take(kMiB), kMiB);
  (void)bed.take(2 * kMiB);
  const std::uint64_t registered = bed.registered();
  bed.staging.reset();
  EXPECT_EQ(registered, 3u);
  EXPECT_EQ(bed.unregistered(), registered);
}

}  // namespace
}  // namespace espalier::device::test
