// The node's shared memory: where things lie, who is alive, and that nothing stays behind.
#include "shm/segment.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "child.hpp"

namespace espalier::shm {
namespace {

constexpr Key kSegmentKey = {std::byte{1}, std::byte{2}};

std::set<std::string> names_in_dev_shm() {
  std::set<std::string> names;
  DIR* folder = ::opendir("/dev/shm");
  if (folder == nullptr) return names;
  while (const dirent* entry = ::readdir(folder)) {
    if (std::strstr(entry->d_name, "espalier") != nullptr) names.insert(entry->d_name);
  }
  ::closedir(folder);
  return names;
}

TEST(Layout, PartsDoNotOverlapForAnyNumberOfRanks) {
  for (std::uint32_t n = 1; n <= kMaxLocalRanks; n = n < 8 ? n + 1 : n * 2) {
    const Layout layout(n, 1 << 20, 3 << 20);
    EXPECT_GE(layout.rank_block(0), sizeof(Header));
    EXPECT_GE(layout.pull_flag(0, 0), layout.rank_block(n - 1) + sizeof(RankBlock));
    EXPECT_GE(layout.pair(0, 0), layout.pull_flag(n - 1, n - 1) + sizeof(PullFlag));
    EXPECT_GE(layout.mail_ring(0, 0), layout.pair(n - 1, n - 1) + sizeof(PairBlock));
    EXPECT_GE(layout.arena(0), layout.mail_ring(n - 1, n - 1) + sizeof(MailRing));
    EXPECT_GE(layout.heap(0), layout.arena(n - 1) + layout.arena_bytes());
    EXPECT_EQ(layout.total(), layout.heap(n - 1) + (3 << 20));
    if (n > 128) continue;  // a million entries
    std::set<std::uint64_t> pairs, flags;
    for (std::uint32_t i = 0; i < n; ++i) {
      EXPECT_EQ(layout.rank_block(i) % 128, 0U);
      EXPECT_EQ(layout.pull_flag(i, 0) % 128, 0U);  // each row has one writer
      for (std::uint32_t j = 0; j < n; ++j) {
        pairs.insert(layout.pair(i, j));
        flags.insert(layout.pull_flag(i, j));
      }
    }
    EXPECT_EQ(pairs.size(), std::size_t{n} * n);
    EXPECT_EQ(flags.size(), std::size_t{n} * n);
    EXPECT_EQ(*pairs.rbegin() - *pairs.begin(), sizeof(PairBlock) * (std::uint64_t{n} * n - 1));
  }
}

// What a node may have most of costs a small job nothing.
TEST(Layout, TheTablesOfEightRanksAreThreePages) {
  EXPECT_EQ(Layout(8, 1 << 20, 1 << 20).pair(0, 0), 3U * 4096);
}

struct Steps {
  std::atomic<int> mapped{0};
};

TEST(Segment, AKilledProcessLosesItsLockAndNothingStaysBehind) {
  const auto before = names_in_dev_shm();
  const Layout layout(2, 64 << 10, 64 << 10);
  auto file = MemoryFile::create(layout.total(), kSegmentKey);
  ASSERT_TRUE(file.ok());
  test::Shared<Steps> steps;
  test::Child child([&] {
    auto opened = MemoryFile::adopt(Descriptor(file->fd()), layout.total(), kSegmentKey);
    if (!opened) return 1;
    auto segment = Segment::map(std::move(*opened), layout, 1);
    if (!segment) return 2;
    (*segment)->arena(1)[5] = std::byte{42};
    steps->mapped.store(1);
    ::pause();
    return 0;
  });
  auto segment = Segment::map(std::move(*file), layout, 0);
  ASSERT_TRUE(segment.ok());
  test::wait_for(steps->mapped, 1);
  EXPECT_EQ((*segment)->arena(1)[5], std::byte{42});
  EXPECT_TRUE((*segment)->has_joined(1));
  EXPECT_TRUE((*segment)->holds_lock(1));
  EXPECT_EQ(names_in_dev_shm(), before);
  child.kill();
  EXPECT_FALSE((*segment)->holds_lock(1));
  EXPECT_EQ(names_in_dev_shm(), before);
}

// What a descriptor may turn out to be: nothing of it is touched.
TEST(MemoryFile, OnlyWhatItIsExpectedToBeIsAdopted) {
  constexpr std::uint64_t kBytes = 1 << 20;
  const auto why_not = [](int fd) {
    const auto adopted = MemoryFile::adopt(Descriptor(fd), kBytes, kSegmentKey);
    return adopted ? std::string() : adopted.error().text;
  };
  auto made = MemoryFile::create(kBytes, kSegmentKey),
       longer = MemoryFile::create(2 * kBytes, kSegmentKey),
       others = MemoryFile::create(kBytes, {});
  EXPECT_EQ(why_not(::dup(made->fd())), "");
  EXPECT_THAT(why_not(::dup(longer->fd())), testing::HasSubstr("another size"));
  EXPECT_THAT(why_not(::dup(others->fd())), testing::HasSubstr("not of this job"));
  EXPECT_THAT(why_not(-1), testing::HasSubstr("no sealed memory file"));
  EXPECT_THAT(why_not(::open("/dev/zero", O_RDWR)), testing::HasSubstr("no sealed memory file"));

  // Somebody's file, down to the last byte of what is looked at, and no seals.
  const int user = ::open("/tmp", O_TMPFILE | O_RDWR, 0600);
  ASSERT_GE(user, 0);
  std::vector<char> content(kBytes);
  ASSERT_EQ(::pread(made->fd(), content.data(), kBytes, 0), static_cast<ssize_t>(kBytes));
  ASSERT_EQ(::pwrite(user, content.data(), kBytes, 0), static_cast<ssize_t>(kBytes));
  EXPECT_THAT(why_not(user), testing::HasSubstr("no sealed memory file"));
}

// How /proc describes the mapping that begins there: "r--s" and so on.
std::string access_of(const void* begin) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (std::stoull(line, nullptr, 16) != reinterpret_cast<std::uintptr_t>(begin)) continue;
    return line.substr(line.find(' ') + 1, 4);
  }
  return "not there";
}

