// What the stages over one simulated World have in common: time, turns, faults of ranks.
#pragma once

#include "tests/harness/sim_bed.hpp"
#include "tests/swarm/stage.hpp"

namespace espalier::swarm {

class WorldStage : public Stage {
 public:
  Clock& clock(Rank rank) final { return world_.clock(rank); }
  void set_turn(Turn turn, void* context) final {
    turn_ = turn;
    context_ = context;
    world_.set_turn([](void* self, Rank rank) { static_cast<WorldStage*>(self)->look(rank); },
                    this);
  }
  void schedule(Rank rank, std::uint64_t at_ns) final { world_.schedule_turn(rank, at_ns); }
  bool step() final { return world_.step(); }
  std::uint64_t now_ns() final { return world_.now_ns(); }
  std::uint64_t events() const final { return world_.events(); }
  std::uint64_t unseed() const final { return world_.unseed(); }
  bool crashed(Rank rank) const final { return world_.crashed(rank); }

 protected:
  explicit WorldStage(const Scenario& scenario)
      : bed_(scenario.machine, scenario.ranks, scenario.world, scenario.placement) {}
  // A rank has its turn in the world.
  virtual void look(Rank rank) = 0;
  // What its engine does then.
  int take_turn(Rank rank) { return turn_(context_, rank); }

 private:
  test::SimBed bed_;
  Turn turn_ = nullptr;
  void* context_ = nullptr;

 protected:
  sim::World& world_ = bed_.world;
};

}  // namespace espalier::swarm
