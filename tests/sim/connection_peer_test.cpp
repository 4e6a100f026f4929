// ConnectionLink and a peer that is no link: what it is sent, in which order; and what it may send
// without being refused.
#include "stranger.hpp"

namespace espalier::test {
namespace {

using net::FrameHeader;
using net::FrameKind;
using rdma::KnownHeaders;
using rdma::MessageKind;
using ::testing::ElementsAre;

std::uint8_t kept() {
  return static_cast<std::uint8_t>(1 + KnownHeaders::slot_of(segment(0, 0)));
}

TEST_F(Stranger, MayLeaveOutAHeaderThatWasKept) {
  send(MessageKind::kFrames, frame(segment(5, 3, 2), 3), kept());
  send_headless(0, 10);
  send_headless(2, 0);
  FrameHeader second = segment(5, 10, 2), third = segment(7, 0, 2);
  second.ordinal = 1;
  EXPECT_THAT(frames_, ElementsAre(segment(5, 3, 2), second, third));
  EXPECT_EQ(lost_, ESP_OK);
}

TEST_F(Stranger, MayNotLeaveOutAnother) {
  send(MessageKind::kFrames, frame(segment(5, 3), 3));
  send_headless(1, 3);
  expect_refused("3 bytes that follow header");
}

TEST_F(Stranger, MayNotGoOnBehindTheLastOfAFlow) {
  send(MessageKind::kFrames, frame(segment(5, 3), 3), kept());
  send_headless(0, 3);
  expect_refused("3 bytes that follow header");
}

TEST_F(Stranger, MayNotLeaveOutAHeaderWithinAFrame) {
  send(MessageKind::kFrames, frame(segment(5, 3), 3), kept());
  send(MessageKind::kFrames, frame(segment(6, 30), 10));
  send_headless(1, 20);
  expect_refused("20 bytes that follow header");
}

TEST_F(Stranger, MayNotHaveAHeaderKeptThatIsNotAlone) {
  send(MessageKind::kFrames, frame(segment(5, 3), 3) + frame(segment(6, 3), 3), kept());
  expect_refused("a header to keep that is not a segment's of its own");
}

TEST_F(Stranger, MayNotHaveAHeaderKeptThatIsNoSegments) {
  FrameHeader grant;
  grant.kind = FrameKind::kGrant;
  grant.ordinal = 1;
  send(MessageKind::kFrames, frame(grant, 0), kept());
  expect_refused("a header to keep that is not a segment's of its own");
}

TEST_F(Stranger, MayNotAnnounceHalves) {
  send(MessageKind::kAnnounce, std::vector<std::byte>(rdma::Announcement::kBytes + 1));
  expect_refused("announcements of 53 bytes");
}

TEST_F(Stranger, MayNotAnnounceNothing) {
  send(MessageKind::kAnnounce, {});
  expect_refused("announcements of 0 bytes");
}

// Its next frame may be the answer to what is sent behind.
TEST_F(Stranger, HearsOfPlacesBeforeFrames) {
  on_frame_ = [&] {
    want(segment(90, 5000));
    post(segment(70, 8));
  };
  send(MessageKind::kFrames, frame(segment(5, 3), 3));
  EXPECT_THAT(seen_, ElementsAre("announce 1", "segment"));
  seen_.clear();
  offer(segment(71, 4000), 3);
  on_frame_ = [&] {
    post(segment(71, 4000));
    want(segment(91, 5000));
  };
  send(MessageKind::kFrames, frame(segment(6, 3), 3));
  EXPECT_THAT(seen_, ElementsAre("announce 1", "placed"));
}

// It has left, asks for a new connection, and is not heard of again until somebody posts.
TEST_F(Stranger, IsAnsweredAgainWhenThereIsSomethingForIt) {
  say_goodbye();
  deaf_ = true;
  renew();
  for (int i = 0; i < 5; ++i) pass(1'000'000'000);
  EXPECT_EQ(seen_.size(), 0U);
  deaf_ = false;
  post(segment(5, 500));
  run();
  EXPECT_THAT(seen_, ElementsAre("segment"));
  EXPECT_EQ(lost_, ESP_OK);
}

// Places of one flow: the first at once, then four at a time; before a permission all there are.
TEST_F(Stranger, HearsOfPlacesInTime) {
  FrameHeader header = segment(90, 5000, 100);
  const auto want_more = [&](int count) {
    for (; count > 0; --count, ++header.ordinal) want(header);
  };
  on_frame_ = [&] { want_more(8); };
  send(MessageKind::kFrames, frame(segment(5, 3), 3));
  EXPECT_THAT(seen_, ElementsAre("announce 2", "announce 2", "announce 2", "announce 2"));
  seen_.clear();
  on_frame_ = [&] { want_more(3); };
  send(MessageKind::kFrames, frame(segment(6, 3), 3));
  EXPECT_THAT(seen_, ElementsAre());
  on_frame_ = [&] { want_more(1); };
  send(MessageKind::kFrames, frame(segment(7, 3), 3));
  EXPECT_THAT(seen_, ElementsAre("announce 2", "announce 2"));
  seen_.clear();
  on_frame_ = [&] {
    want_more(1);
    FrameHeader grant;
    grant.kind = FrameKind::kGrant;
    grant.flow = header.flow;
    grant.ordinal = header.ordinal;
    post(grant);
  };
  send(MessageKind::kFrames, frame(segment(8, 3), 3));
  EXPECT_THAT(seen_, ElementsAre("announce 1", "grant"));
  // Outside of progress(), too.
  seen_.clear();
  on_frame_ = {};
  want_more(1);
  FrameHeader grant;
  grant.kind = FrameKind::kGrant;
  grant.flow = header.flow;
  grant.ordinal = header.ordinal;
  post(grant);
  send(MessageKind::kCredits, {});
  EXPECT_THAT(seen_, ElementsAre("announce 1", "grant"));
}

}  // namespace
}  // namespace espalier::test
