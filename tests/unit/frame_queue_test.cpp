// What waits for the room of a link: FrameWire's queue per peer, over a link that takes as much as
// the test says.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "net/frame_wire.hpp"

namespace espalier {
namespace {

using net::FrameHeader;
using net::FrameKind;

constexpr std::uint64_t kInline = 64;

// Takes `room` frames, of any peer.
struct NarrowLink final : net::Link {
  net::LinkCaps caps(Rank) const noexcept override { return {.inline_bytes = kInline}; }
  Posted post(Rank, const FrameHeader& header, const void* payload,
              Completion& completion) noexcept override {
    if (room == 0) return Posted::kRetry;
    --room;
    const auto* text = static_cast<const char*>(payload);
    posts.emplace_back(header, std::string(text, text + header.bytes));
    if (header.bytes <= kInline) return Posted::kDone;
    has.push_back(&completion);
    return Posted::kPending;
  }
  void withdraw(Rank, Completion& completion) noexcept override {
    withdrawn += static_cast<int>(std::erase(has, &completion));
  }
  void reach(Rank) noexcept override {}
  void lose(Rank, Error) noexcept override { ++given_up; }
  int progress(net::FrameSink& sink) noexcept override {
    if (std::exchange(breaks, false)) {
      how = Status(ESP_ERR_PEER_DIED, 1);
      sink.lost(1, how);
    }
    for (Completion* done : std::exchange(has, {})) done->complete(how);
    return 1;
  }
  int descriptor() const noexcept override { return -1; }
  bool arm() noexcept override { return false; }
  void say_goodbye(Rank) noexcept override {}
  void say_goodbye_to_all() noexcept override {}
  bool drained() const noexcept override { return true; }
  std::string describe(Rank) const override { return ""; }

  int room = 0;
  bool breaks = false;
  Status how;
  std::vector<std::pair<FrameHeader, std::string>> posts;
  std::vector<Completion*> has;
  int withdrawn = 0, given_up = 0;
};

template <typename Op>
struct Watched : Op {
  Watched() : Op(note) {}
  static void note(Completion& op, Status how) noexcept {
    auto& self = static_cast<Watched&>(op);
    ++self.fired;
    self.status = how;
    if (self.then) self.then();
  }
  int fired = 0;
  Status status;
  std::function<void()> then;
};

// A frame of a guest; its number is its argument.
struct Letter : Watched<Completion> {
  explicit Letter(std::uint64_t number, std::size_t bytes = 4) : text(bytes, 'x') {
    frame.header.kind = FrameKind::kMessage;
    frame.header.flow = number;
    frame.header.bytes = bytes;
    frame.payload = text.data();
  }
  std::string text;
  net::OutgoingFrame frame{*this};
};

class FrameQueue : public ::testing::Test {
 protected:
  Posted post(Letter& letter) {
    const Posted posted = wire.post_frame(1, letter.frame);
    EXPECT_EQ(letter.fired, 0) << "inside a post";
    return posted;
  }
  Posted send(Watched<SendOp>& op, std::uint64_t flow, std::uint64_t bytes,
              bool synchronous = false) {
    Send what;
    what.segment.peer = 1;
    what.segment.flow.key = flow;
    what.data = memory.data();
    what.bytes = bytes;
    what.synchronous = synchronous;
    const Posted posted = wire.send(what, op);
    EXPECT_EQ(op.fired, 0) << "inside a post";
    return posted;
  }
  void tell(const std::string& text) { wire.send_control(1, std::as_bytes(std::span(text))); }
  // Receives of one flow are posted until this ordinal is granted.
  void grant(std::uint64_t flow, std::uint32_t ordinal) {
    SegmentId segment;
    segment.peer = 1;
    segment.flow.key = flow;
    segment.ordinal = ordinal;
    segment.total = 1000;
    RecvOp& op = receives.emplace_back([](Completion&, Status) noexcept {});
    op.bytes = 8;
    EXPECT_EQ(wire.recv(segment, 2, op), Posted::kPending);
  }
  std::vector<FrameKind> kinds() const {
    std::vector<FrameKind> kinds;
    for (const auto& [header, text] : link.posts) kinds.push_back(header.kind);
    return kinds;
  }
  std::vector<std::uint64_t> flows() const {
    std::vector<std::uint64_t> flows;
    for (const auto& [header, text] : link.posts) flows.push_back(header.flow);
    return flows;
  }
  ~FrameQueue() override {
    for (RecvOp& op : receives) wire.cancel(op);
  }

