#include "tools/esp-sim/sim_mover.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "core/copy.hpp"

namespace espalier::sim {

SimMover::~SimMover() {
  for (const auto& [memory, bytes] : own_) delete[] memory;
}

void SimMover::combine(const Move& move) noexcept {
  if (!context_.world.options().carry_data) return;
  if (move.operand_count == 1) {
    copy_bytes(static_cast<std::byte*>(move.dst), static_cast<const std::byte*>(move.operands[0]),
               move.bytes());
  } else {
    move.combiner->combine(move.dst, move.operands, move.operand_count, move.elements, scratch_);
  }
}

// Operands do not change before it is over, so the result may be there early: nobody looks.
Posted SimMover::move(const Move& move, Completion& op) noexcept {
  combine(move);
  if (context_.reducer == Reducer::kHost || move.operand_count == 1) return Posted::kDone;
  const std::uint64_t bytes = move.bytes();
  DeviceLanes::Kernel kernel{move.operand_count * bytes, 0, bytes};
  for (std::size_t i = 0; i < move.operand_count; ++i) {
    if (!is_own(move.operands[i])) kernel.from_host_bytes += bytes;
  }
  context_.wire.charge_combines();
  context_.wire.spare(kernel.operand_bytes);
  pend(op, bytes, lanes_.launch(kernel), {});
  return Posted::kPending;
}

Posted SimMover::repack(const Repack& repack, Completion& op) noexcept {
  using Way = DeviceLanes::Way;
  context_.wire.charge_combines();
  context_.wire.spare(repack.bytes);
  ++context_.counters.device_copies;
  context_.counters.device_copy_bytes += repack.bytes;
  const Way way = repack.packs ? Way::kToHost : Way::kToDevice;
  pend(op, repack.bytes, lanes_.copy(way, repack.bytes), repack);
  return Posted::kPending;
}

void SimMover::pend(Completion& op, std::uint64_t bytes, std::uint64_t end_ns,
                    const Repack& repack) noexcept {
  Pending& pending = pending_.take();
  pending.mover = this;
  pending.op = &op;
  pending.bytes = bytes;
  pending.repack = repack;
  under_way_.push_back(&pending);
  context_.world.schedule(pending, context_.rank, end_ns);
}

void SimMover::Pending::happen() noexcept {
  std::erase(mover->under_way_, this);
  mover->ended_.push_back(this);
  mover->context_.world.wake(mover->context_.rank);
}

int SimMover::progress() noexcept {
  int events = 0;
  for (; !ended_.empty(); ++events) {
    Pending& pending = *ended_.front();
    ended_.erase(ended_.begin());
    const Repack& repack = pending.repack;
    if (repack.bytes > 0 && pending.op != nullptr && context_.world.options().carry_data) {
      if (repack.packs) {
        pack(*repack.pattern, repack.form, repack.run, repack.elements, repack.at, repack.bytes);
      } else {
        unpack(*repack.pattern, repack.form, repack.elements, repack.run, repack.at, repack.bytes);
      }
    }
    Completion* op = std::exchange(pending.op, nullptr);
    pending_.give_back(pending);
    if (op != nullptr) op->complete({});
  }
  return events;
}

void SimMover::cancel(Completion& op) noexcept {
  for (const auto* all : {&under_way_, &ended_}) {
    for (Pending* pending : *all) {
      if (pending->op == &op) pending->op = nullptr;
    }
  }
}

std::byte* SimMover::allocate(std::uint64_t bytes) noexcept {
  auto* memory = new (std::nothrow) std::byte[bytes];
  if (memory != nullptr) own_[memory] = bytes;
  return memory;
}

void SimMover::release(std::byte* memory, std::uint64_t) noexcept {
  own_.erase(memory);
  delete[] memory;
}

bool SimMover::is_own(const void* at) const noexcept {
  const auto* byte = static_cast<const std::byte*>(at);
  auto after = own_.upper_bound(byte);
  if (after == own_.begin()) return false;
  const auto& [begin, bytes] = *--after;
  return byte < begin + bytes;
}

}  // namespace espalier::sim
