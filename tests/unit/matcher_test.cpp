// The matching table against std::map.
#include "core/matcher.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <tuple>

#include "core/prng.hpp"

namespace espalier {
namespace {

using Key = std::tuple<Rank, std::uint64_t, std::uint32_t>;

TEST(Matcher, FindsWhatAMapFinds) {
  Prng prng(7);
  Matcher matcher;
  std::map<Key, std::unique_ptr<MatchNode>> model;
  for (int i = 0; i < 100000; ++i) {
    // Few keys, so that chains are long and hits are frequent.
    const Key key{static_cast<Rank>(prng.below(5)), FlowId(1, 0, prng.below(40)).key,
                  static_cast<std::uint32_t>(prng.below(20))};
    const auto& [peer, flow, ordinal] = key;
    MatchNode* found = matcher.find(peer, flow, ordinal);
    const auto expected = model.find(key);
    ASSERT_EQ(found, expected == model.end() ? nullptr : expected->second.get());
    if (found == nullptr && prng.chance(0.7)) {
      auto node = std::make_unique<MatchNode>();
      node->peer = peer;
      node->flow = flow;
      node->ordinal = ordinal;
      matcher.insert(*node);
      model[key] = std::move(node);
    } else if (found != nullptr && prng.chance(0.5)) {
      ASSERT_TRUE(matcher.erase(*found));
      ASSERT_FALSE(matcher.erase(*found));
      model.erase(expected);
    }
    ASSERT_EQ(matcher.count(), model.size());
  }
  std::size_t visited = 0;
  matcher.for_each([&](MatchNode& node) {
    ++visited;
    ASSERT_TRUE(model.contains({node.peer, node.flow, node.ordinal}));
    ASSERT_TRUE(matcher.erase(node)) << "erasing while visiting";
  });
  EXPECT_EQ(visited, model.size());
  EXPECT_EQ(matcher.count(), 0U);
}

}  // namespace
}  // namespace espalier
