// The ring that follows nodes and what is inside them: arcs, and what an allgather along it reads
// and writes (Ma's thesis, section 4.4.3).
#include "coll/algorithms/ring_order.hpp"

#include <random>
#include <set>

#include "tests/unit/machine_cases.hpp"
#include "tests/unit/plan_cases.hpp"

namespace espalier::machines {
namespace {

RingPlace place_of(const Job& job, std::int32_t member) {
  return ring_place(&job.nodes, job.nodes.size(), member);
}

// Each member and its right neighbour.
Edges ring_edges(const Job& job) {
  Edges edges;
  for (std::int32_t m = 0; m < job.nodes.size(); ++m) edges.emplace_back(m, place_of(job, m).right);
  return edges;
}

TEST(RingOrder, WithoutNodesAndForFew) {
  EXPECT_EQ(ring_place(nullptr, 5, 0), (RingPlace{0, 4, 1}));
  EXPECT_EQ(ring_place(nullptr, 5, 4), (RingPlace{4, 3, 0}));
  EXPECT_EQ(ring_place(nullptr, 1, 0), (RingPlace{0, 0, 0}));
  EXPECT_EQ(ring_place(nullptr, 2, 1), (RingPlace{1, 0, 0}));
  const TeamNodes one = TeamNodes::of(std::vector<std::int32_t>{3});
  EXPECT_EQ(ring_place(&one, 1, 0), (RingPlace{0, 0, 0}));
  const TeamNodes two = TeamNodes::of(std::vector<std::int32_t>{3, 4});
  EXPECT_EQ(ring_place(&two, 2, 0), (RingPlace{0, 1, 1}));
  EXPECT_EQ(ring_place(&two, 2, 1), (RingPlace{1, 0, 0}));
}

// How many edges lead from one of the groups to another.
std::size_t crossings(const Job& job, const MemberGroups& groups) {
  const auto group = [&](std::int32_t member) {
    return std::upper_bound(groups.begin.begin(), groups.begin.end(),
                            job.nodes.position_of(member)) -
           groups.begin.begin();
  };
  std::size_t count = 0;
  for (const auto& [a, b] : ring_edges(job)) count += group(a) != group(b) ? 1 : 0;
  return count;
}

// One closed way through all, every group of every level an arc.
void expect_arcs(const Job& job) {
  const std::int32_t size = job.nodes.size();
  std::int32_t at = 0;
  for (std::int32_t k = 0; k < size; ++k) {
    const RingPlace place = place_of(job, at);
    ASSERT_EQ(place.position, k);
    ASSERT_EQ(place_of(job, place.right).left, at);
    at = place.right;
  }
  ASSERT_EQ(at, 0);
  const auto expect_crossings = [&](const MemberGroups& groups) {
    const std::size_t count = groups.begin.size() - 1;
    EXPECT_EQ(crossings(job, groups), count > 1 ? count : 0);
  };
  expect_crossings(job.nodes);
  for (const MemberGroups& groups : job.nodes.outer) expect_crossings(groups);
  for (const LocalityGroups& groups : job.nodes.inner) expect_crossings(groups);
}

constexpr const char* kMachines[] = {kZoot, kIg, kStremi, kManyCores};

TEST(RingOrder, ArcsUnderRandomPermutations) {
  std::mt19937 random(1);
  for (const char* machine : kMachines) {
    for (int round = 0; round < 20; ++round) {
      const std::int32_t nodes = 1 + round % 3;
      std::vector<Location> places = in_order(machine, nodes).places;
      std::shuffle(places.begin(), places.end(), random);
      places.resize(1 + random() % places.size());  // a team of some of them
      const Job job = job_of(places);
      expect_arcs(job);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(RingOrder, ArcsOnRandomMachines) {
  std::mt19937 random(4);
  int with_switches = 0;
  for (int round = 0; round < 300; ++round) {
    const Job job = random_job(random, static_cast<std::int32_t>(1 + random() % 60));
    expect_arcs(job);
    if (HasFailure()) return;
    with_switches += job.nodes.outer.size() == 2 ? 1 : 0;
  }
  EXPECT_GT(with_switches, 20);
}

// Slow edges, whatever the placement: as many of each distance.
TEST(RingOrder, PlacementChangesNothing) {
  const Job contiguous = in_order(kIg);
  const Job across = placed(kIg, 1, [](std::int32_t r) { return r % 8 * 6 + r / 8; });
  const std::map<int, int> expected = {{1, 40}, {5, 6}, {6, 2}};
  EXPECT_EQ(distances(contiguous, ring_edges(contiguous)), expected);
  EXPECT_EQ(distances(across, ring_edges(across)), expected);
  const Job by_core = in_order(kStremi, 4);
  const Job by_node = placed(kStremi, 4, [](std::int32_t r) { return r % 4 * 24 + r / 4; });
  EXPECT_EQ(distances(by_core, ring_edges(by_core)), distances(by_node, ring_edges(by_node)));
  EXPECT_EQ(distances(by_core, ring_edges(by_core))[kDistanceOtherNode], 4);
}

// ---- what it costs ----

// Blocks that are read from and written to each NUMA node's memory, that cross between NUMA nodes,
// and that each member copies.
struct Accesses {
  std::map<std::int32_t, std::int64_t> reads, writes;
  std::int64_t across = 0;
  std::map<std::int32_t, std::int64_t> copies;

  void copy(const Job& job, std::int32_t from, std::int32_t to, std::int64_t blocks) {
    const auto numa = [&](std::int32_t m) {
      return job.places[static_cast<std::size_t>(m)].place.numa;
    };
    reads[numa(from)] += blocks;
    writes[numa(to)] += blocks;
    copies[to] += blocks;
    if (numa(from) != numa(to)) across += blocks;
  }
};

void expect_formula(const Accesses& counted, const Job& job, std::int64_t numas,
                    std::int64_t each) {
  ASSERT_EQ(counted.reads.size(), static_cast<std::size_t>(numas));
  for (const auto& [numa, blocks] : counted.reads) EXPECT_EQ(blocks, each * each * numas) << numa;
  for (const auto& [numa, blocks] : counted.writes) EXPECT_EQ(blocks, each * each * numas) << numa;
  for (const auto& [member, blocks] : counted.copies) EXPECT_EQ(blocks, each * numas) << member;
  EXPECT_EQ(counted.copies.size(), static_cast<std::size_t>(job.nodes.size()));
  const std::int64_t links = numas > 1 ? numas : 0;
  EXPECT_EQ(counted.across, links * (each * numas - 1));
}

struct Numas {
  const char* machine;
  std::int64_t count, each;
};
constexpr Numas kNumas[] = {{kZoot, 1, 16}, {kIg, 8, 6}, {kStremi, 4, 6}, {kManyCores, 8, 16}};

// Each member copies its own block, then pulls all others from its left neighbour.
TEST(RingOrder, MemoryAccessesOfAnAllgather) {
  std::mt19937 random(2);
  for (const Numas& of : kNumas) {
    std::vector<Location> places = in_order(of.machine).places;
    for (int round = 0; round < 5; ++round) {
      const Job job = job_of(places);
      Accesses counted;
      for (std::int32_t m = 0; m < job.nodes.size(); ++m) {
        counted.copy(job, m, m, 1);
        counted.copy(job, place_of(job, m).left, m, job.nodes.size() - 1);
      }
      expect_formula(counted, job, of.count, of.each);
      std::shuffle(places.begin(), places.end(), random);
    }
  }
}

Accesses accesses_of_plans(const Job& job) {
  PlanRequest request = plan_check::call(Collective::kAllgather, job.nodes.size(), 1);
  request.algorithm = ESP_ALGORITHM_RING;
  request.nodes.nodes = &job.nodes;
  Accesses counted;
  for (const Plan& plan : plan_check::make_plans(request)) {
    for (const Vertex& vertex : plan.vertices) {
      for (std::uint32_t i = 0; i < vertex.indices.count; ++i) {
        const std::uint32_t step = vertex.indices.step(i);
        if (vertex.action == Action::kRecv) {
          counted.copy(job, vertex.peer.at(step), plan.rank, 1);
        } else if (vertex.action == Action::kCombine) {
          counted.copy(job, plan.rank, plan.rank, 1);
        }
      }
    }
  }
  return counted;
}

// The same, of the plans, for any placement.
TEST(RingOrder, MemoryAccessesOfThePlans) {
  std::mt19937 random(3);
  for (const Numas& of : kNumas) {
    std::vector<Location> places = in_order(of.machine).places;
    for (int round = 0; round < 3; ++round) {
      const Job job = job_of(places);
      ASSERT_EQ(job.nodes.in_order(), round == 0);
      expect_formula(accesses_of_plans(job), job, of.count, of.each);
      std::shuffle(places.begin(), places.end(), random);
    }
  }
}

}  // namespace
}  // namespace espalier::machines
