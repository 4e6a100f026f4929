// What the library chooses by a machine's costs, beside what could be named, in the simulator.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tools/esp-sim/cluster.hpp"
#include "tools/esp-sim/localities.hpp"

namespace espalier::sim {
namespace {

struct Call {
  Collective collective;
  std::uint64_t bytes;
};

class Choices {
 public:
  Choices(const char* machine, std::uint32_t ranks, std::uint32_t per_node)
      : machine_(load_machine(machine).value()),
        map_(Map::create(machine_, ranks, per_node, Placement::kByCore, 1).value()) {}

  double own(const Call& call) const {
    Tuning tuning;
    tuning.costs = costs_of(machine_, followed(*around_));
    return time(call, ESP_COLL_OPTIONS_INIT, tuning);
  }
  double ruled(const Call& call) const { return time(call, ESP_COLL_OPTIONS_INIT, {}); }

  // The best tree of some shapes and segments.
  double best_named(const Call& call) const {
    double best = 1e300;
    for (const esp_shape inside : {ESP_SHAPE_FLAT, ESP_SHAPE_BINOMIAL}) {
      Tuning tuning;
      follow_localities(tuning, inside);
      for (const esp_shape shape : {ESP_SHAPE_CHAIN, ESP_SHAPE_BINARY, ESP_SHAPE_BINOMIAL}) {
        for (const std::size_t segment : {8192U, 65536U}) {
          esp_coll_options options = ESP_COLL_OPTIONS_INIT;
          options.algorithm = ESP_ALGORITHM_TREE;
          options.shape = shape;
          options.segment_bytes = segment;
          best = std::min(best, time(call, options, tuning));
        }
      }
    }
    return best;
  }

 private:
  double time(const Call& call, const esp_coll_options& options, const Tuning& tuning) const {
    ClusterOptions with;
    with.world.carry_data = false;
    with.tuning = tuning;
    with.around = around_;
    Cluster cluster(machine_, map_, with);
    auto result = cluster.run({.collective = call.collective,
                               .bytes = call.bytes,
                               .root = 0,
                               .options = options,
                               .calls = 1});
    EXPECT_TRUE(result.ok() && result->ok());
    return result.ok() ? static_cast<double>(result->makespan_ns) : 1e300;
  }

  Machine machine_;
  Map map_;
  std::shared_ptr<const Membership> around_ = surroundings_of(machine_, map_);
};

// At 768 ranks the rules alone took up to 6 times the best.
TEST(Choice, OwnIsNearTheBestThatCouldBeNamed) {
  std::vector<double> own, ruled;
  for (const char* machine : {"stremi", "parapluie", "supermuc-ng"}) {
    const Choices choices(machine, 96, 12);
    for (const Call& call : {Call{Collective::kBcast, 1024}, Call{Collective::kBcast, 262144},
                             Call{Collective::kBcast, 1 << 20}, Call{Collective::kReduce, 65536},
                             Call{Collective::kReduce, 1 << 20}, Call{Collective::kAllreduce, 64},
                             Call{Collective::kAllreduce, 65536}}) {
      const double best = choices.best_named(call);
      own.push_back(choices.own(call) / best);
      ruled.push_back(choices.ruled(call) / best);
      EXPECT_LT(own.back(), 1.5) << machine << ' ' << collective_name(call.collective) << ' '
                                 << call.bytes;
    }
  }
  std::ranges::sort(own);
  std::ranges::sort(ruled);
  EXPECT_LT(own[own.size() / 2], 1.05) << "median";
  EXPECT_GT(ruled.back(), 2) << "or there was nothing to gain";
}

}  // namespace
}  // namespace espalier::sim
