// RdmaLink: which frames are worth a connection where there are not enough for all, and what is
// said of peers that have none.
#include <algorithm>
#include <cstring>

#include "tests/harness/rdma_world.hpp"
#include "tests/harness/traffic.hpp"

namespace espalier::test {
namespace {

using net::FrameHeader;
using net::FrameKind;

RdmaWorldOptions at_most(std::uint32_t connections) {
  RdmaWorldOptions options;
  options.connections_max = connections;
  return options;
}

// Takes in frames of the kinds that are a guest's.
struct Guest final : net::FrameGuest {
  std::byte* begin_frame(net::FrameWire&, Rank, const FrameHeader&) noexcept override {
    return memory;
  }
  void end_frame(net::FrameWire&, Rank, const FrameHeader&, std::byte*) noexcept override {
    ++frames;
  }
  void lost_peer(net::FrameWire&, Rank, const Status&) noexcept override {}
  std::byte memory[256] = {};
  int frames = 0;
};

class Choice : public ::testing::Test {
 protected:
  void make(int ranks, const RdmaWorldOptions& options) {
    world_ = std::make_unique<RdmaWorld>(ranks, options);
    guests_.resize(static_cast<std::size_t>(ranks));
    for (Rank r = 0; r < ranks; ++r) {
      world_->frames(r).set_guest(&guests_[static_cast<std::size_t>(r)]);
    }
  }
  ~Choice() override {
    for (Rank r = 0; world_ != nullptr && r < world_->size(); ++r) {
      world_->frames(r).set_guest(nullptr);
    }
  }
  // Handshakes come to their end. Not settle(): between so many ranks somebody always asks for a
  // sign of life.
  void pause() {
    for (int i = 0; i < 200; ++i) (void)step(*world_);
  }
  // Segments of a flow of this channel; two, for the first goes before the connection is there.
  void send(Rank from, Rank to, std::uint32_t channel, bool synchronous = false) {
    for (int i = 0; i < 2; ++i) {
      ++flows_;
      Message m(from, to, FlowId(1, channel, flows_), 100, flows_);
      (void)m.receive(world_->wire(to));
      ASSERT_NE(m.send(world_->wire(from), synchronous), Posted::kRetry);
      finish(*world_, m);
      pause();
    }
  }
  void tree(Rank from, Rank to) { send(from, to, 3); }
  void message(Rank from, Rank to) { send(from, to, FlowId::kPointToPoint + 3); }
  // Twice, as well.
  void frame(Rank from, Rank to, FrameKind kind) {
    Completion nobody([](Completion&, Status) noexcept {});
    net::OutgoingFrame out(nobody);
    out.payload = payload_;
    FrameHeader& header = out.header;
    header.kind = kind;
    if (kind == FrameKind::kGet || kind == FrameKind::kAtomic) header.total = 1;
    if (kind == FrameKind::kPut) header.bytes = 8;
    if (kind == FrameKind::kAtomic) header.bytes = net::kOperandBytes;
    int& come = guests_[static_cast<std::size_t>(to)].frames;
    const int before = come;
    for (int i = 0; i < 2; ++i) {
      ASSERT_EQ(world_->frames(from).post_frame(to, out), Posted::kDone);
      pause();
    }
    EXPECT_EQ(come, before + 2);
    EXPECT_TRUE(world_->frames(to).state(from).ok());
  }
  // How many of the peers this rank sends to by a connection.
  int connected(Rank from) const {
    int peers = 0;
    for (Rank r = 0; r < world_->size(); ++r) {
      peers += r != from && world_->rdma(from).connected(r) ? 1 : 0;
    }
    return peers;
  }

  std::unique_ptr<RdmaWorld> world_;
  std::vector<Guest> guests_;

