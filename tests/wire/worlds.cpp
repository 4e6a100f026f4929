// The wires under test. A new transport adds its World (world.hpp) to the list at the end.
#include "tests/harness/asked_world.hpp"
#include "tests/harness/rdma_world.hpp"
#include "tests/harness/relay_world.hpp"
#include "tests/harness/shm_world.hpp"
#include "tests/harness/sim_world.hpp"
#include "tests/harness/tcp_world.hpp"
#include "tests/harness/world_kind.hpp"

namespace espalier::test {
namespace {

// Segments are pulled by CMA, in quanta; else they are copied through the arena.
ShmWorldOptions shm_pulls() {
  ShmWorldOptions options;
  options.wire.pull.threshold = 0;
  options.wire.quantum_bytes = 48 << 10;
  return options;
}

// The same until the kernel refuses it, half-way through a large message.
std::unique_ptr<World> shm_refused(int ranks) {
  ShmWorldOptions options = shm_pulls();
  options.pulls_allowed.assign(static_cast<std::size_t>(ranks), 3);
  return std::make_unique<ShmWorld>(ranks, options);
}

// Senders write into what is posted.
constexpr Transfer kPushed = {.path = Path::kPush};
// One reader of a segment at a time, in small pieces.
constexpr Transfer kBounded = {
    .path = Path::kPull, .readers_at_once = 1, .quantum_bytes = 24 << 10};

using Worlds = std::function<std::unique_ptr<World>(int)>;
Worlds asked(Worlds make, const Transfer& transfer) {
  return [=](int ranks) { return std::make_unique<AskedWorld>(make(ranks), transfer); };
}

// One transfer for the readers on other nodes.
constexpr Transfer kToAll = {.path = Path::kMulticast};

// With hardly any memory: every resource runs out all the time.
ShmWorldOptions shm_tight() {
  ShmWorldOptions options;
  options.arena_bytes = 512 << 10;
  return options;
}

// Late messages, refused posts, no memory, slow ranks, and processors that are taken away.
std::unique_ptr<World> sim_hindered_on(int ranks, sim::Machine machine) {
  sim::WorldOptions options;
  options.seed = static_cast<std::uint64_t>(ranks);
  options.noise.kind = sim::NoiseSpec::Kind::kUniform;
  options.noise.hertz = 10000;
  options.noise.high_ns = 20000;
  options.faults = *sim::parse_faults("delay=0.1:3us,retry=0.2,no-memory=0.2,clog=4,slow=1");
  options.faults.loss = 0.01;  // of packets to groups
  return std::make_unique<SimWorld>(ranks, std::move(machine), options);
}
std::unique_ptr<World> sim_hindered(int ranks) {
  return sim_hindered_on(ranks, cluster_machine());
}
std::unique_ptr<World> multicast_hindered(int ranks) {
  return sim_hindered_on(ranks, multicast_machine());
}

// Streams that are split anywhere, and held back.
std::unique_ptr<World> tcp_relayed(int ranks) {
  RelayPolicy policy;
  policy.chunk_bytes = 60'000;
  policy.hold = 0.02;
  return std::make_unique<RelayWorld>(ranks, tcp_options("127.0.0.1"), policy);
}

// In small pieces, so that payloads can be met half-way.
std::unique_ptr<World> tcp_in_pieces(int ranks) {
  RelayPolicy policy;
  policy.chunk_bytes = 20'000;
  return std::make_unique<RelayWorld>(ranks, tcp_options("127.0.0.1"), policy);
}

// Small packets, few of them, with every fault that only costs time.
RdmaWorldOptions faulty_datagrams() {
  RdmaWorldOptions options = datagrams_alone(
      "loss=0.02,duplicate=0.02,reorder=0.05,corrupt=0.01,retry=0.02,no-memory=0.02");
  options.ports.packet_bytes = 1024;
  options.ports.send_packets = 64;
  options.ports.receive_packets = 96;
  options.ports.send_depth = 24;
  options.ports.completion_depth = 120;
  return options;
}

// Reliable connections, with places for large segments; for small ones, too.
RdmaWorldOptions placing_connections(std::uint64_t from_bytes = 16 << 10) {
  RdmaWorldOptions options;
  options.registers = true;
  options.place_from_bytes = from_bytes;
  return options;
}

// They break every now and then, and receivers run dry.
RdmaWorldOptions broken_connections() {
  RdmaWorldOptions options = placing_connections(1000);
  options.faults = "break=300,rnr=0.01,echo=0.01,loss=0.02,duplicate=0.02,reorder=0.05,heal=20ms";
  return options;
}

// One per rank at most: the other peers are reached by datagrams.
RdmaWorldOptions mixed_paths() {
  RdmaWorldOptions options = placing_connections(1000);
  options.connections_max = 1;
  return options;
}

// Everybody asks everybody, and there are hardly any queue pairs; what there is breaks.
RdmaWorldOptions few_queue_pairs() {
  RdmaWorldOptions options = broken_connections();
  options.adapter.connections = 1;
  return options;
}

WorldKind faulty(WorldKind kind) {
  kind.faulty = true;
  return kind;
}

}  // namespace

std::vector<WorldKind> all_worlds() {
  return {
      {"ShmCopies", worlds_of<ShmWorld>(ShmWorldOptions())},
      {"ShmPulls", worlds_of<ShmWorld>(shm_pulls())},
      {"ShmRefused", shm_refused},
      {"ShmPushes", asked(worlds_of<ShmWorld>(ShmWorldOptions()), kPushed)},
      {"ShmBounded", asked(worlds_of<ShmWorld>(ShmWorldOptions()), kBounded)},
      // Simulated machines, one per carrier, and one of two levels.
      {"SimDevice", worlds_of<SimWorld>(device_machine())},
      {"SimCopies", worlds_of<SimWorld>(copy_machine())},
      {"SimPulls", worlds_of<SimWorld>(pull_machine())},
      {"SimCluster", worlds_of<SimWorld>(cluster_machine())},
      {"SimMulticast", asked(worlds_of<SimWorld>(multicast_machine()), kToAll)},
      // Over the network of this machine's kernel.
      {"TcpV4", worlds_of<TcpWorld>(tcp_options("127.0.0.1"))},
      {"TcpV6", worlds_of<TcpWorld>(tcp_options("::1"))},
      {"TcpRelayed", tcp_relayed, 12, 5000},
      {"Datagrams", worlds_of<RdmaWorld>(datagrams_alone())},
      faulty({"FaultyDatagrams", worlds_of<RdmaWorld>(faulty_datagrams())}),
      {"Connections", worlds_of<RdmaWorld>()},
      faulty({"BrokenConnections", worlds_of<RdmaWorld>(broken_connections())}),
      {"MixedPaths", worlds_of<RdmaWorld>(mixed_paths())},
  };
}

std::vector<WorldKind> random_worlds() {
  std::vector<WorldKind> worlds = all_worlds();
  worlds.push_back({"FewQueuePairs", worlds_of<RdmaWorld>(few_queue_pairs())});
  worlds.push_back({"ShmTight", worlds_of<ShmWorld>(shm_tight())});
  // Links that have no room every other time.
  worlds.push_back({"TcpStingy", worlds_of<TcpWorld>(tcp_options("127.0.0.1"), 0.5)});
  worlds.push_back({"SimHindered", sim_hindered});
  worlds.push_back({"SimMulticastHindered", asked(multicast_hindered, kToAll)});
  return worlds;
}

std::vector<WorldKind> plain_links() {
  return {{"Tcp", tcp_in_pieces},
          {"Datagrams", worlds_of<RdmaWorld>(datagrams_alone())},
          {"Connections", worlds_of<RdmaWorld>()},
          {"PlacingConnections", worlds_of<RdmaWorld>(placing_connections())}};
}

std::vector<WorldKind> connected_links() {
  return {{"Connections", worlds_of<RdmaWorld>()}};
}

}  // namespace espalier::test
