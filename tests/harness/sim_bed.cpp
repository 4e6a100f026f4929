#include "tests/harness/sim_bed.hpp"

#include <utility>

#include "net/sim/sim_datagram_port.hpp"

namespace espalier::test {
namespace {

sim::Map place(const sim::Machine& machine, std::uint32_t ranks, sim::Placement placement,
               std::uint64_t seed) {
  auto map = sim::Map::create(machine, ranks, 0, placement, seed);
  ESP_ASSERT(map.ok());
  return std::move(*map);
}

sim::WorldOptions faulty_world(const std::string& faults, std::uint64_t seed) {
  sim::WorldOptions options;
  options.seed = seed;
  options.faults = *sim::parse_faults(faults);
  return options;
}

struct Addresses final : rdma::AddressBook {
  Result<rdma::PortAddress> address_of(Rank rank) const override {
    return sim::SimDatagramPort::address_of(rank);
  }
};

sim::Level level(std::string name, std::uint32_t arity) {
  sim::Level made;
  made.name = std::move(name);
  made.arity = arity;
  return made;
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

sim::Machine multicast_machine() {
  sim::Machine machine = cluster_machine();
  machine.multicast = {.packet_bytes = 400, .setup_ns = 30, .growth_ns = 0};
  return machine;
}

SimBed::SimBed(sim::Machine made, std::uint32_t ranks, const sim::WorldOptions& options,
               sim::Placement placement)
    : machine(std::move(made)),
      map(place(machine, ranks, placement, options.seed)),
      world(machine, map, options) {}

SimBed::SimBed(std::uint32_t ranks, const std::string& faults, std::uint64_t seed,
               sim::Machine made)
    : SimBed(std::move(made), ranks, faulty_world(faults, seed)) {}

const rdma::AddressBook& sim_addresses() noexcept {
  static const Addresses book;
  return book;
}

}  // namespace espalier::test
