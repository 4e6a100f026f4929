// The simulated stage: SimWires over one World.
#include <fmt/format.h>

#include <vector>

#include "net/sim/sim_wire.hpp"
#include "tests/swarm/world_stage.hpp"

namespace espalier::swarm {
namespace {

class SimStage final : public WorldStage {
 public:
  explicit SimStage(const Scenario& scenario) : WorldStage(scenario), counters_(scenario.ranks) {
    for (std::uint32_t r = 0; r < scenario.ranks; ++r) {
      wires_.push_back(std::make_unique<sim::SimWire>(world_, static_cast<Rank>(r), counters_[r]));
    }
  }

  Wire& wire(Rank rank) override { return *wires_[static_cast<std::size_t>(rank)]; }
  Counters& counters(Rank rank) override { return counters_[static_cast<std::size_t>(rank)]; }

  std::string leftovers() override {
    for (std::size_t r = 0; r < wires_.size(); ++r) {
      if (!wires_[r]->quiet()) {
        return fmt::format("the wire of rank {} still holds segments or permissions", r);
      }
    }
    return close_world();
  }
  std::string close() override {
    wires_.clear();
    return close_world();
  }

 private:
  void look(Rank rank) override { (void)take_turn(rank); }
  std::string close_world() const {
    if (world_.under_way() == 0) return {};
    return fmt::format("{} messages, sends and permissions are still under way",
                       world_.under_way());
  }

  std::vector<Counters> counters_;
  std::vector<std::unique_ptr<sim::SimWire>> wires_;
};

}  // namespace

std::unique_ptr<Stage> make_sim_stage(const Scenario& scenario) {
  return std::make_unique<SimStage>(scenario);
}

std::unique_ptr<Stage> make_stage(const Scenario& scenario) {
  switch (scenario.stage) {
    case StageKind::kSim:
      return make_sim_stage(scenario);
    case StageKind::kShm:
      return make_shm_stage(scenario);
    case StageKind::kDatagrams:
    case StageKind::kConnections:
    case StageKind::kRdma:
      return make_rdma_stage(scenario);
  }
  return nullptr;
}

}  // namespace espalier::swarm
