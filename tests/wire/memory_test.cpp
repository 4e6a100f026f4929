// A rank that has no memory for what its peers send: the peer is lost by that name, everything that
// waits for it ends, nothing is left over, and the others go on.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/harness/frame_world.hpp"
#include "tests/harness/traffic.hpp"
#include "tests/harness/world_kind.hpp"

namespace espalier::test {
namespace {

constexpr int kMemoryRanks = 3;

// Rank 1 has little memory, rank 0 sends, rank 2 is another.
class LittleMemory : public ::testing::TestWithParam<WorldKind> {
 protected:
  LittleMemory() : world_(static_cast<FrameWorld*>(GetParam().make(kMemoryRanks).release())) {
    for (const Rank from : {0, 2}) exchange(from, 8);
  }
  std::unique_ptr<Message> message(Rank from, std::uint64_t bytes) {
    auto m = std::make_unique<Message>(from, 1, FlowId(1, 0, number_), bytes, number_);
    ++number_;
    return m;
  }
  void send(Message& m) {
    ASSERT_TRUE(
        step_until(*world_, [&] { return m.send(world_->wire(m.from)) != Posted::kRetry; }));
  }
  // Received where it is wanted: the pool is not asked.
  void exchange(Rank from, std::uint64_t bytes) {
    auto m = message(from, bytes);
    (void)m->receive(world_->wire(1));
    send(*m);
    finish(*world_, *m);
    settle(*world_);
  }
  void bound(std::uint64_t bytes) { world_->frames(1).buffers().bound(bytes); }
  void expect_lost(const Message& failed) {
    ASSERT_TRUE(step_until(*world_, [&] { return !world_->frames(1).state(0).ok(); }));
    EXPECT_EQ(world_->frames(1).state(0).code(), ESP_ERR_NO_MEMORY);
    EXPECT_EQ(world_->frames(1).state(0).rank(), 0);
    ASSERT_TRUE(step_until(*world_, [&] { return failed.sent.complete(); }));
    auto late = message(0, 100);
    (void)late->receive(world_->wire(1));
    ASSERT_TRUE(step_until(*world_, [&] { return late->received.complete(); }));
    EXPECT_EQ(late->received.status.code(), ESP_ERR_NO_MEMORY);
    EXPECT_EQ(late->received.fired, 1);
    EXPECT_TRUE(world_->frames(1).state(2).ok());
    exchange(2, 40'000);
    EXPECT_EQ(world_->frames(1).held_bytes(), 0U);
  }

  std::unique_ptr<FrameWorld> world_;

 private:
  std::uint64_t number_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Of, LittleMemory, ::testing::ValuesIn(plain_links()), name_of_world);

// What came whole before is there for its receives.
TEST_P(LittleMemory, ForSegmentsThatNobodyExpects) {
  bound(100'000);
  std::vector<std::unique_ptr<Message>> all;
  for (int i = 0; i < 4; ++i) {
    all.push_back(message(0, 30'000));
    send(*all.back());
  }
  ASSERT_TRUE(step_until(*world_, [&] { return !world_->frames(1).state(0).ok(); }));
  EXPECT_EQ(world_->frames(1).held_bytes(), 3 * 32'768U);
  for (auto& m : all) {
    (void)m->receive(world_->wire(1));
    ASSERT_TRUE(step_until(*world_, [&] { return m->received.complete(); }));
    if (m == all.back()) continue;
    m->check();
  }
  EXPECT_EQ(all.back()->received.status.code(), ESP_ERR_NO_MEMORY);
  expect_lost(*all.back());
}

TEST_P(LittleMemory, ForASegmentThatIsReadInPlace) {
  auto m = message(0, 200'000);
  m->in_place = true;
  bound(100'000);
  (void)m->receive(world_->wire(1));
  send(*m);
  ASSERT_TRUE(step_until(*world_, [&] { return m->received.complete(); }));
  EXPECT_EQ(m->received.fired, 1);
  EXPECT_EQ(m->received.status.code(), ESP_ERR_NO_MEMORY);
  expect_lost(*m);
}

// The rest of what arrives has nowhere to go.
TEST_P(LittleMemory, ForASegmentWhoseReceiveIsCancelled) {
  auto m = message(0, 500'000);
  ASSERT_EQ(m->receive(world_->wire(1)), Posted::kPending);
  send(*m);
  const auto begun = [&] { return std::memcmp(m->target.data(), m->source.data(), 64) == 0; };
  ASSERT_TRUE(step_until(*world_, begun));
  ASSERT_FALSE(m->received.complete()) << "it has come in one look";
  bound(0);
  world_->wire(1).cancel(m->received);
  std::fill(m->target.begin(), m->target.end(), std::byte{0x11});
  expect_lost(*m);
  EXPECT_EQ(m->received.fired, 0);
  EXPECT_TRUE(std::all_of(m->target.begin(), m->target.end(),
                          [](std::byte b) { return b == std::byte{0x11}; }));
}

TEST_P(LittleMemory, ForAMessageOfTheLayersAbove) {
  bound(100);
  const std::vector<std::byte> text(64);
  auto m = message(0, 30'000);
  world_->frames(0).send_control(1, text);
  send(*m);
  expect_lost(*m);
}

// Of a mismatch the payload is taken in, too.
TEST_P(LittleMemory, ForASegmentOfAnotherLength) {
  bound(100);
  auto m = message(0, 30'000);
  m->received.dst = m->target.data();
  m->received.bytes = m->bytes - 1;
  (void)world_->wire(1).recv({0, m->flow, 0, 1, 0}, 1, m->received);
  send(*m);
  ASSERT_TRUE(step_until(*world_, [&] { return m->received.complete(); }));
  EXPECT_EQ(m->received.fired, 1);
  EXPECT_FALSE(m->received.status.ok());
  expect_lost(*m);
}

}  // namespace
}  // namespace espalier::test
