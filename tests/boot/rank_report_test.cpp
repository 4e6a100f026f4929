// What is said of all ranks: those of which the same is to be said share their lines.
#include "tools/esp-run/rank_report.hpp"

#include <gtest/gtest.h>

#include "tools/esp-run/inquiry.hpp"
#include "tools/esp-run/stacks.hpp"

namespace esp_run {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

RankReport waiting(int rank, std::uint64_t ns, const char* what) {
  return {.rank = rank, .state = "asleep in a wait", .waited = {{ns, what}}};
}

TEST(RankReport, EqualOnesShareALine) {
  const std::vector<RankReport> reports = {
      waiting(5, 3 * kSecond, "barrier"),
      waiting(0, kSecond, "barrier"),
      waiting(1, 2 * kSecond, "barrier"),
      waiting(2, kSecond, "receive"),
      {.rank = 3, .state = "computing", .since_ns = 90 * kSecond}};
  EXPECT_EQ(reports_text(reports),
            "\n  ranks 0-1, 5: asleep in a wait\n    for 1.0 to 3.0 s: barrier"
            "\n  rank 2: asleep in a wait\n    for 1.0 s: receive"
            "\n  rank 3: computing, for 90.0 s");
}

TEST(RankReport, OnesWithoutLengthTellNone) {
  EXPECT_EQ(reports_text({{.rank = 3, .state = "ending"}}), "\n  rank 3: ending");
  EXPECT_EQ(reports_text({}), "");
}

TEST(RankReport, ManyDifferentOnesAreCutShort) {
  std::vector<RankReport> reports;
  for (int rank = 0; rank < 1000; ++rank) {
    reports.push_back(waiting(rank, kSecond, std::to_string(rank).c_str()));
  }
  const std::string text = reports_text(reports);
  EXPECT_NE(text.find("\n  rank 99:"), std::string::npos);
  EXPECT_EQ(text.find("\n  rank 100:"), std::string::npos);
  EXPECT_NE(text.find("\n  and 900 ranks that all do something else"), std::string::npos);
}

TEST(RankReport, StacksAreEqualButForAddresses) {
  RankReport one{.rank = 0, .stack = {"TID 7:", "#0 0x00007f12 in poll ()", "#1 main ()"}};
  RankReport other{.rank = 1, .stack = {"TID 8:", "#0 0x00007fab in poll ()", "#1 main ()"}};
  RankReport third{.rank = 2, .stack = {"TID 8:", "#0 0x00007fab in read ()", "#1 main ()"}};
  EXPECT_EQ(stacks_text({one, other, third}),
            "\n  stack of ranks 0-1:\n    TID 7:\n    #0 0x00007f12 in poll ()\n    #1 main ()"
            "\n  stack of rank 2:\n    TID 8:\n    #0 0x00007fab in read ()\n    #1 main ()");
}

TEST(Stacks, FramesAreKeptOrTheReasonWhyThereAreNone) {
  EXPECT_EQ(stack_lines("[New LWP 3]\nThread 1 (LWP 3):\n#0  poll ()\n#1  main ()\n[Detached]\n"),
            (std::vector<std::string>{"Thread 1 (LWP 3):", "#0  poll ()", "#1  main ()"}));
  EXPECT_EQ(stack_lines("a\nb\nc\nptrace: not permitted"),
            (std::vector<std::string>{"no frames were found:", "b", "c", "ptrace: not permitted"}));
  EXPECT_EQ(stack_lines(""), std::vector<std::string>{"no frames were found:"});
}

TEST(RankReport, TravelsWhole) {
  RankReport full = waiting(7, 5, "a\tb");
  full.since_ns = 9;
  full.waited.push_back({0, ""});
  full.stack = {"#0 poll", ""};
  const std::vector<RankReport> back = unpack_reports(pack_reports({full, {.rank = 8}}));
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].rank, 7);
  EXPECT_EQ(back[0].state, full.state);
  EXPECT_EQ(back[0].since_ns, 9u);
  ASSERT_EQ(back[0].waited.size(), 2u);
  EXPECT_EQ(back[0].waited[0].ns, 5u);
  EXPECT_EQ(back[0].waited[0].text, "a\tb");
  EXPECT_EQ(back[0].stack, full.stack);
  EXPECT_EQ(back[1].rank, 8);
  EXPECT_TRUE(unpack_reports("R\nxx\t\nW1\t").empty());
}

TEST(Inquiry, NamesNodesThatDoNotAnswer) {
  Inquiry inquiry;
  EXPECT_FALSE(inquiry.deadline());
  inquiry.open({0, 1, 2}, Inquiry::Then::kGoOn, std::chrono::seconds(1));
  inquiry.answer(1, inquiry.id(), pack_reports({{.rank = 4, .state = "computing"}}));
  inquiry.answer(0, inquiry.id() - 1, pack_reports({{.rank = 0, .state = "old"}}));
  inquiry.open({0}, Inquiry::Then::kEndJob, std::chrono::seconds(1));
  inquiry.lose(2);
  EXPECT_FALSE(inquiry.is_complete());
  EXPECT_EQ(inquiry.take(), "\n  rank 4: computing\n  no answer from the daemon of node 0");
  EXPECT_EQ(inquiry.then(), Inquiry::Then::kEndJob);
  inquiry.open({}, Inquiry::Then::kGoOn, std::chrono::seconds(1));
  EXPECT_TRUE(inquiry.is_complete());
  EXPECT_EQ(inquiry.then(), Inquiry::Then::kGoOn);
}

}  // namespace
}  // namespace esp_run
