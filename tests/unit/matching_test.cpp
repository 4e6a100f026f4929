// Matching against lists that are searched from their begin: whatever is posted, comes, is taken
// back, probed and claimed, both find the same.
#include "tags/matching.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <memory>
#include <vector>

#include "core/prng.hpp"
#include "tests/support/allocations.hpp"

namespace espalier {
namespace {

constexpr std::uint64_t kExactMask = ~std::uint64_t{0};

// The rules as tags.h has them.
bool does_fit(const TagPattern& pattern, const TagKey& key) {
  if (pattern.team != key.team) return false;
  if (pattern.source != kNoRank && pattern.source != key.source) return false;
  return (pattern.tag & pattern.mask) == (key.tag & pattern.mask);
}

class MatchingModel {
 public:
  explicit MatchingModel(std::uint64_t seed) : prng_(seed) {}
  ~MatchingModel() {
    for (auto& receive : posted_) matching_.withdraw(*receive);
    for (auto& message : messages_) matching_.take(*message);
  }

  void step() {
    const std::uint64_t draw = prng_.below(100);
    if (draw < 35) return receive();
    if (draw < 70) return arrive();
    if (draw < 78) return withdraw();
    if (draw < 90) return probe();
    claim();
  }
  std::size_t matches() const { return matches_; }

 private:
  using Posted = std::list<std::unique_ptr<PostedReceive>>;
  using Messages = std::list<std::unique_ptr<UnexpectedMessage>>;

  std::uint64_t draw_tag() { return prng_.below(4) | prng_.below(3) << 40; }
  TagKey draw_key() {
    return {static_cast<std::uint32_t>(prng_.below(3)), static_cast<Rank>(prng_.below(3)),
            draw_tag()};
  }
  TagPattern draw_pattern() {
    static constexpr std::uint64_t kMasks[] = {0, 1, 3, kExactMask << 32, kExactMask << 1};
    TagPattern pattern;
    pattern.team = static_cast<std::uint32_t>(prng_.below(3));
    if (prng_.chance(0.7)) pattern.source = static_cast<Rank>(prng_.below(3));
    if (prng_.chance(0.3)) pattern.mask = kMasks[prng_.below(std::size(kMasks))];
    pattern.tag = draw_tag() & pattern.mask;
    return pattern;
  }
  Messages::iterator first_for(const TagPattern& pattern) {
    return std::find_if(messages_.begin(), messages_.end(),
                        [&](const auto& message) { return does_fit(pattern, message->key); });
  }
  const UnexpectedMessage* expected_for(const TagPattern& pattern) {
    const auto first = first_for(pattern);
    return first == messages_.end() ? nullptr : first->get();
  }

  void receive() {
    const TagPattern pattern = draw_pattern();
    UnexpectedMessage* found = matching_.find(pattern);
    ASSERT_EQ(found, expected_for(pattern));
    if (found != nullptr) {
      matching_.take(*found);
      messages_.erase(first_for(pattern));
      ++matches_;
      return;
    }
    posted_.push_back(std::make_unique<PostedReceive>(pattern));
    ASSERT_TRUE(matching_.post(*posted_.back()));
  }
  void arrive() {
    const TagKey key = draw_key();
    const auto first = std::find_if(posted_.begin(), posted_.end(), [&](const auto& receive) {
      return does_fit(receive->pattern, key);
    });
    const PostedReceive* met = matching_.take_receive(key);
    ASSERT_EQ(met, first == posted_.end() ? nullptr : first->get());
    if (met != nullptr) {
      posted_.erase(first);
      ++matches_;
      return;
    }
    messages_.push_back(std::make_unique<UnexpectedMessage>(key));
    ASSERT_TRUE(matching_.keep(*messages_.back()));
  }
  void withdraw() {
    ASSERT_EQ(matching_.nothing_posted(), posted_.empty());
    if (posted_.empty()) return;
    auto any = posted_.begin();
    std::advance(any, prng_.below(posted_.size()));
    matching_.withdraw(**any);
    posted_.erase(any);
  }
  void probe() {
    const TagPattern pattern = draw_pattern();
    ASSERT_EQ(matching_.find(pattern), expected_for(pattern));
    const TagPattern all = {pattern.team, kNoRank, 0, 0};
    ASSERT_EQ(matching_.any_of(pattern.team), expected_for(all));
  }
  void claim() {
    ASSERT_EQ(matching_.nothing_unexpected(), messages_.empty());
    if (messages_.empty()) return;
    ASSERT_NE(matching_.any(), nullptr);
    auto any = messages_.begin();
    std::advance(any, prng_.below(messages_.size()));
    matching_.take(**any);
    messages_.erase(any);
  }