TEST(FileView, ShowsWhatWasWrittenAndCannotBeWritten) {
  constexpr std::uint64_t kAt = 65536;  // Pages are as large somewhere.
  const auto bytes = std::as_bytes(std::span("what all ranks of a node read"));
  auto file = MemoryFile::create(kAt + bytes.size(), kSegmentKey);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->write(kAt, bytes).ok());
  EXPECT_FALSE(file->write(kAt + 1, bytes).ok()) << "it would grow";
  auto view = FileView::map(file->fd(), kAt, bytes.size());
  ASSERT_TRUE(view.ok());
  EXPECT_TRUE(std::ranges::equal(view->bytes(), bytes));
  EXPECT_EQ(access_of(view->bytes().data()), "r--s");
  EXPECT_FALSE(FileView::map(-1, 0, 1).ok());
}

TEST(MemoryFile, KeepsItsSize) {
  auto made = MemoryFile::create(1 << 20, kSegmentKey);
  ASSERT_TRUE(made.ok());
  EXPECT_NE(::ftruncate(made->fd(), 1 << 21), 0);
  EXPECT_NE(::ftruncate(made->fd(), 1 << 19), 0);
}

// In children, because limits do not come back.
int map_under(int resource, rlim_t limit) {
  rlimit value{limit, limit};
  if (::setrlimit(resource, &value) != 0) return 3;
  const auto fails_well = [](const Error& failure) {
    if (failure.status.code() != ESP_ERR_NO_MEMORY) return 2;
    return failure.text.find("limit") == std::string::npos ? 5 : 0;
  };
  const Layout layout(4, 4 << 20, 1 << 30);
  auto file = MemoryFile::create(layout.total(), kSegmentKey);
  if (!file) return fails_well(file.error());
  auto segment = Segment::map(std::move(*file), layout, 0);
  return segment ? 1 : fails_well(segment.error());
}

TEST(Segment, LimitsAreErrorsThatSayWhichLimit) {
#ifdef ESPALIER_SANITIZED
  GTEST_SKIP() << "a sanitizer needs the memory and the descriptors that are limited here";
#endif
  for (const auto& [resource, limit] : {std::pair<int, rlim_t>{RLIMIT_FSIZE, 1 << 20},
                                        std::pair<int, rlim_t>{RLIMIT_AS, rlim_t{1} << 30},
                                        std::pair<int, rlim_t>{RLIMIT_NOFILE, 3}}) {
    test::Child child([r = resource, l = limit] { return map_under(r, l); });
    EXPECT_EQ(child.wait(), 0) << "resource " << resource;
  }
}

}  // namespace
}  // namespace espalier::shm
