// Queues found by key: order, and that a search is short whatever the keys are.
#include "tags/keyed_queues.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <numeric>
#include <vector>

#include "core/prng.hpp"
#include "tests/support/allocations.hpp"

namespace espalier {
namespace {

constexpr std::size_t kEntries = 10'000;
// Of as many queues as chains, thrown by chance, the longest chain has 7 or 8.
constexpr std::size_t kLongestChain = 12;

struct Entry : KeyedQueues::Node {
  TagKey key;
};

void take_all(KeyedQueues& queues, std::deque<Entry>& entries) {
  for (Entry& entry : entries) queues.remove(entry);
  EXPECT_TRUE(queues.empty());
}

using KeyMaker = std::function<TagKey(std::uint64_t)>;

std::size_t longest_of(const KeyMaker& make) {
  KeyedQueues queues;
  std::deque<Entry> entries(kEntries);
  for (std::size_t i = 0; i < kEntries; ++i) {
    entries[i].key = make(i);
    EXPECT_TRUE(queues.push_back(entries[i].key, entries[i]));
  }
  EXPECT_EQ(queues.queues(), kEntries);
  for (Entry& entry : entries) EXPECT_EQ(queues.front(entry.key), &entry);
  const std::size_t longest = queues.longest_chain();
  take_all(queues, entries);
  return longest;
}

TEST(KeyedQueues, ASearchIsShortWhereverKeysDiffer) {
  for (unsigned shift = 0; shift <= 48; ++shift) {
    const auto tags = [shift](std::uint64_t i) { return TagKey{1, 2, i << shift}; };
    EXPECT_LE(longest_of(tags), kLongestChain) << "tags differ from bit " << shift << " on";
  }
  EXPECT_LE(longest_of([](std::uint64_t i) {
              return TagKey{1, static_cast<Rank>(i), 7};
            }),
            kLongestChain);
  for (const unsigned shift : {0U, 10U}) {
    const auto teams = [shift](std::uint64_t i) {
      return TagKey{static_cast<std::uint32_t>(i << shift), 3, 7};
    };
    EXPECT_LE(longest_of(teams), kLongestChain) << "teams differ from bit " << shift << " on";
  }
  const auto all = [](std::uint64_t i) {
    return TagKey{static_cast<std::uint32_t>(i % 10), static_cast<Rank>(i / 10 % 10), i / 100};
  };
  EXPECT_LE(longest_of(all), kLongestChain);
}

TEST(KeyedQueues, OneKeyIsOneQueue) {
  KeyedQueues queues;
  std::deque<Entry> entries(kEntries);
  const TagKey key = {1, 2, 3};
  for (Entry& entry : entries) ASSERT_TRUE(queues.push_back(key, entry));
  EXPECT_EQ(queues.queues(), 1U);
  EXPECT_EQ(queues.longest_chain(), 1U);
  const KeyedQueues::Node* node = queues.front(key);
  for (Entry& entry : entries) {
    ASSERT_EQ(node, &entry);
    node = queues.after(entry);
  }
  EXPECT_EQ(node, nullptr);
  take_all(queues, entries);
  EXPECT_EQ(queues.front(key), nullptr);
}

TEST(KeyedQueues, AreFoundWhateverGrowsAndLeaves) {
  Prng prng(1);
  KeyedQueues queues;
  std::deque<Entry> entries(600);
  std::vector<std::vector<Entry*>> expected(200);  // by tag
  for (int step = 0; step < 20'000; ++step) {
    Entry& entry = entries[prng.below(entries.size())];
    if (entry.queue != nullptr) {
      std::erase(expected[entry.key.tag], &entry);
      queues.remove(entry);
    } else {
      entry.key = {0, 0, prng.below(expected.size())};
      ASSERT_TRUE(queues.push_back(entry.key, entry));
      expected[entry.key.tag].push_back(&entry);
    }
    const std::uint64_t tag = prng.below(expected.size());
    KeyedQueues::Node* node = queues.front({0, 0, tag});
    for (const Entry* next : expected[tag]) {
      ASSERT_EQ(node, next);
      node = queues.after(*node);
    }
    ASSERT_EQ(node, nullptr);
    ASSERT_EQ(queues.any() == nullptr, queues.empty());
  }
  for (Entry& entry : entries) {
    if (entry.queue != nullptr) queues.remove(entry);
  }
}

TEST(KeyedQueues, AskForNoMemoryOnceASizeHasBeenSeen) {
  KeyedQueues queues;
  std::deque<Entry> entries(kEntries);
  std::uint64_t seen = 0;
  for (std::uint64_t round = 0; round < 4; ++round) {
    for (std::size_t i = 0; i < kEntries; ++i) {
      ASSERT_TRUE(queues.push_back({0, 0, i << round}, entries[i]));
    }
    take_all(queues, entries);
    if (round == 0) seen = test::allocations();
  }
  EXPECT_EQ(test::allocations(), seen);
}

}  // namespace
}  // namespace espalier
