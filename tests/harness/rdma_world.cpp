#include "tests/harness/rdma_world.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace espalier::test {
namespace {

constexpr std::uint64_t kStepNs = 10'000;  // so that not every packet needs a call of progress()

// In virtual times of this size: short round trips, peers that are given up soon.
rdma::DatagramLinkOptions datagram_options(const RdmaWorldOptions& options) {
  rdma::DatagramLinkOptions datagrams;
  datagrams.me.epoch = 1;
  datagrams.round_trip = {200'000, 50'000, 2'000'000};
  datagrams.answer_delay_ns = 5'000;
  datagrams.keepalive_ns = 20'000'000;
  datagrams.give_up_ns = options.give_up_ns;
  return datagrams;
}

rdma::ConnectionOptions connection_options(const RdmaWorldOptions& options) {
  rdma::ConnectionOptions connections;
  connections.letter_ns = 200'000;
  connections.keepalive_ns = 20'000'000;
  connections.rebuilds_max = 1000;
  connections.place_from_bytes = options.place_from_bytes;
  if (options.registers) connections.memory.register_from_bytes = options.place_from_bytes;
  connections.pull_from_bytes = options.pull_from_bytes;
  return connections;
}

}  // namespace

class RdmaWorld::Driver final : public Wire {
 public:
  Driver(RdmaWorld& world, Rank rank) : world_(world), rank_(rank) {}

  WireCaps caps(Rank peer) const noexcept override { return wire().caps(peer); }
  Posted send(const Send& send, SendOp& op) noexcept override { return wire().send(send, op); }
  std::unique_ptr<Group> open_group(std::span<const Rank> readers) override {
    return wire().open_group(readers);
  }
  void join_group(std::uint32_t team, std::shared_ptr<const std::vector<Rank>> members) override {
    wire().join_group(team, std::move(members));
  }
  Posted publish(const Send& send, const Group& group, SendOp& op) noexcept override {
    return wire().publish(send, group, op);
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

  RdmaWorld& world_;
  const Rank rank_;
};

class RdmaWorld::Ports final : public net::GroupPorts {
 public:
  // `connections`: nullptr: there are none.
  Ports(sim::GroupNet& net, Rank rank, rdma::ConnectionLink* connections,
        const RdmaWorldOptions& options)
      : net_(net),
        rank_(rank),
        connections_(connections),
        options_(*options.groups),
        lanes_(options.lanes) {
    if (!lanes_) return;
    lanes_->enrolls = std::ranges::count(options.registers_nothing, rank) == 0;
    if (std::ranges::count(options.without_lanes, rank) > 0) lanes_.reset();
  }

  Result<std::unique_ptr<multicast::GroupPort>> open(std::uint32_t team, Rank first) override {
    return std::unique_ptr<multicast::GroupPort>(std::make_unique<sim::SimGroupPort>(
        net_, rank_, address_of(team, first, kNoRank), options_));
  }
  Result<std::unique_ptr<multicast::PlacingPort>> open_lane(std::uint32_t team, Rank first,
                                                            Rank source) override {
    if (!lanes_) return error(ESP_ERR_UNSUPPORTED, "no lanes here");
    return std::unique_ptr<multicast::PlacingPort>(std::make_unique<sim::SimPlacingPort>(
        net_, rank_, address_of(team, first, source), *lanes_));
  }
  const rdma::Region* hold_away(const std::byte* memory, std::uint64_t bytes) noexcept override {
    return connections_ != nullptr ? connections_->hold_place(memory, bytes) : nullptr;
  }
  void drop_away(const std::byte* memory) noexcept override {
    connections_->drop_away(memory, net::AwayUse::kWrite);
  }

 private:
  static multicast::GroupAddress address_of(std::uint32_t team, Rank first, Rank source) {
    multicast::GroupAddress address;
    std::memcpy(address.gid.data(), &team, sizeof team);
    std::memcpy(address.gid.data() + 4, &first, sizeof first);
    std::memcpy(address.gid.data() + 8, &source, sizeof source);
    return address;
  }

