// DatagramNet: datagrams under way between the simulated ports of a World.
//
// A datagram costs what a device transfer of its level costs (world.hpp), whatever the level's
// carrier: ports always go through the card. On its way it meets the faults of the world's
// FaultSpec: loss, repetition, reordering (an extra delay in which others overtake it), damage
// (flipped bits, a wrong end), heavy-tailed delay, clogged paths (it waits), partitions (it is
// lost). Its bytes are read when the last of them leaves, as an adapter does: who changes a packet
// in flight sends something else.
//
// Ownership: owns what is under way; ports register for the length of their lives. The world makes
// no step after the net's end. Threads: owner. path: data
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/prng.hpp"
#include "net/rdma/datagram_port.hpp"
#include "net/sim/world.hpp"

namespace espalier::sim {

class SimDatagramPort;

struct DatagramCounts {
  std::uint64_t sent = 0, arrived = 0;
  std::uint64_t lost = 0, parted = 0;  // by chance; by a partition
  std::uint64_t repeated = 0, reordered = 0, damaged = 0;
  std::uint64_t dropped = 0;  // no packet was waiting for it, or nobody was there
};

class DatagramNet {
 public:
  explicit DatagramNet(World& world);
  ~DatagramNet();
  DatagramNet(const DatagramNet&) = delete;
  DatagramNet& operator=(const DatagramNet&) = delete;

  const DatagramCounts& counts() const noexcept { return counts_; }
  std::size_t under_way() const noexcept { return all_.size() - idle_.size(); }
  // So often the port of this rank finds no path, and does the next time.
  void refuse_paths(Rank rank, std::uint32_t times) {
    refusals_[static_cast<std::size_t>(rank)] = times;
  }
  // From now on all datagrams of `from` to `to` are lost; whatever else goes there is not.
  void silence(Rank from, Rank to) noexcept { silenced_ = {from, to}; }

 private:
  friend class SimDatagramPort;
  struct Datagram;

  void attach(Rank rank, SimDatagramPort* port) noexcept;
  void detach(Rank rank) noexcept;
  // From the sender's local time on.
  void launch(Rank from, Rank to, rdma::Packet& packet);

  void left(Datagram& datagram);
  void come(Datagram& datagram);
  void meet_fate(Datagram& datagram);
  void delay(Datagram& datagram, std::uint64_t by_ns);
  void deliver(Datagram& datagram);
  bool chance(double share) { return share > 0 && world_.faults_on() && prng_.chance(share); }
  Datagram& take();

  World& world_;
  Prng prng_;
  std::vector<SimDatagramPort*> ports_;  // by rank
  std::vector<std::uint32_t> refusals_;  // by rank: of paths that are left
  std::vector<std::unique_ptr<Datagram>> all_;
  std::vector<Datagram*> idle_;
  std::pair<Rank, Rank> silenced_ = {kNoRank, kNoRank};
  DatagramCounts counts_;
};

}  // namespace espalier::sim
