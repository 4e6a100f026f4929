// What plans promise of the slow links inside a machine and of who reads one source at once,
// counted over the plans of all members (docs/testing.md lists all such claims). Each count is made
// of a plan without the promise, too, where it comes out otherwise.
#include <map>
#include <set>

#include "coll/choice/choose.hpp"
#include "tests/unit/exchange_cases.hpp"
#include "tests/unit/machine_cases.hpp"

namespace espalier::machines::claims {
namespace {

using plan_check::make_plans;

// ---- the link between NUMA nodes ----

using NumaNode = std::pair<std::uint64_t, std::int32_t>;  // of which machine

NumaNode numa_of(const Job& job, std::int32_t member) {
  const Location& at = job.places[static_cast<std::size_t>(member)];
  return {at.host.node_hash, at.place.numa};
}

// What members of a NUMA node read that is written in another.
struct Crossed {
  std::map<NumaNode, std::uint64_t> bytes_in, bytes_out;
  std::uint64_t most_reads = 0;  // of one segment by one NUMA node
};

Crossed crossed(const Job& job, const std::vector<Plan>& plans) {
  Crossed found;
  std::map<std::tuple<NumaNode, NumaNode, std::uint64_t>, std::uint64_t> reads;
  for (const Plan& plan : plans) {
    const NumaNode from = numa_of(job, plan.rank);
    for (const Vertex& v : plan.vertices) {
      if (v.action != Action::kSend && v.action != Action::kPublish) continue;
      for (std::uint32_t i = 0; i < v.indices.count; ++i) {
        const std::uint64_t bytes = plan.length_elements(v, i) * plan.element_bytes;
        std::vector<std::int32_t> readers = v.peers;
        if (v.action == Action::kSend) readers = {plan.peer(v, i)};
        for (const std::int32_t reader : readers) {
          const NumaNode to = numa_of(job, reader);
          if (from == to) continue;
          found.bytes_in[to] += bytes;
          found.bytes_out[from] += bytes;
          const std::uint64_t times = ++reads[{from, to, plan.offset_bytes(v, i, v.shape)}];
          found.most_reads = std::max(found.most_reads, times);
        }
      }
    }
  }
  return found;
}

std::map<NumaNode, std::uint64_t> members_by_numa(const Job& job) {
  std::map<NumaNode, std::uint64_t> counts;
  for (std::int32_t m = 0; m < job.nodes.size(); ++m) ++counts[numa_of(job, m)];
  return counts;
}

constexpr std::uint64_t kBytes = 1 << 20;

PlanRequest large(Collective collective, const Job& job, std::int32_t root) {
  PlanRequest request = plan_check::call(collective, job.nodes.size(), 1);
  request.elements = kBytes / request.element_bytes;
  request.root = root;
  return request;
}

// As it is chosen with all levels (LEVELS=on).
std::vector<Plan> by_levels(PlanRequest request, const Job& job) {
  request.nodes.nodes = &job.nodes;
  Tuning tuning;
  tuning.inner_levels = FollowLevels::kOn;
  Result<PlanRequest> made = resolve(ESP_COLL_OPTIONS_INIT, request, tuning);
  EXPECT_TRUE(made.ok() && made->nodes.follow);
  return make_plans(*made);
}

// One level for the whole machine, whatever is far.
std::vector<Plan> flat(PlanRequest request) {
  const bool up = request.collective == Collective::kReduce;
  request.algorithm = up ? ESP_ALGORITHM_TREE : ESP_ALGORITHM_PUBLISH;
  request.shape = ESP_SHAPE_FLAT;
  request.segment_bytes = 65536;
  return make_plans(request);
}

// Machines with several NUMA nodes; members in order, and dealt out to sockets in turn.
std::vector<Job> jobs() {
  return {in_order(kIg), placed(kIg, 1, [](std::int32_t r) { return r % 8 * 6 + r / 8; }),
          in_order(kStremi), in_order(kStremi, 3), in_order(kManyCores)};
}

// Ma et al. (CLUSTER 2011): the head of a group gets what comes from outside, the others read it
// there. A publication for all is drawn across by each reader for itself.
TEST(Claims, EachNumaNodeReadsEachByteOnce) {
  for (const Job& job : jobs()) {
    const auto members = members_by_numa(job);
    ASSERT_GT(members.size(), 2U);
    for (const std::int32_t root : {0, job.nodes.size() / 3, job.nodes.size() - 1}) {
      const PlanRequest request = large(Collective::kBcast, job, root);
      const Crossed once = crossed(job, by_levels(request, job));
      const Crossed each = crossed(job, flat(request));
      EXPECT_EQ(once.most_reads, 1U);
      EXPECT_GT(each.most_reads, 1U);
      for (const auto& [numa, count] : members) {
        const bool has_root = numa == numa_of(job, root);
        const auto bytes = [&](Crossed crossed) { return crossed.bytes_in[numa]; };
        EXPECT_EQ(bytes(once), has_root ? 0 : kBytes) << numa.second << " root " << root;
        EXPECT_EQ(bytes(each), has_root ? 0 : count * kBytes) << numa.second << " root " << root;
      }
    }
  }
}

// The other way round: one sum leaves each NUMA node.
TEST(Claims, EachNumaNodeSendsOneSumOut) {
  for (const Job& job : jobs()) {
    for (const std::int32_t root : {0, job.nodes.size() / 3, job.nodes.size() - 1}) {
      const PlanRequest request = large(Collective::kReduce, job, root);
      const Crossed once = crossed(job, by_levels(request, job));
      const Crossed each = crossed(job, flat(request));
      EXPECT_EQ(once.most_reads, 1U);
      for (const auto& [numa, count] : members_by_numa(job)) {
        const bool has_root = numa == numa_of(job, root);
        const auto bytes = [&](Crossed crossed) { return crossed.bytes_out[numa]; };
        EXPECT_EQ(bytes(once), has_root ? 0 : kBytes) << numa.second << " root " << root;
        EXPECT_EQ(bytes(each), has_root ? 0 : count * kBytes) << numa.second << " root " << root;
      }
    }
  }
}

// ---- steps of an alltoall ----

// Of any step: so many members read in the memory of one at most.
std::uint64_t readers_of_one_source(const std::vector<Plan>& plans) {
  std::map<std::pair<std::uint32_t, std::int32_t>, std::uint64_t> readers;  // of step and source
  std::uint64_t most = 0;
  for (const Plan& plan : plans) {
    for (const Vertex& v : plan.vertices) {
      for (std::uint32_t k = 0; v.action == Action::kRecv && k < v.steps; ++k) {
        const std::int32_t source = v.peer.at(k);
        if (source != plan.rank) most = std::max(most, ++readers[{k, source}]);
      }
    }
  }
  return most;
}

// What a member sends in a step is read in the same step of its reader.
void expect_same_steps(const std::vector<Plan>& plans) {
  std::set<std::tuple<std::uint32_t, std::int32_t, std::int32_t>> sent, received;
  for (const Plan& plan : plans) {
    for (const Vertex& v : plan.vertices) {
      for (std::uint32_t k = 0; !is_local(v.action) && k < v.steps; ++k) {
        const std::int32_t peer = v.peer.at(k);
        if (v.action == Action::kSend) sent.insert({k, plan.rank, peer});
        if (v.action == Action::kRecv) received.insert({k, peer, plan.rank});
      }
    }
  }
  EXPECT_EQ(sent, received);
}

// Rotated ring, one-factor and XOR (Kowalewski, section 4.4): no source has two readers in a step,
// so that steps are within any bound on readers (Transfer::readers_at_once). All in the order of
// ranks they would stand in line at one source after the other.
TEST(Claims, StepsOfAnAlltoallHaveDistinctSources) {
  for (const Collective collective :
       {Collective::kAlltoall, Collective::kAlltoallv, Collective::kAlltoallw}) {
    for (const esp_algorithm algorithm :
         {ESP_ALGORITHM_RING, ESP_ALGORITHM_ONE_FACTOR, ESP_ALGORITHM_XOR}) {
      for (std::int32_t size = 2; size <= 33; ++size) {
        for (const bool in_place : {false, true}) {
          PlanRequest request = plan_check::exchange(collective, algorithm, size);
          request.elements = 1;
          request.in_place = in_place;
          if (!has_algorithm(collective, algorithm) || !fits_team(collective, algorithm, size)) {
            continue;
          }
          std::vector<Plan> plans = make_plans(request);
          ASSERT_EQ(readers_of_one_source(plans), 1U) << plan_check::describe(request);
          expect_same_steps(plans);
          for (Plan& plan : plans) {
            for (Vertex& v : plan.vertices) {
              if (v.action == Action::kRecv) v.peer = Steps::affine(0, 1, size);
            }
          }
          const auto all = static_cast<std::uint64_t>(size) - 1;
          EXPECT_EQ(readers_of_one_source(plans), all) << "all in the order of ranks";
        }
      }
    }
  }
}

}  // namespace
}  // namespace espalier::machines::claims
