// Packets to groups ask for no memory once as many as ever have been under way.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "net/sim/sim_group_port.hpp"
#include "tests/support/allocations.hpp"

namespace espalier::sim {
namespace {

constexpr std::uint32_t kPorts = 32;

struct Everybody final : rdma::DatagramSink {
  void arrived(rdma::Packet& packet) noexcept override {
    ++count;
    now->give(packet);
  }
  static void on_turn(void* self, Rank rank) {
    auto& all = *static_cast<Everybody*>(self);
    all.now = all.ports[static_cast<std::size_t>(rank)].get();
    while (all.now->poll(all, 16) > 0) {
    }
  }
  void send(int packets) {
    for (int i = 0; i < packets; ++i) {
      rdma::Packet* packet = ports[0]->take();
      packet->bytes = packet->capacity;
      std::memset(packet->data, i, packet->bytes);
      ASSERT_TRUE(ports[0]->send(*packet, false));
      ports[0]->give(*packet);
      world->run();
      now = ports[0].get();
      (void)now->poll(*this, 16);
    }
  }
  World* world = nullptr;
  SimGroupPort* now = nullptr;
  std::vector<std::unique_ptr<SimGroupPort>> ports;
  std::uint64_t count = 0;
};

TEST(SimGroupAllocations, NoneOncePacketsHaveBeenUnderWay) {
  auto machine = load_machine("flat");
  auto map = Map::create(*machine, kPorts, 0, Placement::kByCore, 1);
  WorldOptions options;
  options.faults = *parse_faults("loss=0.1,corrupt=0.5,reorder=0.2,branch-loss=0.1");
  World world(*machine, *map, options);
  GroupNet net(world);
  Everybody all;
  all.world = &world;
  for (std::uint32_t r = 0; r < kPorts; ++r) {
    all.ports.push_back(
        std::make_unique<SimGroupPort>(net, static_cast<Rank>(r), multicast::GroupAddress{}));
  }
  world.set_turn(Everybody::on_turn, &all);
  world.run();
  all.send(50);
  const std::uint64_t before = test::allocations();
  all.send(500);
  EXPECT_EQ(test::allocations(), before);
  EXPECT_GT(all.count, 12000U);
}

}  // namespace
}  // namespace espalier::sim