  Prng prng_;
  Matching matching_;
  Posted posted_;
  Messages messages_;
  std::size_t matches_ = 0;
};

TEST(Matching, FindsWhatASearchFromTheBeginFinds) {
  std::size_t matches = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    MatchingModel model(seed);
    for (int step = 0; step < 2000; ++step) {
      model.step();
      if (::testing::Test::HasFatalFailure()) FAIL() << "seed " << seed << ", step " << step;
    }
    matches += model.matches();
  }
  EXPECT_GT(matches, 5000U);
}

TEST(Matching, TheEarlierReceiveCountsWithWildcardsAndWithout) {
  const TagKey key = {1, 2, 3};
  for (const bool wildcard_first : {true, false}) {
    Matching matching;
    PostedReceive exact({1, 2, 3, kExactMask}), wild({1, kNoRank, 0, 0});
    ASSERT_TRUE(matching.post(wildcard_first ? wild : exact));
    ASSERT_TRUE(matching.post(wildcard_first ? exact : wild));
    EXPECT_EQ(matching.take_receive(key), wildcard_first ? &wild : &exact);
    EXPECT_EQ(matching.take_receive(key), wildcard_first ? &exact : &wild);
    EXPECT_EQ(matching.take_receive(key), nullptr);
  }
}

// A tag that is the key of the list of receives with wildcards, as far as that goes.
TEST(Matching, AnExactReceiveOfTagZeroIsNoWildcard) {
  Matching matching;
  PostedReceive wild({1, kNoRank, 1, 1}), exact({1, 0, 0, kExactMask});
  ASSERT_TRUE(matching.post(wild));
  ASSERT_TRUE(matching.post(exact));
  EXPECT_EQ(matching.take_receive({1, 1, 0}), nullptr);
  EXPECT_EQ(matching.take_receive({1, 0, 0}), &exact);
  EXPECT_EQ(matching.take_receive({1, 0, 3}), &wild);
}

TEST(Matching, AsksForNoMemoryOnceASizeHasBeenSeen) {
  constexpr std::size_t kMany = 10'000;
  Matching matching;
  std::vector<std::unique_ptr<PostedReceive>> receives;
  std::vector<std::unique_ptr<UnexpectedMessage>> messages;
  for (std::size_t i = 0; i < kMany; ++i) {
    const Rank source = i % 3 == 0 ? kNoRank : Rank{1};
    receives.push_back(std::make_unique<PostedReceive>(TagPattern{1, source, i, kExactMask}));
    messages.push_back(std::make_unique<UnexpectedMessage>(TagKey{1, 1, i}));
  }
  std::uint64_t seen = 0;
  for (int round = 0; round < 3; ++round) {
    for (auto& receive : receives) ASSERT_TRUE(matching.post(*receive));
    for (std::size_t i = 0; i < kMany; ++i) {
      ASSERT_EQ(matching.take_receive(messages[i]->key), receives[i].get());
    }
    for (auto& message : messages) ASSERT_TRUE(matching.keep(*message));
    for (std::size_t i = 0; i < kMany; ++i) {
      ASSERT_EQ(matching.find(receives[i]->pattern), messages[i].get());
      matching.take(*messages[i]);
    }
    if (round == 0) seen = test::allocations();
  }
  EXPECT_EQ(test::allocations(), seen);
}

}  // namespace
}  // namespace espalier
