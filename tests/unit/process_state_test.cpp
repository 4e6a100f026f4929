#include "core/process_state.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <limits>
#include <string>

#include "child.hpp"
#include "core/host.hpp"

namespace espalier {
namespace {

ProcessState state_of(pid_t pid) {
  const auto state = process_state(VisiblePid(pid));
  EXPECT_TRUE(state.has_value());
  return state.value_or(ProcessState());
}

TEST(ProcessState, OfThisProcess) {
  const ProcessState self = state_of(::getpid());
  EXPECT_EQ(self.letter, 'R');
  EXPECT_EQ(state_of(::getpid()).start, self.start);
  // Field 22, counted another way: this name has no blanks.
  const std::string text = read_text_file("/proc/self/stat").value();
  std::size_t at = 0;
  for (int field = 1; field < 22; ++field) at = text.find(' ', at) + 1;
  EXPECT_EQ(self.start, std::stoull(text.substr(at)));
}

// A name that looks like the end of the name and further fields.
TEST(ProcessState, NameMayHoldAnything) {
  const ProcessState plain = state_of(::getpid());
  char before[16];
  ASSERT_EQ(::prctl(PR_GET_NAME, before), 0);
  ASSERT_EQ(::prctl(PR_SET_NAME, ") Z 1 2) X 3"), 0);
  const ProcessState renamed = state_of(::getpid());
  ASSERT_EQ(::prctl(PR_SET_NAME, before), 0);
  EXPECT_EQ(renamed.letter, 'R');
  EXPECT_EQ(renamed.start, plain.start);
}

TEST(ProcessState, OfNobody) {
  EXPECT_FALSE(process_state(VisiblePid()).has_value());
  EXPECT_FALSE(process_state(VisiblePid(-1)).has_value());
  EXPECT_EQ(state_of(std::numeric_limits<pid_t>::max()).letter, 0);
}

TEST(ProcessState, OfAZombie) {
  pid_t pid = 0;
  {
    test::Child child([] { return 0; });
    pid = child.pid();
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
    EXPECT_EQ(state_of(pid).letter, 'Z');
    EXPECT_NE(state_of(pid).start, 0u);
  }
  EXPECT_EQ(state_of(pid).letter, 0);
}

}  // namespace
}  // namespace espalier
