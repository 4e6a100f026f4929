// Who may speak: SipHash against its published vectors, and the handshake against strangers.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "core/prng.hpp"
#include "net/tcp/handshake.hpp"

namespace espalier::net {
namespace {

using Step = Handshake::Step;
using Bytes = std::vector<std::byte>;

// From the reference implementation: key 00 01 .. 0f, message 00 01 .. of n bytes.
TEST(SipHash, GivesThePublishedValues) {
  constexpr unsigned char kVectors[16][8] = {{0x31, 0x0e, 0x0e, 0xdd, 0x47, 0xdb, 0x6f, 0x72},
                                             {0xfd, 0x67, 0xdc, 0x93, 0xc5, 0x39, 0xf8, 0x74},
                                             {0x5a, 0x4f, 0xa9, 0xd9, 0x09, 0x80, 0x6c, 0x0d},
                                             {0x2d, 0x7e, 0xfb, 0xd7, 0x96, 0x66, 0x67, 0x85},
                                             {0xb7, 0x87, 0x71, 0x27, 0xe0, 0x94, 0x27, 0xcf},
                                             {0x8d, 0xa6, 0x99, 0xcd, 0x64, 0x55, 0x76, 0x18},
                                             {0xce, 0xe3, 0xfe, 0x58, 0x6e, 0x46, 0xc9, 0xcb},
                                             {0x37, 0xd1, 0x01, 0x8b, 0xf5, 0x00, 0x02, 0xab},
                                             {0x62, 0x24, 0x93, 0x9a, 0x79, 0xf5, 0xf5, 0x93},
                                             {0xb0, 0xe4, 0xa9, 0x0b, 0xdf, 0x82, 0x00, 0x9e},
                                             {0xf3, 0xb9, 0xdd, 0x94, 0xc5, 0xbb, 0x5d, 0x7a},
                                             {0xa7, 0xad, 0x6b, 0x22, 0x46, 0x2f, 0xb3, 0xf4},
                                             {0xfb, 0xe5, 0x0e, 0x86, 0xbc, 0x8f, 0x1e, 0x75},
                                             {0x90, 0x3d, 0x84, 0xc0, 0x27, 0x56, 0xea, 0x14},
                                             {0xee, 0xf2, 0x7a, 0x8e, 0x90, 0xca, 0x23, 0xf7},
                                             {0xe5, 0x45, 0xbe, 0x49, 0x61, 0xca, 0x29, 0xa1}};
  SipKey key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(i);
  Bytes message;
  for (std::size_t n = 0; n < 16; ++n) {
    std::uint64_t expected;
    std::memcpy(&expected, kVectors[n], sizeof expected);
    EXPECT_EQ(siphash24(key, message), expected) << n << " bytes";
    message.push_back(static_cast<std::byte>(n));
  }
}

SipKey secret(int which) {
  SipKey key;
  key.fill(static_cast<std::byte>(which));
  return key;
}
Nonce nonce(int which) {
  Nonce made;
  made.fill(static_cast<std::byte>(which));
  return made;
}
Bytes reply(const Handshake& shake) {
  return {shake.reply().begin(), shake.reply().end()};
}

struct Pair {
  Pair(Rank from, Rank to, int nonces = 1)
      : initiator(Handshake::initiator(from, to, secret(1), nonce(nonces))),
        acceptor(Handshake::acceptor(to, 8, secret(1), nonce(nonces + 1))) {}
  Handshake initiator, acceptor;
};

TEST(Handshake, TheLowerRankDecides) {
  Pair low(2, 5);
  EXPECT_EQ(low.acceptor.take(reply(low.initiator)), Step::kMore);
  EXPECT_FALSE(low.initiator.committed());
  EXPECT_EQ(low.initiator.take(reply(low.acceptor)), Step::kMore);
  EXPECT_TRUE(low.initiator.decides());
  EXPECT_TRUE(low.initiator.committed()) << "it has proven itself";
  EXPECT_EQ(low.acceptor.take(reply(low.initiator)), Step::kProven);
  low.acceptor.give_verdict(true);
  EXPECT_EQ(low.initiator.take(reply(low.acceptor)), Step::kProven) << "not before the go";
  EXPECT_FALSE(low.initiator.committed());
  EXPECT_FALSE(low.acceptor.decides());
  EXPECT_EQ(low.acceptor.peer(), 2);
  EXPECT_EQ(low.initiator.expects() + low.acceptor.expects(), 0U);
  for (const bool go : {false, true}) {
    Pair high(5, 2);
    EXPECT_EQ(high.acceptor.take(reply(high.initiator)), Step::kMore);
    EXPECT_EQ(high.initiator.take(reply(high.acceptor)), Step::kMore);
    EXPECT_EQ(high.acceptor.take(reply(high.initiator)), Step::kProven);
    EXPECT_TRUE(high.acceptor.decides());
    EXPECT_FALSE(high.initiator.committed());
    high.acceptor.give_verdict(go);
    EXPECT_EQ(high.initiator.take(reply(high.acceptor)), go ? Step::kProven : Step::kDeclined);
  }
}

TEST(Handshake, AWrongSecretIsRefusedByBothSides) {
  Handshake initiator = Handshake::initiator(2, 5, secret(1), nonce(1));
  Handshake acceptor = Handshake::acceptor(5, 8, secret(2), nonce(2));
  ASSERT_EQ(acceptor.take(reply(initiator)), Step::kMore);
  const Bytes challenge = reply(acceptor);
  EXPECT_EQ(initiator.take(challenge), Step::kRefused);
  EXPECT_STREQ(initiator.why(), "it does not know the secret");
  EXPECT_TRUE(initiator.reply().empty()) << "nothing is proven to who has proven nothing";
  // An initiator that goes on all the same.
  Pair other(2, 5);
  ASSERT_EQ(other.acceptor.take(reply(other.initiator)), Step::kMore);
  ASSERT_EQ(other.initiator.take(reply(other.acceptor)), Step::kMore);
  EXPECT_EQ(acceptor.take(reply(other.initiator)), Step::kRefused);
}

TEST(Handshake, WhatWasHeardBeforeProvesNothing) {
  Pair heard(2, 5, 1);
  const Bytes hello = reply(heard.initiator);
  ASSERT_EQ(heard.acceptor.take(hello), Step::kMore);
  const Bytes challenge = reply(heard.acceptor);
  ASSERT_EQ(heard.initiator.take(challenge), Step::kMore);
  const Bytes proof = reply(heard.initiator);
  // Said again to the same rank: its nonce is another.
  Handshake acceptor = Handshake::acceptor(5, 8, secret(1), nonce(9));
  ASSERT_EQ(acceptor.take(hello), Step::kMore);
  EXPECT_EQ(acceptor.take(proof), Step::kRefused);
  // Said again by somebody who pretends to be the acceptor.
  Handshake initiator = Handshake::initiator(2, 5, secret(1), nonce(8));
  EXPECT_EQ(initiator.take(challenge), Step::kRefused);
  // An acceptor's own proof, sent back to it.
  Handshake mirror = Handshake::acceptor(5, 8, secret(1), nonce(9));
  ASSERT_EQ(mirror.take(hello), Step::kMore);
  Bytes own = proof;
  std::memcpy(own.data() + 8, mirror.reply().data() + 24, 8);
  EXPECT_EQ(mirror.take(own), Step::kRefused);
}

TEST(Handshake, ARankOfNoOneIsRefused) {
  struct Case {
    Rank from, to;
  };
  for (const auto& [from, to] : {Case{2, 4}, Case{8, 5}, Case{-1, 5}, Case{5, 5}}) {
    const Handshake initiator = Handshake::initiator(from, to, secret(1), nonce(1));
    Handshake acceptor = Handshake::acceptor(5, 8, secret(1), nonce(2));
    EXPECT_EQ(acceptor.take(reply(initiator)), Step::kRefused) << from << " to " << to;
    EXPECT_EQ(acceptor.peer(), kNoRank);
  }
}

// Every message with any of its bits turned is refused; so is noise. Nobody is convinced.
TEST(Handshake, AlteredMessagesConvinceNobody) {
  for (std::size_t stage = 0; stage < 4; ++stage) {
    for (std::size_t bit = 0; bit < 8 * Handshake::kBytesMax; ++bit) {
      Pair pair(5, 2);
      Handshake* const takers[] = {&pair.acceptor, &pair.initiator, &pair.acceptor,
                                   &pair.initiator};
      Bytes message = reply(pair.initiator);
      for (std::size_t s = 0; s < stage; ++s) {
        (void)takers[s]->take(message);
        if (s == 2) takers[s]->give_verdict(true);
        message = reply(*takers[s]);
      }
      if (bit / 8 >= message.size()) continue;
      message[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
      Step step = takers[stage]->take(message);
      // A hello of another rank or nonce is a hello; its sender fails later.
      if (stage == 0 && step == Step::kMore) step = pair.initiator.take(reply(pair.acceptor));
      EXPECT_EQ(step, Step::kRefused) << "message " << stage << ", bit " << bit;
    }
  }
  Prng prng(11);
  for (int n = 0; n < 100'000; ++n) {
    Handshake acceptor = Handshake::acceptor(5, 8, secret(1), nonce(2));
    Bytes noise(acceptor.expects());
    for (std::byte& b : noise) b = static_cast<std::byte>(prng.next());
    ASSERT_EQ(acceptor.take(noise), Step::kRefused);
  }
}

}  // namespace
}  // namespace espalier::net
