// The measurement of bench/messages between two processes: it has a line for each cell, checks
// every byte in both directions, and explains wrong arguments.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "messages/measure.h"
#include "messages/pair.h"

namespace {

// Of the process; a `library` has no place for them.
pair ends;
int spoils = -1;                // the rank that does; -1: none
std::size_t spoiled_bytes = 0;  // of the messages

void send(const void* buffer, std::size_t bytes) {
  std::string copy(static_cast<const char*>(buffer), bytes);
  if (ends.rank == spoils && bytes == spoiled_bytes) copy.back() ^= 1;
  pair_write(ends.channel, copy.data(), bytes);
}
void receive(void* buffer, std::size_t bytes) {
  pair_read(ends.channel, buffer, bytes);
}
void send_all(const char* first, std::size_t bytes, std::size_t stride, int count) {
  EXPECT_LE(count, MESSAGES_WINDOW);
  for (int i = 0; i < count; ++i) send(first + static_cast<std::size_t>(i) * stride, bytes);
}
void receive_all(char* first, std::size_t bytes, std::size_t stride, int count) {
  for (int i = 0; i < count; ++i) receive(first + static_cast<std::size_t>(i) * stride, bytes);
}

struct Outcome {
  int code;
  std::string text;
};

Outcome measured(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "program");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  testing::internal::CaptureStdout();
  ends = pair_begin();
  const library sockets = {ends.rank, send, receive, send_all, receive_all};
  const int code = measure_messages(&sockets, static_cast<int>(argv.size()), argv.data());
  // Not by exit(): the child has the parent's test under way.
  if (ends.rank != 0) std::_Exit(code);
  return {pair_end(&ends, code), testing::internal::GetCapturedStdout()};
}

TEST(Messages, EachCellHasALine) {
  const Outcome outcome = measured({"1,100,4096", "0.01"});
  EXPECT_EQ(outcome.code, 0);
  std::istringstream lines(outcome.text);
  for (const std::size_t bytes : {1, 100, 4096}) {
    for (const char* measure : {"latency", "stream"}) {
      std::string name;
      std::size_t size = 0;
      double us = 0;
      lines >> name >> size >> us;
      EXPECT_EQ(name, measure);
      EXPECT_EQ(size, bytes);
      EXPECT_GT(us, 0);
    }
  }
  std::string more;
  EXPECT_FALSE(lines >> more);
}

TEST(Messages, AWrongByteIsNoticedInEitherDirection) {
  for (const int rank : {0, 1}) {
    spoils = rank;
    spoiled_bytes = 64;
    EXPECT_EQ(measured({"64", "0.001"}).code, 1) << "of rank " << rank;
    EXPECT_EQ(measured({"65", "0.001"}).code, 0);
  }
  spoils = -1;
}

TEST(Messages, WrongArgumentsAreExplained) {
  for (const std::vector<std::string>& wrong : std::vector<std::vector<std::string>>{
           {}, {"8"}, {"8", "0"}, {"x", "1"}, {"0", "1"}, {"8;9", "0.001"}}) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(measured(wrong).code, 2);
    EXPECT_NE(testing::internal::GetCapturedStderr(), "");
  }
}

TEST(Pair, AWrongSettingIsExplained) {
  setenv("MESSAGES_CPUS", "nowhere", 1);
  EXPECT_EXIT(pair_begin(), testing::ExitedWithCode(2), "what is 'nowhere'");
  unsetenv("MESSAGES_CPUS");
}

}  // namespace
