#include "connection_world.hpp"

#include <utility>

#include "sim_world.hpp"

namespace espalier::test {
namespace {

struct Book final : rdma::AddressBook {
  Result<rdma::PortAddress> address_of(Rank rank) const override {
    return sim::SimDatagramPort::address_of(rank);
  }
};
const Book kBook;

constexpr std::uint64_t kStepNs = 10'000;  // so that not every packet needs a call of progress()

sim::WorldOptions world_options(const std::string& faults) {
  sim::WorldOptions options;
  options.faults = *sim::parse_faults(faults);
  return options;
}

}  // namespace

class ConnectionWorld::Driver final : public Wire {
 public:
  Driver(ConnectionWorld& world, Rank rank) : world_(world), rank_(rank) {}

  WireCaps caps(Rank peer) const noexcept override { return wire().caps(peer); }
  Posted send(const Send& send, SendOp& op) noexcept override { return wire().send(send, op); }
  Posted publish(const Send& send, std::span<const Rank> peers, SendOp& op) noexcept override {
    return wire().publish(send, peers, op);
  }
  Posted recv(const SegmentId& segment, std::uint32_t window, RecvOp& op) noexcept override {
    return wire().recv(segment, window, op);
  }
  Posted take(const SegmentId& segment, RecvOp& op) noexcept override {
    return wire().take(segment, op);
  }
  void release(RecvOp& op) noexcept override { wire().release(op); }
  void cancel(RecvOp& op) noexcept override { wire().cancel(op); }
  void cancel(SendOp& op) noexcept override { wire().cancel(op); }
  int progress() noexcept override {
    const int events = wire().progress();
    return events == 0 && world_.step() ? 1 : events;
  }
  void idle() noexcept override { wire().idle(); }

 private:
  Wire& wire() const noexcept { return world_.frames(rank_); }

  ConnectionWorld& world_;
  const Rank rank_;
};

ConnectionWorld::ConnectionWorld(int ranks, const ConnectionWorldOptions& options)
    : machine_(device_machine()),
      map_(*sim::Map::create(machine_, static_cast<std::uint32_t>(ranks), 1,
                             sim::Placement::kByCore, 1)),
      world_(machine_, map_, world_options(options.faults)),
      datagram_net_(world_),
      connection_net_(world_),
      nodes_(static_cast<std::size_t>(ranks)) {
  world_.set_turn([](void* self, Rank) { static_cast<ConnectionWorld*>(self)->woken_ = true; },
                  this);
  const auto count = static_cast<std::uint32_t>(ranks);
  for (Rank r = 0; r < ranks; ++r) {
    Node& node = nodes_[static_cast<std::size_t>(r)];
    node.datagram_port =
        std::make_unique<sim::SimDatagramPort>(datagram_net_, r, sim::PortOptions{});
    node.connection_port = std::make_unique<sim::SimConnectionPort>(connection_net_, r);
    rdma::DatagramLinkOptions datagrams;
    datagrams.me = {1, r, count};
    datagrams.round_trip = {200'000, 50'000, 2'000'000};
    datagrams.answer_delay_ns = 5'000;
    datagrams.keepalive_ns = 20'000'000;
    datagrams.give_up_ns = 200'000'000;
    node.datagrams = std::make_unique<rdma::DatagramLink>(*node.datagram_port, world_.clock(r),
                                                          kBook, datagrams);
    rdma::ConnectionOptions connections;
    connections.letter_ns = 200'000;
    connections.answer_ns = 200'000'000;
    connections.keepalive_ns = 20'000'000;
    connections.rebuilds_max = 1000;
    connections.place_from_bytes = options.place_from_bytes;
    if (options.registers) connections.register_from_bytes = options.place_from_bytes;
    node.connections = std::move(*rdma::ConnectionLink::create(
        *node.connection_port, *node.datagrams, world_.clock(r), r, count, connections));
    add(std::make_unique<Counters>(),
        std::make_unique<rdma::RdmaLink>(*node.datagrams, node.connections.get(), count,
                                         options.connections_max),
        ranks);
    node.driver = std::make_unique<Driver>(*this, r);
  }
}

ConnectionWorld::~ConnectionWorld() {
  for (Rank r = 0; r < size(); ++r) {
    if (is_open(r)) close(r);
  }
}

// Registered, as memory of esp_alloc is.
std::byte* ConnectionWorld::shared(Rank r, std::uint64_t bytes) {
  std::byte* memory = FrameWorld::shared(r, bytes);
  if (bytes > 0) (void)connections(r).memory().add(memory, bytes);
  return memory;
}

void ConnectionWorld::close(Rank r) noexcept {
  Node& node = nodes_[static_cast<std::size_t>(r)];
  FrameWorld::close(r);
  node.connections.reset();
  node.datagrams.reset();
  node.connection_port.reset();
  node.datagram_port.reset();
}

// Until a rank has something to do. Only as long as something is under way: probes would go on for
// ever.
bool ConnectionWorld::step() noexcept {
  bool under_way = datagram_net_.under_way() > 0 || connection_net_.under_way() > 0;
  for (Rank r = 0; r < size(); ++r) {
    if (!is_open(r)) continue;
    under_way = under_way || !link(r).drained();
    if (const std::uint64_t due = link(r).deadline_ns()) world_.wake_at(r, due);
  }
  woken_ = false;
  while (under_way && !woken_ && world_.step()) {
  }
  if (woken_) (void)world_.run(world_.now_ns() + kStepNs);
  return woken_;
}

}  // namespace espalier::test
