// What the stages over one simulated World have in common: time, turns, faults of ranks.
#pragma once

#include <utility>

#include "net/sim/world.hpp"
#include "tests/swarm/stage.hpp"

namespace espalier::swarm {

class WorldStage : public Stage {
 public:
  Clock& clock(Rank rank) final { return world_.clock(rank); }
  void schedule(Rank rank, std::uint64_t at_ns) final { world_.schedule_turn(rank, at_ns); }
  bool step() final { return world_.step(); }
  std::uint64_t now_ns() final { return world_.now_ns(); }
  std::uint64_t events() const final { return world_.events(); }
  std::uint64_t unseed() const final { return world_.unseed(); }
  bool crashed(Rank rank) const final { return world_.crashed(rank); }

 protected:
  explicit WorldStage(const Scenario& scenario)
      : map_(place(scenario)), world_(scenario.machine, map_, scenario.world) {}

 private:
  static sim::Map place(const Scenario& scenario) {
    auto map = sim::Map::create(scenario.machine, scenario.ranks, 0, scenario.placement,
                                scenario.world.seed);
    ESP_ASSERT(map.ok());
    return std::move(*map);
  }

  const sim::Map map_;

 protected:
  sim::World world_;
};

}  // namespace espalier::swarm
