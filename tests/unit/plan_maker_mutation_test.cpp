// The checker finds what is wrong with plans of leaders, stripes, switches, roots and scans: each
// vertex of each member spoilt in every way that applies, each edge taken out. An edge that nothing
// misses is implied by others.
#include <fmt/format.h>

#include <algorithm>

#include "tests/unit/plan_hazards.hpp"
#include "tests/unit/plan_makers.hpp"
#include "tests/unit/plan_mutations.hpp"

namespace espalier::plan_check {
namespace {

// Spoils a vertex; false: there is nothing to spoil in that way.
struct Spoiling {
  const char* name;
  bool (*apply)(const Plan& plan, Vertex& v);
};

bool another_peer(const Plan& plan, Vertex& v) {
  if (is_local(v.action) || v.action == Action::kPublish) return false;
  if (v.peer.is_constant()) {
    do v.peer.first = (v.peer.first + 1) % plan.size;
    while (v.peer.first == plan.rank);
  } else {
    ++v.peer.first;  // that of the next step
  }
  return true;
}
bool a_reader_less(const Plan&, Vertex& v) {
  if (v.peers.empty()) return false;
  v.peers.pop_back();
  return true;
}
bool another_channel(const Plan&, Vertex& v) {
  if (is_local(v.action)) return false;
  ++v.channel;
  return true;
}
bool another_way(const Plan&, Vertex& v) {
  if (v.transfer.path != Path::kMulticast) return false;
  v.transfer.path = Path::kAny;
  return true;
}
bool another_piece(const Plan& plan, Vertex& v) {
  if (v.lanes < 2) return false;
  v.lane = (v.lane + 1) % v.lanes;
  v.indices = plan.indices(plan.layouts.data(), v);
  return true;
}
bool another_block(const Plan&, Vertex& v) {
  ++v.block.first;
  return true;
}
bool another_source(const Plan&, Vertex& v) {
  if (!v.elsewhere) return false;
  ++v.from.first;
  return true;
}
bool a_step_less(const Plan&, Vertex& v) {
  if (v.steps < 2) return false;
  --v.steps;
  v.indices.count -= v.indices.inner;
  return true;
}
bool a_segment_less(const Plan&, Vertex& v) {
  if (v.steps > 1 || v.indices.count < 2 || v.action == Action::kRecvView) return false;
  --v.indices.count;
  --v.indices.inner;
  return true;
}
bool operands_swapped(const Plan&, Vertex& v) {
  if (v.operands.size() < 2) return false;
  std::swap(v.operands.front(), v.operands.back());
  return true;
}
bool an_operand_less(const Plan&, Vertex& v) {
  if (v.operands.size() < 2) return false;
  v.operands.pop_back();
  return true;
}

constexpr Spoiling kSpoilings[] = {
    {"another peer", another_peer},         {"a reader less", a_reader_less},
    {"another channel", another_channel},   {"another piece", another_piece},
    {"another block", another_block},       {"another source", another_source},
    {"a step less", a_step_less},           {"a segment less", a_segment_less},
    {"operands swapped", operands_swapped}, {"an operand less", an_operand_less},
    {"another way", another_way},
};

// Does it stay within its buffers?
bool fits(const Plan& plan, const Vertex& v) {
  const auto holds = [&](Place place, const Steps& blocks, std::uint32_t i) {
    if (place == Place::kNone || place == Place::kView || place == Place::kAccumulator) return true;
    const Layout& of = plan.layout(place);
    if (of.kind == Layout::Kind::kRing) return true;
    const std::int64_t first = blocks.at(v.indices.step(i));
    return 0 <= first && first + v.run_at(v.indices.step(i)) <= of.blocks;
  };
  for (std::uint32_t i = 0; i < v.indices.count; ++i) {
    const Steps& from = v.elsewhere ? v.from : v.block;
    if (!holds(v.shape, v.block, i) || !holds(v.dst, v.block, i) || !holds(v.src, from, i)) {
      return false;
    }
    for (const Operand& operand : v.operands) {
      if (!holds(operand.place, from, i)) return false;
    }
  }
  return true;
}

// Steps that have one value have no other.
bool differ(const Vertex& a, Vertex b) {
  for (std::uint32_t k = 0; k < a.steps; ++k) {
    if (a.peer.at(k) != b.peer.at(k) || a.block.at(k) != b.block.at(k)) return true;
    if (a.from.at(k) != b.from.at(k)) return true;
  }
  b.peer = a.peer;
  b.block = a.block;
  b.from = a.from;
  return !(a == b);
}

class SpoiltPlans : public testing::TestWithParam<MadeRequest> {
 protected:
  void SetUp() override {
    plans_ = make_plans(GetParam().request);
    ASSERT_FALSE(plans_.empty());
    checked_ = GetParam().request;
    // Over nodes members are combined in their order, whatever the root.
    if (checked_.nodes.follow) checked_.commutative = false;
    ASSERT_FALSE(is_found(plans_));
    ASSERT_FALSE(has_hazard(plans_));
  }
  bool has_hazard(const std::vector<Plan>& plans) const {
    const bool in_place = checked_.in_place && replaces_blocks(checked_.collective);
    return !find_hazard(plans, std::vector<std::int64_t>(plans.size(), in_place ? 0 : -1)).empty();
  }
  bool is_found(std::vector<Plan> plans) const {
    for (Plan& plan : plans) recompute_feeds(plan);
    return first_error(plans, checked_, 2) != "no error found";
  }
  template <typename Use>
  void for_each_vertex(Use&& use) {
    for (std::size_t r = 0; r < plans_.size(); ++r) {
      for (std::size_t at = 0; at < plans_[r].vertices.size(); ++at) use(r, at);
    }
  }

