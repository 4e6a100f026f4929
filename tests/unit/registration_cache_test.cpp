// RegistrationCache over a port that counts, on real memory that really goes.
#include "net/rdma/registration_cache.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "child.hpp"
#include "deny_watching.hpp"
#include "net/rdma/direct_memory.hpp"
#include "registrar.hpp"

namespace espalier::rdma {
namespace {

constexpr std::size_t kPage = 4096, kBytes = 64 * kPage;

class RegistrationCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = MemoryWatch::create();
    if (!made) GTEST_SKIP() << made.error().text;
    watch_ = std::move(*made);
    cache_ = std::make_unique<RegistrationCache>(port_, *watch_, kBytes, notice_);
    memory_ = map();
  }
  void TearDown() override {
    cache_.reset();
    EXPECT_EQ(port_.live, 0) << "registrations that nobody took back";
    if (memory_ != nullptr) ::munmap(memory_, kBytes);
  }
  static std::byte* map() {
    void* made =
        ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return made == MAP_FAILED ? nullptr : static_cast<std::byte*>(made);
  }
  // Takes and gives at once. The registration that it was, 0: none.
  std::uint64_t use(const std::byte* begin, std::size_t bytes, Use how = Use::kWrite) {
    RegistrationCache::Entry* entry = cache_->take(begin, bytes, how);
    if (entry == nullptr) return 0;
    EXPECT_LE(entry->region.begin, begin);
    EXPECT_GE(entry->region.begin + entry->region.bytes, begin + bytes);
    const std::uint64_t handle = entry->region.handle;
    cache_->give(*entry);
    return handle;
  }

  Registrar port_;
  RegistrationNotice notice_{Log(LogLevel::kError)};
  std::unique_ptr<MemoryWatch> watch_;
  std::unique_ptr<RegistrationCache> cache_;
  std::byte* memory_ = nullptr;
};

TEST_F(RegistrationCacheTest, RegistersOnce) {
  const std::uint64_t first = use(memory_ + 100, kPage);
  EXPECT_NE(first, 0U);
  EXPECT_EQ(use(memory_ + 100, kPage), first);
  EXPECT_EQ(use(memory_, 2 * kPage), first) << "whole pages";
  EXPECT_EQ(cache_->counts().made, 1U);
  EXPECT_EQ(cache_->counts().hits, 2U);
}

TEST_F(RegistrationCacheTest, ALargerOneTakesThePlaceOfThoseItMeets) {
  (void)use(memory_, kPage);
  (void)use(memory_ + 4 * kPage, kPage);
  (void)use(memory_ + 8 * kPage, kPage);
  EXPECT_EQ(cache_->count(), 3U);
  const std::uint64_t wide = use(memory_ + 100, 5 * kPage);
  EXPECT_EQ(cache_->count(), 2U);
  EXPECT_EQ(use(memory_, kPage), wide);
  EXPECT_EQ(use(memory_ + 4 * kPage, kPage), wide);
  EXPECT_EQ(port_.live, 2);
}

// As with ulimit -l: what nobody uses makes room, also for memory that is registered for longer.
TEST_F(RegistrationCacheTest, WhereTheSystemAllowsLessTheOldestGo) {
  port_.bytes_max = 40 * kPage;
  EXPECT_NE(use(memory_, 16 * kPage), 0U);
  EXPECT_NE(use(memory_ + 16 * kPage, 16 * kPage), 0U);
  EXPECT_NE(use(memory_ + 32 * kPage, 16 * kPage), 0U);
  EXPECT_EQ(cache_->count(), 2U);
  EXPECT_EQ(cache_->counts().evicted, 1U);
  EXPECT_EQ(cache_->counts().refused, 0U);
  RegistrationCache::Entry* kept = cache_->take(memory_ + 32 * kPage, 16 * kPage, Use::kRead);
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(use(memory_, 30 * kPage), 0U) << "what is used stays";
  cache_->give(*kept);
  EXPECT_EQ(cache_->count(), 1U);
}

