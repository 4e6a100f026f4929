// Handing a descriptor over to those of the job: strangers, the late, the gone, and what the kernel
// says of who listens.
#include "shm/handover.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>
#include <vector>

#include "child.hpp"
#include "shm/segment.hpp"

namespace espalier::shm {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kHandedBytes = 1 << 16;
constexpr std::uint64_t kLong = 60 * kNanosecondsPerSecond, kShort = kNanosecondsPerSecond / 20;

// Names are per machine: of this process, so that tests may run at the same time.
MeetingAddress address_of(Rank rank) {
  MeetingAddress made;
  const auto pid = static_cast<std::uint32_t>(::getpid());
  for (std::size_t i = 0; i < 4; ++i) {
    made.name[i] = static_cast<std::byte>(pid >> (8 * i));
    made.secret[4 * i] = static_cast<std::byte>(rank + 1);
  }
  made.name[4] = static_cast<std::byte>(rank);
  return made;
}

std::uint64_t inode(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 ? status.st_ino : 0;
}

// A leader with something to hand out, and a clock for each of two threads.
struct Handover : testing::Test {
  Result<MeetingPoint> leader = MeetingPoint::open(address_of(0));
  Result<MemoryFile> file = MemoryFile::create(kHandedBytes, address_of(0).secret);
  SteadyClock clock, guests_clock;

  Outcome hand_out(std::vector<Rank> ranks, std::uint64_t limit_ns) {
    std::vector<Guest> guests;
    for (const Rank rank : ranks) guests.push_back({rank, address_of(rank)});
    return leader->hand_out(file->fd(), guests, {clock, limit_ns});
  }
  Result<Descriptor> fetch(Rank me, std::uint64_t limit_ns = kLong) {
    return MeetingPoint::fetch(address_of(0), 0, me, {guests_clock, limit_ns});
  }
};

TEST_F(Handover, EveryGuestGetsTheSameFile) {
  const auto second = MeetingPoint::open(address_of(2)), first = MeetingPoint::open(address_of(1));
  std::thread guests([&] {
    for (const Rank rank : {2, 1}) {
      auto taken = fetch(rank);
      ASSERT_TRUE(taken.ok()) << taken.error().text;
      EXPECT_NE(taken->fd(), file->fd());
      EXPECT_EQ(inode(taken->fd()), inode(file->fd()));
      EXPECT_TRUE(MemoryFile::adopt(std::move(*taken), kHandedBytes, address_of(0).secret).ok());
    }
  });
  const Outcome done = hand_out({1, 2}, kLong);
  guests.join();
  EXPECT_TRUE(done.ok()) << done.error().text;
}

TEST_F(Handover, StrangersAndThoseWhoSayNothingGetNothing) {
  const auto guest = MeetingPoint::open(address_of(1));
  MeetingAddress guessed = address_of(0);
  guessed.secret[0] ^= std::byte{1};
  std::thread guests([&] {
    EXPECT_TRUE(MeetingPoint::listener_of(address_of(0)).has_value());
    const auto stranger = MeetingPoint::fetch(guessed, 0, 1, {guests_clock, kLong});
    ASSERT_FALSE(stranger.ok());
    EXPECT_THAT(stranger.error().text, HasSubstr("rank 0"));
    EXPECT_THAT(stranger.error().text, HasSubstr("has hung up"));
    const auto uninvited = fetch(7);
    ASSERT_FALSE(uninvited.ok());
    EXPECT_TRUE(fetch(1).ok());
  });
  const Outcome done = hand_out({1}, kLong);
  guests.join();
  EXPECT_TRUE(done.ok());
}

TEST_F(Handover, WhoIsLateIsNamed) {
  const auto first = MeetingPoint::open(address_of(1)), second = MeetingPoint::open(address_of(5));
  const Outcome done = hand_out({1, 5}, kShort);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().status.code(), ESP_ERR_TIMEOUT);
  EXPECT_THAT(done.error().text, HasSubstr("ranks 1, 5 did not come"));
  const auto late = fetch(1, kShort);
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().status, Status(ESP_ERR_TIMEOUT, 0));
  EXPECT_THAT(late.error().text, HasSubstr("rank 0"));
}

TEST_F(Handover, WhoIsGoneIsNotWaitedFor) {
  EXPECT_TRUE(hand_out({1, 2, 3}, kLong).ok()) << "none of them is anywhere";
}

TEST_F(Handover, ALeaderThatIsGoneIsAnErrorThatNamesIt) {
  leader = error(ESP_ERR_SYSTEM, "closed");
  const auto taken = fetch(1);
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().status.rank(), 0);
  EXPECT_THAT(taken.error().text, HasSubstr("is not there"));
  EXPECT_EQ(MeetingPoint::listener_of(address_of(0)), std::nullopt);
}

TEST_F(Handover, TheKernelTellsWhoListens) {
  EXPECT_EQ(MeetingPoint::listener_of(address_of(0)), VisiblePid::self());
  test::Shared<std::atomic<int>> step;
  const MeetingAddress there = address_of(9);
  test::Child child([&] {
    const auto made = MeetingPoint::open(there);
    step->store(made.ok() ? 1 : 2);
    ::pause();
    return 0;
  });
  test::wait_for(*step, 1);
  EXPECT_EQ(MeetingPoint::listener_of(there), VisiblePid(child.pid()));
  child.kill();
  EXPECT_EQ(MeetingPoint::listener_of(there), std::nullopt);
}

}  // namespace
}  // namespace espalier::shm
