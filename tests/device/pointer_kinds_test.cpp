// PointerKinds: all kinds, remembered, and never stale.
#include "core/device/pointer_kinds.hpp"

#include <thread>

#include "../support/allocations.hpp"
#include "played.hpp"

namespace espalier::device::test {
namespace {

constexpr std::size_t kKindBytes = 10000;

TEST(PointerKinds, OfAllKindsOfMemory) {
  Bed bed("PLAYED_CUDA_DEVICES=2");
  PointerKinds kinds(bed.drivers);
  std::byte* const memory = bed.played.allocate(kKindBytes);
  const Place device = must(kinds.of(memory + 77));
  EXPECT_EQ(device.kind, MemoryKind::kDevice);
  EXPECT_FALSE(host_may_touch(device.kind));
  EXPECT_EQ(bytes_at(device.base), memory);
  EXPECT_EQ(device.bytes, kKindBytes);
  EXPECT_EQ(device.home, bed.home);
  EXPECT_TRUE(device.shareable);
  EXPECT_NE(device.allocation, 0u);
  EXPECT_TRUE(device.holds(memory, kKindBytes));
  EXPECT_TRUE(device.holds(memory + kKindBytes - 1, 1));
  EXPECT_FALSE(device.holds(memory + 1, kKindBytes));
  EXPECT_FALSE(device.holds(memory - 1, 1));

  cuda::Address managed = 0;
  ASSERT_EQ(bed.played.program.mem_alloc_managed(&managed, kKindBytes, 1), cuda::kSuccess);
  const Place moving = must(kinds.of(cuda::pointer_of(managed + 5)));
  EXPECT_EQ(moving.kind, MemoryKind::kManaged);
  EXPECT_TRUE(host_may_touch(moving.kind));
  EXPECT_FALSE(moving.shareable);

  std::vector<std::byte> host(kKindBytes);
  EXPECT_EQ(must(kinds.of(host.data())).kind, MemoryKind::kHost);
  const HostRegistration registration =
      must(bed.driver->register_host(host.data(), kKindBytes, bed.home));
  const Place registered = must(kinds.of(host.data() + 1));
  EXPECT_EQ(registered.kind, MemoryKind::kRegistered);
  EXPECT_EQ(bytes_at(registered.base), host.data());

  bed.played.make_context(1);
  EXPECT_EQ(must(kinds.of(bed.played.allocate(1))).home.device, 1);
}

TEST(PointerKinds, AskOncePerLookAndAllocateNothing) {
  Bed bed;
  PointerKinds kinds(bed.drivers);
  std::byte* const memory = bed.played.allocate(kKindBytes);
  int here = 0;
  (void)must(kinds.of(memory));
  (void)must(kinds.of(&here));
  const std::uint64_t calls = bed.played.count("cuPointerGetAttributes");
  const std::uint64_t before = espalier::test::allocations();
  const bool device = kinds.of(memory + 9).value().kind == MemoryKind::kDevice;
  const bool host = kinds.of(&here).value().kind == MemoryKind::kHost;
  EXPECT_EQ(espalier::test::allocations() - before, 0u);
  EXPECT_TRUE(device && host);
  EXPECT_EQ(bed.played.count("cuPointerGetAttributes") - calls, 2u);
}

TEST(PointerKinds, AreNeverStale) {
  Bed bed;
  PointerKinds kinds(bed.drivers);
  std::byte* const memory = bed.played.allocate(kKindBytes);
  const Place first = must(kinds.of(memory));
  bed.played.free(memory);
  EXPECT_EQ(must(kinds.of(memory)).kind, MemoryKind::kHost);  // Nobody's.
  ASSERT_EQ(bed.played.allocate(2 * kKindBytes), memory);     // The same address again.
  const Place second = must(kinds.of(memory));
  EXPECT_EQ(second.bytes, 2 * kKindBytes);
  EXPECT_NE(second.allocation, first.allocation);

  // The same with memory of the host.
  std::vector<std::byte> host(kKindBytes);
  {
    const HostRegistration registration =
        must(bed.driver->register_host(host.data(), kKindBytes, bed.home));
    EXPECT_EQ(must(kinds.of(host.data())).kind, MemoryKind::kRegistered);
  }
  EXPECT_EQ(must(kinds.of(host.data())).kind, MemoryKind::kHost);
}

TEST(PointerKinds, OfMoreAllocationsThanAreRemembered) {
  Bed bed;
  PointerKinds kinds(bed.drivers);
  std::vector<std::byte*> memory;
  for (int i = 0; i < 200; ++i) memory.push_back(bed.played.allocate(100 + i));
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 200; ++i) {
      const Place place = must(kinds.of(memory[i] + 3));
      EXPECT_EQ(bytes_at(place.base), memory[i]);
      EXPECT_EQ(place.bytes, 100u + i);
    }
  }
}

TEST(PointerKinds, AreKnownToThreadsWithoutAContext) {
  Bed bed;
  std::byte* const memory = bed.played.allocate(kKindBytes);
  MemoryKind kind = MemoryKind::kHost;
  std::thread other([&] {
    PointerKinds kinds(bed.drivers);
    kind = must(kinds.of(memory)).kind;
  });
  other.join();
  EXPECT_EQ(kind, MemoryKind::kDevice);
}

TEST(PointerKinds, SayWhatTheDriverSays) {
  Bed bed;
  PointerKinds kinds(bed.drivers);
  bed.played.fail("cuPointerGetAttributes:1:1,cuPointerGetAttributes:3:999");
  int here = 0;
  const auto first = kinds.of(&here);
  ASSERT_FALSE(first.ok());
  EXPECT_EQ(first.error().text, "cuPointerGetAttributes: invalid argument (1)");
  const auto second = kinds.of(bed.played.allocate(kKindBytes));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().text, "cuPointerGetAttributes: unknown error (999)");
}

TEST(MemoryKinds, HaveNames) {
  EXPECT_STREQ(memory_kind_name(MemoryKind::kHost), "host");
  EXPECT_STREQ(memory_kind_name(MemoryKind::kRegistered), "registered host");
  EXPECT_STREQ(memory_kind_name(MemoryKind::kDevice), "device");
  EXPECT_STREQ(memory_kind_name(MemoryKind::kManaged), "managed");
}

}  // namespace
}  // namespace espalier::device::test