  NarrowLink link;
  Counters counters;
  net::FrameWire wire{link, {}, counters};
  std::array<std::byte, 1000> memory = {};
  std::deque<RecvOp> receives;
};

TEST_F(FrameQueue, KeepsTheOrderOfAllThatIsPosted) {
  Letter first(1), large(2, 500), last(6);
  Watched<SendOp> small, big;
  link.room = 1;
  EXPECT_EQ(post(first), Posted::kDone);
  EXPECT_EQ(post(large), Posted::kPending);
  EXPECT_EQ(send(small, 3, 8), Posted::kPending);
  grant(4, 16);
  tell("hello");
  EXPECT_EQ(send(big, 5, 500), Posted::kPending);
  link.room = 1;
  EXPECT_EQ(post(last), Posted::kPending) << "there is room, and others wait for it";
  EXPECT_EQ(link.posts.size(), 1u);
  EXPECT_FALSE(wire.all_posted());
  for (link.room = 2; !wire.all_posted(); link.room = 2) (void)wire.progress();
  (void)wire.progress();
  EXPECT_EQ(kinds(), (std::vector{FrameKind::kMessage, FrameKind::kMessage, FrameKind::kSegment,
                                  FrameKind::kGrant, FrameKind::kControl, FrameKind::kSegment,
                                  FrameKind::kMessage}));
  EXPECT_EQ(flows(), (std::vector<std::uint64_t>{1, 2, 3, 4, 0, 5, 6}));
  EXPECT_EQ(link.posts[4].second, "hello") << "the caller's is gone";
  EXPECT_EQ(first.fired, 0);
  for (const auto* op : {&large, &last}) {
    EXPECT_EQ(op->fired, 1);
    EXPECT_TRUE(op->status.ok());
  }
  EXPECT_EQ(small.fired + big.fired, 2);
  EXPECT_EQ(counters.frames_sent.value(), 7u);
}

TEST_F(FrameQueue, GrantsOfOneFlowInARowAreOne) {
  for (const std::uint32_t ordinal : {16, 17, 18}) grant(4, ordinal);
  grant(5, 16);
  grant(4, 19);
  link.room = 100;
  (void)wire.progress();
  ASSERT_EQ(flows(), (std::vector<std::uint64_t>{4, 5, 4}));
  EXPECT_EQ(link.posts[0].first.ordinal, 19u);
  EXPECT_EQ(link.posts[2].first.ordinal, 20u);
}

TEST_F(FrameQueue, ALostPeerEndsEachOnce) {
  Letter in_link(1, 500), waits(2), large(3, 500);
  Watched<SendOp> taken_by_link, synchronous;
  link.room = 2;
  EXPECT_EQ(post(in_link), Posted::kPending);
  EXPECT_EQ(send(taken_by_link, 7, 8, true), Posted::kPending) << "the peer has to take it";
  EXPECT_EQ(post(waits), Posted::kPending);
  EXPECT_EQ(send(synchronous, 8, 8, true), Posted::kPending);
  EXPECT_EQ(post(large), Posted::kPending);
  tell("nobody hears it");
  link.breaks = true;
  link.room = 100;
  (void)wire.progress();
  for (const auto* op : {&in_link, &waits, &large}) {
    EXPECT_EQ(op->fired, 1) << op->frame.header.flow;
    EXPECT_EQ(op->status, Status(ESP_ERR_PEER_DIED, 1));
  }
  for (const auto* op : {&taken_by_link, &synchronous}) {
    EXPECT_EQ(op->fired, 1);
    EXPECT_EQ(op->status, Status(ESP_ERR_PEER_DIED, 1));
  }
  EXPECT_EQ(link.posts.size(), 2u) << "what waited went nowhere";
  EXPECT_TRUE(wire.all_posted());
  Letter late(9);
  Watched<SendOp> later;
  EXPECT_EQ(post(late), Posted::kDone);
  EXPECT_EQ(send(later, 9, 8), Posted::kPending);
  (void)wire.progress();
  EXPECT_EQ(later.fired, 1);
  EXPECT_EQ(later.status, Status(ESP_ERR_PEER_DIED, 1));
  EXPECT_EQ(link.posts.size(), 2u);
}

// Whoever tries again gets its next failure from the next progress.
TEST_F(FrameQueue, TryingAgainIsNoEndlessProgress) {
  link.breaks = true;
  (void)wire.progress();
  Watched<SendOp> op;
  Send again;
  again.segment.peer = 1;
  op.then = [&] { (void)wire.send(again, op); };
  EXPECT_EQ(send(op, 1, 8), Posted::kPending);
  for (int turn = 1; turn <= 3; ++turn) {
    (void)wire.progress();
    EXPECT_EQ(op.fired, turn);
  }
  wire.cancel(op);
}

TEST_F(FrameQueue, WhatIsWithdrawnDoesNotGo) {
  Letter in_link(1, 500), waits(2, 500), after(3);
  Watched<SendOp> cancelled;
  link.room = 1;
  EXPECT_EQ(post(in_link), Posted::kPending);
  EXPECT_EQ(post(waits), Posted::kPending);
  EXPECT_EQ(send(cancelled, 4, 500), Posted::kPending);
  EXPECT_EQ(post(after), Posted::kPending);
  EXPECT_TRUE(waits.frame.waits());
  EXPECT_TRUE(wire.withdraw(1, waits.frame)) << "it never arrives";
  EXPECT_FALSE(wire.withdraw(1, in_link.frame)) << "the link has it";
  EXPECT_EQ(link.withdrawn, 1);
  wire.cancel(cancelled);
  link.room = 100;
  (void)wire.progress();
  EXPECT_EQ(flows(), (std::vector<std::uint64_t>{1, 3}));
  EXPECT_EQ(in_link.fired + waits.fired + cancelled.fired, 0);
  EXPECT_EQ(after.fired, 1);
}

// A completion may take back others that wait behind it, the last one included.
TEST_F(FrameQueue, CompletionsMayWithdrawAndPost) {
  Letter first(1), second(2), last(3), more(4);
  first.then = [&] {
    EXPECT_TRUE(wire.withdraw(1, last.frame));
    EXPECT_EQ(post(more), Posted::kPending);
  };
  for (Letter* letter : {&first, &second, &last}) EXPECT_EQ(post(*letter), Posted::kPending);
  link.room = 100;
  while (!wire.all_posted()) (void)wire.progress();
  EXPECT_EQ(flows(), (std::vector<std::uint64_t>{1, 2, 4}));
  EXPECT_EQ(first.fired + second.fired + more.fired, 3);
  EXPECT_EQ(last.fired, 0);
}

TEST_F(FrameQueue, SaysWhenMessagesOfTheLayersAbovePileUp) {
  int told = 0;
  for (; told < 10'000 && wire.takes_control(1); ++told) tell(std::to_string(told));
  EXPECT_EQ(told, 1024);
  tell("one that must not be left out");
  link.room = 10'000;
  (void)wire.progress();
  EXPECT_TRUE(wire.takes_control(1));
  ASSERT_EQ(link.posts.size(), static_cast<std::size_t>(told) + 1);
  EXPECT_EQ(link.posts[1].second, "1");
}

}  // namespace
}  // namespace espalier
