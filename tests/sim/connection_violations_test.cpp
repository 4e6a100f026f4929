// What ConnectionLink refuses of a peer, each by its name; and a peer that sends, at random,
// messages and letters that are nearly right: it is borne or lost, and nothing else happens.
#include <array>

#include "core/prng.hpp"
#include "stranger.hpp"

namespace espalier::test {
namespace {

using net::FrameHeader;
using net::FrameKind;
using rdma::Letter;
using rdma::LetterKind;
using rdma::MessageKind;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Bytes = std::vector<std::byte>;

TEST_F(Stranger, MayNotGiveCreditsThatNobodySpent) {
  send(MessageKind::kCredits, {}, 0, 60'000);
  expect_refused("60000 credits too many");
}

// It never gives a credit back: rank 0 cannot tell it any more that it may send.
TEST_F(Stranger, MayNotSendMoreThanItWasGranted) {
  int sent = 0;
  for (; sent < 2000 && lost_ == ESP_OK; ++sent) send(MessageKind::kCredits, {});
  EXPECT_GT(sent, 32);
  expect_refused("more messages than it was granted");
}

TEST_F(Stranger, MayNotSayGoodbyeInsideAFrame) {
  send(MessageKind::kFrames, frame(segment(5, 30), 10));
  say_goodbye();
  expect_refused("a goodbye inside a frame");
}

TEST_F(Stranger, MayNotSpeakAfterItsGoodbye) {
  say_goodbye();
  EXPECT_EQ(lost_, ESP_OK);
  send(MessageKind::kFrames, frame(segment(5, 3), 3));
  expect_refused("a frame after its goodbye");
}

TEST_F(Stranger, MayNotSayGoodbyeByAnotherLength) {
  send(MessageKind::kGoodbye, {});
  expect_refused("a goodbye of another length");
}

TEST_F(Stranger, MayNotHaveGotWhatWasNotSent) {
  send(MessageKind::kGoodbye, expected_of(2));
  expect_refused("a goodbye that awaits message 2 of 1");
}

TEST_F(Stranger, MayNotSayGoodbyeAmongFrames) {
  FrameHeader goodbye;
  goodbye.kind = FrameKind::kGoodbye;
  send(MessageKind::kFrames, frame(goodbye, 0));
  expect_refused("a goodbye among frames");
}

TEST_F(Stranger, MayRetireOnlyWhatItAnnounced) {
  offer(segment(71, 4000), 3);
  retire(3);
  EXPECT_EQ(lost_, ESP_OK);
  retire(3);
  expect_refused("slot 3 was not announced");
}

TEST_F(Stranger, MayNotRetireASlotThatThereIsNot) {
  retire(100);
  expect_refused("slot 100 was not announced");
}

TEST_F(Stranger, MayNotRetireByAnotherLength) {
  send(MessageKind::kRetire, Bytes(5));
  expect_refused("a retirement of another length");
}

TEST_F(Stranger, MayNotAnnounceASlotTwice) {
  offer(segment(71, 4000), 3);
  offer(segment(72, 4000), 3);
  expect_refused("slot 3 announced twice, or for nothing");
}

TEST_F(Stranger, MayNotAnnounceASlotThatThereIsNot) {
  offer(segment(71, 4000), 64);
  expect_refused("slot 64 announced twice, or for nothing");
}

TEST_F(Stranger, MayNotAnnounceForNothing) {
  offer(segment(71, 0), 3);
  expect_refused("slot 3 announced twice, or for nothing");
}

TEST_F(Stranger, MayNotAnnounceForWhatIsNoSegment) {
  FrameHeader control;
  control.kind = FrameKind::kControl;
  control.bytes = 100;
  offer(control, 3);
  expect_refused("slot 3 announced twice, or for nothing");
}

TEST_F(Stranger, MayNotSayThatItPlacedWhereNothingIsAwaited) {
  place(9);
  expect_refused("a placement in slot 9");
}

TEST_F(Stranger, MayNotSayThatItPlacedInASlotThatThereIsNot) {
  ASSERT_TRUE(want(segment(90, 5000)));
  run();
  place(126);
  expect_refused("a placement in slot 126");
}

TEST_F(Stranger, MayNotPlaceInsideAFrame) {
  on_frame_ = [&] { ASSERT_TRUE(want(segment(90, 5000))); };
  send(MessageKind::kFrames, frame(segment(5, 3), 3));
  send(MessageKind::kFrames, frame(segment(6, 30), 10));
  place(0);
  expect_refused("a placement in slot 0");
}

TEST_F(Stranger, MayNotPlaceTwice) {
  on_frame_ = [&] {
    on_frame_ = {};
    ASSERT_TRUE(want(segment(90, 5000)));
  };
  send(MessageKind::kFrames, frame(segment(5, 3), 3));
  place(0);
  EXPECT_EQ(frames_.back(), segment(90, 5000));
  place(0);
  expect_refused("a placement in slot 0");
}

// ---- Frames to be read

class Reader : public Stranger {
 protected:
  Reader() : Stranger(1500) {}
};

TEST_F(Reader, IsOfferedAFrameAndAnswers) {
  post(segment(1, 2000));
  run();
  EXPECT_EQ(seen_, std::vector<std::string>{"readable"});
  answer(readable_.at(0), 2);
  EXPECT_EQ(seen_.back(), "segment");
  post(segment(2, 2000));
  run();
  answer(readable_.at(1), 1);
  EXPECT_EQ(lost_, ESP_OK);
}

TEST_F(Reader, MayNotAnswerWhatWasNotOffered) {
  answer(0, 1);
  expect_refused("answer 1 for slot 0");
}

TEST_F(Reader, MayNotAnswerForASlotThatThereIsNot) {
  post(segment(1, 2000));
  run();
  answer(rdma::kPullSlots, 2);
  expect_refused("answer 2 for slot 32");
}

TEST_F(Reader, MayNotAnswerTwice) {
  post(segment(1, 2000));
  run();
  answer(readable_.at(0), 1);
  EXPECT_EQ(lost_, ESP_OK);
  answer(readable_.at(0), 1);
  expect_refused("answer 1 for slot 0");
}

TEST_F(Reader, MayNotGiveAnAnswerThatThereIsNot) {
  post(segment(1, 2000));
  run();
  answer(readable_.at(0), 3);
  expect_refused("answer 3 for slot 0");
}

TEST_F(Reader, MayNotAnswerByAnotherLength) {
  send(MessageKind::kFetched, Bytes(7));
  expect_refused("an answer of another length");
}

TEST_F(Stranger, IsReadWhenTheReceiveIsPosted) {
  offer_to_read(segment(90, 5000), 3, 1);
  EXPECT_EQ(frames_.size(), 0U);
  ASSERT_TRUE(want(segment(90, 5000)));
  send(MessageKind::kCredits, {});
  ASSERT_EQ(frames_.size(), 1U);
  EXPECT_EQ(frames_[0], segment(90, 5000));
  EXPECT_EQ(seen_.back(), "answer 1");
  offer_to_read(segment(91, 5000), 3, 2);
  EXPECT_EQ(lost_, ESP_OK) << "the slot is free again";
}

TEST_F(Stranger, MayNotOfferASlotThatThereIsNot) {
  offer_to_read(segment(90, 5000), rdma::kPullSlots, 1);
  expect_refused("an offer in slot 32");
}

TEST_F(Stranger, MayNotOfferNothing) {
  offer_to_read(segment(90, 0), 3, 1);
  expect_refused("an offer in slot 3");
}

TEST_F(Stranger, MayNotOfferWhatIsNoSegment) {
  FrameHeader control;
  control.kind = FrameKind::kControl;
  control.bytes = 100;
  offer_to_read(control, 3, 1);
  expect_refused("an offer in slot 3");
}

TEST_F(Stranger, MayNotOfferAfterItsGoodbye) {
  say_goodbye();
  offer_to_read(segment(90, 5000), 3, 1);
  expect_refused("an offer in slot 3");
}

TEST_F(Stranger, MayNotOfferByAnotherLength) {
  send(MessageKind::kReadable, Bytes(rdma::Announcement::kBytes + 1));
  expect_refused("an offer of another length");
}

TEST_F(Stranger, MayNotOfferASlotThatIsNotAnswered) {
  offer_to_read(segment(90, 5000), 3, 1);
  offer_to_read(segment(91, 5000), 3, 2);
  expect_refused("slot 3 offered twice");
}

TEST_F(Stranger, MayNotOfferAnotherFrameInItsPlace) {
  offer_to_read(segment(90, 5000), 3, 1);
  offer_to_read(segment(91, 5000), 3, 1);
  expect_refused("another frame in its slot");
}

TEST_F(Stranger, MayNotOfferAFrameTwice) {
  offer_to_read(segment(90, 5000), 3, 1);
  offer_to_read(segment(90, 5000), 4, 1);
  expect_refused("a frame offered twice");
}

TEST_F(Stranger, MayNotAskWithAWindowThatIsTooSmall) {
  Letter letter = request();
  letter.window = 3;
  post_letter(letter_bytes(letter));
  expect_refused("a window of 3");
}

TEST_F(Stranger, MayNotAskWithAWindowThatIsTooLarge) {
  Letter letter = request();
  letter.window = 128;
  post_letter(letter_bytes(letter));
  expect_refused("a window of 128");
}

TEST_F(Stranger, MayNotAwaitWhatWasNotSent) {
  Letter letter = request();
  letter.expected = 99;
  post_letter(letter_bytes(letter));
  expect_refused("it awaits message 99 of 1");
}

TEST_F(Stranger, MayNotAwaitAMessageBeforeTheFirst) {
  Letter letter = request();
  letter.expected = 0;
  post_letter(letter_bytes(letter));
  expect_refused("it awaits message 0 of 1");
}

// Its adapter has said that they had arrived. Rank 0 knows when it has asked for completions, which
// it does for every sixteenth.
TEST_F(Stranger, MayNotAwaitWhatItHas) {
  for (std::uint64_t i = 0; i < 20; ++i) {
    post(segment(100 + i, 8));
    run();
  }
  Letter letter = request();
  EXPECT_EQ(letter.expected, 21U);
  letter.expected = 1;
  post_letter(letter_bytes(letter));
  EXPECT_EQ(lost_, ESP_ERR_NETWORK);
  EXPECT_THAT(story(), HasSubstr("message 1 did not arrive at rank 1; its adapter had "));
}

// ---- At random

void damage(Prng& prng, Bytes& bytes) {
  for (std::uint64_t flips = prng.below(3); flips > 0 && !bytes.empty(); --flips) {
    std::byte& at = bytes[prng.below(bytes.size())];
    at = prng.chance(0.5) ? static_cast<std::byte>(prng.below(10))
                          : at ^ static_cast<std::byte>(1U << prng.below(8));
  }
  if (prng.chance(0.05)) bytes.resize(prng.below(bytes.size() + 1));
}

FrameHeader any_header(Prng& prng) {
  FrameHeader header = segment(prng.below(100), prng.below(60), 1 + prng.below(3) % 2);
  if (prng.chance(0.2)) header.bytes = prng.below(StrangerNet::kPayloadMax);
  header.synchronous = prng.chance(0.2);
  if (prng.chance(0.3)) return header;
  header = {};
  header.kind = static_cast<FrameKind>(1 + prng.below(11));
  if (prng.chance(0.5)) header.ordinal = static_cast<std::uint32_t>(prng.below(4));
  if (prng.chance(0.5)) header.total = static_cast<std::uint32_t>(prng.below(4));
  if (prng.chance(0.5)) header.bytes = prng.below(40);
  return header;
}

std::uint32_t random_below(Prng& prng, std::uint64_t bound) {
  return static_cast<std::uint32_t>(prng.below(bound));
}

// A message; with this chance each of its parts is wrong, perhaps.
void send_some(Prng& prng, StrangerNet& net, double wrong) {
  const bool bad = prng.chance(wrong);
  const auto kind = static_cast<MessageKind>(1 + (bad ? prng.below(7) : 2 * prng.below(3)));
  Bytes body;
  std::uint8_t keep = 0;
  if (kind == MessageKind::kFrames) {
    const FrameHeader header = bad ? any_header(prng) : segment(prng.below(100), prng.below(60));
    body = frame(header, std::min<std::uint64_t>(header.bytes, 60));
    if (prng.chance(0.4)) {
      keep = static_cast<std::uint8_t>(1 + rdma::KnownHeaders::slot_of(segment(0, 0)));
    }
  } else if (kind == MessageKind::kAnnounce) {
    body = net.offer_of(segment(200 + prng.below(4), 2000), random_below(prng, bad ? 130 : 64));
  } else if (kind == MessageKind::kRetire) {
    body.resize(4);
    body[0] = static_cast<std::byte>(prng.below(66));
  } else if (kind == MessageKind::kGoodbye) {
    body = net.expected_of(prng.chance(0.8) ? net.got() + 1 : prng.below(4));
  } else if (kind == MessageKind::kReadable) {
    body = net.offer_of(segment(300 + prng.below(12), 1000 + prng.below(5000)),
                        random_below(prng, 34), random_below(prng, 3));
  } else if (kind == MessageKind::kFetched) {
    body = net.answer_of(random_below(prng, 34), random_below(prng, 4));
  }
  const auto credits = static_cast<std::uint16_t>(prng.chance(wrong) ? prng.below(40) : 0);
  Bytes bytes = net.message(kind, body, keep, credits);
  if (prng.chance(wrong)) damage(prng, bytes);
  net.send_bytes(std::move(bytes));
}

void write_some(Prng& prng, StrangerNet& net, double wrong) {
  if (prng.chance(wrong)) return net.write_immediate(static_cast<std::uint32_t>(prng.next()));
  if (net.slots_.empty()) return;
  const std::uint32_t slot = net.slots_.back();
  net.slots_.pop_back();
  net.place(slot);
}

// Offers and answers that are right, for the most part.
void read_some(Prng& prng, StrangerNet& net, double wrong) {
  if (net.readable_.empty() || prng.chance(0.3)) {
    // What is offered is awaited sooner or later.
    const std::uint64_t flow = 300 + prng.below(12);
    return net.offer_to_read(segment(flow, 1000 + flow), random_below(prng, 32),
                             random_below(prng, 50));
  }
  const std::uint32_t slot = net.readable_.back();
  net.readable_.pop_back();
  net.answer(slot, 1 + random_below(prng, prng.chance(wrong) ? 3 : 2));
}

void write_a_letter(Prng& prng, StrangerNet& net, double wrong) {
  if (!prng.chance(wrong)) return net.renew();
  Letter letter = net.request();
  letter.kind = static_cast<LetterKind>(1 + prng.below(4));
  letter.epoch += random_below(prng, 3) - 1;
  if (prng.chance(0.3)) letter.window = random_below(prng, 140);
  if (prng.chance(0.3)) letter.expected += prng.below(5) - 2;
  const auto good = letter_bytes(letter);
  Bytes bytes(good.begin(), good.end());
  if (prng.chance(0.5)) damage(prng, bytes);
  net.post_letter(bytes);
}

void act(Prng& prng, StrangerNet& net, double wrong) {
  switch (prng.below(11)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return send_some(prng, net, wrong);
    case 4:
      if (prng.chance(wrong)) {
        return net.send_immediate(static_cast<std::uint32_t>(prng.next()), prng.below(100));
      }
      return prng.chance(0.2) ? net.send_headless(1 + random_below(prng, 3), prng.below(100))
                              : void();
    case 5:
    case 6:
      return write_some(prng, net, wrong);
    case 7:
      return prng.chance(0.2) ? write_a_letter(prng, net, wrong) : void();
    case 8: {
      const std::uint64_t flow = 300 + prng.below(12);
      (void)net.want(segment(flow, prng.chance(0.8) ? 1000 + flow : 1000 + prng.below(5000)));
      // Announced with the next progress().
      return net.send(MessageKind::kCredits, {});
    }
    case 9:
      return read_some(prng, net, wrong);
    default:
      net.post(segment(200 + prng.below(4), prng.chance(0.5) ? 2000 : 8));
      return net.run();
  }
}

TEST(StrangersAtRandom, AreBorneOrLost) {
  std::array<int, 2> ends = {};
  std::uint64_t frames = 0, connections = 0, pulled = 0, offered = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Prng prng(seed);
    StrangerNet net(seed % 2 == 0 ? 1500 : kNever);
    const double wrong = seed % 3 == 0 ? 0.2 : seed % 3 == 1 ? 0.05 : 0.01;
    for (int i = 0; i < 60 && net.lost_ == ESP_OK; ++i) act(prng, net, wrong);
    ++ends[net.lost_ == ESP_OK ? 0 : 1];
    frames += net.frames_.size();
    connections += net.connections();
    pulled += net.pulled();
    offered +=
        static_cast<std::uint64_t>(std::count(net.seen_.begin(), net.seen_.end(), "readable"));
    if (net.lost_ != ESP_OK) {
      EXPECT_THAT(net.story(),
                  AnyOf(StartsWith("lost: rank 1 sent what no rank of this version sends: "),
                        HasSubstr("did not arrive at rank 1"), HasSubstr("no connection to rank 1"),
                        HasSubstr("to rank 1 break"), HasSubstr("connection to rank 1 failed")));
    }
    if (::testing::Test::HasFailure()) return;
    // Nothing is waited for that can hang a rank that goes on.
    for (int i = 0; i < 10; ++i) act(prng, net, wrong);
  }
  EXPECT_GT(ends[0], 10);
  EXPECT_GT(ends[1], 300);
  EXPECT_GT(frames, 2000U);
  EXPECT_GT(connections, 1200U) << "some were made again";
  EXPECT_GT(pulled, 100U);
  EXPECT_GT(offered, 300U);
}

}  // namespace
}  // namespace espalier::test
