// SimWorld: n simulated wires in one thread. progress() of any of them moves virtual time when
// there is nothing else to do.
#pragma once

#include <memory>
#include <vector>

#include "core/counters.hpp"
#include "net/sim/sim_wire.hpp"
#include "tests/harness/sim_bed.hpp"
#include "tests/harness/world.hpp"

namespace espalier::test {

class SimWorld : public World {
 public:
  SimWorld(int ranks, sim::Machine machine, const sim::WorldOptions& options = {});

  int size() const noexcept override { return static_cast<int>(nodes_.size()); }
  Wire& wire(Rank r) noexcept override { return *nodes_[static_cast<std::size_t>(r)]->wire; }
  Counters& counters(Rank r) noexcept { return nodes_[static_cast<std::size_t>(r)]->counters; }
  sim::World& world() noexcept { return bed_.world; }
  // Memory that all may read; simulated ranks share all of it.
  std::byte* shared(Rank r, std::uint64_t bytes) override;
  void close(Rank r) noexcept override { nodes_[static_cast<std::size_t>(r)]->wire.reset(); }

 private:
  struct Node {
    Counters counters;
    std::unique_ptr<sim::SimWire> wire;
    std::vector<std::unique_ptr<std::byte[]>> heap;
  };
  SimBed bed_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace espalier::test