TEST_F(RegistrationCacheTest, WhatIsKeptForNobodyMakesRoomForWhatIsRegisteredForLonger) {
  DirectMemory memory(port_, {.watch = watch_.get(), .cache_bytes = kBytes});
  port_.bytes_max = 40 * kPage;
  Lease lease = memory.lease(memory_, 30 * kPage, Use::kRead);
  ASSERT_TRUE(lease);
  EXPECT_FALSE(memory.add(memory_ + 32 * kPage, 16 * kPage)) << "it is in use";
  memory.end(lease);
  EXPECT_TRUE(memory.add(memory_ + 32 * kPage, 16 * kPage));
  EXPECT_NE(memory.find(memory_ + 33 * kPage, kPage), nullptr);
}

// Of a stream whose buffers share pages none is refused.
TEST_F(RegistrationCacheTest, OneInUseLastsUntilItIsGivenBack) {
  RegistrationCache::Entry* one = cache_->take(memory_, kPage + 1, Use::kRead);
  RegistrationCache::Entry* other = cache_->take(memory_ + kPage + 1, kPage, Use::kRead);
  ASSERT_TRUE(one != nullptr && other != nullptr);
  EXPECT_NE(one, other);
  EXPECT_EQ(cache_->count(), 1U);
  EXPECT_EQ(port_.live, 2);
  cache_->give(*one);
  EXPECT_EQ(port_.live, 1);
  cache_->give(*other);
  EXPECT_EQ(port_.live, 1);
}

