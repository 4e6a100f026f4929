#include "tests/harness/sim_world.hpp"

#include <utility>

namespace espalier::test {

SimWorld::SimWorld(int ranks, sim::Machine machine, const sim::WorldOptions& options)
    : bed_(std::move(machine), static_cast<std::uint32_t>(ranks), options) {
  for (Rank r = 0; r < ranks; ++r) {
    nodes_.push_back(std::make_unique<Node>());
    Node& node = *nodes_.back();
    node.wire =
        std::make_unique<sim::SimWire>(world(), r, node.counters, sim::SimWire::Drive::kBySelf);
  }
}

std::byte* SimWorld::shared(Rank r, std::uint64_t bytes) {
  auto& heap = nodes_[static_cast<std::size_t>(r)]->heap;
  heap.push_back(std::make_unique<std::byte[]>(bytes));
  return heap.back().get();
}

}  // namespace espalier::test
