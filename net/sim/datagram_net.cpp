#include "net/sim/datagram_net.hpp"

#include <utility>

#include "net/sim/packet_faults.hpp"
#include "net/sim/sim_datagram_port.hpp"

namespace espalier::sim {

// Two things happen to it: it leaves the sender, and it moves towards the receiver, in stages. The
// last byte has left before all is at the end of the path.
struct DatagramNet::Datagram {
  enum class Stage : std::uint8_t { kLane, kEnd, kDelayed };

  explicit Datagram(DatagramNet& owner) noexcept : leave(*this), move(*this), net(owner) {}

  struct Leave final : Happening {
    explicit Leave(Datagram& d) noexcept : datagram(d) {}
    void happen() noexcept override { datagram.net.left(datagram); }
    std::uint64_t mark() const noexcept override { return datagram.number << 2; }
    Datagram& datagram;
  };
  struct Move final : Happening {
    explicit Move(Datagram& d) noexcept : datagram(d) {}
    void happen() noexcept override { datagram.net.come(datagram); }
    std::uint64_t mark() const noexcept override {
      return datagram.number << 2 | (static_cast<std::uint64_t>(datagram.stage) + 1);
    }
    Datagram& datagram;
  };

  Leave leave;
  Move move;
  DatagramNet& net;
  rdma::Packet* packet = nullptr;  // until it has left
  std::vector<std::byte> bytes;
  std::uint64_t length = 0;
  std::uint64_t number = 0;
  Rank from = kNoRank, to = kNoRank;
  Stage stage = Stage::kEnd;
};

DatagramNet::DatagramNet(World& world)
    : world_(world),
      prng_(world.options().seed ^ 0x6461746167ULL),
      ports_(world.ranks()),
      refusals_(world.ranks()) {}

DatagramNet::~DatagramNet() {
  for (const SimDatagramPort* port : ports_) ESP_ASSERT(port == nullptr);
}

void DatagramNet::attach(Rank rank, SimDatagramPort* port) noexcept {
  ESP_ASSERT(ports_[static_cast<std::size_t>(rank)] == nullptr);
  ports_[static_cast<std::size_t>(rank)] = port;
  world_.attach_port(rank);
}

void DatagramNet::detach(Rank rank) noexcept {
  ports_[static_cast<std::size_t>(rank)] = nullptr;
  world_.detach_port(rank);
  // Its memory goes: what has not left by now never will.
  for (const auto& datagram : all_) {
    if (datagram->packet != nullptr && datagram->from == rank) datagram->packet = nullptr;
  }
}

DatagramNet::Datagram& DatagramNet::take() {
  if (idle_.empty()) {
    all_.push_back(std::make_unique<Datagram>(*this));
    idle_.push_back(all_.back().get());
  }
  Datagram& datagram = *idle_.back();
  idle_.pop_back();
  return datagram;
}

void DatagramNet::launch(Rank from, Rank to, rdma::Packet& packet) {
  Datagram& d = take();
  d.packet = &packet;
  d.bytes.clear();  // of an earlier one, should this one never leave
  d.length = packet.bytes;
  d.number = ++counts_.sent;
  d.from = from;
  d.to = to;
  const World::Departure departure = world_.depart(from, to, packet.bytes);
  d.stage = departure.in_lane ? Datagram::Stage::kLane : Datagram::Stage::kEnd;
  world_.schedule(d.leave, from, departure.left_ns);
  world_.schedule(d.move, to, departure.there_ns);
}

void DatagramNet::left(Datagram& d) {
  if (d.packet == nullptr) return;  // its port has gone
  d.bytes.assign(d.packet->data, d.packet->data + d.length);
  ports_[static_cast<std::size_t>(d.from)]->note_left(*std::exchange(d.packet, nullptr));
}

void DatagramNet::come(Datagram& d) {
  switch (d.stage) {
    case Datagram::Stage::kLane:
      d.stage = Datagram::Stage::kEnd;
      return world_.schedule(d.move, d.to, world_.pass_lane(d.from, d.to, d.length));
    case Datagram::Stage::kEnd:
      return meet_fate(d);
    case Datagram::Stage::kDelayed:
      return deliver(d);
  }
}

// All of it has passed the network; faults say what becomes of it.
void DatagramNet::meet_fate(Datagram& d) {
  if (world_.parted(d.from, d.to) || silenced_ == std::pair(d.from, d.to)) {
    ++counts_.parted;
    return idle_.push_back(&d);
  }
  if (chance(world_.faults().loss)) {
    ++counts_.lost;
    return idle_.push_back(&d);
  }
  const auto overtaken_ns = [&] {
    return prng_.below(overtaking_ns(world_.price(d.from, d.to), d.length) + 1);
  };
  if (chance(world_.faults().duplicate)) {
    ++counts_.repeated;
    Datagram& again = take();
    again.bytes = d.bytes;
    again.length = d.length;
    again.number = d.number;
    again.from = d.from;
    again.to = d.to;
    delay(again, overtaken_ns());
  }
  std::uint64_t late = 0;
  if (chance(world_.faults().reorder)) {
    ++counts_.reordered;
    late = overtaken_ns();
  }
  late += world_.draw_delay();
  const std::uint64_t clogged = world_.clogged_until(d.from, d.to);
  if (clogged > world_.now_ns() + late) late = clogged - world_.now_ns();
  if (late == 0) return deliver(d);
  delay(d, late);
}

void DatagramNet::delay(Datagram& d, std::uint64_t by_ns) {
  d.stage = Datagram::Stage::kDelayed;
  world_.schedule(d.move, d.to, world_.now_ns() + by_ns);
}

void DatagramNet::deliver(Datagram& d) {
  if (!d.bytes.empty() && chance(world_.faults().corrupt)) {
    ++counts_.damaged;
    damage(d.bytes, prng_);
  }
  SimDatagramPort* port = ports_[static_cast<std::size_t>(d.to)];
  const bool taken = port != nullptr && !world_.crashed(d.to) && !d.bytes.empty() &&
                     port->note_arrival(d.from, d.bytes);
  ++(taken ? counts_.arrived : counts_.dropped);
  idle_.push_back(&d);
}

}  // namespace espalier::sim