TEST_F(RegistrationCacheTest, MemoryThatIsMappedAnewIsRegisteredAnew) {
  const std::uint64_t before = use(memory_, 4 * kPage);
  ::munmap(memory_, kBytes);
  void* again = ::mmap(memory_, kBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  ASSERT_EQ(again, memory_);
  const std::uint64_t after = use(memory_, 4 * kPage);
  EXPECT_NE(after, 0U);
  EXPECT_NE(after, before);
  EXPECT_EQ(cache_->counts().gone, 1U);
  EXPECT_EQ(port_.live, 1);
}

TEST_F(RegistrationCacheTest, MovedMemoryIsRegisteredAnew) {
  (void)use(memory_, 4 * kPage);
  std::byte* place = map();
  ::munmap(place, kBytes);
  void* moved = ::mremap(memory_, kBytes, kBytes, MREMAP_MAYMOVE | MREMAP_FIXED, place);
  ASSERT_EQ(moved, place);
  memory_ = place;
  EXPECT_NE(use(memory_, 4 * kPage), 0U);
  EXPECT_EQ(cache_->counts().gone, 1U);
  EXPECT_EQ(cache_->counts().made, 2U);
}

TEST_F(RegistrationCacheTest, WhatGoesWhileItIsUsedLastsUntilItIsGivenBack) {
  RegistrationCache::Entry* entry = cache_->take(memory_, kPage, Use::kRead);
  ASSERT_NE(entry, nullptr);
  ::munmap(memory_, kPage);
  (void)use(memory_ + 8 * kPage, kPage);
  EXPECT_EQ(cache_->counts().gone, 1U);
  EXPECT_EQ(port_.live, 2);
  cache_->give(*entry);
  EXPECT_EQ(port_.live, 1);
}

TEST_F(RegistrationCacheTest, TheOldestUseGoesFirst) {
  constexpr std::size_t kThird = kBytes / kPage / 3 * kPage;
  std::byte* others = map();
  const std::uint64_t one = use(memory_, kThird), two = use(memory_ + kThird, kThird);
  EXPECT_EQ(cache_->count(), 2U);
  EXPECT_EQ(use(memory_, kThird), one);
  EXPECT_NE(use(others, kThird), 0U);
  EXPECT_NE(use(others + kThird + kPage, kThird), 0U);  // more than there is room for
  EXPECT_EQ(use(memory_, kThird), one) << "used later than the other";
  EXPECT_NE(use(memory_ + kThird, kThird), two);
  EXPECT_LE(cache_->bytes(), kBytes);
  EXPECT_EQ(use(memory_, kBytes + 1), 0U) << "larger than the cache";
  ::munmap(others, kBytes);
}

TEST_F(RegistrationCacheTest, RefusesWhatNobodyWatches) {
  void* shared = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  EXPECT_EQ(use(static_cast<std::byte*>(shared), kPage), 0U);
  EXPECT_EQ(cache_->counts().refused, 1U);
  ::munmap(shared, kBytes);
}

// Memory that could only be read when it was registered.
TEST_F(RegistrationCacheTest, ReadersAndWritersDoNotShareWhatMayOnlyBeRead) {
  port_.writable = false;
  const std::uint64_t read_only = use(memory_, kPage, Use::kRead);
  EXPECT_NE(read_only, 0U);
  EXPECT_EQ(use(memory_, kPage, Use::kRead), read_only);
  EXPECT_EQ(use(memory_, kPage, Use::kWrite), 0U);
  port_.writable = true;
  const std::uint64_t both = use(memory_, kPage, Use::kWrite);
  EXPECT_NE(both, 0U);
  EXPECT_EQ(use(memory_, kPage, Use::kRead), both);
}

TEST_F(RegistrationCacheTest, WhatFitsAloneIsNotRefusedForItsNeighbours) {
  (void)use(memory_, kBytes - 8 * kPage);
  std::byte* others = map();
  EXPECT_NE(use(others, kBytes), 0U);
  EXPECT_NE(use(others, 4 * kPage), 0U);
  EXPECT_LE(cache_->bytes(), kBytes);
  ::munmap(others, kBytes);
}

struct Warnings {
  static void write(void* context, LogLevel, Rank, std::string_view) noexcept {
    ++static_cast<Warnings*>(context)->count;
  }
  Log log() { return Log(LogLevel::kWarn, 0, {write, this}); }
  int count = 0;
};

// From some moment on the kernel does not say what goes: nothing that was registered is used again.
int forgets_all_when_nobody_tells() {
  auto watch = MemoryWatch::create();
  if (!watch) return 77;
  Registrar port;
  Warnings warnings;
  RegistrationNotice notice(warnings.log());
  RegistrationCache cache(port, **watch, kBytes, notice);
  std::vector<std::byte> memory(kBytes);
  RegistrationCache::Entry* in_use = cache.take(memory.data(), kPage, Use::kRead);
  RegistrationCache::Entry* idle = cache.take(memory.data() + 8 * kPage, kPage, Use::kRead);
  if (in_use == nullptr || idle == nullptr || in_use == idle) return 1;
  cache.give(*idle);
  if (!test::deny_watching()) return 2;
  for (int i = 0; i < 3; ++i) {
    if (cache.take(memory.data() + 8 * kPage, kPage, Use::kRead) != nullptr) return 3;
  }
  if (port.live != 1 || cache.count() != 0 || warnings.count != 1) return 4;
  cache.give(*in_use);
  return port.live == 0 ? 0 : 5;
}

TEST(RegistrationLost, WhenNobodyTellsOfMemory) {
  test::Child child(forgets_all_when_nobody_tells);
  const int result = child.wait();
  if (result == 77) GTEST_SKIP() << "memory cannot be watched here";
  EXPECT_EQ(result, 0);
}

// The way below is packets: no lease. Said once, and only if it worked before.
TEST(RegistrationLost, WhenTheSystemRefusesIt) {
  Registrar port;
  Warnings warnings;
  DirectMemory memory(port, {.register_from_bytes = kPage, .log = warnings.log()});
  std::vector<std::byte> bytes(2 * kPage);
  port.bytes_max = 0;
  EXPECT_FALSE(memory.lease(bytes.data(), kPage, Use::kRead));
  EXPECT_EQ(warnings.count, 0) << "it never worked";
  port.bytes_max = kPage;
  Lease lease = memory.lease(bytes.data(), kPage, Use::kRead);
  EXPECT_TRUE(lease);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(memory.lease(bytes.data(), kPage, Use::kRead));
  EXPECT_FALSE(memory.add(bytes.data(), kPage).ok());
  EXPECT_EQ(warnings.count, 1);
  memory.end(lease);
  lease = memory.lease(bytes.data(), kPage, Use::kRead);
  EXPECT_TRUE(lease) << "tried again";
  memory.end(lease);
}

}  // namespace
}  // namespace espalier::rdma