 private:
  std::uint64_t flows_ = 0;
  const std::byte payload_[64] = {};
};

TEST_F(Choice, NoticesAndMessagesOfTheLayersAboveAreWorthNone) {
  make(4, at_most(1));
  const std::byte text[32] = {};
  for (int i = 0; i < 5; ++i) {
    for (const Rank to : {1, 2, 3}) world_->frames(0).send_control(to, text);
    pause();
  }
  for (const FrameKind kind : {FrameKind::kRefused, FrameKind::kAnswer}) frame(0, 1, kind);
  EXPECT_EQ(world_->connections(0).statistics().letters, 0U);
  EXPECT_EQ(connected(0), 0);
  tree(0, 2);
  EXPECT_TRUE(world_->rdma(0).connected(2)) << "it has its one yet";
}

// Who only receives asks for nothing, whatever it permits and answers.
TEST_F(Choice, GrantsAndReceiptsAreWorthNone) {
  make(3, at_most(1));
  tree(0, 1);
  EXPECT_TRUE(world_->rdma(0).connected(1));
  auto flow = make_flow(0, 1, FlowId(1, 2, 1000), 100, 200);
  std::size_t sent = 0;
  for (auto& m : flow) (void)m->receive(world_->wire(1));
  ASSERT_TRUE(step_until(*world_, [&] {
    while (sent < flow.size() && flow[sent]->send(world_->wire(0), true) != Posted::kRetry) ++sent;
    return std::all_of(flow.begin(), flow.end(), [](auto& m) { return m->sent.complete(); });
  }));
  EXPECT_GT(world_->counters(1).grants.value(), 0U);
  EXPECT_FALSE(world_->rdma(1).connected(0));
  tree(1, 2);
  EXPECT_TRUE(world_->rdma(1).connected(2)) << "it has its one yet";
}

TEST_F(Choice, MessagesBetweenMembersTakeHalf) {
  make(9, at_most(5));
  for (Rank to = 1; to < 9; ++to) message(0, to);
  EXPECT_EQ(connected(0), 3) << "two are kept";
  EXPECT_FALSE(world_->rdma(0).connected(4));
  EXPECT_EQ(world_->rdma(0).why_datagrams(4), nullptr) << "a tree would get one";
  for (Rank to = 4; to < 9; ++to) tree(0, to);
  EXPECT_EQ(connected(0), 5);
  EXPECT_TRUE(world_->rdma(0).connected(5));
  EXPECT_FALSE(world_->rdma(0).connected(6));
  EXPECT_STREQ(world_->rdma(0).why_datagrams(6), "others have this rank's connections");
  EXPECT_FALSE(world_->rdma(0).connects(6));
  // Who has a connection by a tree sends everything there.
  const std::uint64_t frames = world_->connections(0).statistics().frames;
  message(0, 5);
  EXPECT_EQ(world_->connections(0).statistics().frames, frames + 2);
}

TEST_F(Choice, SoDoOneSidedOperationsAndActiveMessages) {
  for (const FrameKind kind :
       {FrameKind::kMessage, FrameKind::kPut, FrameKind::kGet, FrameKind::kAtomic}) {
    make(6, at_most(4));
    for (Rank to = 1; to < 6; ++to) frame(0, to, kind);
    EXPECT_EQ(connected(0), 2) << static_cast<int>(kind);
  }
}

TEST_F(Choice, TreesTakeAllThatThereAre) {
  make(6, at_most(3));
  for (Rank to = 1; to < 6; ++to) tree(0, to);
  EXPECT_EQ(connected(0), 3);
  message(0, 5);
  EXPECT_EQ(connected(0), 3);
  EXPECT_STREQ(world_->rdma(0).why_datagrams(5), "others have this rank's connections");
}

TEST_F(Choice, NothingIsKeptWhereThereIsEnoughForAll) {
  make(5, at_most(5));
  for (Rank to = 1; to < 5; ++to) message(0, to);
  EXPECT_EQ(connected(0), 4);
  make(2, at_most(1));
  message(0, 1);
  EXPECT_EQ(connected(0), 1) << "half of one is none";
}

TEST_F(Choice, TellsWhyThereIsNoConnection) {
  RdmaWorldOptions options;
  options.adapter.connections = 1;
  make(4, options);
  tree(0, 1);
  EXPECT_EQ(world_->rdma(0).why_datagrams(1), nullptr);
  EXPECT_EQ(world_->rdma(0).why_datagrams(2), nullptr) << "nobody knows before it is tried";
  tree(0, 2);
  EXPECT_STREQ(world_->rdma(0).why_datagrams(2), "no queue pair left");
  world_->rdma(0).use_datagrams(3);
  tree(0, 3);
  EXPECT_STREQ(world_->rdma(0).why_datagrams(3), "one of the two has no connections");
  EXPECT_EQ(world_->rdma(0).describe(3).rfind("datagrams of ", 0), 0U);
  EXPECT_EQ(world_->rdma(0).describe(1).rfind("connection ", 0), 0U);

  make(3, at_most(0));
  tree(0, 1);
  EXPECT_STREQ(world_->rdma(0).why_datagrams(1), "others have this rank's connections");
  EXPECT_EQ(connected(0), 0);

  RdmaWorld alone(2, datagrams_alone());
  const rdma::RdmaLink link(alone.datagrams(0), nullptr, 2, 2);
  EXPECT_STREQ(link.why_datagrams(1), "this rank has no connections");
  EXPECT_FALSE(link.connects(1));
}

}  // namespace
}  // namespace espalier::test
