#include "sim_frame_world.hpp"

#include "net/sim/sim_datagram_port.hpp"
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

class SimFrameWorld::Driver final : public Wire {
 public:
  Driver(SimFrameWorld& world, Rank rank) : world_(world), rank_(rank) {}

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

  SimFrameWorld& world_;
  const Rank rank_;
};

SimFrameWorld::SimFrameWorld(int ranks, const std::string& faults)
    : machine_(device_machine()),
      map_(*sim::Map::create(machine_, static_cast<std::uint32_t>(ranks), 1,
                             sim::Placement::kByCore, 1)),
      world_(machine_, map_, world_options(faults)) {
  world_.set_turn([](void* self, Rank) { static_cast<SimFrameWorld*>(self)->woken_ = true; }, this);
  for (Rank r = 0; r < ranks; ++r) drivers_.push_back(std::make_unique<Driver>(*this, r));
}

SimFrameWorld::~SimFrameWorld() = default;

const rdma::AddressBook& SimFrameWorld::book() noexcept {
  return kBook;
}

rdma::DatagramLinkOptions SimFrameWorld::datagram_options(Rank rank, int ranks) const {
  rdma::DatagramLinkOptions options;
  options.me = {1, rank, static_cast<std::uint32_t>(ranks)};
  options.round_trip = {200'000, 50'000, 2'000'000};
  options.answer_delay_ns = 5'000;
  options.keepalive_ns = 20'000'000;
  options.give_up_ns = 200'000'000;
  return options;
}

void SimFrameWorld::pass(std::uint64_t time_ns) {
  const std::uint64_t end_ns = world_.now_ns() + time_ns;
  world_.wake_at(0, end_ns);
  (void)world_.run(end_ns);
}

// Until a rank has something to do. Only as long as something is under way: probes would go on for
// ever.
bool SimFrameWorld::step() noexcept {
  bool going = under_way();
  for (Rank r = 0; r < size(); ++r) {
    if (!is_open(r)) continue;
    going = going || !link(r).drained();
    if (const std::uint64_t due = link(r).deadline_ns()) world_.wake_at(r, due);
  }
  woken_ = false;
  while (going && !woken_ && world_.step()) {
  }
  if (woken_) (void)world_.run(world_.now_ns() + kStepNs);
  return woken_;
}

}  // namespace espalier::test
