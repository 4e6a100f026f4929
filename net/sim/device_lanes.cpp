#include "net/sim/device_lanes.hpp"

#include <algorithm>
#include <cmath>

namespace espalier::sim {
namespace {

std::uint64_t time_of(std::uint64_t bytes, double ns_per_byte) noexcept {
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(bytes) * ns_per_byte));
}

std::uint64_t nearest_ns(double ns) noexcept {
  return static_cast<std::uint64_t>(std::llround(ns));
}

}  // namespace

double DeviceLanes::ns_per_byte(Way way) const noexcept {
  const DeviceCost& cost = world_.machine().device;
  return way == Way::kToHost ? cost.to_host_ns_per_byte : cost.to_device_ns_per_byte;
}

std::uint64_t DeviceLanes::post() noexcept {
  return world_.charge(rank_, world_.machine().device.post_ns);
}

std::uint64_t DeviceLanes::copy(Way way, std::uint64_t bytes) noexcept {
  const std::uint64_t begin = std::max(post(), free_at(way));
  free_at(way) = begin + time_of(bytes, ns_per_byte(way));
  return free_at(way) + nearest_ns(world_.machine().device.latency_ns);
}

std::uint64_t DeviceLanes::launch(const Kernel& kernel) noexcept {
  const DeviceCost& cost = world_.machine().device;
  const std::uint64_t in = time_of(kernel.from_host_bytes, cost.to_device_ns_per_byte);
  const std::uint64_t out = time_of(kernel.to_host_bytes, cost.to_host_ns_per_byte);
  std::uint64_t begin = std::max(post() + nearest_ns(cost.launch_ns), kernels_free_at_);
  if (in > 0) begin = std::max(begin, free_at(Way::kToDevice));
  if (out > 0) begin = std::max(begin, free_at(Way::kToHost));
  if (in > 0) free_at(Way::kToDevice) = begin + in;
  if (out > 0) free_at(Way::kToHost) = begin + out;
  const std::uint64_t work = time_of(kernel.operand_bytes, cost.reduce_ns_per_byte);
  kernels_free_at_ = begin + std::max({work, in, out});
  return kernels_free_at_;
}

void DeviceLanes::copy_and_wait(Way way, std::uint64_t bytes) noexcept {
  const std::uint64_t end = copy(way, bytes);
  (void)world_.charge(rank_, static_cast<double>(end - world_.local_ns(rank_)));
}

}  // namespace espalier::sim
