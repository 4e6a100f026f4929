#include "core/process_state.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <string>

#include "child.hpp"
#include "core/host.hpp"

namespace espalier {
namespace {

TEST(ProcessState, OfThisProcess) {
  const ProcessState self = process_state(::getpid());
  EXPECT_EQ(self.letter, 'R');
  EXPECT_EQ(process_state(::getpid()).start, self.start);
  // Field 22, counted another way: this name has no blanks.
  const std::string text = read_text_file("/proc/self/stat").value();
  std::size_t at = 0;
  for (int field = 1; field < 22; ++field) at = text.find(' ', at) + 1;
  EXPECT_EQ(self.start, std::stoull(text.substr(at)));
}

// A name that looks like the end of the name and further fields.
TEST(ProcessState, NameMayHoldAnything) {
  const ProcessState plain = process_state(::getpid());
  char before[16];
  ASSERT_EQ(::prctl(PR_GET_NAME, before), 0);
  ASSERT_EQ(::prctl(PR_SET_NAME, ") Z 1 2) X 3"), 0);
  const ProcessState renamed = process_state(::getpid());
  ASSERT_EQ(::prctl(PR_SET_NAME, before), 0);
  EXPECT_EQ(renamed.letter, 'R');
  EXPECT_EQ(renamed.start, plain.start);
}

TEST(ProcessState, OfNobody) {
  EXPECT_EQ(process_state(0).start, 0u);
  EXPECT_EQ(process_state(-1).letter, 0);
  EXPECT_EQ(process_state(std::int64_t{1} << 40).letter, 0);
}

TEST(ProcessState, OfAZombie) {
  pid_t pid = 0;
  {
    test::Child child([] { return 0; });
    pid = child.pid();
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
    EXPECT_EQ(process_state(pid).letter, 'Z');
    EXPECT_NE(process_state(pid).start, 0u);
  }
  EXPECT_EQ(process_state(pid).letter, 0);
}

}  // namespace
}  // namespace espalier
