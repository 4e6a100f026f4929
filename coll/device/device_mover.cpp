#include "coll/device/device_mover.hpp"

#include <algorithm>
#include <utility>

#include "coll/device/stream_order.hpp"
#include "core/copy.hpp"

namespace espalier {

DeviceMover::~DeviceMover() {
  context_.timers.cancel(timer_);
  ESP_ASSERT(under_way_ == 0 && failed_.empty());
}

std::byte* DeviceMover::allocate(std::uint64_t bytes) noexcept {
  return staging_.take(bytes, home());
}

void DeviceMover::release(std::byte* memory, std::uint64_t bytes) noexcept {
  staging_.give_back(memory, bytes);
}

std::byte* DeviceMover::allocate_beside(const Reduction& reduction, std::uint64_t bytes) noexcept {
  return pool_.take(bytes, static_cast<const DeviceReduction&>(reduction).home);
}

// But for what kernels combine, all of it is memory that the processor reaches.
Posted DeviceMover::move(const Move& move, Completion& op) noexcept {
  if (move.reduction != nullptr) {
    return move.operand_count > 1 ? reduce(move, op) : copy(move, op);
  }
  if (move.operand_count == 1) {
    copy_bytes(static_cast<std::byte*>(move.dst), static_cast<const std::byte*>(move.operands[0]),
               move.bytes());
  } else {
    move.combiner->combine(move.dst, move.operands, move.operand_count, move.elements, scratch_);
  }
  return Posted::kDone;
}

// kDone: what was in the caller's stream has happened. Who retries is woken.
Posted DeviceMover::await(StreamOrder* behind, Completion& op) noexcept {
  if (behind == nullptr) return Posted::kDone;
  const auto reached = behind->is_reached();
  if (!reached.ok()) {
    fail_later(reached.error(), op);
    return Posted::kPending;
  }
  if (reached.value()) return Posted::kDone;
  set_timer();
  return Posted::kRetry;
}

Posted DeviceMover::reduce(const Move& move, Completion& op) noexcept {
  if (const Posted due = await(move.behind, op); due != Posted::kDone) return due;
  auto posted = reducer_.post(move, op);
  if (!posted.ok()) {
    fail_later(posted.error(), op);
    return Posted::kPending;
  }
  set_timer();
  return *posted;
}

// Into the device, from wherever it lies.
Posted DeviceMover::copy(const Move& move, Completion& op) noexcept {
  auto* const from = static_cast<std::byte*>(const_cast<void*>(move.operands[0]));
  auto* const to = static_cast<std::byte*>(move.dst);
  return repack({&bytes_, nullptr, to, from, 0, move.bytes(), false, move.behind}, op);
}

int DeviceMover::progress_reductions() noexcept {
  int events = 0;
  for (DeviceReducer::Ended ended; reducer_.take(ended); ++events) {
    const Status status = ended.outcome.ok() ? Status{} : failed(ended.outcome.error());
    if (ended.op != nullptr) ended.op->complete(status);
  }
  return events;
}

Posted DeviceMover::repack(const Repack& repack, Completion& op) noexcept {
  if (const Posted due = await(repack.behind, op); due != Posted::kDone) return due;
  auto place = kinds_.of(repack.elements);
  if (!place.ok()) {
    fail_later(place.error(), op);
    return Posted::kPending;
  }
  if (device::host_may_touch(place->kind)) {
    if (repack.packs) {
      pack(*repack.pattern, repack.form, repack.run, repack.elements, repack.at, repack.bytes);
    } else {
      unpack(*repack.pattern, repack.form, repack.elements, repack.run, repack.at, repack.bytes);
    }
    return Posted::kDone;
  }
  Lane* lane = lane_of(place->home, repack.packs ? Direction::kToHost : Direction::kToDevice);
  if (lane == nullptr) {
    failed_.emplace_back(&op, Status(ESP_ERR_DEVICE, context_.rank));
    set_timer();
    return Posted::kPending;
  }
  return lane->full() ? Posted::kRetry : post(*lane, repack, op);
}

// nullptr: why_ has the reason.
DeviceMover::Lane* DeviceMover::lane_of(device::Home home, Direction direction) noexcept {
  const auto at = std::find_if(devices_.begin(), devices_.end(),
                               [&](const auto& device) { return device->home == home; });
  Device* device = at != devices_.end() ? at->get() : nullptr;
  if (device == nullptr) {
    devices_.push_back(std::make_unique<Device>());
    device = devices_.back().get();
    device->home = home;
  }
  Lane* const lane = &device->lanes[static_cast<std::size_t>(direction)];
  if (lane->stream) return lane;
  if (const Outcome opened = open(*lane, home); !opened.ok()) {
    (void)failed(opened.error());
    return nullptr;
  }
  return lane;
}

Outcome DeviceMover::open(Lane& lane, device::Home home) noexcept {
  auto stream = context_.driver.make_stream(home);
  if (!stream.ok()) return stream.error();
  std::vector<Copy> copies(kDepth);
  for (Copy& copy : copies) {
    auto event = context_.driver.make_event(home);
    if (!event.ok()) return event.error();
    copy.event = std::move(*event);
  }
  lane.copies = std::move(copies);
  lane.stream = std::move(*stream);
  return Unit{};
}

// Between the elements and `packed`, in the elements' own form.
Outcome DeviceMover::copy_pieces(Lane& lane, const Repack& repack, std::byte* packed) noexcept {
  struct Pieces {
    DeviceMover& self;
    Lane& lane;
    const Repack& repack;
    std::byte* packed;
    std::string refused;
  } pieces{*this, lane, repack, packed, {}};
  std::uint64_t at = repack.at, bytes = repack.bytes;
  if (repack.form != nullptr) {
    at = at / repack.form->bytes * repack.form->value_bytes;
    bytes = bytes / repack.form->bytes * repack.form->value_bytes;
  }
  const auto copy = [](void* context, std::uint64_t offset, std::uint64_t position,
                       std::uint64_t count) noexcept {
    auto& p = *static_cast<Pieces*>(context);
    std::byte* const elements = p.repack.elements + offset;
    std::byte* const run = p.packed + position;
    Outcome copied = p.self.context_.driver.copy(p.lane.stream, p.repack.packs ? run : elements,
                                                 p.repack.packs ? elements : run, count);
    if (!copied.ok()) p.refused = copied.error().text;
    return copied.ok();
  };
  context_.counters.device_copy_bytes += bytes;
  if (repack.pattern->for_each_piece(at, bytes, copy, &pieces)) return Unit{};
  return error(ESP_ERR_DEVICE, std::move(pieces.refused));
}

// Once a copy may be under way there is an entry for it: its memory is in use until its event.
Posted DeviceMover::post(Lane& lane, const Repack& repack, Completion& op) noexcept {
  Copy& copy = lane.at(lane.end);
  copy.repack = repack;
  copy.values = nullptr;
  std::byte* packed = repack.run;
  if (repack.form != nullptr) {
    copy.value_bytes = repack.bytes / repack.form->bytes * repack.form->value_bytes;
    copy.values = packed = allocate(copy.value_bytes);
    if (packed == nullptr) return Posted::kRetry;
    if (!repack.packs) {
      repack.form->leave(packed, repack.run, repack.bytes / repack.form->bytes);
    }
  }
  copy.op = &op;
  copy.status = {};
  Outcome outcome = copy_pieces(lane, repack, packed);
  if (const Outcome recorded = context_.driver.record(copy.event, lane.stream); outcome.ok()) {
    outcome = recorded;
  }
  if (!outcome.ok()) copy.status = failed(outcome.error());
  ++context_.counters.device_copies;
  ++lane.end;
  ++under_way_;
  set_timer();
  return Posted::kPending;
}

Posted DeviceMover::look(Copy& copy, Status& status) noexcept {
  auto state = context_.driver.query(copy.event);
  if (state.ok() && *state == device::EventState::kPending) return Posted::kPending;
  status = !copy.status.ok() ? copy.status : state.ok() ? Status{} : failed(state.error());
  return Posted::kDone;
}

void DeviceMover::conclude(Copy& copy, Status status) noexcept {
  --under_way_;
  const Repack& repack = copy.repack;
  if (copy.values != nullptr) {
    if (repack.packs && status.ok() && copy.op != nullptr) {
      repack.form->enter(repack.run, copy.values, repack.bytes / repack.form->bytes);
    }
    release(std::exchange(copy.values, nullptr), copy.value_bytes);
  }
  if (Completion* op = std::exchange(copy.op, nullptr)) op->complete(status);
}

int DeviceMover::progress(Lane& lane) noexcept {
  int events = 0;
  while (lane.begin != lane.end) {
    Copy& copy = lane.at(lane.begin);
    Status status;
    if (look(copy, status) == Posted::kPending) break;
    ++lane.begin;
    conclude(copy, status);
    ++events;
  }
  return events;
}

int DeviceMover::progress() noexcept {
  int events = 0;
  for (const auto& device : devices_) {
    for (Lane& lane : device->lanes) {
      if (lane.begin != lane.end) events += progress(lane);
    }
  }
  if (!reducer_.idle()) events += progress_reductions();
  for (std::size_t count = failed_.size(); count > 0; --count, ++events) {
    const auto [op, status] = failed_.front();
    failed_.erase(failed_.begin());
    op->complete(status);
  }
  if (under_way_ > 0 || !reducer_.idle() || !failed_.empty()) set_timer();
  return events;
}

void DeviceMover::cancel(Completion& op) noexcept {
  std::erase_if(failed_, [&](const auto& one) { return one.first == &op; });
  const std::uint64_t give_up_ns = context_.clock.now_ns() + kGiveUpNs;
  while (reducer_.is_under_way(op) && context_.clock.now_ns() < give_up_ns) Worker::pause();
  reducer_.forget(op);
  for (const auto& device : devices_) {
    for (Lane& lane : device->lanes) {
      for (std::uint32_t n = lane.begin; n != lane.end; ++n) {
        Copy& copy = lane.at(n);
        if (copy.op != &op) continue;
        Status status;
        while (look(copy, status) == Posted::kPending && context_.clock.now_ns() < give_up_ns) {
          Worker::pause();
        }
        copy.op = nullptr;
        return;
      }
    }
  }
}

// Of a device that is lost every later call fails: the first one says why.
Status DeviceMover::failed(const Error& error) noexcept {
  const device::DeviceNumber number = home().device;
  why_ = context_.driver.lost(number) ? context_.driver.why_lost(number) : error.text;
  return Status(ESP_ERR_DEVICE, context_.rank);
}

void DeviceMover::fail_later(const Error& error, Completion& op) noexcept {
  failed_.emplace_back(&op, failed(error));
  set_timer();
}

void DeviceMover::set_timer() noexcept {
  if (timer_.idle()) context_.timers.add(timer_, context_.clock.now_ns() + kPollNs);
}

}  // namespace espalier