  sim::GroupNet& net_;
  const Rank rank_;
  rdma::ConnectionLink* const connections_;
  const sim::GroupPortOptions options_;
  std::optional<sim::PlacingPortOptions> lanes_;
};

void RdmaWorld::use_groups(Rank r, const RdmaWorldOptions& options) {
  rdma::ConnectionLink* const link = ranks_.has_connections() ? &connections(r) : nullptr;
  ports_.push_back(std::make_unique<Ports>(*group_net_, r, link, options));
  net::FrameGroupsOptions groups;
  groups.ports = ports_.back().get();
  groups.epoch = 1;
  groups.ranks = static_cast<std::uint32_t>(bed_.world.ranks());
  groups.rank = r;
  groups.packet_bytes = options.groups->packet_bytes;
  groups.receive_depth = options.groups->receive_packets;
  groups.groups_max = options.groups_max;
  if (options.lanes) {
    groups.place_from_bytes = options.lane_from_bytes;
    groups.lane_places = options.lanes->places;
    groups.lanes_max = options.lanes_max;
    groups.lane_reorder_ns = 50'000;
  }
  frames(r).use_groups(bed_.world.clock(r), groups);
}

RdmaWorld::RdmaWorld(int ranks, const RdmaWorldOptions& options)
    : bed_(static_cast<std::uint32_t>(ranks), options.faults), ranks_(bed_.world, options) {
  bed_.world.set_turn([](void* self, Rank) { static_cast<RdmaWorld*>(self)->woken_ = true; }, this);
  if (options.groups) group_net_.emplace(bed_.world);
  for (Rank r = 0; r < ranks; ++r) {
    ranks_.open(r, bed_.world.clock(r), datagram_options(options), connection_options(options));
    add(ranks_[r].counters, {ranks_.share(r), &ranks_[r].link()});
    if (options.groups) use_groups(r, options);
    drivers_.push_back(std::make_unique<Driver>(*this, r));
  }
}

RdmaWorld::~RdmaWorld() {
  for (Rank r = 0; r < size(); ++r) close(r);
}

std::byte* RdmaWorld::shared(Rank r, std::uint64_t bytes) {
  std::byte* memory = FrameWorld::shared(r, bytes);
  if (bytes > 0 && ranks_.has_connections()) (void)connections(r).memory().add(memory, bytes);
  return memory;
}

std::uint64_t RdmaWorld::faults() {
  std::uint64_t again = 0;
  for (Rank r = 0; r < size(); ++r) {
    if (!is_open(r)) continue;
    const bool connected = ranks_.has_connections();
    again += connected ? connections(r).statistics().repeated : datagrams(r).counts().data_again;
  }
  return again;
}

void RdmaWorld::close(Rank r) noexcept {
  FrameWorld::close(r);
  ranks_.close(r);
}

void RdmaWorld::pass(std::uint64_t time_ns) {
  const std::uint64_t end_ns = bed_.world.now_ns() + time_ns;
  bed_.world.schedule_turn(0, end_ns);
  (void)bed_.world.run(end_ns);
}

// Until a rank has something to do. Only as long as something is under way: probes would go on for
// ever.
bool RdmaWorld::step() noexcept {
  bool going = ranks_.under_way() > 0 || (group_net_ && group_net_->under_way() > 0);
  for (Rank r = 0; r < size(); ++r) {
    if (!is_open(r)) continue;
    going = going || !link(r).drained();
    if (const std::uint64_t due = link(r).deadline_ns()) bed_.world.wake_at(r, due);
    const std::uint64_t due = group_net_ ? frames(r).groups()->deadline_ns() : 0;
    if (due == 0) continue;
    going = true;
    bed_.world.wake_at(r, due);
  }
  woken_ = false;
  while (going && !woken_ && bed_.world.step()) {
  }
  if (woken_) (void)bed_.world.run(bed_.world.now_ns() + kStepNs);
  return woken_;
}

}  // namespace espalier::test
