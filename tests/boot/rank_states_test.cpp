// The file in which a rank tells its launcher what it does: whose it must be, and what is read
// there.
#include "tools/esp-run/rank_states.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <charconv>

namespace esp_run {
namespace {

using espalier::RankPhase;
using espalier::RankState;
using espalier::RankStatePlace;

// As the rank's environment tells it, with a descriptor of its own.
RankStatePlace place_in(const RankStates& states, std::uint32_t index) {
  const std::string text = states.variable(index, 0);
  RankStatePlace place;
  place.descriptor = fcntl(states.fd(), F_DUPFD_CLOEXEC, 0);
  place.index = index;
  const std::size_t at = text.rfind(':') + 1;
  std::from_chars(text.data() + at, text.data() + text.size(), place.nonce, 16);
  return place;
}

RankReport ask_one(RankStates& states) {
  states.ask({{.rank = 3, .index = 0, .pid = getpid()}});
  while (!states.is_over()) usleep(1000);
  return states.take().front();
}

TEST(RankStates, AnswersAreRead) {
  RankStates states(2);
  auto state = RankState::open(place_in(states, 0));
  ASSERT_TRUE(state.ok());
  EXPECT_FALSE((*state)->look());
  (*state)->enter(RankPhase::kJoined);
  (*state)->begin_wait();
  states.ask({{.rank = 3, .index = 0, .pid = getpid()}});
  EXPECT_FALSE(states.is_over());
  EXPECT_TRUE((*state)->look());
  (*state)->answer("asleep\n5\tbarrier; awaits rank 1\n70\treceive");
  EXPECT_FALSE((*state)->look());
  EXPECT_TRUE(states.is_over());
  const RankReport report = states.take().front();
  EXPECT_EQ(report.rank, 3);
  EXPECT_EQ(report.state, "asleep in a wait");
  ASSERT_EQ(report.waited.size(), 2u);
  EXPECT_EQ(report.waited[0].ns, 5u);
  EXPECT_EQ(report.waited[0].text, "barrier; awaits rank 1");
  EXPECT_EQ(report.waited[1].text, "receive");
}

TEST(RankStates, PhasesAreToldWithoutAnAnswer) {
  RankStates states(1);
  EXPECT_EQ(ask_one(states).state, "has not called esp_job_init (or is no program of Espalier's)");
  auto state = RankState::open(place_in(states, 0));
  ASSERT_TRUE(state.ok());
  (*state)->enter(RankPhase::kJoining);
  EXPECT_EQ(ask_one(states).state, "in esp_job_init, which waits for all ranks");
  (*state)->enter(RankPhase::kJoined);
  EXPECT_EQ(ask_one(states).state, "computing (not in Espalier)");
  state->reset();
  EXPECT_EQ(ask_one(states).state, "has left the job");
}

TEST(RankStates, APageHasOneProcess) {
  RankStates states(2);
  auto first = RankState::open(place_in(states, 1));
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(RankState::open(place_in(states, 1)).ok());
  first->reset();
  EXPECT_TRUE(RankState::open(place_in(states, 1)).ok());
}

// A descriptor of that number may be a file of the user's by now, or of another launcher.
TEST(RankStates, NoOtherFileIsTaken) {
  RankStates states(1), others(1);
  RankStatePlace place = place_in(states, 0);
  place.nonce += 1;
  EXPECT_FALSE(RankState::open(place).ok());
  place.nonce -= 1;
  place.index = 1;
  EXPECT_FALSE(RankState::open(place).ok());
  RankStatePlace other = place_in(others, 0);
  other.nonce = place.nonce;
  EXPECT_FALSE(RankState::open(other).ok());
  for (const int descriptor : {-1, 4000, memfd_create("user", 0), open("/dev/zero", O_RDWR)}) {
    place.descriptor = descriptor;
    EXPECT_FALSE(RankState::open(place).ok());
    if (descriptor >= 0 && descriptor != 4000) {
      EXPECT_EQ(close(descriptor), 0) << "is left open";
    }
  }
}

TEST(RankStates, AFileThatCanBeResizedIsNotTaken) {
  const RankStates states(1);
  RankStatePlace place = place_in(states, 0);
  const auto bytes = static_cast<std::size_t>(lseek(place.descriptor, 0, SEEK_END));
  const int copy = memfd_create("copy", MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(copy, static_cast<off_t>(bytes)), 0);
  std::vector<char> content(bytes);
  ASSERT_EQ(pread(place.descriptor, content.data(), bytes, 0), static_cast<ssize_t>(bytes));
  ASSERT_EQ(pwrite(copy, content.data(), bytes, 0), static_cast<ssize_t>(bytes));
  place.descriptor = copy;
  EXPECT_FALSE(RankState::open(place).ok());
  fcntl(copy, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  EXPECT_TRUE(RankState::open(place).ok());
}

}  // namespace
}  // namespace esp_run
