// Whom the members of a team on several nodes blame when one falls silent: each knows of those it
// exchanges segments with only, the rest is what they say. Messages are carried by hand.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "coll/team/watch.hpp"
#include "core/trace.hpp"
#include "news_node.hpp"

namespace espalier {
namespace {

constexpr std::uint64_t kMs = 1'000'000, kLookNs = 20 * kMs;

// In an operation in which it exchanges segments with some others, and all are owed.
struct Waiting : Node {
  Waiting(Rank rank, int size, const std::vector<int>& partners)
      : Node(rank, size),
        states(partners.size()),
        engine(counters, trace, tuning),
        watch(engine, everybody, Log(), {0, 0}, &news) {
    for (const int partner : partners) {
      Vertex& vertex = plan.vertices.emplace_back();
      vertex.peer = Steps::constant(partner);
    }
    for (VertexState& state : states) {
      state.recvs = &slot;
      state.indices.count = 1;
    }
    call(1);
    plan.rank = rank;
    instance.plan = &plan;
    instance.states = states;
    instance.sequence = team.sequence;
    team.active = &instance;
    watch.add(team);
  }
  ~Waiting() {
    watch.remove(team);
    team.active = nullptr;
  }
  Rank blames() { return team.board.blame(team.row(team.rank), team.sequence, clock.now).rank; }

  Plan plan;
  RecvSlot slot;
  std::vector<VertexState> states;
  Instance instance;
  Counters counters;
  Trace trace;
  Tuning tuning;
  Engine engine;
  TeamWatch watch;
};

// Who exchanges segments with whom.
using Edges = std::vector<std::vector<int>>;

struct Members {
  Members(const Edges& edges, unsigned seed) : random(seed) {
    for (std::size_t rank = 0; rank < edges.size(); ++rank) {
      const auto size = static_cast<int>(edges.size());
      members.push_back(std::make_unique<Waiting>(static_cast<Rank>(rank), size, edges[rank]));
    }
  }

  // All look, some earlier than others, and what they ask is answered a little later. The silent
  // one does neither.
  void live(std::uint64_t for_ns, Rank silent) {
    for (const std::uint64_t end = now + for_ns; now < end; now += kLookNs / 4) {
      for (auto& member : members) {
        member->clock.now = now;
        if (member->team.rank != silent && random() % 4 == 0) member->watch.look(1, now);
      }
      for (auto& member : members) carry(*member, silent);
    }
  }
  void carry(Waiting& from, Rank silent) {
    std::deque<Post::Letter> letters = std::exchange(from.post.sent, {});
    for (const Post::Letter& letter : letters) {
      if (letter.to == silent || from.team.rank == silent) continue;
      members[static_cast<std::size_t>(letter.to)]->news.heard(from.team.rank, letter.bytes);
    }
  }

  std::mt19937 random;
  std::uint64_t now = 1'000 * kMs;
  std::vector<std::unique_ptr<Waiting>> members;
};

struct Shape {
  const char* name;
  Edges edges;
};

const Shape kShapes[] = {
    {"chain", {{1}, {0, 2}, {1, 3}, {2}}},
    {"tree", {{1, 2}, {0, 3, 4}, {0, 5}, {1}, {1}, {2}}},
    {"ring", {{1, 4}, {0, 2}, {1, 3}, {2, 4}, {3, 0}}},
    {"cube",
     {{1, 2, 4}, {0, 3, 5}, {0, 3, 6}, {1, 2, 7}, {0, 5, 6}, {1, 4, 7}, {2, 4, 7}, {3, 5, 6}}},
};

// What was said before must not be told in circles: first all wait for each other a little, as in
// any operation, then one falls silent.
TEST(Blame, EndsAtWhoFellSilent) {
  for (const Shape& shape : kShapes) {
    const auto size = static_cast<Rank>(shape.edges.size());
    for (unsigned seed = 0; seed < 40; ++seed) {
      const auto silent = static_cast<Rank>(seed % shape.edges.size());
      Members team(shape.edges, seed);
      team.live((seed % 5) * 100 * kMs, kNoRank);
      team.live(5'000 * kMs, silent);
      for (Rank rank = 0; rank < size; ++rank) {
        if (rank == silent) continue;
        EXPECT_EQ(team.members[static_cast<std::size_t>(rank)]->blames(), silent)
            << shape.name << ", seed " << seed << ", rank " << rank;
      }
    }
  }
}

// What was said of an operation does not outlast it: rank 1 has waited for rank 2, which has come,
// and now is the late one itself.
TEST(Blame, IsWithdrawnWithTheOperation) {
  Members team({{1}, {0, 2}, {1}}, 1);
  team.live(400 * kMs, 2);
  Waiting &first = *team.members[0], &late = *team.members[1];
  ASSERT_EQ(first.blames(), 2);
  late.team.withdraw_blame();
  EXPECT_EQ(late.blames(), kNoRank);
  late.team.active = nullptr;  // It computes, but answers.
  first.team.withdraw_blame();
  first.call(1);
  first.instance.sequence = first.team.sequence;
  team.live(2'000 * kMs, 2);
  EXPECT_EQ(first.blames(), 1);
}

}  // namespace
}  // namespace espalier
