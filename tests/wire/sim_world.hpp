// SimWorld: n simulated wires in one thread. progress() of any of them moves virtual time when
// there is nothing else to do.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/counters.hpp"
#include "net/sim/sim_wire.hpp"
#include "net/sim/world.hpp"
#include "world.hpp"

namespace espalier::test {

// Machines small enough to read, with prices that make expectations easy to compute.
sim::Machine device_machine();   // nodes of one core under one switch, no shared lane
sim::Machine copy_machine();     // one node of many cores: copies through a memory bus
sim::Machine pull_machine();     // one node of many cores: the receiver reads
sim::Machine cluster_machine();  // nodes of two cores (copy), a duplex card each (device)

class SimWorld : public World {
 public:
  SimWorld(int ranks, sim::Machine machine, const sim::WorldOptions& options = {});

  int size() const noexcept override { return static_cast<int>(nodes_.size()); }
  Wire& wire(Rank r) noexcept override { return *nodes_[static_cast<std::size_t>(r)]->wire; }
  Counters& counters(Rank r) noexcept { return nodes_[static_cast<std::size_t>(r)]->counters; }
  sim::World& world() noexcept { return world_; }
  // Memory that all may read; simulated ranks share all of it.
  std::byte* shared(Rank r, std::uint64_t bytes) override;
  void close(Rank r) noexcept override { nodes_[static_cast<std::size_t>(r)]->wire.reset(); }

 private:
  struct Node {
    Counters counters;
    std::unique_ptr<sim::SimWire> wire;
    std::vector<std::unique_ptr<std::byte[]>> heap;
  };
  const sim::Machine machine_;
  const sim::Map map_;
  sim::World world_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace espalier::test
