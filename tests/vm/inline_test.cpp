// A device that takes small payloads inline at first and refuses them later, when they are posted
// or when they complete: they are copied from then on, everything arrives, and it is said once.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "net/verbs/inline_sends.hpp"
#include "tests/vm/connection_nodes.hpp"
#include "tests/vm/queue_pairs.hpp"
#include "tests/vm/verbs_world.hpp"

namespace espalier::test {
namespace {

using Refusal = InlineFate::Refusal;
using ::testing::IsEmpty;
using verbs::Connections;
using verbs::eventually;

// What is said on the standard error while it lives, of refusals.
class SaidOfInline {
 public:
  SaidOfInline() { ::testing::internal::CaptureStderr(); }
  ~SaidOfInline() {
    if (!taken_) (void)take();
  }
  SaidOfInline(const SaidOfInline&) = delete;
  SaidOfInline& operator=(const SaidOfInline&) = delete;
  std::vector<std::string> take() {
    taken_ = true;
    std::istringstream said(::testing::internal::GetCapturedStderr());
    std::vector<std::string> found;
    for (std::string line; std::getline(said, line);) {
      if (line.find("inline data") != std::string::npos) found.push_back(line);
    }
    return found;
  }

 private:
  bool taken_ = false;
};

// In the middle of a list of requests; queues wrap around many times, and the sender's memory holds
// the next message as soon as one has been posted.
TEST_F(Connections, MessagesThatAreRefusedInlineGoAllTheSame) {
  QueuePairWatch watch;
  watch.connections_inline = {.refusal = Refusal::kAtPost, .taken_max = 3};
  constexpr std::uint32_t kDepth = 16;
  open({.send_depth = kDepth});
  verbs::ConnectionNode& a = nodes_[0];
  verbs::ConnectionNode& b = nodes_[1];
  constexpr std::uint32_t kMessages = 200;
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    std::uint32_t words[16];
    std::fill(std::begin(words), std::end(words), i);
    const verbs::Transfer what = {.local = words,
                                  .bytes = sizeof words,
                                  .cookie = i,
                                  .signaled = i + 1 == kMessages,
                                  .more = i % 5 < 4};
    ASSERT_TRUE(eventually([&] {
      if (a.port->send(a.connection, what)) return true;
      poll_both();
      return !a.log.faults.empty();
    }));
    ASSERT_THAT(a.log.faults, IsEmpty()) << i;
  }
  ASSERT_TRUE(eventually([&] {
    poll_both();
    return !a.log.faults.empty() || (!a.log.done.empty() && b.log.packets.size() == kMessages);
  }));
  ASSERT_THAT(a.log.faults, IsEmpty());
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    std::uint32_t words[16] = {};
    ASSERT_EQ(b.log.packets[i]->bytes, sizeof words);
    std::memcpy(words, b.log.packets[i]->data, sizeof words);
    EXPECT_THAT(words, ::testing::Each(i));
  }
  EXPECT_EQ(watch.connections_inline.refused, 1u) << "asked again";
  // As many as may be under way lie in different places.
  const std::vector<std::uint64_t>& from = watch.connections_inline.read_from;
  ASSERT_EQ(from.size(), kMessages - 3);
  for (std::size_t i = 0; i + kDepth <= from.size(); ++i) {
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>(i);
    EXPECT_EQ(std::set<std::uint64_t>(begin, begin + kDepth).size(), kDepth) << i;
  }
}

// Two ranks that send small segments to each other.
class SmallSegments {
 public:
  static constexpr std::uint64_t kWindow = 2;

  explicit SmallSegments(Over over) : world_(2, over, "") {}

  VerbsWorld& world() { return world_; }

  // Whether all of a window arrive, both ways.
  bool window() {
    Way& there = ways_.emplace_back(count_);
    Way& back = ways_.emplace_back(count_);
    for (std::uint64_t i = 0; i < kWindow; ++i) {
      post(there, 0, i);
      post(back, 1, i);
    }
    count_ += kWindow;
    const bool done = eventually([&] {
      for (const Rank r : {0, 1}) (void)world_.frames(r).progress();
      return there.all_done() && back.all_done();
    });
    return done && there.right() && back.right();
  }
  bool windows(int number) {
    while (number > 0 && window()) --number;
    return number == 0;
  }

