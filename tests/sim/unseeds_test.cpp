// Golden unseeds: some small simulated jobs, each of another kind, and the hash over everything
// that happened in them. Every compiler and sanitizer must print the same, and so must every run.
//
// A change of engine, plans, simulator or machine files that changes when or in which order
// anything happens changes values here, too. When that was wanted, take over what the failing test
// prints; when it was not, the test has found something.
#include <gtest/gtest.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <ostream>
#include <string>

#include "net/sim/machine.hpp"
#include "tools/esp-sim/cluster.hpp"
#include "tools/esp-sim/localities.hpp"

namespace espalier::test {
namespace {

struct Job {
  const char* name;
  const char* machine;
  std::uint32_t ranks;
  Collective collective;
  std::uint64_t bytes;
  esp_algorithm algorithm;
  esp_shape shape;
  esp_shape levels;  // AUTO: none
  esp_variant variant;
  const char* noise;
  const char* faults;
  std::uint32_t calls;
  std::uint64_t unseed;

  friend void PrintTo(const Job& job, std::ostream* out) { *out << job.name; }
};

constexpr auto kBcast = Collective::kBcast;
constexpr auto kReduce = Collective::kReduce;
constexpr auto kAllreduce = Collective::kAllreduce;
constexpr auto kTree = ESP_ALGORITHM_TREE;
constexpr auto kAuto = ESP_ALGORITHM_AUTO;
constexpr auto kEvent = ESP_VARIANT_EVENT;
constexpr auto kNoLevels = ESP_SHAPE_AUTO;

constexpr Job kJobs[] = {
    {"chain of chains", "cori", 128, kBcast, 1 << 18, kTree, ESP_SHAPE_CHAIN, ESP_SHAPE_CHAIN,
     kEvent, "none", "none", 3, 0x88101f0e65f8a6b1ULL},
    {"binary tree of nodes", "stampede2", 96, kReduce, 1 << 18, kTree, ESP_SHAPE_BINARY,
     ESP_SHAPE_CHAIN, kEvent, "none", "none", 2, 0xbb8b6aa4384bbe85ULL},
    {"waitall", "cori", 64, kBcast, 1 << 18, kTree, ESP_SHAPE_BINOMIAL, ESP_SHAPE_BINARY,
     ESP_VARIANT_WAITALL, "uniform:10hz:0-10ms", "none", 4, 0x79cd0a8a4a12e8aaULL},
    {"blocking", "psg", 40, kReduce, 100'000, kTree, ESP_SHAPE_BINARY, kNoLevels,
     ESP_VARIANT_BLOCKING, "fixed:1000hz:25us", "none", 2, 0xcd805c8579556117ULL},
    {"two trees", "ri2", 61, kAllreduce, 123'456, kTree, ESP_SHAPE_TWO_TREE, kNoLevels, kEvent,
     "exponential:1000hz:50us", "none", 1, 0xbda6dad4470de9ffULL},
    {"spread", "supermuc-ng", 96, kAllreduce, 400'000, ESP_ALGORITHM_SPREAD, ESP_SHAPE_AUTO,
     kNoLevels, kEvent, "none", "none", 2, 0x8b649070de2ac76bULL},
    {"publication", "ig", 48, kBcast, 1 << 18, ESP_ALGORITHM_PUBLISH, ESP_SHAPE_AUTO, kNoLevels,
     kEvent, "none", "none", 2, 0x690deb77292b2b5cULL},
    {"barriers", "parapluie", 72, Collective::kBarrier, 0, kAuto, ESP_SHAPE_AUTO, kNoLevels, kEvent,
     "fixed:100hz:1ms", "none", 20, 0xf96ea7cc3536caa8ULL},
    {"refused posts", "zoot", 16, kAllreduce, 65'536, kTree, ESP_SHAPE_KNOMIAL, kNoLevels, kEvent,
     "none", "retry=0.1,no-memory=0.1", 3, 0xb535401dd56e66e9ULL},
    {"delays and clogs", "stremi", 72, kBcast, 300'000, kTree, ESP_SHAPE_KNOMIAL, ESP_SHAPE_FLAT,
     kEvent, "none", "delay=0.1:20us,clog=3,slow=2,heal=2ms", 2, 0x1c2b39f592b51d23ULL},
    {"a death", "cori", 64, kAllreduce, 262'144, kTree, ESP_SHAPE_BINOMIAL, kNoLevels, kEvent,
     "none", "crash=1,heal=100us", 1, 0x73ce214ea9a612b6ULL},
    {"small and flat", "flat", 500, kReduce, 8, kTree, ESP_SHAPE_KARY, kNoLevels, kEvent,
     "uniform:1000hz:0-20us", "none", 5, 0xc1a0dd08af8ab0bdULL},
    {"allgather in a ring", "cori", 40, Collective::kAllgather, 20'000, ESP_ALGORITHM_RING,
     ESP_SHAPE_AUTO, kNoLevels, kEvent, "fixed:1000hz:25us", "none", 2, 0xe878df71cfb95637ULL},
    {"alltoall in rounds", "supermuc-ng", 96, Collective::kAlltoall, 1'000, ESP_ALGORITHM_BRUCK,
     ESP_SHAPE_AUTO, kNoLevels, kEvent, "none", "none", 2, 0xc313284c93870aa2ULL},
    {"uneven blocks", "psg", 24, Collective::kAlltoallv, 40'000, ESP_ALGORITHM_ONE_FACTOR,
     ESP_SHAPE_AUTO, kNoLevels, kEvent, "none", "retry=0.1,delay=0.1:20us", 2,
     0x65971ad10a053f21ULL},
    {"scan", "stampede2", 96, Collective::kExscan, 65'536, ESP_ALGORITHM_DOUBLING, ESP_SHAPE_AUTO,
     kNoLevels, kEvent, "uniform:1000hz:0-20us", "none", 2, 0x0cca2dbdd0ce3690ULL},
};

sim::RunResult run(const Job& job, std::uint64_t seed) {
  auto machine = sim::load_machine(job.machine);
  auto map = sim::Map::create(*machine, job.ranks, 0, sim::Placement::kByCore, seed);
  sim::ClusterOptions options;
  options.world.seed = seed;
  options.world.noise = *sim::parse_noise(job.noise);
  options.world.faults = *sim::parse_faults(job.faults);
  if (job.levels != kNoLevels) {
    options.around = sim::surroundings_of(*machine, *map);
    sim::follow_localities(options.tuning, job.levels);
  }
  sim::Operation operation;
  operation.collective = job.collective;
  operation.bytes = job.bytes;
  operation.root = static_cast<std::int32_t>(job.ranks / 3);
  operation.options.algorithm = job.algorithm;
  operation.options.shape = job.shape;
  operation.options.radix = job.algorithm == kTree ? 4 : 0;
  operation.options.segment_bytes = job.bytes > 8 ? 16'384 : 0;
  operation.options.variant = job.variant;
  operation.calls = job.calls;
  sim::Cluster cluster(*machine, *map, options);
  auto result = cluster.run(operation);
  EXPECT_TRUE(result.ok()) << (result ? "" : result.error().text);
  return result ? std::move(*result) : sim::RunResult{};
}

class Unseeds : public testing::TestWithParam<Job> {};

TEST_P(Unseeds, AreTheSameEverywhere) {
  const Job& job = GetParam();
  const sim::RunResult result = run(job, 7);
  EXPECT_EQ(result.wrong, 0U);
  EXPECT_GT(result.events, job.ranks);
  char text[32];
  std::snprintf(text, sizeof text, "0x%016" PRIx64 "ULL", result.unseed);
  EXPECT_EQ(result.unseed, job.unseed) << job.name << ": now " << text;
}

TEST_P(Unseeds, AreAFunctionOfTheSeed) {
  const Job& job = GetParam();
  const sim::RunResult first = run(job, 8), again = run(job, 8);
  EXPECT_EQ(first.unseed, again.unseed);
  EXPECT_EQ(first.completed_ns, again.completed_ns);
  EXPECT_EQ(first.counters, again.counters);
  EXPECT_NE(first.unseed, run(job, 9).unseed);
}

std::string name_of(const testing::TestParamInfo<Job>& job) {
  std::string name = job.param.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Jobs, Unseeds, testing::ValuesIn(kJobs), name_of);

}  // namespace
}  // namespace espalier::test
