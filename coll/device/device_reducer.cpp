#include "coll/device/device_reducer.hpp"

#include <algorithm>
#include <utility>

#include "core/device/kernels/parameters.hpp"

namespace espalier {

Result<DeviceReducer::Lane*> DeviceReducer::lane_of(device::Home home) {
  for (const auto& lane : lanes_) {
    if (lane->home == home) return lane.get();
  }
  auto lane = std::make_unique<Lane>();
  lane->home = home;
  auto stream = driver_.make_stream(home);
  if (!stream.ok()) return stream.error();
  lane->stream = std::move(*stream);
  lane->launches.resize(kDepth);
  for (Launch& launch : lane->launches) {
    auto event = driver_.make_event(home);
    if (!event.ok()) return event.error();
    launch.event = std::move(*event);
  }
  lanes_.push_back(std::move(lane));
  return lanes_.back().get();
}

namespace {

// Is the destination a source of another launch than the first?
bool is_read_later(const Move& move) {
  if (move.operand_count <= device::kMostSources) return false;
  const void* const* const end = move.operands + move.operand_count;
  return std::find(move.operands + device::kMostSources, end, move.dst) != end;
}

}  // namespace

// So many sources at once; the sums of those before are the first of the next ones. The sums grow
// in the destination, unless a later source is there.
Outcome DeviceReducer::launch_all(Lane& lane, Launch& launch, const Move& move) {
  const auto& reduction = static_cast<const DeviceReduction&>(*move.reduction);
  const device::Grid grid = {.blocks = device::useful_blocks(move.bytes(), kMostBlocks),
                             .threads = device::kBlockThreads};
  std::size_t next = 0;
  while (next < move.operand_count) {
    device::ReduceParameters parameters = {};
    std::size_t k = 0;
    void* const sums = launch.sums != nullptr ? launch.sums : move.dst;
    if (next > 0) parameters.sources[k++] = sums;
    while (k < device::kMostSources && next < move.operand_count) {
      parameters.sources[k++] = move.operands[next++];
    }
    parameters.dst = next < move.operand_count ? sums : move.dst;
    parameters.count = move.elements;
    parameters.k = k;
    void* passed = &parameters;
    Outcome launched = driver_.launch(lane.stream, reduction.kernel, grid, &passed);
    if (!launched.ok()) return launched;
  }
  return Unit{};
}

// Once a kernel may be under way there is an entry for it: its memory is in use until its event.
Result<Posted> DeviceReducer::post(const Move& move, Completion& op) {
  auto lane = lane_of(static_cast<const DeviceReduction&>(*move.reduction).home);
  if (!lane.ok()) return lane.error();
  Lane& on = **lane;
  if (on.end - on.begin == kDepth) return Posted::kRetry;
  Launch& launch = on.at(on.end);
  launch.sums = nullptr;
  launch.bytes = move.bytes();
  if (is_read_later(move)) {
    launch.sums = memory_.take(launch.bytes, on.home);
    if (launch.sums == nullptr) return Posted::kRetry;
    if (!memory_.is_registered(launch.sums)) {
      memory_.give_back(std::exchange(launch.sums, nullptr), launch.bytes);
      return error(ESP_ERR_DEVICE, "the driver registers no more memory of the host");
    }
  }
  launch.op = &op;
  launch.outcome = launch_all(on, launch, move);
  const Outcome recorded = driver_.record(launch.event, on.stream);
  if (launch.outcome.ok()) launch.outcome = recorded;
  ++counters_.device_reductions;
  counters_.device_reduction_bytes += move.bytes() * move.operand_count;
  ++on.end;
  ++under_way_;
  return Posted::kPending;
}

bool DeviceReducer::has_ended(Launch& launch, Outcome& outcome) {
  auto state = driver_.query(launch.event);
  if (state.ok() && *state == device::EventState::kPending) return false;
  outcome = launch.outcome;
  if (outcome.ok() && !state.ok()) outcome = state.error();
  return true;
}

bool DeviceReducer::take(Ended& ended) {
  for (const auto& lane : lanes_) {
    if (lane->begin == lane->end) continue;
    Launch& launch = lane->at(lane->begin);
    if (!has_ended(launch, ended.outcome)) continue;
    ended.op = std::exchange(launch.op, nullptr);
    memory_.give_back(std::exchange(launch.sums, nullptr), launch.bytes);
    ++lane->begin;
    --under_way_;
    return true;
  }
  return false;
}

DeviceReducer::Launch* DeviceReducer::find(const Completion& op) noexcept {
  for (const auto& lane : lanes_) {
    for (std::uint32_t n = lane->begin; n != lane->end; ++n) {
      if (lane->at(n).op == &op) return &lane->at(n);
    }
  }
  return nullptr;
}

bool DeviceReducer::is_under_way(const Completion& op) {
  Launch* const launch = find(op);
  Outcome ignored = Unit{};
  return launch != nullptr && !has_ended(*launch, ignored);
}

void DeviceReducer::forget(const Completion& op) noexcept {
  if (Launch* const launch = find(op); launch != nullptr) launch->op = nullptr;
}

}  // namespace espalier
