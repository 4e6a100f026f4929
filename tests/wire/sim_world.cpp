#include "sim_world.hpp"

#include <utility>

namespace espalier::test {
namespace {

sim::Level level(std::string name, std::uint32_t arity) {
  sim::Level made;
  made.name = std::move(name);
  made.arity = arity;
  return made;
}

sim::Map place(const sim::Machine& machine, int ranks) {
  auto map =
      sim::Map::create(machine, static_cast<std::uint32_t>(ranks), 0, sim::Placement::kByCore, 1);
  ESP_ASSERT(map.ok());
  return std::move(*map);
}

// The prices of messages between the units inside one unit of `level`.
void price(sim::Level& level, sim::Carrier carrier, double latency_ns, double ns_per_byte) {
  level.carrier = carrier;
  level.latency_ns = latency_ns;
  level.overhead_send_ns = 100;
  level.overhead_recv_ns = 200;
  level.gap_ns = 50;
  level.ns_per_byte = ns_per_byte;
}

}  // namespace

sim::Machine device_machine() {
  sim::Machine machine;
  machine.name = "device";
  machine.levels = {level("cluster", 1), level("node", 64), level("core", 1)};
  price(machine.levels[0], sim::Carrier::kDevice, 1000, 0.5);
  price(machine.levels[1], sim::Carrier::kDevice, 1000, 0.5);
  machine.reduce_ns_per_byte = 0.25;
  return machine;
}

sim::Machine copy_machine() {
  sim::Machine machine;
  machine.name = "copy";
  machine.levels = {level("node", 1), level("core", 64)};
  price(machine.levels[0], sim::Carrier::kCopy, 300, 0.25);
  price(machine.levels[1], sim::Carrier::kCopy, 300, 0.25);
  machine.levels[0].lane = 1;
  machine.lanes = {{"bus", "node", 0.0625, 0, false}};
  machine.reduce_ns_per_byte = 0.25;
  return machine;
}

sim::Machine pull_machine() {
  sim::Machine machine = copy_machine();
  machine.name = "pull";
  price(machine.levels[0], sim::Carrier::kPull, 300, 0.125);
  machine.levels[0].lane = 0;
  machine.lanes.clear();
  machine.cma = {500, 100, 50};
  return machine;
}

sim::Machine cluster_machine() {
  sim::Machine machine;
  machine.name = "cluster";
  machine.levels = {level("cluster", 1), level("node", 32), level("core", 2)};
  price(machine.levels[0], sim::Carrier::kDevice, 1000, 0.5);
  price(machine.levels[1], sim::Carrier::kCopy, 300, 0.125);
  price(machine.levels[2], sim::Carrier::kCopy, 300, 0.125);
  machine.levels[0].lane = 1;
  machine.lanes = {{"card", "node", 0.5, 100, true}};
  machine.reduce_ns_per_byte = 0.25;
  return machine;
}

SimWorld::SimWorld(int ranks, sim::Machine machine, const sim::WorldOptions& options)
    : machine_(std::move(machine)), map_(place(machine_, ranks)), world_(machine_, map_, options) {
  for (Rank r = 0; r < ranks; ++r) {
    nodes_.push_back(std::make_unique<Node>());
    Node& node = *nodes_.back();
    node.wire =
        std::make_unique<sim::SimWire>(world_, r, node.counters, sim::SimWire::Drive::kBySelf);
  }
}

std::byte* SimWorld::shared(Rank r, std::uint64_t bytes) {
  auto& heap = nodes_[static_cast<std::size_t>(r)]->heap;
  heap.push_back(std::make_unique<std::byte[]>(bytes));
  return heap.back().get();
}

}  // namespace espalier::test
