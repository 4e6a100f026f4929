// MemoryWatch on the real kernel: every way in which memory goes or moves is told.
#include "core/memory_watch.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>

#include "child.hpp"
#include "deny_watching.hpp"

namespace espalier {
namespace {

constexpr std::size_t kBytes = 1 << 20;

std::uintptr_t number(const void* at) {
  return reinterpret_cast<std::uintptr_t>(at);
}

std::byte* map(int flags = MAP_PRIVATE | MAP_ANONYMOUS, int file = -1) {
  void* made = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, flags, file, 0);
  return made == MAP_FAILED ? nullptr : static_cast<std::byte*>(made);
}

class MemoryWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = MemoryWatch::create();
    if (!made) GTEST_SKIP() << made.error().text;
    watch_ = std::move(*made);
  }
  // On a machine that is busy with other tests the reader's turn may come late.
  bool settled() {
    for (int i = 0; i < 1000; ++i) {
      if (watch_->settled()) return true;
    }
    return false;
  }
  // Exactly this has been told, since the last look.
  void expect_gone(const std::byte* begin, std::size_t bytes) {
    EXPECT_TRUE(settled());
    EXPECT_TRUE(watch_->stirred());
    const MemoryWatch::Gone gone = watch_->take();
    EXPECT_TRUE(gone.meets(number(begin), number(begin) + 1));
    EXPECT_TRUE(gone.meets(number(begin + bytes) - 1, number(begin + bytes)));
    EXPECT_FALSE(gone.meets(number(begin) - 4096, number(begin)));
    EXPECT_FALSE(gone.meets(number(begin + bytes), number(begin + bytes) + 4096));
    EXPECT_FALSE(watch_->stirred());
  }
  std::unique_ptr<MemoryWatch> watch_;
};

TEST_F(MemoryWatchTest, NothingIsToldOfMemoryThatIsUsed) {
  std::byte* memory = map();
  ASSERT_TRUE(watch_->watch(memory, kBytes));
  std::memset(memory, 7, kBytes);
  EXPECT_EQ(::mprotect(memory, kBytes, PROT_READ), 0);
  EXPECT_EQ(memory[kBytes / 2], std::byte{7});
  EXPECT_FALSE(watch_->stirred());
  ::munmap(memory, kBytes);
}

TEST_F(MemoryWatchTest, TellsOfUnmapping) {
  std::byte* memory = map();
  ASSERT_TRUE(watch_->watch(memory, kBytes));
  ASSERT_EQ(::munmap(memory + 8192, 4096), 0);
  expect_gone(memory + 8192, 4096);
  ASSERT_EQ(::syscall(SYS_munmap, memory, 4096), 0);
  expect_gone(memory, 4096);
  ::munmap(memory, kBytes);
}

TEST_F(MemoryWatchTest, TellsOfAnotherThreadsUnmapping) {
  std::byte* memory = map();
  ASSERT_TRUE(watch_->watch(memory, kBytes));
  std::thread([&] { ::munmap(memory, kBytes); }).join();
  expect_gone(memory, kBytes);
}

TEST_F(MemoryWatchTest, TellsOfMoving) {
  std::byte* memory = map();
  ASSERT_TRUE(watch_->watch(memory, kBytes));
  void* moved = ::mremap(memory, kBytes, 4 * kBytes, MREMAP_MAYMOVE);
  ASSERT_NE(moved, MAP_FAILED);
  if (moved != memory) expect_gone(memory, kBytes);
  ::munmap(moved, 4 * kBytes);
}

TEST_F(MemoryWatchTest, TellsOfPagesGivenBack) {
  std::byte* memory = map();
  ASSERT_TRUE(watch_->watch(memory, kBytes));
  std::memset(memory, 7, kBytes);
  ASSERT_EQ(::madvise(memory + 4096, 8192, MADV_DONTNEED), 0);
  expect_gone(memory + 4096, 8192);
  ::munmap(memory, kBytes);
}

