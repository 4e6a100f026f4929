// The ping-pong of bench/threads, over queues in memory: a reply follows its message, and what came
// wrong is noticed.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "threads/ping_pong.hpp"

namespace espalier::bench {
namespace {

using Bytes = std::vector<std::uint8_t>;

class Queue {
 public:
  void push(Bytes bytes) {
    const std::lock_guard hold(lock_);
    queue_.push_back(std::move(bytes));
    some_.notify_one();
  }
  Bytes pop() {
    std::unique_lock hold(lock_);
    some_.wait(hold, [this] { return !queue_.empty(); });
    Bytes bytes = std::move(queue_.front());
    queue_.pop_front();
    return bytes;
  }

 private:
  std::mutex lock_;
  std::condition_variable some_;
  std::deque<Bytes> queue_;
};

enum class Fault { kNone, kNumber, kPattern, kTail };

// Of what is longer than an order, one message is changed on its way.
class MemoryLine : public Line {
 public:
  MemoryLine(Queue& out, Queue& in, Fault fault = Fault::kNone)
      : out_(out), in_(in), fault_(fault) {}

  void send(const void* buffer, std::size_t bytes) override {
    const auto* const from = static_cast<const std::uint8_t*>(buffer);
    Bytes message(from, from + bytes);
    if (bytes > sizeof(std::int32_t) && ++messages_ >= 30) damage(message);
    sent_.fetch_add(1);
    out_.push(std::move(message));
  }
  void recv(void* buffer, std::size_t bytes) override {
    const Bytes message = in_.pop();
    ASSERT_EQ(message.size(), bytes);
    if (bytes > 0) std::memcpy(buffer, message.data(), bytes);
    // Whoever is asked has sent less than it has got, whenever something comes.
    early_ = early_ || sent_.load() > received_;
    ++received_;
  }
  void exchange(const void* out, void* in, std::size_t bytes) override {
    send(out, bytes);
    recv(in, bytes);
  }
  bool was_early() const { return early_; }
  int received() const { return received_; }

 private:
  void damage(Bytes& message) const {
    if (fault_ == Fault::kNumber && messages_ == 30) message[0] ^= 1;
    if (fault_ == Fault::kTail && messages_ == 30) message.back() ^= 1;
    if (fault_ == Fault::kPattern) message[message.size() / 2] ^= 1;
  }

  Queue& out_;
  Queue& in_;
  const Fault fault_;
  int messages_ = 0;
  std::atomic<int> sent_{0};
  int received_ = 0;
  bool early_ = false;
};

struct Played {
  PingPongResult result;
  bool early = false;
  int received = 0;
};

Played play(const PingPong& cell, int threads, Fault asker = Fault::kNone,
            Fault answerer = Fault::kNone) {
  std::deque<Queue> there(static_cast<std::size_t>(threads)), back(there.size());
  std::deque<MemoryLine> asking, answering;
  std::vector<Line*> ask_lines, answer_lines;
  for (std::size_t i = 0; i < there.size(); ++i) {
    ask_lines.push_back(&asking.emplace_back(there[i], back[i], asker));
    answer_lines.push_back(&answering.emplace_back(back[i], there[i], answerer));
  }
  std::thread other([&] { answer(answer_lines, cell); });
  Played played;
  played.result = ask(ask_lines, cell);
  other.join();
  for (const MemoryLine& line : answering) {
    played.early = played.early || line.was_early();
    played.received += line.received();
  }
  return played;
}

class Cells : public ::testing::TestWithParam<std::tuple<std::size_t, int, bool>> {};

TEST_P(Cells, RepliesFollowTheirMessages) {
  const auto [bytes, threads, started] = GetParam();
  const Played played = play({bytes, 40, started}, threads);
  EXPECT_TRUE(played.result.correct);
  EXPECT_FALSE(played.early);
  EXPECT_GE(played.result.warm_ups, 20);
  EXPECT_LE(played.result.warm_ups, 200);
  EXPECT_GE(played.received, threads * (40 + played.result.warm_ups));
  EXPECT_GT(played.result.half_us.min, 0.0);
  EXPECT_GE(played.result.half_us.p90, played.result.half_us.median);
}

INSTANTIATE_TEST_SUITE_P(Of, Cells,
                         ::testing::Combine(::testing::Values(0U, 1U, 7U, 8U, 9U, 100U),
                                            ::testing::Values(1, 3), ::testing::Bool()));

TEST(PingPong, NoticesAWrongNumberOnEitherSide) {
  for (const bool started : {false, true}) {
    EXPECT_FALSE(play({64, 40, started}, 1, Fault::kTail).result.correct);
    EXPECT_FALSE(play({64, 40, started}, 1, Fault::kNumber).result.correct);
    EXPECT_FALSE(play({64, 40, started}, 1, Fault::kNone, Fault::kNumber).result.correct);
    EXPECT_FALSE(play({64, 40, started}, 1, Fault::kNone, Fault::kTail).result.correct);
  }
}

TEST(PingPong, NoticesAWrongPatternOnEitherSide) {
  EXPECT_FALSE(play({64, 40, false}, 1, Fault::kPattern).result.correct);
  EXPECT_FALSE(play({64, 40, true}, 1, Fault::kNone, Fault::kPattern).result.correct);
}

}  // namespace
}  // namespace espalier::bench
