#include "net/sim/device_lanes.hpp"

#include <algorithm>
#include <cmath>

namespace espalier::sim {
namespace {

std::uint64_t nearest_ns(double ns) noexcept {
  return static_cast<std::uint64_t>(std::llround(ns));
}
std::uint64_t time_of(std::uint64_t bytes, double ns_per_byte) noexcept {
  return nearest_ns(static_cast<double>(bytes) * ns_per_byte);
}

}  // namespace

// Lanes that are occupied from one moment on, each for its own time.
class DeviceLanes::Claim {
 public:
  void add(LaneSchedule& lane, std::uint64_t length_ns) {
    if (length_ns == 0) return;
    for (Part& part : parts_) {
      if (part.lane == &lane) return void(part.length_ns += length_ns);
    }
    parts_.push_back({&lane, length_ns});
  }
  // The first moment at which all are free for long enough.
  std::uint64_t reserve(std::uint64_t from_ns, std::uint64_t now_ns) const {
    std::uint64_t begin = from_ns;
    for (std::size_t free = 0; free < parts_.size();) {
      const Part& part = parts_[free];
      const std::uint64_t gap = part.lane->first_gap(begin, part.length_ns);
      free = gap == begin ? free + 1 : 0;
      begin = gap;
    }
    for (const Part& part : parts_) (void)part.lane->reserve(begin, part.length_ns, now_ns);
    return begin;
  }
  std::uint64_t longest_ns() const noexcept {
    std::uint64_t longest = 0;
    for (const Part& part : parts_) longest = std::max(longest, part.length_ns);
    return longest;
  }

 private:
  struct Part {
    LaneSchedule* lane;
    std::uint64_t length_ns;
  };
  std::vector<Part> parts_;
};

double DeviceLanes::ns_per_byte(Way way) const noexcept {
  const DeviceCost& cost = world_.machine().device;
  return way == Way::kToHost ? cost.to_host_ns_per_byte : cost.to_device_ns_per_byte;
}

LaneSchedule& DeviceLanes::peer_lane(Way way) noexcept {
  const bool own = world_.machine().device.peer.own_lanes;
  return own ? peer_lanes_[static_cast<std::size_t>(way)] : lane(way);
}

std::uint64_t DeviceLanes::peer_time(const DeviceLanes& owner, std::uint64_t bytes) const noexcept {
  const PeerCost& peer = world_.machine().device.peer;
  const int socket = world_.machine().find_level("socket");
  const auto unit = [&](Rank rank) {
    return world_.map().unit(static_cast<std::uint32_t>(rank), static_cast<std::size_t>(socket));
  };
  const bool across = socket >= 0 && unit(rank_) != unit(owner.rank_);
  return time_of(bytes, across ? peer.across_ns_per_byte : peer.ns_per_byte);
}

std::uint64_t DeviceLanes::post() noexcept {
  return world_.charge(rank_, world_.machine().device.post_ns);
}

// Of a stream of copies. When it is over.
std::uint64_t DeviceLanes::in_order(Way way, const Claim& claim, std::uint64_t length_ns) {
  std::uint64_t& free = stream_free_[static_cast<std::size_t>(way)];
  free = claim.reserve(std::max(post(), free), world_.event_ns()) + length_ns;
  return free;
}

std::uint64_t DeviceLanes::copy(Way way, std::uint64_t bytes) {
  const std::uint64_t length = time_of(bytes, ns_per_byte(way));
  Claim claim;
  claim.add(lane(way), length);
  return in_order(way, claim, length) + nearest_ns(world_.machine().device.latency_ns);
}

// The device of the reader copies: on its way to the host it comes by there.
std::uint64_t DeviceLanes::copy_of(DeviceLanes& owner, Way way, std::uint64_t bytes) {
  std::uint64_t length = peer_time(owner, bytes);
  if (way == Way::kToHost) length = std::max(length, time_of(bytes, ns_per_byte(way)));
  Claim claim;
  claim.add(owner.peer_lane(Way::kToHost), length);
  claim.add(peer_lane(Way::kToDevice), length);
  if (way == Way::kToHost) claim.add(lane(way), length);
  return in_order(way, claim, length) + nearest_ns(world_.machine().device.peer.latency_ns);
}

std::uint64_t DeviceLanes::launch(const Kernel& kernel) {
  const DeviceCost& cost = world_.machine().device;
  Claim claim;
  claim.add(lane(Way::kToDevice), time_of(kernel.from_host_bytes, cost.to_device_ns_per_byte));
  claim.add(lane(Way::kToHost), time_of(kernel.to_host_bytes, cost.to_host_ns_per_byte));
  for (const FromPeer& from : kernel.from_peers) {
    const std::uint64_t length = peer_time(*from.owner, from.bytes);
    claim.add(from.owner->peer_lane(Way::kToHost), length);
    claim.add(peer_lane(Way::kToDevice), length);
  }
  const std::uint64_t ready = std::max(post() + nearest_ns(cost.launch_ns), kernels_free_);
  const std::uint64_t work = time_of(kernel.operand_bytes, cost.reduce_ns_per_byte);
  kernels_free_ = claim.reserve(ready, world_.event_ns()) + std::max(work, claim.longest_ns());
  return kernels_free_;
}

void DeviceLanes::copy_and_wait(Way way, std::uint64_t bytes) {
  const std::uint64_t end = copy(way, bytes);
  (void)world_.charge(rank_, static_cast<double>(end - world_.local_ns(rank_)));
}

Devices::Devices(World& world) {
  lanes_.reserve(world.ranks());
  for (std::uint32_t r = 0; r < world.ranks(); ++r)
    lanes_.emplace_back(world, static_cast<Rank>(r));
}

}  // namespace espalier::sim
