// The node's shared memory: where things lie, who is alive, and that nothing stays behind.
#include "shm/segment.hpp"

#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstring>
#include <set>
#include <string>

#include "child.hpp"

namespace espalier::shm {
namespace {

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
    EXPECT_GE(layout.pair(0, 0), layout.rank_block(n - 1) + sizeof(RankBlock));
    EXPECT_GE(layout.arena(0), layout.pair(n - 1, n - 1) + sizeof(PairBlock));
    EXPECT_GE(layout.heap(0), layout.arena(n - 1) + layout.arena_bytes());
    EXPECT_EQ(layout.total(), layout.heap(n - 1) + (3 << 20));
    std::set<std::uint64_t> pairs;
    for (std::uint32_t i = 0; i < n; ++i) {
      EXPECT_EQ(layout.rank_block(i) % 128, 0U);
      for (std::uint32_t j = 0; j < n; ++j) pairs.insert(layout.pair(i, j));
    }
    EXPECT_EQ(pairs.size(), n * n);
    EXPECT_EQ(*pairs.rbegin() - *pairs.begin(), sizeof(PairBlock) * (n * n - 1));
  }
}

struct Steps {
  std::atomic<int> mapped{0};
};

TEST(Segment, AKilledProcessLosesItsLockAndNothingStaysBehind) {
  const auto before = names_in_dev_shm();
  const Layout layout(2, 64 << 10, 64 << 10);
  auto file = MemoryFile::create();
  ASSERT_TRUE(file.ok());
  const int fd = file->fd();
  const pid_t parent = ::getpid();
  test::Shared<Steps> steps;
  test::Child child([&] {
    auto opened = MemoryFile::open_of(parent, fd);
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
  EXPECT_TRUE((*segment)->holds_lock(1));
  EXPECT_EQ(names_in_dev_shm(), before);
  child.kill();
  EXPECT_FALSE((*segment)->holds_lock(1));
  EXPECT_EQ(names_in_dev_shm(), before);
}

TEST(Segment, AFileOfAProcessThatIsGoneIsAnError) {
  test::Child child([] { return 0; });
  const pid_t pid = child.pid();
  (void)child.wait();
  const auto opened = MemoryFile::open_of(pid, 3);
  ASSERT_FALSE(opened.ok());
  const std::string& text = opened.error().text;
  EXPECT_NE(text.find("/proc/" + std::to_string(pid)), std::string::npos) << text;
  EXPECT_NE(text.find("has process " + std::to_string(pid) + " ended?"), std::string::npos) << text;
}

// In children, because limits do not come back.
int map_under(int resource, rlim_t limit) {
  rlimit value{limit, limit};
  if (::setrlimit(resource, &value) != 0) return 3;
  auto file = MemoryFile::create();
  if (!file) return file.error().status.code() == ESP_ERR_NO_MEMORY ? 0 : 4;
  auto segment = Segment::map(std::move(*file), Layout(4, 4 << 20, 1 << 30), 0);
  if (segment) return 1;
  if (segment.error().status.code() != ESP_ERR_NO_MEMORY) return 2;
  return segment.error().text.find("limit") == std::string::npos ? 5 : 0;
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