TEST_F(MemoryWatchTest, TellsOfAMappingInItsPlace) {
  std::byte* memory = map();
  ASSERT_TRUE(watch_->watch(memory, kBytes));
  void* other = ::mmap(memory + 4096, 4096, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  ASSERT_EQ(other, memory + 4096);
  expect_gone(memory + 4096, 4096);
  ::munmap(memory, kBytes);
}

TEST_F(MemoryWatchTest, TellsOfFree) {
  constexpr std::size_t kLarge = 64 << 20;  // above every threshold of an allocator
  auto* memory = static_cast<std::byte*>(std::malloc(kLarge));
  std::memset(memory, 7, kLarge);
  ASSERT_TRUE(watch_->watch(memory, kLarge));
  const volatile std::uintptr_t begin = number(memory);  // or the compiler warns of its use
  std::free(memory);
  const bool told = watch_->stirred() && watch_->take().meets(begin, begin + kLarge);
#ifdef ESPALIER_SANITIZED
  (void)told;  // Their allocators keep it for a while.
#else
  EXPECT_TRUE(told);
#endif
}

TEST_F(MemoryWatchTest, TellsThatEverythingMayHaveGone) {
  std::byte* memory = map();
  ASSERT_TRUE(watch_->watch(memory, kBytes));
  for (std::size_t page = 0; page < 2 * MemoryWatch::Gone::kMax; ++page) {
    ::munmap(memory + page * 8192, 4096);
  }
  EXPECT_TRUE(watch_->take().all);
  EXPECT_FALSE(watch_->take().all);
  ::munmap(memory, kBytes);
}

// Nobody would tell of shmdt().
TEST_F(MemoryWatchTest, RefusesWhatNobodyWouldTellOf) {
  std::byte* shared = map(MAP_SHARED | MAP_ANONYMOUS);
  EXPECT_FALSE(watch_->watch(shared, kBytes));
  ::munmap(shared, kBytes);
  const int id = ::shmget(IPC_PRIVATE, kBytes, 0600);
  ASSERT_GE(id, 0);
  void* attached = ::shmat(id, nullptr, 0);
  ::shmctl(id, IPC_RMID, nullptr);
  EXPECT_FALSE(watch_->watch(attached, kBytes));
  ::shmdt(attached);
  static const int constant = 7;  // in the program's file
  EXPECT_FALSE(watch_->watch(&constant, sizeof constant));
  std::byte* gone = map();
  ::munmap(gone, kBytes);
  EXPECT_FALSE(watch_->watch(gone, kBytes));
  std::byte* half = map();
  ::munmap(half + kBytes / 2, 4096);
  EXPECT_FALSE(watch_->watch(half, kBytes));
  ::munmap(half, kBytes);
  EXPECT_FALSE(watch_->watch(half, 0));
}

// The kernel gives the addresses away before the one who unmaps is told so. Whoever gets them finds
// the news all the same. That may be others, too: a sanitizer maps memory for a thread as it starts
// and ends.
TEST_F(MemoryWatchTest, WhoGetsTheAddressesMeanwhileIsToldAsWell) {
  std::byte* memory = map();
  int won = 0;
  for (int round = 0; round < 200; ++round) {
    ASSERT_TRUE(watch_->watch(memory, kBytes));
    std::atomic<bool> unmapped = false;  // the other thread says so, when it has been told
    std::thread other([&] {
      ::munmap(memory, kBytes);
      unmapped = true;
    });
    void* again = MAP_FAILED;
    for (bool last = false; again == MAP_FAILED && !last;) {
      last = unmapped;
      again = ::mmap(memory, kBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    }
    EXPECT_TRUE(settled());  // else the thread is to be joined all the same
    EXPECT_TRUE(watch_->stirred());
    EXPECT_TRUE(watch_->take().meets(number(memory), number(memory) + kBytes));
    other.join();
    won += again != MAP_FAILED;
    if (again == MAP_FAILED) memory = map();
  }
  EXPECT_GT(won, 0);
  ::munmap(memory, kBytes);
}

// A child has no thread that reads, and must not wait for one.
TEST_F(MemoryWatchTest, AChildIsNotHeldUp) {
  std::byte* memory = map();
  ASSERT_TRUE(watch_->watch(memory, kBytes));
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(10);
    ::munmap(memory, kBytes);
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(watch_->stirred());
  ::munmap(memory, kBytes);
}

TEST_F(MemoryWatchTest, NobodyWaitsWhenItHasEnded) {
  std::byte* memory = map();
  ASSERT_TRUE(watch_->watch(memory, kBytes));
  watch_.reset();
  EXPECT_EQ(::munmap(memory, kBytes), 0);
}

// A child that lives on has all that the kernel tells by, and reads nothing.
TEST_F(MemoryWatchTest, NobodyWaitsWhenItHasEndedButForAChild) {
  std::byte* memory = map();
  ASSERT_TRUE(watch_->watch(memory, kBytes));
  std::byte* moved = map();
  ASSERT_TRUE(watch_->watch(moved, kBytes));
  void* there = ::mremap(moved, kBytes, 4 * kBytes, MREMAP_MAYMOVE);
  ASSERT_NE(there, MAP_FAILED);
  test::Child child([] { return ::pause(); });
  ::alarm(10);
  watch_.reset();
  EXPECT_EQ(::munmap(memory, kBytes), 0);
  EXPECT_EQ(::munmap(there, 4 * kBytes), 0);
  ::alarm(0);
}

// What another one watches is left to it.
TEST_F(MemoryWatchTest, TheEndOfOneIsNotTheEndOfOthers) {
  std::byte* memory = map();
  ASSERT_TRUE(watch_->watch(memory, kBytes));
  std::byte* others = map();  // not before, or both may be one mapping
  {
    auto second = MemoryWatch::create();
    ASSERT_TRUE(second.ok());
    EXPECT_TRUE((*second)->watch(others, kBytes));
    EXPECT_FALSE((*second)->watch(memory, kBytes)) << "one watcher at a time";
  }
  ASSERT_EQ(::munmap(memory, kBytes), 0);
  expect_gone(memory, kBytes);
  ASSERT_EQ(::munmap(others, kBytes), 0);
  EXPECT_FALSE(watch_->stirred());
}

// The descriptor of the process's one watch.
int watching_descriptor() {
  for (int fd = 0; fd < 1000; ++fd) {
    char name[64] = {};
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    if (::readlink(link.c_str(), name, sizeof name - 1) < 0) continue;
    if (std::string_view(name).find("userfaultfd") != std::string_view::npos) return fd;
  }
  return -1;
}

// The right is lost with memory watched. Who takes memory away does not wait for ever.
int goes_blind(bool reader) {
  ::alarm(60);
  auto made = MemoryWatch::create();
  if (!made) return 77;
  MemoryWatch& watch = **made;
  std::byte* memory = map();
  if (!watch.watch(memory, kBytes) || !watch.settled() || watch.blindness() != 0) return 1;
  const int descriptor = watching_descriptor();
  if (reader ? descriptor < 0 || !test::deny_reading(descriptor) : !test::deny_watching()) return 2;
  if (::munmap(memory, 4096) != 0) return 3;
  if (watch.settled()) return 4;
  if (watch.blindness() != (reader ? EACCES : EPERM)) return 5;
  if (watch.watch(memory + 4096, 4096)) return 6;
  return ::munmap(memory, kBytes) == 0 ? 0 : 7;
}

TEST(MemoryWatchLost, WhenTheOwnerIsRefused) {
  test::Child child([] { return goes_blind(false); });
  const int result = child.wait();
  if (result == 77) GTEST_SKIP() << "memory cannot be watched here";
  EXPECT_EQ(result, 0);
}

TEST(MemoryWatchLost, WhenTheReaderIsRefused) {
  test::Child child([] { return goes_blind(true); });
  const int result = child.wait();
  if (result == 77) GTEST_SKIP() << "memory cannot be watched here";
  EXPECT_EQ(result, 0);
}

}  // namespace
}  // namespace espalier
