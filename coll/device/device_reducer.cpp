#include "coll/device/device_reducer.hpp"

#include <algorithm>
#include <utility>

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
  lane->launches.entries.resize(kDepth);
  for (Launch& launch : lane->launches.entries) {
    auto event = driver_.make_event(home);
    if (!event.ok()) return event.error();
    launch.event = std::move(*event);
    launch.ops.reserve(kDepth);
  }
  lane->waiting.entries.resize(kDepth);
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
  const bool joins = move.operand_count <= device::kMostSources;
  if (joins && on.launches.size() >= kAhead) return wait(on, move, op);
  if (on.launches.size() == kDepth) return Posted::kRetry;
  Launch& next = on.launches.at(on.launches.end);
  next.bytes = move.bytes();
  if (is_read_later(move)) {
    next.sums = memory_.take(next.bytes, on.home);
    if (next.sums == nullptr) return Posted::kRetry;
    if (!memory_.is_registered(next.sums)) {
      memory_.give_back(std::exchange(next.sums, nullptr), next.bytes);
      return error(ESP_ERR_DEVICE, "the driver registers no more memory of the host");
    }
  }
  next.ops.push_back(&op);
  launch(on, next, move);
  return Posted::kPending;
}

void DeviceReducer::launch(Lane& lane, Launch& next, const Move& move) {
  next.outcome = launch_all(lane, next, move);
  const Outcome recorded = driver_.record(next.event, lane.stream);
  if (next.outcome.ok()) next.outcome = recorded;
  counters_.device_reductions += next.ops.size();
  counters_.device_reduction_bytes += move.bytes() * move.operand_count;
  ++lane.launches.end;
  ++under_way_;
}

Posted DeviceReducer::wait(Lane& lane, const Move& move, Completion& op) {
  if (lane.launches.size() + lane.waiting.size() >= kDepth) return Posted::kRetry;
  Waiting& last = lane.waiting.at(lane.waiting.end++);
  last.op = &op;
  last.move = move;
  std::copy_n(move.operands, move.operand_count, last.operands.begin());
  return Posted::kPending;
}

namespace {

bool is_behind(const void* next, const void* first, std::uint64_t bytes) {
  return next == static_cast<const std::byte*>(first) + bytes;
}

// Does the next one begin where the first ends, everywhere?
bool continues(const Move& next, const void* const* operands, const Move& first) {
  if (next.reduction != first.reduction || next.operand_count != first.operand_count) return false;
  if (!is_behind(next.dst, first.dst, first.bytes())) return false;
  for (std::size_t k = 0; k < first.operand_count; ++k) {
    if (!is_behind(operands[k], first.operands[k], first.bytes())) return false;
  }
  return true;
}

}  // namespace

void DeviceReducer::launch_waiting(Lane& lane) {
  Ring<Waiting>& waiting = lane.waiting;
  while (waiting.size() > 0 && lane.launches.size() < kAhead) {
    Waiting& first = waiting.at(waiting.begin++);
    if (first.op == nullptr) continue;
    Launch& next = lane.launches.at(lane.launches.end);
    Move joined = first.move;
    joined.operands = first.operands.data();
    next.ops.push_back(first.op);
    while (waiting.size() > 0 && joined.bytes() < kJoinedBytes) {
      const Waiting& more = waiting.at(waiting.begin);
      if (more.op == nullptr || !continues(more.move, more.operands.data(), joined)) break;
      joined.elements += more.move.elements;
      next.ops.push_back(more.op);
      ++waiting.begin;
    }
    next.bytes = joined.bytes();
    launch(lane, next, joined);
  }
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
    if (lane->launches.size() == 0) continue;
    Launch& oldest = lane->launches.at(lane->launches.begin);
    if (oldest.told == 0 && !has_ended(oldest, oldest.outcome)) continue;
    ended.op = std::exchange(oldest.ops[oldest.told++], nullptr);
    ended.outcome = oldest.outcome;
    if (oldest.told < oldest.ops.size()) return true;
    memory_.give_back(std::exchange(oldest.sums, nullptr), oldest.bytes);
    oldest.ops.clear();
    oldest.told = 0;
    ++lane->launches.begin;
    --under_way_;
    launch_waiting(*lane);
    return true;
  }
  return false;
}

Completion** DeviceReducer::find(const Completion& op, Launch*& launched) noexcept {
  for (const auto& lane : lanes_) {
    Ring<Launch>& launches = lane->launches;
    for (std::uint32_t n = launches.begin; n != launches.end; ++n) {
      for (Completion*& one : launches.at(n).ops) {
        if (one != &op) continue;
        launched = &launches.at(n);
        return &one;
      }
    }
    Ring<Waiting>& waiting = lane->waiting;
    for (std::uint32_t n = waiting.begin; n != waiting.end; ++n) {
      if (waiting.at(n).op == &op) return &waiting.at(n).op;
    }
  }
  return nullptr;
}

bool DeviceReducer::is_under_way(const Completion& op) {
  Launch* launched = nullptr;
  Outcome ignored = Unit{};
  return find(op, launched) != nullptr && launched != nullptr && !has_ended(*launched, ignored);
}

void DeviceReducer::forget(const Completion& op) noexcept {
  Launch* launched = nullptr;
  if (Completion** const at = find(op, launched); at != nullptr) *at = nullptr;
}

}  // namespace espalier
