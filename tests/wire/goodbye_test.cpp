// Peers that leave with a goodbye: nobody is told of it who does not need them, and who does learns
// that they are gone.
#include <memory>

#include "tests/harness/rdma_world.hpp"
#include "tests/harness/tcp_world.hpp"
#include "tests/harness/traffic.hpp"
#include "tests/harness/world_kind.hpp"

namespace espalier::test {
namespace {

class Goodbye : public ::testing::TestWithParam<WorldKind> {
 protected:
  // Rank 1 has sent and got a message, and goes.
  void SetUp() override {
    made_ = GetParam().make(2);
    world_ = static_cast<FrameWorld*>(made_.get());
    simulated_ = dynamic_cast<RdmaWorld*>(world_);
    for (std::uint64_t round = 0; round < 3; ++round) {  // first by datagrams, if there are any
      Message there(0, 1, FlowId(1, 1, round), 1000, 1), back(1, 0, FlowId(1, 2, round), 1000, 2);
      for (Message* m : {&there, &back}) ASSERT_NO_FATAL_FAILURE(carry(*world_, *m));
      if (simulated_ != nullptr) simulated_->pass(100'000);
    }
    world_->link(1).say_goodbye(0);
    ASSERT_TRUE(step_until(*world_, [&] { return world_->link(1).drained(); }));
    world_->close(1);
    for (int i = 0; i < 50; ++i) look();
    EXPECT_TRUE(world_->frames(0).state(1).ok()) << "nobody needs it";
  }
  void look() {
    if (world_->wire(0).progress() == 0) {
      world_->wire(0).idle();
      world_->rest();
      if (simulated_ != nullptr) simulated_->pass(100'000);
    }
  }
  template <typename Done>
  bool until(Done&& done) {
    for (int i = 0; i < 100'000 && !done(); ++i) look();
    return done();
  }

  std::unique_ptr<World> made_;
  FrameWorld* world_ = nullptr;
  RdmaWorld* simulated_ = nullptr;  // time is
};

// However long it has been gone (half a minute, where time is simulated): nobody asks for it.
TEST_P(Goodbye, WhoNeedsNobodyIsNotTold) {
  for (int i = 0; i < 3000; ++i) {
    while (world_->frames(0).progress() > 0) {
    }
    if (simulated_ != nullptr) simulated_->pass(10'000'000);
  }
  EXPECT_TRUE(world_->frames(0).state(1).ok()) << world_->link(0).describe(1);
}

TEST_P(Goodbye, WhoPostsToAPeerThatHasGoneIsToldSo) {
  Message late(0, 1, FlowId(1, 0, 2), 1000, 3), waits(1, 0, FlowId(1, 0, 3), 1000, 4);
  (void)waits.receive(world_->wire(0));
  (void)late.send(world_->wire(0));
  EXPECT_TRUE(until([&] { return late.sent.complete() && waits.received.complete(); }));
  EXPECT_EQ(waits.received.status, Status(ESP_ERR_PEER_DIED, 1));
  EXPECT_EQ(world_->frames(0).state(1), Status(ESP_ERR_PEER_DIED, 1));
  EXPECT_TRUE(world_->link(0).has_left(1));
}

// Nobody waits for anything: all posts end, and the loss is known.
TEST_P(Goodbye, PostsToAPeerThatHasGoneEnd) {
  Messages posts;
  for (std::uint64_t i = 0; i < 3; ++i) {
    posts.push_back(std::make_unique<Message>(0, 1, FlowId(1, 0, 2 + i), 1000, i));
    (void)posts.back()->send(world_->wire(0));
    ASSERT_TRUE(until([&] { return posts.back()->sent.complete(); }));
    for (int k = 0; k < 50; ++k) look();
  }
  EXPECT_TRUE(until([&] { return !world_->frames(0).state(1).ok(); }));
}

TEST_P(Goodbye, WhoWaitsForAPeerThatHasGoneIsToldSo) {
  // A closed connection on which nothing is sent shows nothing (docs/tcp.md).
  if (simulated_ == nullptr) return;
  Message waits(1, 0, FlowId(1, 0, 3), 1000, 4);
  (void)waits.receive(world_->wire(0));
  ASSERT_TRUE(until([&] { return waits.received.complete(); }));
  EXPECT_EQ(waits.received.status, Status(ESP_ERR_PEER_DIED, 1));
}

// Others have told that it has gone, which this rank need not hear: it leaves, too. What a protocol
// answers after that goes nowhere.
TEST_P(Goodbye, WhoHasLeftTooMissesNobody) {
  if (simulated_ == nullptr) return;  // By TCP who is given up from above is told of at once.
  world_->link(0).lose(1, error(ESP_ERR_PEER_DIED, "it has gone, as others have told", 1));
  for (int i = 0; i < 50; ++i) look();
  EXPECT_TRUE(world_->frames(0).state(1).ok()) << "nobody needs it";
  world_->link(0).say_goodbye(1);
  Message late(0, 1, FlowId(1, 0, 2), 1000, 3);
  EXPECT_EQ(late.send(world_->wire(0)), Posted::kDone);
  for (int i = 0; i < 50; ++i) look();
  EXPECT_TRUE(world_->frames(0).state(1).ok()) << world_->link(0).describe(1);
  EXPECT_TRUE(world_->link(0).drained());
}

// Who has sent the last frame need not know yet, when the other leaves, that it has come.
TEST(GoodbyeOfConnections, WhoSpokeLastIsNotTold) {
  for (const std::uint64_t bytes : {8, 1000, 40'000}) {
    for (const Rank last : {0, 1}) {
      for (const std::uint64_t rest_ns : {0, 1'000, 100'000}) {
        SCOPED_TRACE(std::to_string(bytes) + " bytes, rank " + std::to_string(last) + ", " +
                     std::to_string(rest_ns) + " ns");
        RdmaWorld world(2, {});
        for (std::uint64_t round = 0; round < 7; ++round) {
          const Rank from = round % 2 == 0 ? last : 1 - last;
          Message m(from, 1 - from, FlowId(1, 1, round), bytes, round);
          ASSERT_NO_FATAL_FAILURE(carry(world, m));
          world.pass(rest_ns);
        }
        ASSERT_TRUE(world.rdma(0).connected(1));
        world.link(1).say_goodbye(0);
        ASSERT_TRUE(step_until(world, [&] { return world.link(1).drained(); }));
        world.close(1);
        const auto rank_0_goes_on = [&](int times) {
          for (int i = 0; i < times; ++i) {
            while (world.frames(0).progress() > 0) {
            }
            world.pass(10'000'000);
          }
        };
        rank_0_goes_on(300);
        EXPECT_TRUE(world.frames(0).state(1).ok()) << world.link(0).describe(1);
        world.link(0).say_goodbye(1);
        rank_0_goes_on(300);
        EXPECT_TRUE(world.link(0).drained());
      }
    }
  }
}

// A connection that broke after the goodbye is being made anew when the peer goes. Nobody waits for
// that, until somebody posts.
TEST(GoodbyeOfConnections, APostToAPeerThatWentWhileTheyConnectedEnds) {
  for (const std::uint64_t bytes : {100, 40'000}) {
    SCOPED_TRACE(bytes);
    RdmaWorldOptions options;
    RdmaWorld world(2, options);
    for (std::uint64_t round = 0; round < 8; ++round) {
      const Rank from = round % 2 == 0 ? 0 : 1;
      Message m(from, 1 - from, FlowId(1, 1, round), 1000, round);
      ASSERT_NO_FATAL_FAILURE(carry(world, m));
      world.pass(100'000);
    }
    ASSERT_TRUE(world.rdma(0).connected(1));
    world.link(1).say_goodbye(0);
    ASSERT_TRUE(step_until(world, [&] { return world.link(1).drained(); }));
    world.connection_net().break_path(1, 0);
    const auto made = [&] { return world.connections(0).statistics().connections; };
    const std::uint64_t before = made();
    for (int i = 0; i < 1000 && made() == before; ++i) {
      (void)world.frames(1).progress();
      world.pass(100'000);
      while (world.frames(0).progress() > 0) {
      }
    }
    ASSERT_GT(made(), before) << "rank 1 has asked for another connection";
    world.close(1);
    const auto rank_0_goes_on = [&](int times, auto&& done) {
      for (int i = 0; i < times && !done(); ++i) {
        while (world.frames(0).progress() > 0) {
        }
        world.pass(10'000'000);
      }
    };
    rank_0_goes_on(10, [] { return false; });
    Message late(0, 1, FlowId(1, 0, 9), bytes, 3);
    (void)late.send(world.wire(0));
    rank_0_goes_on(2000, [&] { return late.sent.complete() && !world.frames(0).state(1).ok(); });
    EXPECT_TRUE(late.sent.complete());
    EXPECT_EQ(world.frames(0).state(1), Status(ESP_ERR_PEER_DIED, 1));
  }
}

const std::vector<WorldKind> kLinks = {
    {"Datagrams", worlds_of<RdmaWorld>(datagrams_alone())},
    {"Connections", worlds_of<RdmaWorld>()},
    {"Tcp", worlds_of<TcpWorld>(tcp_options("127.0.0.1"))},
};
INSTANTIATE_TEST_SUITE_P(Links, Goodbye, ::testing::ValuesIn(kLinks), name_of_world);

}  // namespace
}  // namespace espalier::test