 private:
  struct Receive : RecvOp {
    Receive() noexcept
        : RecvOp([](Completion& self, Status how) noexcept {
            static_cast<Receive&>(self).done = true;
            static_cast<Receive&>(self).status = how;
          }) {}
    bool done = false;
    Status status;
  };
  struct Sending : SendOp {
    Sending() noexcept
        : SendOp(
              [](Completion& self, Status) noexcept { static_cast<Sending&>(self).done = true; }) {}
    bool done = false;
  };
  // From one rank.
  struct Way {
    explicit Way(std::uint64_t first_) : first(first_) {}
    bool all_done() const {
      return std::all_of(std::begin(receives), std::end(receives),
                         [](const Receive& one) { return one.done; }) &&
             std::all_of(std::begin(sends), std::end(sends),
                         [](const Sending& one) { return one.done; });
    }
    bool right() const {
      for (std::uint64_t i = 0; i < kWindow; ++i) {
        if (!receives[i].status.ok() || to[i] != from[i] || to[i][0] != first + i) return false;
      }
      return true;
    }
    const std::uint64_t first;
    Receive receives[kWindow];
    Sending sends[kWindow];
    std::array<std::uint64_t, 8> from[kWindow] = {}, to[kWindow] = {};
  };

  void post(Way& way, Rank rank, std::uint64_t i) {
    const Rank peer = 1 - rank;
    const FlowId flow(1, 0, count_ + i);
    way.from[i].fill(count_ + i);
    Receive& receive = way.receives[i];
    receive.dst = way.to[i].data();
    receive.bytes = sizeof way.to[i];
    EXPECT_EQ(world_.frames(peer).recv({.peer = rank, .flow = flow}, 1, receive), Posted::kPending);
    const Send what = {.segment = {.peer = peer, .flow = flow},
                       .data = way.from[i].data(),
                       .bytes = sizeof way.from[i]};
    if (world_.frames(rank).send(what, way.sends[i]) == Posted::kDone) way.sends[i].done = true;
  }

  std::deque<Way> ways_;  // Outlive the world, which may still have some of a window that failed.
  VerbsWorld world_;
  std::uint64_t count_ = 0;
};

// `fate`: one of the watch. Each device says it once, and is not asked again when it has.
void expect_to_give_way(Over over, InlineFate& fate, Refusal refusal) {
  fate = {.refusal = refusal, .taken_max = 40};
  SaidOfInline saying;
  SmallSegments segments(over);
  ASSERT_TRUE(segments.windows(100)) << fate.refused << " refused";
  ASSERT_GT(fate.refused, 0u);
  const std::uint64_t refused = fate.refused;
  ASSERT_TRUE(segments.windows(100));
  EXPECT_EQ(fate.refused, refused) << "asked again";
  const std::vector<std::string> said = saying.take();
  EXPECT_THAT(said, ::testing::Not(IsEmpty()));
  EXPECT_EQ(std::set<std::string>(said.begin(), said.end()).size(), said.size());
  if (over != Over::kConnections) return;
  // Only a queue pair that has failed is made anew.
  for (const Rank r : {0, 1}) {
    const std::uint64_t rebuilds = segments.world().connections(r).statistics().rebuilds;
    EXPECT_LE(rebuilds, refusal == Refusal::kAtPost ? 0u : 2u);
  }
}

TEST(Inline, ConnectionsGiveWayWhenPostsAreRefused) {
  QueuePairWatch watch;
  expect_to_give_way(Over::kConnections, watch.connections_inline, Refusal::kAtPost);
}
TEST(Inline, ConnectionsGiveWayWhenSendsFail) {
  QueuePairWatch watch;
  expect_to_give_way(Over::kConnections, watch.connections_inline, Refusal::kAtCompletion);
}
TEST(Inline, DatagramsGiveWayWhenPostsAreRefused) {
  QueuePairWatch watch;
  expect_to_give_way(Over::kDatagrams, watch.datagrams_inline, Refusal::kAtPost);
}
TEST(Inline, DatagramsGiveWayWhenSendsFail) {
  QueuePairWatch watch;
  expect_to_give_way(Over::kDatagrams, watch.datagrams_inline, Refusal::kAtCompletion);
}

// An error of the peer or of the network is no refusal, nor what a link that is down explains.
TEST(Inline, WhichErrorsAreRefusals) {
  const Log quiet(LogLevel::kError);
  const auto refused = [&](ibv_wc_status status, bool link_up) {
    verbs::InlineSends sends("device", quiet);
    const bool is_refusal = sends.refused(status, link_up);
    EXPECT_EQ(sends.wanted(), !is_refusal);
    return is_refusal;
  };
  for (const ibv_wc_status status : {IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_PROT_ERR, IBV_WC_GENERAL_ERR}) {
    EXPECT_TRUE(refused(status, true));
    EXPECT_TRUE(refused(status, false));
  }
  EXPECT_TRUE(refused(IBV_WC_LOC_QP_OP_ERR, true));
  EXPECT_FALSE(refused(IBV_WC_LOC_QP_OP_ERR, false));
  for (const ibv_wc_status status : {IBV_WC_WR_FLUSH_ERR, IBV_WC_RETRY_EXC_ERR,
                                     IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_REM_ACCESS_ERR}) {
    EXPECT_FALSE(refused(status, true));
  }
}

}  // namespace
}  // namespace espalier::test
