#include "tests/swarm/late_mover.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <new>
#include <utility>

namespace espalier::swarm {

LateMover::LateMover(const LateMoves& moves, std::uint64_t seed, Rank rank, Now now,
                     Schedule schedule)
    : moves_(moves),
      rank_(rank),
      prng_(seed ^ 0x6d6f766573 ^ static_cast<std::uint64_t>(rank) << 40),
      now_(std::move(now)),
      schedule_(std::move(schedule)) {}

Posted LateMover::move(const Move& move, Completion& op) noexcept {
  Late late{move, Operands(move.operands, move.operands + move.operand_count), {}, &op, 0};
  late.move.operands = nullptr;
  return post(std::move(late));
}

Posted LateMover::repack(const Repack& repack, Completion& op) noexcept {
  return post({{}, {}, repack, &op, 0});
}

std::byte* LateMover::allocate(std::uint64_t bytes) noexcept {
  return new (std::nothrow) std::byte[bytes];
}

void LateMover::release(std::byte* memory, std::uint64_t) noexcept {
  delete[] memory;
}

Posted LateMover::post(Late late) {
  if (prng_.chance(moves_.refused)) {
    schedule_(now_() + 1);
    return Posted::kRetry;
  }
  if (prng_.chance(moves_.at_once)) {
    carry_out(late);
    return Posted::kDone;
  }
  late.due_ns = now_() + 1 + prng_.below(moves_.latest_ns);
  schedule_(late.due_ns);
  open_.push_back(std::move(late));
  return Posted::kPending;
}

void LateMover::cancel(Completion& op) noexcept {
  std::erase_if(open_, [&](const Late& late) { return late.op == &op; });
}

bool LateMover::uses(const std::byte* memory, std::uint64_t bytes) const noexcept {
  const auto holds = [&](const void* at) {
    const std::less<> before;
    return bytes > 0 && !before(at, memory) && before(at, memory + bytes);
  };
  return std::any_of(open_.begin(), open_.end(), [&](const Late& late) {
    if (late.repack.pattern != nullptr) return holds(late.repack.elements);
    return late.move.elements > 0 &&
           (holds(late.move.dst) || std::any_of(late.operands.begin(), late.operands.end(), holds));
  });
}

int LateMover::progress() noexcept {
  const std::uint64_t now = now_();
  int events = 0;
  for (;;) {
    std::vector<std::size_t> due;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (open_[i].due_ns <= now) due.push_back(i);
    }
    if (due.empty()) return events;
    const std::size_t at = due[prng_.below(due.size())];
    const Late late = std::move(open_[at]);
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(at));
    ++events;
    const Status status = verdict();
    if (status.ok()) carry_out(late);
    late.op->complete(status);  // May post and cancel others.
  }
}

Status LateMover::verdict() noexcept {
  const bool breaks = rank_ == moves_.breaks_at && completed_++ == moves_.breaks_after;
  return breaks ? Status(ESP_ERR_SYSTEM, rank_) : Status();
}

void LateMover::carry_out(const Late& late) {
  const Move& move = late.move;
  if (const Repack& r = late.repack; r.pattern != nullptr) {
    if (r.packs) pack(*r.pattern, r.form, r.run, r.elements, r.at, r.bytes);
    if (!r.packs) unpack(*r.pattern, r.form, r.elements, r.run, r.at, r.bytes);
    return;
  }
  if (move.elements == 0) return;
  if (late.operands.size() == 1) {
    std::memmove(move.dst, late.operands.front(), move.bytes());
    return;
  }
  std::vector<std::byte> scratch;
  move.combiner->combine(move.dst, late.operands.data(), late.operands.size(), move.elements,
                         scratch);
}

}  // namespace espalier::swarm
