// Who has said goodbye, who is lost, and what the sink is told of it (net/peer_life.hpp).
#include "net/peer_life.hpp"

#include <gtest/gtest.h>

namespace espalier::net {
namespace {

Error death() {
  return error(ESP_ERR_PEER_DIED, "it has gone", kNoRank, 104);
}

PeerLife has_left() {
  PeerLife life;
  life.leave();
  return life;
}

TEST(PeerLife, ALossIsToldOnceWithTheRankAndTheFirstReason) {
  PeerLife life;
  life.note("no way there yet");
  EXPECT_EQ(life.text(), "no way there yet");
  EXPECT_TRUE(life.takes_posts());
  EXPECT_FALSE(life.take_news()) << "it lives";
  EXPECT_FALSE(life.miss());
  EXPECT_TRUE(life.lose(3, death(), true));
  EXPECT_FALSE(life.lose(3, error(ESP_ERR_NETWORK, "nonsense"), true));
  EXPECT_TRUE(life.lost());
  EXPECT_FALSE(life.takes_posts());
  EXPECT_FALSE(life.went_quietly()) << "it has said no goodbye";
  EXPECT_EQ(life.why(), Status(ESP_ERR_PEER_DIED, 3, 104));
  EXPECT_EQ(life.text(), "it has gone");
  EXPECT_TRUE(life.take_news());
  EXPECT_FALSE(life.take_news());
  EXPECT_FALSE(life.miss()) << "the sink knows";
}

TEST(PeerLife, AGoodbyeIsDueUntilItIsSaid) {
  PeerLife life;
  EXPECT_FALSE(life.goodbye_due());
  life.part();
  EXPECT_TRUE(life.parts());
  EXPECT_TRUE(life.goodbye_due());
  EXPECT_FALSE(life.takes_posts());
  life.goodbye_said();
  EXPECT_FALSE(life.goodbye_due());
  EXPECT_TRUE(life.has_said_goodbye());
  EXPECT_TRUE(life.parts());
  EXPECT_FALSE(life.has_left()) << "the other may go on";
}

TEST(PeerLife, NoGoodbyeIsDueToWhoIsLost) {
  PeerLife life;
  life.part();
  EXPECT_TRUE(life.lose(1, death(), true));
  EXPECT_FALSE(life.goodbye_due());
  EXPECT_FALSE(life.has_said_goodbye());
}

TEST(PeerLife, WhoHasLeftMaySayNothingUntilItIsSought) {
  PeerLife life;
  EXPECT_TRUE(life.silence_is_a_fault());
  life.leave();
  EXPECT_TRUE(life.takes_posts()) << "what is still to be said to it";
  EXPECT_FALSE(life.silence_is_a_fault());
  life.seek();
  EXPECT_TRUE(life.silence_is_a_fault());
  life.heard();
  EXPECT_FALSE(life.silence_is_a_fault());
}

TEST(PeerLife, WhoGoesQuietlyIsToldOfWhenItIsNeeded) {
  PeerLife life = has_left();
  EXPECT_TRUE(life.lose(2, death(), true));
  EXPECT_TRUE(life.went_quietly());
  EXPECT_FALSE(life.take_news());
  EXPECT_TRUE(life.miss());
  EXPECT_FALSE(life.miss()) << "it waits to be told already";
  EXPECT_FALSE(life.went_quietly());
  EXPECT_TRUE(life.take_news());
  EXPECT_FALSE(life.miss());
  EXPECT_FALSE(life.take_news());
}

TEST(PeerLife, NobodyMissesWhomThisSideHasLeft) {
  for (const bool before : {true, false}) {
    PeerLife life = has_left();
    if (before) life.part();
    EXPECT_TRUE(life.lose(2, death(), true));
    if (!before) life.part();
    EXPECT_FALSE(life.miss());
    EXPECT_FALSE(life.take_news());
  }
}

// It was sought, something was owed to it, or it broke a rule.
TEST(PeerLife, WhoMayNotGoIsToldOfAtOnce) {
  PeerLife sought = has_left(), owed = has_left(), wrong = has_left();
  sought.seek();
  EXPECT_TRUE(sought.lose(2, death(), true));
  EXPECT_TRUE(owed.lose(2, death(), false));
  EXPECT_TRUE(wrong.lose(2, error(ESP_ERR_NETWORK, "nonsense"), true));
  for (PeerLife* life : {&sought, &owed, &wrong}) EXPECT_TRUE(life->take_news());
}

}  // namespace
}  // namespace espalier::net
