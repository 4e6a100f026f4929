#include "bootstrap/team_ids.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/prng.hpp"

namespace espalier {
namespace {

TEST(TeamIds, AreSpentOnce) {
  TeamIds ids;
  EXPECT_EQ(ids.offer(), 1U);
  EXPECT_TRUE(ids.claim(1));
  EXPECT_FALSE(ids.claim(1));
  EXPECT_TRUE(ids.claim(7)) << "others have used more";
  EXPECT_FALSE(ids.claim(5));
  EXPECT_EQ(ids.offer(), 8U);
  EXPECT_EQ(ids.offer(3), 11U);
}

TEST(TeamIds, LeadsOfOneParentAndAnotherDiffer) {
  int equal = 0;
  for (unsigned attempt = 1; attempt <= 20; ++attempt) {
    equal += TeamIds::lead(17, attempt) == TeamIds::lead(18, attempt) ? 1 : 0;
    EXPECT_LT(TeamIds::lead(17, attempt), 1U << std::min(attempt, 10U));
  }
  EXPECT_LT(equal, 8);
}

// The last number is given out; whoever is at the end says so by its offer, which all members see.
TEST(TeamIds, End) {
  TeamIds ids(TeamIds::kLast);
  EXPECT_EQ(ids.offer(), TeamIds::kLast);
  EXPECT_EQ(ids.offer(9), TeamIds::kLast) << "a lead leaves none out at the end";
  EXPECT_TRUE(ids.claim(TeamIds::kLast));
  EXPECT_GT(ids.offer(), TeamIds::kLast);
  EXPECT_GT(ids.offer(9), TeamIds::kLast);
}

// One making of teams: what its members do in each step, as in api/team.cpp, a member at
// a time, in any order among several makings.
class Making {
 public:
  struct Member {
    std::size_t rank;
    bool joins;  // it has a color
  };
  Making(std::uint32_t parent_id, std::vector<Member> members)
      : parent_id_(parent_id), members_(std::move(members)) {}

  bool over() const { return over_; }
  std::uint32_t id() const { return id_; }
  const std::vector<Member>& members() const { return members_; }
  std::uint32_t attempts() const { return attempt_; }

  // The next member does its part of the exchange that is under way.
  void step(std::vector<TeamIds>& ranks) {
    const Member& member = members_[done_];
    TeamIds& ids = ranks[member.rank];
    if (claims_) {
      if (member.joins && !ids.claim(id_)) refused_ = true;
    } else if (member.joins) {
      const std::uint32_t lead = attempt_ == 0 ? 0 : TeamIds::lead(parent_id_, attempt_);
      id_ = std::max(id_, ids.offer(lead));
    }
    if (++done_ < members_.size()) return;
    done_ = 0;
    over_ = claims_ && !refused_;
    if (claims_ && refused_) {
      ++attempt_;
      id_ = 0;
    }
    if (claims_) refused_ = false;
    claims_ = !claims_;
  }

 private:
  std::uint32_t parent_id_;
  std::vector<Member> members_;
  std::uint32_t id_ = 0, attempt_ = 0;
  std::size_t done_ = 0;
  bool claims_ = false, refused_ = false, over_ = false;
};

struct Model {
  explicit Model(std::uint64_t seed) : prng(seed), ranks(2 + prng.below(7)), used(ranks.size()) {}

  bool draw(std::uint32_t of) { return prng.below(of) == 0; }

  // Some ranks, in any order, of which some get no team. Parents that share ranks differ in id.
  Making making() {
    std::vector<Making::Member> members;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      if (!draw(3)) members.push_back({r, !draw(4)});
    }
    if (members.empty()) members.push_back({0, true});
    for (std::size_t i = members.size(); i > 1; --i) {
      std::swap(members[i - 1], members[prng.below(static_cast<std::uint32_t>(i))]);
    }
    return Making(parents++, std::move(members));
  }
  // Whatever the colors: a rank is in one of the groups, which all have this number.
  void end(const Making& making) {
    for (const Making::Member& member : making.members()) {
      if (!member.joins) continue;
      std::vector<std::uint32_t>& own = used[member.rank];
      ASSERT_EQ(std::count(own.begin(), own.end(), making.id()), 0) << "rank " << member.rank;
      ASSERT_GT(making.id(), 0U);
      own.push_back(making.id());
    }
  }

  Prng prng;
  std::uint32_t parents = 0;
  std::vector<TeamIds> ranks;
  std::vector<std::vector<std::uint32_t>> used;  // by rank
};

// Random splits by random ranks, up to four at once, some of which are given up half-way (members
// that fail): no rank gets a number twice, and all come to an end.
TEST(TeamIds, RandomSplitsAtOnce) {
  std::uint32_t most = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Model model(seed);
    std::vector<Making> open;
    for (int i = 0; i < 2000; ++i) {
      if (open.size() < 4 && model.draw(6)) open.push_back(model.making());
      if (open.empty()) continue;
      const auto at = open.begin() + model.prng.below(static_cast<std::uint32_t>(open.size()));
      at->step(model.ranks);
      ASSERT_LT(at->attempts(), 60U) << "seed " << seed;
      most = std::max(most, at->attempts());
      if (at->over()) model.end(*at);
      ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
      if (at->over() || model.draw(200)) open.erase(at);
    }
  }
  EXPECT_GT(most, 0U) << "no two ever met";
}

// One after the other, nothing is lost: as many numbers as the busiest member has got teams.
TEST(TeamIds, NothingIsLostOneByOne) {
  Model model(5);
  for (int i = 0; i < 500; ++i) {
    Making making = model.making();
    while (!making.over()) making.step(model.ranks);
    ASSERT_EQ(making.attempts(), 0U);
    const bool joins = std::any_of(making.members().begin(), making.members().end(),
                                   [](const Making::Member& m) { return m.joins; });
    if (joins) model.end(making);
  }
  const auto last = [](const TeamIds& ids) { return ids.offer(); };
  std::uint32_t furthest = 0;
  for (const TeamIds& ids : model.ranks) furthest = std::max(furthest, last(ids));
  EXPECT_LE(furthest, 501U);
}

// A job of 1,024 ranks that splits per step into singles, and then all numbers are spent by calls.
TEST(TeamIds, LargeJobsSplitSixteenMillionTimes) {
  constexpr std::size_t kRanks = 1024;
  std::vector<TeamIds> ranks(kRanks);
  for (std::uint32_t split = 1; split <= 2000; ++split) {
    std::uint32_t id = 0;
    for (const TeamIds& ids : ranks) id = std::max(id, ids.offer());
    ASSERT_EQ(id, split);
    for (TeamIds& ids : ranks) ASSERT_TRUE(ids.claim(id));
  }
  // All ranks are alike, so two show the rest.
  std::uint32_t splits = 2000;
  for (; ranks[0].offer() <= TeamIds::kLast; ++splits) {
    const std::uint32_t id = std::max(ranks[0].offer(), ranks[kRanks - 1].offer());
    if (!ranks[0].claim(id) || !ranks[kRanks - 1].claim(id)) break;
  }
  EXPECT_EQ(splits, 16'777'215U);
}

}  // namespace
}  // namespace espalier
