// Leaving together: nodes of one rank each in one process, messages carried by hand.
#include "bootstrap/leaving.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <set>

namespace espalier {
namespace {

struct Deaths final : Liveness {
  bool is_dead(Rank rank) noexcept override { return dead.contains(rank); }
  bool is_stopped(Rank) noexcept override { return false; }
  bool is_leaving(Rank) noexcept override { return false; }
  bool has_left(Rank) noexcept override { return false; }
  std::set<Rank> dead;
};

struct Letter {
  Rank from, to;
  std::vector<std::byte> bytes;
};

struct Post final : Messenger {
  void tell(Rank to, std::span<const std::byte> message) noexcept override {
    letters->push_back({me, to, {message.begin(), message.end()}});
  }
  bool has_room(Rank) noexcept override { return true; }
  void reach(Rank) noexcept override {}
  Rank me = 0;
  std::deque<Letter>* letters = nullptr;
};

struct HandClock final : Clock {
  std::uint64_t now_ns() noexcept override { return now += 1'000'000; }
  std::uint64_t now = 1;
};

struct Node {
  Node(Rank me, int count, Deaths& deaths, std::deque<Letter>& letters) {
    for (Rank r = 0; r < count; ++r) nodes.leaders.push_back(r);
    nodes.ranks = count;
    nodes.own = me;
    nodes.locals = {me};
    post.me = me;
    post.letters = &letters;
    const shm::Layout layout(1, 65536, 0);
    auto file = shm::MemoryFile::create(layout.total(), {});
    segment = std::move(*shm::Segment::map(std::move(*file), layout, 0));
    leaving = std::make_unique<Leaving>(nodes, *segment, deaths, post, clock);
  }
  JobNodes nodes;
  Post post;
  HandClock clock;
  std::unique_ptr<shm::Segment> segment;
  std::unique_ptr<Leaving> leaving;
};

struct Job {
  explicit Job(int count) {
    for (Rank r = 0; r < count; ++r) {
      nodes.push_back(std::make_unique<Node>(r, count, deaths, letters));
    }
  }
  // Until nothing happens any more, in an order of its own.
  void run(std::mt19937& random) {
    for (int quiet = 0; quiet < 50;) {
      ++quiet;
      for (auto& node : nodes) {
        if (node->leaving->progress() > 0) quiet = 0;
      }
      if (letters.empty()) continue;
      quiet = 0;
      // Any letter that is the first between its two.
      const std::size_t at = random() % letters.size();
      for (std::size_t i = 0; i <= at; ++i) {
        if (letters[i].from != letters[at].from || letters[i].to != letters[at].to) continue;
        const Letter letter = letters[i];
        letters.erase(letters.begin() + static_cast<std::ptrdiff_t>(i));
        if (!deaths.dead.contains(letter.to)) {
          nodes[static_cast<std::size_t>(letter.to)]->leaving->heard(letter.from, letter.bytes);
        }
        break;
      }
    }
  }
  Deaths deaths;
  std::deque<Letter> letters;
  std::vector<std::unique_ptr<Node>> nodes;
};

TEST(Leaving, NobodyGoesBeforeTheLastHasCome) {
  std::mt19937 random(5);
  for (int count = 2; count <= 17; ++count) {
    Job job(count);
    for (int r = 0; r + 1 < count; ++r)
      job.nodes[static_cast<std::size_t>(r)]->leaving->reach(Leaving::Step::kLeaving);
    job.run(random);
    for (auto& node : job.nodes) EXPECT_FALSE(node->leaving->complete(Leaving::Step::kLeaving));
    job.nodes.back()->leaving->reach(Leaving::Step::kLeaving);
    job.run(random);
    for (auto& node : job.nodes) EXPECT_TRUE(node->leaving->complete(Leaving::Step::kLeaving));
    for (auto& node : job.nodes) {
      EXPECT_FALSE(node->leaving->complete(Leaving::Step::kCompared));
      const bool found = node == job.nodes.back();
      node->leaving->reach(Leaving::Step::kCompared, found ? FoundMismatch{3, 1} : FoundMismatch{});
    }
    job.run(random);
    for (auto& node : job.nodes) {
      EXPECT_TRUE(node->leaving->complete(Leaving::Step::kCompared));
      EXPECT_FALSE(node->leaving->abandoned());
      EXPECT_EQ(node->leaving->mismatch().team, 3u);
      EXPECT_EQ(node->leaving->mismatch().blamed, 1);
    }
  }
}

TEST(Leaving, SurvivorsOfADeathDoNotWait) {
  std::mt19937 random(6);
  for (int count = 2; count <= 17; ++count) {
    for (const int victim : {0, count - 1}) {
      Job job(count);
      job.deaths.dead.insert(victim);
      for (int r = 0; r < count; ++r) {
        if (r != victim)
          job.nodes[static_cast<std::size_t>(r)]->leaving->reach(Leaving::Step::kLeaving);
      }
      job.run(random);
      for (int r = 0; r < count; ++r) {
        if (r == victim) continue;
        EXPECT_TRUE(job.nodes[static_cast<std::size_t>(r)]->leaving->abandoned()) << r;
      }
    }
  }
}

TEST(Leaving, OneThatLeavesAloneTellsTheOthers) {
  std::mt19937 random(7);
  Job job(9);
  for (int r = 1; r < 9; ++r)
    job.nodes[static_cast<std::size_t>(r)]->leaving->reach(Leaving::Step::kLeaving);
  job.nodes[0]->leaving->abandon();
  std::set<Rank> told;
  for (const Letter& letter : job.letters) told.insert(letter.to);
  EXPECT_EQ(told, (std::set<Rank>{1, 2, 4, 5, 7, 8}));
  job.run(random);
  for (auto& node : job.nodes) EXPECT_TRUE(node->leaving->abandoned());
}

// What a rank is told before it can hear is lost. It asks when it waits.
TEST(Leaving, WhoWasToldTooEarlyLearnsIt) {
  std::mt19937 random(10);
  for (int count = 2; count <= 9; ++count) {
    Job job(count);
    for (auto& node : job.nodes) {
      if (node != job.nodes[1]) node->leaving->abandon();
    }
    job.letters.clear();
    job.nodes[1]->leaving->reach(Leaving::Step::kLeaving);
    for (int i = 0; i < 20; ++i) job.run(random);
    EXPECT_TRUE(job.nodes[1]->leaving->abandoned()) << count;
  }
}

TEST(Leaving, BytesOfStrangers) {
  std::mt19937 random(8);
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    LeavingMessage message;
    std::vector<std::byte> bytes(sizeof message);
    std::memcpy(bytes.data(), &message, sizeof message);
    for (unsigned flips = random() % 4; flips > 0; --flips) {
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    }
    if (round % 5 == 0) bytes.resize(random() % 20);
    const auto parsed = parse_leaving(bytes, 4);
    if (!parsed) {
      ++refused;
      continue;
    }
    EXPECT_LT(parsed->step, Leaving::kSteps);
    EXPECT_LT(parsed->round, Leaving::kRounds);
    EXPECT_LT(parsed->blamed, 4);
  }
  EXPECT_GT(refused, 5000);
}

}  // namespace
}  // namespace espalier
