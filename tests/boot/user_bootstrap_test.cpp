// A runtime's own bootstrap: threads of this process play its ranks.
#include "bootstrap/user_bootstrap.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "bootstrap/card_deck.hpp"

namespace espalier {
namespace {

// An allgather through memory that all threads share.
struct Runtime {
  explicit Runtime(int ranks) : meet(ranks), size(ranks) {}
  std::barrier<> meet;
  std::vector<std::byte> board = std::vector<std::byte>(1 << 16);
  int size;
};

struct Member {
  Runtime* runtime;
  int rank;
};

int allgather(void* context, const void* mine, size_t bytes, void* all) {
  const auto* member = static_cast<Member*>(context);
  Runtime& runtime = *member->runtime;
  std::memcpy(runtime.board.data() + static_cast<std::size_t>(member->rank) * bytes, mine, bytes);
  runtime.meet.arrive_and_wait();
  std::memcpy(all, runtime.board.data(), bytes * static_cast<std::size_t>(runtime.size));
  runtime.meet.arrive_and_wait();
  return 0;
}

int failing_allgather(void*, const void*, size_t, void*) {
  return 42;
}
int idle_allgather(void*, const void*, size_t, void*) {
  return 0;
}

std::vector<std::byte> card_of(int rank) {
  return std::vector<std::byte>(static_cast<std::size_t>(rank) * 100,
                                static_cast<std::byte>(rank + 1));
}

TEST(UserBootstrap, ExchangesCardsOfDifferentSizes) {
  constexpr int kSize = 4;
  Runtime runtime(kSize);
  std::vector<std::string> job_ids(kSize);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < kSize; ++rank) {
    ranks.emplace_back([&, rank] {
      Member member{&runtime, rank};
      auto opened = UserBootstrap::create({&member, rank, kSize, allgather, nullptr});
      ASSERT_TRUE(opened.ok()) << opened.error().text;
      Bootstrap& bootstrap = **opened;
      job_ids[static_cast<std::size_t>(rank)] = bootstrap.job_id();
      auto cards = bootstrap.exchange(card_of(rank));
      ASSERT_TRUE(cards.ok());
      for (int other = 0; other < kSize; ++other) {
        EXPECT_EQ((*cards)[static_cast<std::size_t>(other)], card_of(other));
      }
      EXPECT_TRUE(bootstrap.barrier().ok());
      EXPECT_TRUE(bootstrap.close().ok());
    });
  }
  for (std::thread& rank : ranks) rank.join();
  for (const std::string& id : job_ids) EXPECT_EQ(id, job_ids[0]);
  EXPECT_GT(job_ids[0].size(), 32U);
}

TEST(UserBootstrap, BadCallbacksAreRefused) {
  EXPECT_FALSE(UserBootstrap::create({nullptr, 0, 1, nullptr, nullptr}).ok());
  for (const auto& [rank, size] : {std::pair(1, 1), {-1, 1}, {0, 0}, {0, -3}}) {
    const auto opened = UserBootstrap::create({nullptr, rank, size, allgather, nullptr});
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().status.code(), ESP_ERR_ARGUMENT);
  }
}

TEST(UserBootstrap, AFailingAllgatherIsReported) {
  const auto opened = UserBootstrap::create({nullptr, 0, 1, failing_allgather, nullptr});
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().text.find("42"), std::string::npos);
}

TEST(UserBootstrap, AnAllgatherThatGathersNothingIsReported) {
  const auto opened = UserBootstrap::create({nullptr, 0, 2, idle_allgather, nullptr});
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().status.code(), ESP_ERR_BOOTSTRAP);
}

TEST(CardDeck, ComesBackAsItWas) {
  std::vector<OptionalCard> cards(4);
  cards[0] = card_of(3);
  cards[1] = card_of(0);  // Empty, which is not missing.
  cards[3] = card_of(1);
  const auto back = unpack_deck(pack_deck(cards), 4);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back.value(), cards);
}

TEST(CardDeck, EveryTruncationIsRefused) {
  std::vector<OptionalCard> cards(2);
  cards[0] = card_of(1);
  cards[1] = card_of(2);
  const std::vector<std::byte> deck = pack_deck(cards);
  for (std::size_t bytes = 0; bytes < deck.size(); ++bytes) {
    EXPECT_FALSE(unpack_deck(std::span(deck).first(bytes), 2).ok()) << bytes;
  }
  std::vector<std::byte> longer = deck;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(unpack_deck(longer, 2).ok());
  EXPECT_FALSE(unpack_deck(deck, 3).ok());
}

// Whatever comes: a deck of so many cards, or an error.
TEST(CardDeck, AlteredBytesAreBorne) {
  std::mt19937 random(7);
  std::vector<OptionalCard> cards(3);
  cards[0] = card_of(1);
  cards[2] = card_of(2);
  const std::vector<std::byte> good = pack_deck(cards);
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    auto deck = good;
    if (round % 7 == 0) deck.resize(random() % (good.size() + 9));
    for (unsigned flips = 1 + random() % 4; flips > 0 && !deck.empty(); --flips) {
      deck[random() % deck.size()] = static_cast<std::byte>(random());
    }
    const auto back = unpack_deck(deck, 3);
    refused += back.ok() ? 0 : 1;
    EXPECT_TRUE(!back.ok() || back.value().size() == 3);
  }
  EXPECT_GT(refused, 3000);
}

}  // namespace
}  // namespace espalier