  std::vector<Plan> plans_;
  PlanRequest checked_;
};

// Who does more than is needed: work and edges that nothing misses.
struct Spare {
  const char* maker;
  int work, edges;
};
constexpr Spare kSpares[] = {
    // Sums of the last members, which nobody gets.
    {"exscan doubling alone", 1, 5},
    // A member's own block, which stands where it is copied to.
    {"alltoall tree dealt out in place", 1, 0},
    // The last of the pieces that a shorter run would have, if it were as long as the longest; the
    // edge that keeps a source waiting for earlier ones, which nothing but the network asks for.
    {"allgather multicast in order", 1, 1},
    {"allgather multicast dealt out", 1, 1},
    // Views of other heads tell lengths by a run, and another node's may be as long. Who is no head
    // gets a result that is made of what it has sent.
    {"reduce_scatter_block tree in order", 8, 0},
    {"reduce_scatter_block tree dealt out", 8, 0},
    {"reduce_scatter_block tree in order in place", 8, 5},
    {"reduce_scatter_block tree dealt out in place", 8, 0},
};

Spare spare_of(const std::string& maker) {
  for (const Spare& spare : kSpares) {
    if (maker == spare.maker) return spare;
  }
  return {"", 0, 0};
}

TEST_P(SpoiltPlans, EverySpoiltVertexIsFound) {
  int spoilt = 0, spare = 0;
  std::string last;
  for_each_vertex([&](std::size_t r, std::size_t at) {
    for (const Spoiling& how : kSpoilings) {
      std::vector<Plan> plans = plans_;
      Vertex& v = plans[r].vertices[at];
      if (!how.apply(plans[r], v) || !fits(plans[r], v)) continue;
      if (!differ(plans_[r].vertices[at], v)) continue;
      ++spoilt;
      if (is_found(plans) || has_hazard(plans)) continue;
      ++spare;
      last = fmt::format("{}: vertex {} of\n{}", how.name, at, plans_[r].to_text());
    }
  });
  EXPECT_GT(spoilt, 20);
  EXPECT_EQ(spare, spare_of(GetParam().name).work) << last;
}

TEST_P(SpoiltPlans, EveryMissingEdgeIsFoundOrImplied) {
  int edges = 0, spare = 0;
  std::string last;
  for_each_vertex([&](std::size_t r, std::size_t at) {
    const std::vector<Dependency> needs = plans_[r].vertices[at].needs;
    for (std::size_t k = 0; k < needs.size(); ++k) {
      std::vector<Plan> plans = plans_;
      auto& left = plans[r].vertices[at].needs;
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(k));
      ++edges;
      if (has_hazard(plans) || is_found(plans)) continue;
      if (is_implied(plans, static_cast<std::int32_t>(r), at, needs[k])) continue;
      ++spare;
      last = fmt::format("edge {} of vertex {} of\n{}", k, at, plans_[r].to_text());
    }
  });
  EXPECT_GT(edges, 0);
  EXPECT_EQ(spare, spare_of(GetParam().name).edges) << last;
}

std::string test_name(const testing::TestParamInfo<MadeRequest>& made) {
  std::string name = made.param.name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ' ' || c == '-'; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Makers, SpoiltPlans, testing::ValuesIn(made_requests()), test_name);

}  // namespace
}  // namespace espalier::plan_check
