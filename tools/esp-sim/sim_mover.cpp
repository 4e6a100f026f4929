#include "tools/esp-sim/sim_mover.hpp"

#include <algorithm>
#include <cstring>
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

// Operands may be notes about places of others.
void SimMover::combine_there(const Move& move) noexcept {
  operands_.assign(move.operands, move.operands + move.operand_count);
  for (const void*& operand : operands_) {
    if (const Opened* opened = find_opened(operand)) operand = opened->at;
  }
  Move there = move;
  there.operands = operands_.data();
  combine(there);
}

std::uint64_t SimMover::launch(const Move& move) noexcept {
  const std::uint64_t bytes = move.bytes();
  DeviceLanes::Kernel kernel{move.operand_count * bytes, 0, is_callers(move.dst) ? 0 : bytes};
  from_peers_.clear();
  for (std::size_t i = 0; i < move.operand_count; ++i) {
    if (const Opened* opened = find_opened(move.operands[i])) {
      from_peers_.push_back({&context_.devices.of(opened->owner), bytes});
    } else if (!is_callers(move.operands[i])) {
      kernel.from_host_bytes += bytes;
    }
  }
  kernel.from_peers = from_peers_;
  ++context_.counters.device_reductions;
  context_.counters.device_reduction_bytes += kernel.operand_bytes;
  return lanes_.launch(kernel);
}

// Operands do not change before it is over, so the result may be there early: nobody looks.
Posted SimMover::move(const Move& move, Completion& op) noexcept {
  if (move.reduction == nullptr) {
    combine(move);
    return Posted::kDone;
  }
  context_.wire.charge_combines();
  context_.wire.spare(move.operand_count * move.bytes());
  const std::uint64_t end_ns = launch(move);
  combine_there(move);
  pend(op, move.bytes(), end_ns, {});
  return Posted::kPending;
}

// Between the caller's elements and a run on the host, or, with `from`, out of what lies there.
std::uint64_t SimMover::copy(const Repack& repack, const Opened* from) noexcept {
  using Way = DeviceLanes::Way;
  const Way way = repack.packs ? Way::kToHost : Way::kToDevice;
  ++context_.counters.device_copies;
  context_.counters.device_copy_bytes += repack.bytes;
  if (from == nullptr) return lanes_.copy(way, repack.bytes);
  return lanes_.copy_of(context_.devices.of(from->owner), way, repack.bytes);
}

Posted SimMover::repack(const Repack& repack, Completion& op) noexcept {
  context_.wire.charge_combines();
  context_.wire.spare(repack.bytes);
  Repack there = repack;
  std::byte*& source = repack.packs ? there.elements : there.run;
  const Opened* from = find_opened(source);
  const std::uint64_t end_ns = copy(repack, from);
  if (from != nullptr) source = from->at;
  pend(op, repack.bytes, end_ns, there);
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

bool SimMover::is_callers(const void* at) const noexcept {
  const auto* byte = static_cast<const std::byte*>(at);
  const auto holds = [byte](Memory memory) {
    return byte >= memory.data() && byte < memory.data() + memory.size();
  };
  return holds(input_) || holds(output_);
}

// Places of others ----------------------------------------------------------------------------

// All ranks are in one process: an address is a name.
AwayName SimMover::name_of(const void* at) noexcept {
  AwayName name;
  std::memcpy(name.bytes.data(), &at, sizeof at);
  return name;
}

const void* SimMover::open(Rank owner, const AwayName& name) noexcept {
  auto opened = std::make_unique<Opened>();
  opened->owner = owner;
  std::memcpy(&opened->at, name.bytes.data(), sizeof opened->at);
  const void* const note = opened.get();
  opened_[note] = std::move(opened);
  return note;
}

void SimMover::close(Rank, const void* opened) noexcept {
  opened_.erase(opened);
}

const SimMover::Opened* SimMover::find_opened(const void* at) const noexcept {
  const auto found = opened_.find(at);
  return found != opened_.end() ? found->second.get() : nullptr;
}

// Its bytes are no combination of the rank's: nothing of them is charged.
Posted SimMover::fetch(std::byte* dst, const void* src, std::uint64_t bytes,
                       Completion& op) noexcept {
  auto* elements = static_cast<std::byte*>(const_cast<void*>(src));
  const Repack what{&bytes_, nullptr, elements, dst, 0, bytes, true};
  pend(op, bytes, copy(what, nullptr), what);
  return Posted::kPending;
}

}  // namespace espalier::sim
