// The wires under test. A new transport adds its World (world.hpp) to the list at the end.
#include "connection_world.hpp"
#include "datagram_world.hpp"
#include "relay_world.hpp"
#include "shm_world.hpp"
#include "sim_world.hpp"
#include "tcp_world.hpp"
#include "world_kind.hpp"

namespace espalier::test {
namespace {

// Segments are copied through the arena.
struct ShmCopies : ShmWorld {
  explicit ShmCopies(int ranks) : ShmWorld(ranks, {}) {}
};

// Segments are pulled by CMA, in quanta.
struct ShmPulls : ShmWorld {
  static ShmWorldOptions options() {
    ShmWorldOptions options;
    options.wire.pull.threshold = 0;
    options.wire.quantum_bytes = 48 << 10;
    return options;
  }
  explicit ShmPulls(int ranks) : ShmWorld(ranks, options()) {}
};

// The same until the kernel refuses it, half-way through a large message.
struct ShmRefused : ShmWorld {
  static ShmWorldOptions options(int ranks) {
    ShmWorldOptions options = ShmPulls::options();
    options.pulls_allowed.assign(static_cast<std::size_t>(ranks), 3);
    return options;
  }
  explicit ShmRefused(int ranks) : ShmWorld(ranks, options(ranks)) {}
  bool loses_what_is_taken_back() const noexcept override { return true; }
};

// Simulated machines, one per carrier, and one of two levels.
struct SimDevice : SimWorld {
  explicit SimDevice(int ranks) : SimWorld(ranks, device_machine()) {}
};
struct SimCopies : SimWorld {
  explicit SimCopies(int ranks) : SimWorld(ranks, copy_machine()) {}
};
struct SimPulls : SimWorld {
  explicit SimPulls(int ranks) : SimWorld(ranks, pull_machine()) {}
};
struct SimCluster : SimWorld {
  explicit SimCluster(int ranks) : SimWorld(ranks, cluster_machine()) {}
};

// Over the network of this machine's kernel.
struct TcpV4 : TcpWorld {
  explicit TcpV4(int ranks) : TcpWorld(ranks, tcp_options("127.0.0.1")) {}
};
struct TcpV6 : TcpWorld {
  explicit TcpV6(int ranks) : TcpWorld(ranks, tcp_options("::1")) {}
};

// Reliable delivery over simulated datagrams: packets of usual size; small ones, few of them, with
// every fault that only costs time.
struct Datagrams : DatagramWorld {
  explicit Datagrams(int ranks) : DatagramWorld(ranks, {}) {}
};
struct FaultyDatagrams : DatagramWorld {
  static sim::PortOptions ports() {
    sim::PortOptions options;
    options.packet_bytes = 1024;
    options.send_packets = 64;
    options.receive_packets = 96;
    options.send_depth = 24;
    options.completion_depth = 120;
    return options;
  }
  explicit FaultyDatagrams(int ranks)
      : DatagramWorld(ranks,
                      "loss=0.02,duplicate=0.02,reorder=0.05,corrupt=0.01,retry=0.02,"
                      "no-memory=0.02",
                      ports()) {}
};

// Reliable connections; where they break every now and then and receivers run dry, with places for
// small segments, too; and with one connection per rank at most, the other peers by datagrams.
struct Connections : ConnectionWorld {
  explicit Connections(int ranks) : ConnectionWorld(ranks, {}) {}
};
ConnectionWorldOptions placing_connections(const char* faults) {
  ConnectionWorldOptions options;
  options.faults = faults;
  options.registers = true;
  options.place_from_bytes = 1000;
  return options;
}
constexpr const char* kBreaks =
    "break=300,rnr=0.01,echo=0.01,loss=0.02,duplicate=0.02,reorder=0.05,heal=20ms";
struct BrokenConnections : ConnectionWorld {
  explicit BrokenConnections(int ranks) : ConnectionWorld(ranks, placing_connections(kBreaks)) {}
};
struct MixedPaths : ConnectionWorld {
  static ConnectionWorldOptions options() {
    ConnectionWorldOptions options = placing_connections("");
    options.connections_max = 1;
    return options;
  }
  explicit MixedPaths(int ranks) : ConnectionWorld(ranks, options()) {}
};
// Everybody asks everybody, and there are hardly any queue pairs; what there is breaks.
struct FewQueuePairs : ConnectionWorld {
  static ConnectionWorldOptions options() {
    ConnectionWorldOptions options = placing_connections(kBreaks);
    options.adapter.connections = 1;
    return options;
  }
  explicit FewQueuePairs(int ranks) : ConnectionWorld(ranks, options()) {}
};

// With hardly any memory: every resource runs out all the time.
struct ShmTight : ShmWorld {
  static ShmWorldOptions options() {
    ShmWorldOptions options;
    options.arena_bytes = 512 << 10;
    return options;
  }
  explicit ShmTight(int ranks) : ShmWorld(ranks, options()) {}
};

// Late messages, refused posts, no memory, slow ranks, and processors that are taken away.
struct SimHindered : SimWorld {
  static sim::WorldOptions options(std::uint64_t seed) {
    sim::WorldOptions options;
    options.seed = seed;
    options.noise.kind = sim::NoiseSpec::Kind::kUniform;
    options.noise.hertz = 10000;
    options.noise.high_ns = 20000;
    options.faults.delay = 0.1;
    options.faults.delay_ns = 3000;
    options.faults.retry = 0.2;
    options.faults.no_memory = 0.2;
    options.faults.clogs = 4;
    options.faults.slow_ranks = 1;
    return options;
  }
  explicit SimHindered(int ranks)
      : SimWorld(ranks, cluster_machine(), options(static_cast<std::uint64_t>(ranks))) {}
};

// Streams that are split anywhere and held back.
struct TcpRelayed : RelayWorld {
  static RelayPolicy policy() {
    RelayPolicy policy;
    policy.chunk_bytes = 60'000;
    policy.hold = 0.02;
    return policy;
  }
  explicit TcpRelayed(int ranks) : RelayWorld(ranks, tcp_options("127.0.0.1"), policy()) {}
};

// In small pieces, so that payloads can be met half-way.
struct TcpInPieces : RelayWorld {
  static RelayPolicy policy() {
    RelayPolicy policy;
    policy.chunk_bytes = 20'000;
    return policy;
  }
  explicit TcpInPieces(int ranks) : RelayWorld(ranks, tcp_options("127.0.0.1"), policy()) {}
};
struct PlacingConnections : ConnectionWorld {
  static ConnectionWorldOptions options() {
    ConnectionWorldOptions options;
    options.registers = true;
    return options;
  }
  explicit PlacingConnections(int ranks) : ConnectionWorld(ranks, options()) {}
};

// Links that have no room every other time.
struct TcpStingy : TcpWorld {
  explicit TcpStingy(int ranks) : TcpWorld(ranks, tcp_options("127.0.0.1"), 0.5) {}
};

WorldKind faulty(WorldKind kind) {
  kind.faulty = true;
  return kind;
}

}  // namespace

std::vector<WorldKind> all_worlds() {
  return {
      {"ShmCopies", make_world<ShmCopies>},
      {"ShmPulls", make_world<ShmPulls>},
      {"ShmRefused", make_world<ShmRefused>},
      {"SimDevice", make_world<SimDevice>},
      {"SimCopies", make_world<SimCopies>},
      {"SimPulls", make_world<SimPulls>},
      {"SimCluster", make_world<SimCluster>},
      {"TcpV4", make_world<TcpV4>},
      {"TcpV6", make_world<TcpV6>},
      {"TcpRelayed", make_world<TcpRelayed>, 12, 5000},
      {"Datagrams", make_world<Datagrams>},
      faulty({"FaultyDatagrams", make_world<FaultyDatagrams>}),
      {"Connections", make_world<Connections>},
      faulty({"BrokenConnections", make_world<BrokenConnections>}),
      {"MixedPaths", make_world<MixedPaths>},
  };
}

std::vector<WorldKind> random_worlds() {
  std::vector<WorldKind> worlds = all_worlds();
  worlds.push_back({"FewQueuePairs", make_world<FewQueuePairs>});
  worlds.push_back({"ShmTight", make_world<ShmTight>});
  worlds.push_back({"TcpStingy", make_world<TcpStingy>});
  worlds.push_back({"SimHindered", make_world<SimHindered>});
  return worlds;
}

std::vector<WorldKind> plain_links() {
  return {{"Tcp", make_world<TcpInPieces>},
          {"Datagrams", make_world<Datagrams>},
          {"Connections", make_world<Connections>},
          {"PlacingConnections", make_world<PlacingConnections>}};
}

}  // namespace espalier::test
